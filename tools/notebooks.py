"""Notebooks without Jupyter: `python -m tools.notebooks examples/notebooks/garch.ipynb` runs one and prints its page.

The site has a page for each notebook: docs/conf.py runs it and writes cells and outputs as Markdown. The files in the
repository have no outputs.
"""

from __future__ import annotations

import argparse
import ast
import base64
import contextlib
import io
import json
import linecache
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Cell", "Output", "Ran", "main", "markdown", "read", "run"]


class Cell(NamedTuple):
    """A cell: its kind, "code" or "markdown", and its text."""

    kind: str
    text: str


class Output(NamedTuple):
    """An output of a cell: its kind, "text", "html" or "png" (in base64), and its content."""

    kind: str
    content: str


class Ran(NamedTuple):
    """A notebook that ran: its cells, the outputs of each, and the variables at its end."""

    cells: list[Cell]
    outputs: list[list[Output]]
    names: dict[str, Any]


def read(text: str) -> list[Cell]:
    """Return the cells of a notebook from its JSON. ValueError if it is no notebook of format 4."""
    notebook = json.loads(text)
    if not isinstance(notebook, dict) or notebook.get("nbformat") != 4:
        raise ValueError("not a notebook of format 4: save it with Jupyter 4 or later")
    return [Cell(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]


def run(file: Path) -> Ran:
    """Run the code cells of a notebook in its folder, and collect what Jupyter would display.

    The output of a cell is what it prints, the value of its last expression (unless a semicolon ends the cell), and
    the open figures of matplotlib. Errors of a cell propagate, with a note that names the cell.
    """
    cells = read(file.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    outputs: list[list[Output]] = []
    path = list(sys.path)
    with contextlib.chdir(file.parent):
        try:
            for k, cell in enumerate(cells):
                try:
                    outputs.append(
                        _executed(cell.text, f"<{file.name}, cell {k}>", names) if cell.kind == "code" else []
                    )
                except Exception as error:
                    error.add_note(f"in cell {k} of {file}")
                    raise
        finally:
            sys.path[:] = path
    return Ran(cells, outputs, names)


def _executed(text: str, filename: str, names: dict[str, Any]) -> list[Output]:
    """Execute a cell; return its outputs."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)  # for inspect.getsource
    body = ast.parse(text).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), filename, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), filename, "eval"), names)
    made = [Output("text", printed.getvalue())] if printed.getvalue() else []
    if value is not None and not text.rstrip().endswith(";"):
        made.append(_displayed(value))
    return made + [Output("png", picture) for picture in _figures()]


def _displayed(value: Any) -> Output:
    """Return the value's HTML where it has one, its text otherwise."""
    html = value._repr_html_() if hasattr(value, "_repr_html_") else None
    return Output("text", repr(value)) if html is None else Output("html", html)


def _figures() -> list[str]:
    """Return the open figures of matplotlib as PNG in base64, and close them."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    from matplotlib import pyplot as plt

    made = []
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, dpi=110)
        made.append(base64.b64encode(picture.getvalue()).decode())
    plt.close("all")
    return made


def markdown(ran: Ran) -> str:
    """Return the cells and outputs as a page in MyST Markdown."""
    parts = []
    for cell, outputs in zip(ran.cells, ran.outputs, strict=True):
        parts.append(f"```python\n{cell.text}\n```" if cell.kind == "code" else cell.text)
        parts += [_block(output) for output in outputs]
    return "\n\n".join(parts) + "\n"


def _block(output: Output) -> str:
    """Return an output as a block of MyST Markdown."""
    if output.kind == "text":
        return f"````text\n{output.content.rstrip()}\n````"
    html = output.content
    if output.kind == "png":
        html = f'<img alt="The figure that the code above draws." src="data:image/png;base64,{html}">'
    return f"````{{raw}} html\n{html}\n````"


def main(argv: Sequence[str] | None = None) -> int:
    """Run notebooks and print their pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="NOTEBOOK", help="a file .ipynb")
    for file in parser.parse_args(argv).files:
        print(markdown(run(file.resolve())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
