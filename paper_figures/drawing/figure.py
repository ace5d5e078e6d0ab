"""What every script of this folder makes: a page for one figure or table, the files beside it, and a row of the index.

A script has `figure()`, which runs our code and gives a `Figure`, and `main()`, which writes its files. Where the
measuring takes seconds, what was measured is a JSON file of its own, and `figure(measured)` makes the rest from that.
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
    about: str  #: what it is about, in a few words
    claim: str  #: what the paper says there
    found: str  #: what came out here
    body: str  #: the page below both, as Markdown
    files: dict[str, str] = dataclasses.field(default_factory=dict)  #: what stands beside the page: name -> content

    @property
    def page(self) -> str:
        """The file name of the page."""
        return f"{self.name}.md"

    def all_files(self) -> dict[str, str]:
        """The page, and what stands beside it."""
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
    """Write all files of a figure, and say which."""
    for name, text in figure.all_files().items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        print(f"paper_figures/{name}")


def fence(text: str, language: str = "") -> str:
    """Text as it is, in a block."""
    return f"```{language}\n{text.rstrip()}\n```"


def table(heading: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table in Markdown, whose columns with these numbers are aligned on the right."""
    rule = ["---:" if k in right else "---" for k in range(len(heading))]
    lines = [heading, rule, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
