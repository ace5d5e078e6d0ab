"""Write the report of a saved run: `python -m bench.reporting RUN.json --to FOLDER`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.reporting import html, markdown, plots, sections
from bench.runs import RunError, load


def write(run_file: Path, folder: Path) -> list[Path]:
    """Write report.md, index.html and the pictures; give the files."""
    run = load(run_file)
    made = sections(run)
    pictures = {picture.name: plots.draw(picture.name, run) for section in made for picture in section.pictures}
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{name}.svg": svg for name, svg in pictures.items()}
    files |= {"index.html": html(made, pictures), "report.md": markdown(made)}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def main(argv: Sequence[str] | None = None) -> int:
    """Write all files of the report; 2 if the run cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.reporting")
    parser.add_argument("run", type=Path, help="a JSON file of `make bench`")
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help="where the report goes")
    options = parser.parse_args(argv)
    try:
        files = write(options.run, options.to)
    except RunError as error:
        print(f"bench.reporting: {error}", file=sys.stderr)
        return 2
    print(f"the report: {next(f for f in files if f.suffix == '.html')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
