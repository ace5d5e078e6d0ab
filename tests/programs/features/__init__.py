"""The features of numba's own tables, a tiny function for each: does it have a compiled gradient, and a right one?

A feature is text: its name after `#`, and the lines of a function, the last of which is the value where it has no
`return`. Its parameters are the names in it that around.py has values for. The files syntax.py, data.py, functions.py,
arrays.py and numerics.py have all of them.

python -m programs.features             from the folder tests: all of them, and docs/numba_features.md is written
python -m programs.features lists None  those with one of the words in their heading or name: what became of them

What becomes of a feature (`outcome`): "right", if value and gradient agree with numba's value, with differences and
with the tape; "not numba", if numba refuses it; what the error says, if dualrev refuses it. Anything else is a failure.
"""

from __future__ import annotations

import ast
import itertools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs.features import arrays, data, functions, numerics, syntax
from programs.features.around import ARGUMENTS

__all__ = ["FEATURES", "Feature", "written"]

_HEAD = """
import cmath, enum, functools, heapq, math, operator, random
import numba
import numpy as np
from numba import float64, int64, literal_unroll, literally, njit, objmode, prange, types
from numba.np import extensions
from numba.typed import Dict, List
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from programs.features.around import *
"""


@dataclass(frozen=True)
class Feature:
    """A function of one feature."""

    heading: str
    name: str
    number: int  # among all of them
    body: tuple[ast.stmt, ...]

    @property
    def parameters(self) -> list[str]:
        """The names with values that occur in it."""
        names = {x.id for s in self.body for x in ast.walk(s) if isinstance(x, ast.Name)}
        return [name for name in ARGUMENTS if name in names]

    def arguments(self) -> tuple[Any, ...]:
        """Return new values of the parameters."""
        return tuple(ARGUMENTS[name]() for name in self.parameters)

    def text(self) -> str:
        """The function."""
        *first, last = self.body
        if isinstance(last, ast.Expr):
            last = ast.Return(last.value)
        body = "\n".join(ast.unparse(s) for s in [*first, last]).replace("\n", "\n    ")
        return f"@njit\ndef feature_{self.number}({', '.join(self.parameters)}):\n    {body}\n"


def _read(pages: dict[str, str]) -> list[Feature]:
    made = []
    for heading, text in pages.items():
        for name, body in re.findall(r"(?m)^# (.*)\n((?:[^#].*\n)+)", text):
            made.append((heading, name, tuple(ast.parse(body).body)))
    return [Feature(heading, name, number, body) for number, (heading, name, body) in enumerate(made)]


#: All of them, in the order of the page.
FEATURES = _read(
    {heading: text for page in (syntax, data, functions, arrays, numerics) for heading, text in page.FEATURES.items()}
)


def written(features: list[Feature], folder: Path) -> Path:
    """A file with the functions of these features, where numba and the compiler find their source."""
    path = next(p for k in itertools.count() if not (p := folder / f"features_{k}.py").exists())
    path.write_text("\n\n".join([_HEAD, *(f.text() for f in features)]), encoding="utf-8")
    return path
