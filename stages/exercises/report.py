"""The report that a student reads, and `check`, which prints it."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stages.exercises.checks import CHAPTERS
from stages.exercises.exercise import Chapter
from stages.exercises.running import Result, examine

__all__ = ["chapter_of", "check", "check_names", "report"]


def check(chapter: int, *answers: Callable[..., Any]) -> None:
    """Check answers to the exercises of a chapter, and print the report.

    Args:
        chapter: the number of the chapter
        answers: functions with the names that the tasks give; numba functions, too

    Raises:
        ValueError: no such chapter, no answer, or a function that has the name of no exercise

    >>> def forward_difference(f, x, h):
    ...     return f(x + h) - f(x) / h
    >>> check(1, forward_difference)
    Chapter 1: Differences
      forward_difference  WRONG
        input     forward_difference(square, 1.0, 0.5), where square maps x to x * x
        found     0.25
        expected  2.5
        hint      The difference of the two values, as a whole, is divided by h.
    """
    chosen = chapter_of(chapter)
    names = [exercise.name for exercise in chosen.exercises]
    if not answers:
        raise ValueError(f"check({chapter}, ...) needs a function: {', '.join(names)}")
    found = {getattr(answer, "__name__", repr(answer)): answer for answer in answers}
    for name in found:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise ValueError(f"chapter {chapter} has no exercise {name!r}.{hint} Its exercises: {', '.join(names)}")
    results = [examine(exercise, found[exercise.name]) for exercise in chosen.exercises if exercise.name in found]
    print(report(chosen, results))


def chapter_of(number: int) -> Chapter:
    """Return a chapter. ValueError for a number without one."""
    if number not in CHAPTERS:
        raise ValueError(f"there is no chapter {number!r}; the chapters are 1 to {max(CHAPTERS)}")
    return CHAPTERS[number]


def check_names(chapter: Chapter, names: Mapping[str, Any], path: str) -> list[Result]:
    """Check the functions of a file, and name those that are missing."""
    results = []
    for exercise in chapter.exercises:
        answer = names.get(exercise.name)
        if callable(answer):
            results.append(examine(exercise, answer))
        else:
            functions = [name for name, x in names.items() if callable(x) and not name.startswith("_")]
            close = difflib.get_close_matches(exercise.name, functions, n=1)
            hint = f" Did you mean it to be {close[0]}?" if close else ""
            text = f"{path} has no function {exercise.name}.{hint}"
            results.append(Result(exercise, "missing", (("", text),)))
    return results


def report(chapter: Chapter, results: Sequence[Result]) -> str:
    """Return the report: a line for each exercise, and for a wrong answer the smallest input that shows the fault."""
    width = max(len(result.exercise.name) for result in results)
    lines = [f"Chapter {chapter.number}: {chapter.title}"]
    for result in results:
        name = f"  {result.exercise.name:{width}}"
        if result.state == "right":
            lines.append(f"{name}  right on {result.passed} inputs{_counts(result)}")
        elif result.state == "missing":
            lines.append(f"{name}  {result.details[0][1]}")
        else:
            lines.append(f"{name}  {'WRONG' if result.state == 'wrong' else 'ERROR'}{_passed(result)}")
            lines += [line for label, text in result.details for line in _wrapped(label, text)]
    return "\n".join(lines)


def _wrapped(label: str, text: str) -> list[str]:
    """Return a detail as lines; prose is wrapped, inputs and results are not."""
    parts = textwrap.wrap(text, 100, break_on_hyphens=False) if label in ("hint", "why") else [text]
    return [f"    {label if k == 0 else '':9} {part}" for k, part in enumerate(parts)]


def _counts(result: Result) -> str:
    """Return the count of the largest input, beside the bound."""
    outcome = result.outcome
    if outcome is None or outcome.count is None:
        return ""
    return f"; {result.exercise.counted}: {outcome.count:,}, bound {outcome.bound:,}"


def _passed(result: Result) -> str:
    inputs = "input" if result.passed == 1 else "inputs"
    return f" (right on {result.passed} smaller {inputs})" if result.passed else ""
