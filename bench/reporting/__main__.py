"""Write the report of a saved run: `python -m bench.reporting RUN.json --to FOLDER`, or `... RUN.json --publish`.

--publish writes the files that are under version control: the run, the report as Markdown with its pictures, and the
table of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.measuring.runs import RunError, load
from bench.reporting import content, html, markdown, plots, sections
from bench.reporting.render import table

BENCH = Path(__file__).parent.parent
PUBLISHED = BENCH / "published"
PAGE = BENCH.parent / "docs" / "benchmarks.md"
MARK = "<!-- peers -->\n"


def write(run_file: Path, folder: Path, page: bool = True) -> list[Path]:
    """Write report.md, the pictures and, if `page`, index.html; return the files."""
    run = load(run_file)
    made = sections(run)
    pictures = {picture.name: plots.draw(picture.name, run) for section in made for picture in section.pictures}
    files = {"index.html": html(made, pictures)} if page else {}
    files |= {"report.md": markdown(made)} | {f"{name}.svg": svg for name, svg in pictures.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def publish(run_file: Path, folder: Path = PUBLISHED, page: Path = PAGE) -> list[Path]:
    """Write the files under version control. RunError if the run has no times of other libraries."""
    peers = content.peers(load(run_file))
    if peers is None:
        raise RunError(f"{run_file} has no times of other libraries, which docs/benchmarks.md shows")
    files = write(run_file, folder, page=False)
    (folder / "run.json").write_text(compact(run_file), encoding="utf-8")
    before, _, rest = page.read_text(encoding="utf-8").partition(MARK)
    _, end, after = rest.partition("\n\n")
    page.write_text(before + MARK + "\n".join(table(peers.tables[0])) + end + after, encoding="utf-8")
    return [*files, folder / "run.json", page]


def compact(run_file: Path) -> str:
    """Format the JSON with a line for every benchmark and record: small, and easy to compare by `git diff`."""
    saved = json.loads(run_file.read_text(encoding="utf-8"))
    parts = []
    for key, value in saved.items():
        lines = [json.dumps(x) for x in value] if isinstance(value, list) else None
        parts.append(f"{json.dumps(key)}: " + ("[\n" + ",\n".join(lines) + "\n]" if lines else json.dumps(value)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def newest() -> Path:
    """Return the newest full run of `make bench`; RunError if `make bench` has not run yet."""
    runs = sorted(path for path in (BENCH / "runs").glob("*.json") if not path.stem.endswith("-quick"))
    if not runs:
        raise RunError("there is no saved run yet: `make bench` makes one")
    return runs[-1]


def main(argv: Sequence[str] | None = None) -> int:
    """Write all files of the report; 2 if the run cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.reporting")
    parser.add_argument("run", type=Path, nargs="?", help="JSON file of `make bench` (default: the newest full one)")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--to", type=Path, metavar="FOLDER", help="folder for the report")
    where.add_argument("--publish", action="store_true", help="write to bench/published and docs/benchmarks.md")
    options = parser.parse_args(argv)
    try:
        run = options.run or newest()
        files = publish(run) if options.publish else write(run, options.to)
    except RunError as error:
        print(f"bench.reporting: {error}", file=sys.stderr)
        return 2
    print(f"the report: {files[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
