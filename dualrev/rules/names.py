"""What functions and operators are called in emitted code, and which line of the table they are."""

from __future__ import annotations

import ast
import builtins
import functools
import math
import operator
from typing import Any

import numpy as np

from dualrev.eager.custom import stop_gradient
from dualrev.rules.catalogue import DISCRETE, MORE_PARAMETERS, SELECTED, VARIANTS
from dualrev.rules.drawing import drawing_name
from dualrev.rules.primitives import PRIMITIVES

__all__ = ["BINARY", "CASTS", "COMPARE", "PARAMETERS", "STOPPED", "canonical", "line_of", "pure_functions"]

#: What dualrev.stop_gradient is called.
STOPPED = "runtime.stopped"

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
}
_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "mod": "%", "floordiv": "//"}
_SYMBOLS = {symbol: name for name, symbol in _OPERATORS.items()}

#: The parameters of functions that are often given by keyword.
PARAMETERS: dict[str, tuple[str, ...]] = {
    **{f"np.{n}": ("shape", "dtype") for n in ["zeros", "ones", "empty"]},
    **{f"np.{n}": ("a", "dtype") for n in ["zeros_like", "ones_like"]},
    **{f"np.{n}": ("a", "axis", "dtype") for n in ["sum", "cumsum"]},
    **{f"np.{n}": ("a",) for n in ["mean", "prod", "var", "std", "copy", "ravel", "shape", "size", "ndim"]},
    **{f"np.{n}": ("a",) for n in ["amin", "amax", "min", "max", "argmin", "argmax", "any", "all", "trace"]},
    "np.full": ("shape", "fill_value", "dtype"),
    "np.full_like": ("a", "fill_value", "dtype"),
    "np.empty_like": ("prototype", "dtype"),
    "np.arange": ("start", "stop", "step", "dtype"),
    "np.linspace": ("start", "stop", "num"),
    "np.eye": ("N", "M", "k", "dtype"),
    "np.identity": ("n", "dtype"),
    "np.clip": ("a", "a_min", "a_max"),
    "np.outer": ("a", "b"),
    "np.dot": ("a", "b"),
    "np.diff": ("a", "n"),
    "np.where": ("condition", "x", "y"),
    "np.concatenate": ("arrays", "axis"),
    "np.transpose": ("a", "axes"),
    "np.reshape": ("a", "shape"),
    **MORE_PARAMETERS,
}

_BUILTINS = ["abs", "min", "max", "len", "int", "float", "bool", "round", "pow", "sum", "divmod"]
_ARRAYS = [
    *["zeros", "ones", "empty", "full", "zeros_like", "empty_like", "ones_like", "full_like", "copy", "arange"],
    *["linspace", "eye", "identity", "sum", "mean", "min", "max", "amin", "amax", "prod", "dot", "shape", "size"],
    *["ndim", "transpose", "reshape", "ravel", "ascontiguousarray", "asarray", "argmin", "argmax", "isnan"],
    *["isfinite", "isinf", "where", "array", "clip", "var", "std", "cumsum", "outer", "vdot", "any", "all"],
    *["count_nonzero", "searchsorted", "round", "square", "reciprocal", "dtype", "diff", "concatenate", "trace"],
    *["stack", "vstack", "hstack", "dstack", "column_stack", "append", "expand_dims", "swapaxes", "moveaxis", "flip"],
    *["fliplr", "flipud", "rot90", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "asfortranarray"],
    *["fill_diagonal", "ediff1d"],
    *sorted(n for n in DISCRETE if hasattr(np, n)),  # numpy has dropped some
]


@functools.cache
def _functions() -> dict[int, str]:
    """The names of all functions that emitted code may call, by the identity of the function."""
    found: dict[int, str] = {}
    for name in _ARRAYS:
        found[id(getattr(np, name))] = f"np.{name}"
    for text in [*VARIANTS, *SELECTED]:
        found[id(operator.attrgetter(text.removeprefix("np."))(np))] = text
    for line in PRIMITIVES.values():
        if line.ufunc:
            found[id(getattr(np, line.ufunc))] = f"np.{line.ufunc}"
        if hasattr(math, line.name):
            found[id(getattr(math, line.name))] = f"math.{line.name}"
    for name in ["floor", "ceil", "trunc", "fabs", "pow", "isnan", "isinf", "isfinite", "ldexp", "degrees", "radians"]:
        found[id(getattr(math, name))] = f"math.{name}"
    for name in [
        "fabs",
        "float_power",
        "negative",
        "positive",
        "fmax",
        "fmin",
        "deg2rad",
        "rad2deg",
        "degrees",
        "radians",
    ]:
        found[id(getattr(np, name))] = f"np.{name}"
    for name in _BUILTINS:
        found[id(getattr(builtins, name))] = name
    for kind, name in CASTS.items():
        found[id(kind)] = name
    found[id(stop_gradient)] = STOPPED
    return found


def canonical(f: Any) -> str | None:
    """The name of a function in emitted code, where `math` and `np` are imported; None if it is not known."""
    try:
        return _functions().get(id(f)) or drawing_name(f)
    except TypeError:
        return None


@functools.cache
def pure_functions() -> frozenset[str]:
    """The functions that may stay in a condition: of scalars, without effects."""
    scalar = {"abs", "min", "max", "len", "int", "float", "bool", "math.isnan", "math.isinf", "math.isfinite"}
    scalar |= {"np.isnan", "np.isfinite", "np.isinf", "math.fabs", "math.floor", "math.ceil", "math.trunc"}
    for line in PRIMITIVES.values():
        if hasattr(math, line.name):
            scalar.add(f"math.{line.name}")
        if line.ufunc:
            scalar.add(f"np.{line.ufunc}")
    return frozenset(scalar)


@functools.cache
def _lines() -> dict[str, str]:
    found = dict(_SYMBOLS)
    for line in PRIMITIVES.values():
        if line.ufunc:
            found[f"np.{line.ufunc}"] = line.name
        if hasattr(math, line.name):
            found[f"math.{line.name}"] = line.name
    found.update({"abs": "abs", "math.fabs": "abs", "np.fabs": "abs", "math.pow": "pow", "pow": "pow"})
    found.update({"np.float_power": "pow", "-x": "neg", "+x": "pos"})
    return found


def line_of(text: str) -> Any:
    """The line of the table for a function or an operator of emitted code; None if there is none."""
    name = _lines().get(text)
    return PRIMITIVES[name] if name else None
