"""Functions of complex numbers in compiled code: how each is compiled, by its name in emitted code.

unary, binary    of numbers, or of elements: a formula in compiler/scalarize/complex/arithmetic.py, by its name there
real             the same, with a real value
part             the real or the imaginary part
partwise         linear: the same function of the real and of the imaginary parts
product          bilinear: four products of parts
length           it asks for a shape only
library          functions of rules/library, whose names end in of_real and of_parts: of real and of complex matrices
own              a method of compiler/scalarize/complex/lower_complex.py
"""

from __future__ import annotations

import cmath
import functools
from typing import Any

import numpy as np

__all__ = ["canonical", "how"]

_UNARY = ("exp", "log10", "sin", "cos", "sinh", "cosh", "tan", "tanh", "sqrt")
_BINARY = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "power": "**"}
_PARTWISE = """zeros zeros_like empty empty_like full full_like copy array asarray ascontiguousarray asfortranarray sum
mean cumsum trace ravel reshape transpose expand_dims swapaxes moveaxis flip fliplr flipud rot90 atleast_1d atleast_2d
atleast_3d broadcast_to roll repeat take delete diag tril triu diff where concatenate stack vstack hstack column_stack
append"""

_HOW: dict[str, tuple[str, str]] = {
    **{f"{module}.{name}": ("unary", name) for name in _UNARY for module in ("np", "cmath")},
    **{f"np.{name}": ("unary", name) for name in ("log", "square", "conjugate")},
    "np.negative": ("unary", "-"),
    "np.positive": ("unary", "+"),
    **{f"np.{name}": ("binary", symbol) for name, symbol in _BINARY.items()},
    "pow": ("binary", "**"),
    **dict.fromkeys(("abs", "np.absolute"), ("real", "abs")),
    **dict.fromkeys(("cmath.phase", "np.angle"), ("real", "phase")),
    "np.real": ("part", "real"),
    "np.imag": ("part", "imag"),
    **{f"np.{name}": ("partwise", "") for name in _PARTWISE.split()},
    **{f"np.{name}": ("product", "") for name in ("dot", "outer", "vdot")},
    **dict.fromkeys(("len", "np.shape", "np.size", "np.ndim"), ("length", "")),
    **{f"np.linalg.{name}": ("library", name) for name in ("eig", "eigvals")},
    **{f"cmath.{name}": ("own", name) for name in ("log", "rect", "polar")},
    **dict.fromkeys(("complex", "np.complex128", "np.complex64"), ("own", "complex")),
    **{f"np.{name}": ("own", "made") for name in ("ones", "ones_like", "eye", "identity")},
}


def how(name: str) -> tuple[str, str]:
    """Return how a function is compiled, and the name of the formula; empty texts if it is unknown."""
    return _HOW.get(name, ("", ""))


def canonical(f: Any) -> str | None:
    """The name of a function that is known of complex numbers only."""
    return _by_identity().get(id(f))


@functools.cache
def _by_identity() -> dict[int, str]:
    names = [
        f"cmath.{name}" for name in ("exp", "log", *_UNARY, "phase", "rect", "polar", "isnan", "isinf", "isfinite")
    ]
    modules: dict[str, Any] = {"np": np, "cmath": cmath}
    names += ["np.conjugate", "np.imag", "np.angle"]
    return {id(getattr(modules[x.partition(".")[0]], x.partition(".")[2])): x for x in names}
