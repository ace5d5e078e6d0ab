"""The paper of dualrev: `python -m tools.paper` fills its table, `--pdf FILE` also writes the PDF.

paper/paper.md has the form of the Journal of Open Source Software. The table of libraries comes from
bench/published/report.md. For the PDF, run `pip install pypandoc-binary typst` first.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["filled", "main", "pdf", "peers"]

ROOT = Path(__file__).resolve().parents[1]
PAPER = ROOT / "paper" / "paper.md"
REPORT = ROOT / "bench" / "published" / "report.md"
CAPTION = ": Time relative to dualrev's compiled derivative (`make bench`)."
COLUMNS = {"dualrev, tape": "tape", "JAX, jit": "JAX", "CasADi": "CasADi", "PyTorch": "PyTorch", "autograd": "autograd"}


def peers(report: str) -> str:
    """Return the table of relative times, in Markdown, from the first table of the report."""
    (block,) = re.findall(r"(?m)^\| us \|(?:.*\n\|)+.*$", report)[:1]
    head, _, *lines = ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in block.splitlines())
    places = [head.index(name) for name in COLUMNS]
    rows = ["| program | " + " | ".join(COLUMNS.values()) + " |", f"| {'-' * 40} |" + " -------: |" * len(COLUMNS)]
    for name, *cells in lines:
        relative = [re.search(r"\(([\d.,]+)x\)", cells[place - 1]) for place in places]
        rows.append(f"| {name} | " + " | ".join(found[1] if found else "-" for found in relative) + " |")
    return "\n".join([*rows, "", CAPTION])


def filled(paper: str, report: str) -> str:
    """Return the paper with the table of the report between its two comments."""
    begin, end = "<!-- peers -->\n", "<!-- /peers -->"
    before, _, rest = paper.partition(begin)
    return f"{before}{begin}\n{peers(report)}\n\n{end}{rest.partition(end)[2]}"


def pdf(file: Path) -> None:
    """Write the PDF by pandoc and typst."""
    pypandoc, typst = importlib.import_module("pypandoc"), importlib.import_module("typst")
    options = ["--standalone", "--citeproc", f"--bibliography={PAPER.parent / 'paper.bib'}"]
    options += ["-V", "papersize=a4", "-V", "fontsize=9.5pt"]
    with tempfile.NamedTemporaryFile(dir=PAPER.parent, suffix=".typ") as source:  # here: its figures are relative
        pypandoc.convert_file(str(PAPER), "typst", format="markdown", extra_args=options, outputfile=source.name)
        typst.compile(source.name, output=str(file), root=str(ROOT))


def main(argv: Sequence[str] | None = None) -> int:
    """Fill the table; write the PDF if it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pdf", type=Path, metavar="FILE", help="also write the paper as a PDF")
    options = parser.parse_args(argv)
    PAPER.write_text(filled(PAPER.read_text(encoding="utf-8"), REPORT.read_text(encoding="utf-8")), encoding="utf-8")
    if options.pdf:
        pdf(options.pdf)
    return 0


if __name__ == "__main__":
    sys.exit(main())
