"""`python -m stages.exercises`: list the exercises, print the tasks of a chapter, check a file of answers."""

from __future__ import annotations

import argparse
import faulthandler
import sys
from collections.abc import Sequence

from stages.exercises.checks import CHAPTERS
from stages.exercises.loading import AnswersError, load
from stages.exercises.report import chapter_of, check_names, report

#: Seconds after which the command gives up, for an endless loop in compiled code, where no lines are counted.
SECONDS = 120


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m stages.exercises",
        description="The exercises of the course docs/learn. Without arguments: list them. With a chapter: print its "
        "tasks as a file to begin with. With a chapter and a file: check the answers in the file.",
    )
    made.add_argument("chapter", nargs="?", type=int, help="number of the chapter")
    made.add_argument("file", nargs="?", help="file with the answers")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0, or 1 if an answer is not right, or 2 for a wrong command line or an unreadable file."""
    options = parser().parse_args(argv)
    if options.chapter is None:
        print(listing())
        return 0
    try:
        chapter = chapter_of(options.chapter)
        if options.file is None:
            print(chapter.tasks.read_text(encoding="utf-8"), end="")
            return 0
        if sys.__stderr__ is not None:
            faulthandler.dump_traceback_later(SECONDS, exit=True, file=sys.__stderr__)
        results = check_names(chapter, load(options.file), options.file)
    except (ValueError, AnswersError) as error:
        print(f"python -m stages.exercises: {error}", file=sys.stderr)
        return 2
    finally:
        faulthandler.cancel_dump_traceback_later()
    print(report(chapter, results))
    return 0 if all(result.state == "right" for result in results) else 1


def listing() -> str:
    """Return the list of all exercises, and the commands."""
    lines = []
    for chapter in CHAPTERS.values():
        names = ", ".join(exercise.name for exercise in chapter.exercises)
        lines.append(f"{chapter.number:3}  {chapter.title}: {names}")
    first = min(CHAPTERS)
    lines += [
        "",
        f"python -m stages.exercises {first} > chapter_{first}.py    write the tasks of chapter {first} to a file",
        f"python -m stages.exercises {first} chapter_{first}.py      check the answers in the file",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
