"""The index: what the paper says and what came out here, side by side, a row for every figure and table."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from paper_figures import (
    complexity,
    diffs,
    fig1,
    fig2,
    fig3,
    fig10,
    krawiec_fig12,
    onehot,
    scaling,
    section4,
    table1,
)
from paper_figures.drawing.figure import FOLDER, Figure, table

__all__ = ["INDEX", "SCRIPTS", "text"]

INDEX = FOLDER / "README.md"

#: The scripts by name, in the order of the paper.
SCRIPTS: Mapping[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        fig1,
        fig2,
        fig3,
        diffs,
        section4,
        complexity,
        onehot,
        fig10,
        table1,
        scaling,
        krawiec_fig12,
    )
}

#: Besides their pages, what scripts write that `Figure.files` does not have: what is measured, and drawn from that.
MEASURED = {"fig3": ("fig3.json",), "complexity": ("complexity.json", "complexity.svg")}

_LANGUAGES = [
    "[Figs. 4, 5 and 11](../docs/calculus.md): the languages",
    "the source language of all transformations, the target language with linear functions, and arrays with "
    "resource-linear types.",
    "data types for the terms, and a type checker that knows both kinds of linearity: what D1 to D4 give is checked.",
    "[stages/calculus](../stages/calculus/__init__.py)",
]


def text(figures: Mapping[str, Figure] | None = None) -> str:
    """The page. `figures` are those of all scripts, if they have been made."""
    figures = figures or {name: script.figure() for name, script in SCRIPTS.items()}
    rows = []
    for name, figure in figures.items():
        rows.append(_row(figure))
        if name == "fig3":
            rows.append(_LANGUAGES)
    return (
        "\n\n".join(
            [
                "# The paper's figures and tables, made from our own code",
                "Every figure and every table of *Efficient dual-numbers reverse AD via well-known program "
                "transformations* (Smeding and Vákár, POPL 2023), and one of *Provably correct, asymptotically "
                "efficient, higher-order reverse-mode automatic differentiation* (Krawiec et al., POPL 2022). No "
                "picture is drawn by hand, and none of our numbers is typed: programs are printed by the "
                "transformations, calls and costs are counted in runs. Tests compare all of it, and this page, with "
                "what the code gives.",
                "```\nmake figures                     # all of them, in less than a minute\n"
                'make figures ARGS="fig2 fig10"   # some of them\n```',
                "Who wants to be led from a dual number to the tape in steps: [walkthrough.md](walkthrough.md).",
                table(["", "The paper says", "Found here", "Made by"], rows),
            ]
        )
        + "\n"
    )


def _row(figure: Figure) -> list[str]:
    files = [name for name in figure.files if "/" not in name] + list(MEASURED.get(figure.name, ()))
    links = ", ".join(f"[{name}]({name})" for name in [f"{figure.name}.py", *files])
    folders = sorted({name.partition("/")[0] for name in figure.files if "/" in name})
    links += "".join(f", [{folder}/]({folder})" for folder in folders)
    return [f"[{figure.title}]({figure.page}): {figure.about}", figure.claim, figure.found, links]


def main() -> None:
    """Write it."""
    INDEX.write_text(text(), encoding="utf-8", newline="\n")
    print("paper_figures/README.md")


if __name__ == "__main__":
    main()
