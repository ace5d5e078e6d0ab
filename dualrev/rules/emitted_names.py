"""Names of types, functions and operators in emitted code, and their lines in the table of primitives."""

from __future__ import annotations

import ast
import functools
from typing import Any

import numpy as np

from dualrev.rules import complexes, functions
from dualrev.rules.drawing import drawing_name
from dualrev.rules.primitives import PRIMITIVES

__all__ = ["BINARY", "CASTS", "COMPARE", "canonical", "line_of"]

BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
COMPARE = {ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Is, ast.IsNot}

#: The types that may be called or given as dtype, and their names in emitted code.
CASTS: dict[Any, str] = {
    float: "float",
    int: "int",
    bool: "bool",
    **{getattr(np, n): f"np.{n}" for n in ["float64", "float32", "int64", "int32", "int16", "int8"]},
    **{getattr(np, n): f"np.{n}" for n in ["uint64", "uint32", "uint16", "uint8", "intp", "bool_"]},
    complex: "complex",
    **{getattr(np, n): f"np.{n}" for n in ["complex128", "complex64"]},
}
_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "mod": "%", "floordiv": "//"}


def canonical(f: Any) -> str | None:
    """The name of a type or a function that emitted code may call; None if the compiler does not know it."""
    if isinstance(f, type) and f in CASTS:
        return CASTS[f]
    name = functions.canonical(f)
    if name and functions.known(name).compiled:
        return name
    return complexes.canonical(f) or drawing_name(f)


@functools.cache
def _lines() -> dict[str, str]:
    found = {symbol: name for name, symbol in _OPERATORS.items()}
    found.update({name: f.line for name, f in functions.TABLE.items() if f.line})
    return found | {"-x": "neg", "+x": "pos"}


def line_of(text: str) -> Any:
    """The line of the table for a function or an operator of emitted code; None if there is none."""
    name = _lines().get(text)
    return PRIMITIVES[name] if name else None
