"""The index: the paper's claim and our result side by side, in a row for every figure and table."""

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
    wang_flow,
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
        wang_flow,
    )
}

#: Further files that scripts write, which `Figure.files` lacks: measurements, and pictures of them.
MEASURED = {"fig3": ("fig3.json",), "complexity": ("complexity.json", "complexity.svg")}

_LANGUAGES = [
    "[Figs. 4, 5 and 11](../docs/calculus.md): the languages",
    "the source language of all transformations, the target language with linear functions, and arrays with "
    "resource-linear types.",
    "data types for terms, and a type checker with both kinds of linearity, which checks the results of D1 to D4.",
    "[stages/calculus](../stages/calculus/__init__.py)",
]


def text(figures: Mapping[str, Figure] | None = None) -> str:
    """The text of the index. `figures` are all figures, if they have been made."""
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
                "transformations* (Smeding and Vákár, POPL 2023), one of *Provably correct, asymptotically "
                "efficient, higher-order reverse-mode automatic differentiation* (Krawiec et al., POPL 2022), and two "
                "of *Demystifying differentiable programming: shift/reset the penultimate backpropagator* (Wang et "
                "al., ICFP 2019). No picture is drawn by hand, and no result of ours is typed in: the transformations "
                "print the programs, and runs count calls and costs. Tests check that all pages, including this one, "
                "are up to date.",
                "```\nmake figures                     # all of them, in less than a minute\n"
                'make figures ARGS="fig2 fig10"   # some of them\n```',
                "To write the algorithm yourself, step by step from a dual number to the tape, follow "
                "[walkthrough.md](walkthrough.md).",
                table(["", "The paper's claim", "Our result", "Script and files"], rows),
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
    """Write the index."""
    INDEX.write_text(text(), encoding="utf-8", newline="\n")
    print("paper_figures/README.md")


if __name__ == "__main__":
    main()
