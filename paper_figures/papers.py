"""Where each definition, figure, table, claim and example of the papers is in this project: docs/papers.md.

`docs/papers/` has a file for each paper, with a `[[row]]` for each place in it:

    at        the number or the section: "Fig. 6", "section 8.2"
    says      what the paper says there, in one sentence
    where     the modules and pages that have it
    evidence  what shows it: tests, as pytest takes them, and commands

A row with no other key is shown by its evidence. One of these keys says why a row is not, in one sentence:

    simplified      what differs from the paper
    missing         what is missing
    not_executable  why nothing can be run: a proof, a comparison with other systems

`python -m paper_figures.papers` writes the page anew.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paper_figures.drawing.figure import table

__all__ = ["FOLDER", "PAGE", "Paper", "Row", "main", "papers", "text"]

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "papers"
PAGE = ROOT / "docs" / "papers.md"

#: The files of `docs/papers`, in the order of the page.
NAMES = ("smeding_vakar_2023", "krawiec_2022", "pearlmutter_siskind_2008", "wang_2019", "ad_delcont")

STATUSES = ("shown", "simplified", "missing", "not executable")

_HEAD = """\
# Where the papers are in this project

This page lists the definitions, figures, tables, claims and examples of five papers. For each it says where it is in
this project, and which test or command shows it. The [stages](comparison.md) implement the first paper, the [related
algorithms](relatives.md) the others, and [the calculus](calculus.md) has most of their transformations as typed
programs.

Of {all} rows, {shown} are shown, {simplified} simplified, {missing} missing, and {not_executable} not executable:

{counts}

"Shown" means that a test or a command checks what the paper says. "Simplified" means that the project has it, but not
quite as in the paper; the row says what differs. "Not executable" are proofs, and comparisons with other systems.

A link in the last column names a test: its file, and the words of its name. `make test
ARGS=tests/stages/test_stages.py` runs the tests of a file. Commands run in a clone, with
`pip install ".[relatives,plots]"`.

<div class="filter-tables papers" data-example="missing, Fig. 6, Cayley ..."></div>

The tables are made from the files in `docs/papers` by `python -m paper_figures.papers`.
"""


@dataclass(frozen=True)
class Row:
    """A place in a paper: what it says, where this project has it, and what shows that."""

    at: str
    says: str
    where: Sequence[str] = ()
    evidence: Sequence[str] = ()
    simplified: str = ""
    missing: str = ""
    not_executable: str = ""

    def __post_init__(self) -> None:
        reasons = [reason for reason in (self.simplified, self.missing, self.not_executable) if reason]
        if len(reasons) > 1:
            raise ValueError(f"{self.at}: a row has one status, got the reasons {reasons}")
        if not reasons and not self.evidence:
            raise ValueError(f"{self.at}: a row that is shown needs a test or a command as evidence")

    @property
    def status(self) -> str:
        """One of `STATUSES`."""
        return next((name for name in STATUSES[1:] if self.reason(name)), "shown")

    def reason(self, status: str) -> str:
        """The sentence of this status; empty for another status and for `shown`."""
        return str(getattr(self, status.replace(" ", "_"), ""))

    def cells(self) -> list[str]:
        """The row of the page."""
        shown = ", ".join(map(_evidence, self.evidence))
        why = self.reason(self.status)
        found = [f"**{self.status}**:", why, f"See: {shown}" if why and shown else shown]
        return [self.at, self.says, ", ".join(map(_link, self.where)), " ".join(filter(None, found))]


@dataclass(frozen=True)
class Paper:
    """A paper: how it is named here, its title, its authors, where it can be read, and its rows."""

    name: str
    title: str
    authors: str
    published: str
    link: str
    rows: Sequence[Row]

    def counts(self) -> list[int]:
        """The number of rows with each of `STATUSES`."""
        found = Counter(row.status for row in self.rows)
        return [found[status] for status in STATUSES]

    def section(self) -> str:
        """The table of the page, under its heading."""
        heading = ["place", "what the paper says", "where", "evidence"]
        about = f"{self.authors}: [*{self.title}*]({self.link}) ({self.published})."
        return f"## {self.name}\n\n{about}\n\n{table(heading, [row.cells() for row in self.rows])}\n"


def papers() -> list[Paper]:
    """Read the tables."""
    return [_read(FOLDER / f"{name}.toml") for name in NAMES]


def _read(file: Path) -> Paper:
    found = tomllib.loads(file.read_text(encoding="utf-8"))
    return Paper(rows=[Row(**row) for row in found.pop("row")], **found)


def text(found: Sequence[Paper]) -> str:
    """The page."""
    totals = [sum(column) for column in zip(*(paper.counts() for paper in found), strict=True)]
    lines = [[f"[{paper.name}](#{_anchor(paper.name)})", *_numbers(paper.counts())] for paper in found]
    counts = table(["paper", "rows", *STATUSES], [*lines, ["all", *_numbers(totals)]], right=range(1, 6))
    words = {status.replace(" ", "_"): n for status, n in zip(STATUSES, totals, strict=True)}
    head = _HEAD.format(all=sum(totals), counts=counts, **words)
    return "\n".join([head, *(paper.section() for paper in found)])


def _numbers(counts: Sequence[int]) -> list[str]:
    return [str(sum(counts)), *map(str, counts)]


def _anchor(heading: str) -> str:
    kept = (letter for letter in heading.lower() if letter.isalnum() or letter in " -")
    return "".join(kept).replace(" ", "-")


def _evidence(of: str) -> str:
    if of.startswith("python "):
        return f"`{of}`"
    file, _, name = of.partition("::")
    words = name.rpartition("::")[2].removeprefix("test_").replace("_", " ")
    topic = Path(file).stem.removeprefix("test_").replace("_", " ")
    return f"[{topic}: {words}](../{file})"


def _link(path: str) -> str:
    shown = path.removeprefix("dualrev/").removeprefix("stages/") if path.endswith(".py") else path
    return f"[{shown}](../{path})"


def main() -> None:
    """Write the page."""
    PAGE.write_text(text(papers()), encoding="utf-8")


if __name__ == "__main__":
    main()
