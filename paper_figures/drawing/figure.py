"""The output of a script: a page for one figure or table, the files that it needs, and a row of the index.

A script has `figure()`, which runs our code and returns a `Figure`, and `main()`, which writes its files. If measuring
takes seconds, a JSON file stores the measurements, and `figure(measured)` makes the rest from it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

__all__ = ["FOLDER", "Figure", "fence", "page", "table", "write"]

FOLDER = Path(__file__).parents[1]


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure or a table of a paper, made from our own code."""

    name: str  #: of its script
    title: str  #: "Fig. 2"
    about: str  #: its subject, in a few words
    claim: str  #: the paper's claim
    found: str  #: our result
    body: str  #: the rest of the page, as Markdown
    files: dict[str, str] = dataclasses.field(default_factory=dict)  #: further files of the page: name -> content

    @property
    def page(self) -> str:
        """The file name of the page."""
        return f"{self.name}.md"

    def all_files(self) -> dict[str, str]:
        """The page and its further files."""
        return {self.page: page(self), **self.files}


def page(figure: Figure) -> str:
    """The page as Markdown."""
    return (
        "\n\n".join(
            [
                f"# {figure.title}: {figure.about}",
                f"**The paper:** {figure.claim}",
                f"**Here:** {figure.found}",
                figure.body.strip("\n"),
                f"Made by `python -m paper_figures.{figure.name}`. [All figures](README.md)",
            ]
        )
        + "\n"
    )


def write(figure: Figure, folder: Path = FOLDER) -> None:
    """Write all files of a figure, and print their names."""
    for name, text in figure.all_files().items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"paper_figures/{name}")


def fence(text: str, language: str = "") -> str:
    """A fenced block of text."""
    return f"```{language}\n{text.rstrip()}\n```"


def table(heading: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table in Markdown; the columns with the indices `right` are aligned right."""
    rule = ["---:" if k in right else "---" for k in range(len(heading))]
    lines = [heading, rule, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
