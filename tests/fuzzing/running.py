"""A random program, run: by numba, by plain Python, and by the eager tape, which differences check."""

from __future__ import annotations

import importlib.util
import math
import re
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from programs.generators.generator import Program
from programs.generators.language import Pair
from programs.generators.things import Box, bodies
from support.oracle import assert_same, direction, flat, inner, rebuild

import dualrev as dr

__all__ = [
    "Discarded",
    "Failed",
    "Taped",
    "about",
    "arguments",
    "eager",
    "imported",
    "load",
    "plain",
    "reals",
    "same",
    "slopes_agree",
    "slopes_of",
    "widened",
]

LIMIT = 1e5  # larger values or gradients: roundings would count


class Discarded(Exception):  # noqa: N818 - not an error: the program says nothing
    """Values are too large, or the function is not smooth where it is evaluated."""


class Failed(AssertionError):  # noqa: N818 - as Discarded
    """Two of the ways to differentiate disagree, or one raises an error."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why if why.startswith(kind) else f"{kind}: {why}")
        self.kind = kind


def plain(source: str, math: Any, numpy: Any) -> Callable[..., Any]:
    """The program's f as a plain Python function, with these modules."""

    def njit(f: Any = None, **_: Any) -> Any:
        return (lambda g: g) if f is None else f

    names = {"math": math, "np": numpy, "njit": njit, "prange": range, "Pair": Pair, "dr": dr}
    exec(re.sub(r"(?m)^(import|from) .*$", "", source), names)
    return names["f"]


@contextmanager
def about(program: str) -> Iterator[None]:
    """Let what fails say which program it was."""
    try:
        yield
    except AssertionError as error:
        raise AssertionError(f"{program}\n{error}") from error


def load(source: str, folder: str) -> types.ModuleType:
    """The program as a module with a file of its own."""
    path = Path(folder) / f"program_{len(list(Path(folder).iterdir()))}.py"
    path.write_text(source)
    return imported(path)


def imported(path: Path) -> types.ModuleType:
    """The module in a file, under the file's name."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # numba gives wrong names to what recursive functions of other modules call
    spec.loader.exec_module(module)
    return module


def arguments(of: Program, wide: bool = False) -> tuple[Any, ...]:
    """The arguments; `wide` ones have no float32, as plain Python and the tape want them."""
    texts = [text.replace("float32", "float64") if wide else text for text in of.arguments]
    return tuple(eval(text, {"np": np, "Pair": Pair, "Box": Box, "bodies": bodies}) for text in texts)


def slopes_agree(f: Callable[..., Any], of: Program, gradients: tuple[Any, ...], argnums: tuple[int, ...]) -> None:
    """The gradient against central differences; Discarded if these disagree among themselves, as beside a kink."""
    primals = arguments(of, wide=True)
    v = direction(tuple(primals[k] for k in argnums))

    def at(t: float) -> float:
        moved = list(arguments(of, wide=True))
        for k, w in zip(argnums, v, strict=True):
            moved[k] = rebuild(primals[k], [x + t * s for x, s in zip(flat(primals[k]), flat(w), strict=True)])
        return float(f(*moved))

    terms = [g * s for g, s in zip(flat(gradients), flat(v), strict=True)]
    slopes_of(at, float(inner(gradients, v)), sum(map(abs, terms)))


def slopes_of(at: Callable[[float], float], expected: float, size: float) -> None:
    """The slope of `at` at 0, a sum of terms of this size, against differences with four steps.

    Discarded if these disagree among themselves, as beside a kink.
    """

    def slope(h: float) -> float:
        wide, narrow = ((at(step) - at(-step)) / (2 * step) for step in (h, h / 2))
        return (4 * narrow - wide) / 3

    scale = size + 1e-3 * abs(at(0.0)) + 1e-6
    found = []
    for h in (2.0**-10, 2.0**-13, 2.0**-16, 2.0**-20):
        found.append(slope(h))
        if abs(found[-1] - expected) <= 1e-5 * scale:
            return
    if max(found[1:]) - min(found[1:]) > 1e-4 * scale:
        raise Discarded("not smooth")
    raise Failed("differences", f"slopes {found}, the derivative's is {expected}")


def reals(primals: tuple[Any, ...]) -> tuple[int, ...]:
    """The places of the arguments that hold real numbers."""
    return tuple(k for k, x in enumerate(primals) if flat(x))


class Taped(NamedTuple):
    """The tape's results for a program, and the final arguments of a run in plain Python."""

    value: float
    gradients: tuple[Any, ...]
    argnums: tuple[int, ...]
    left: tuple[Any, ...]


def eager(of: Program, *modules: Any) -> Taped:
    """Value and gradient by the tape, checked against plain Python and differences.

    `modules` are those of plain Python, in place of `math` and `numpy`.
    """
    f, left = plain(of.source, *(modules or (math, np))), arguments(of, wide=True)
    try:
        value = float(f(*left))
    except (ArithmeticError, ValueError) as error:
        raise Discarded("not finite") from error
    except UnboundLocalError as error:  # an exit skips what binds the name; numba has 0 there
        raise Discarded("a name without a value") from error
    except (dr.errors.ConversionError, dr.errors.UnsupportedError) as error:  # of a gradient that it calls
        raise Discarded("the tape refuses the function whose gradient it calls") from error
    except Exception as error:
        if f"raise {type(error).__name__}" in of.source or (
            isinstance(error, AssertionError) and "assert " in of.source
        ):
            raise Discarded("an error of its own") from error
        raise Failed("plain Python", repr(error)) from error
    if not all(math.isfinite(x) and abs(x) < LIMIT for x in [value, *flat(left)]):
        raise Discarded("large value")
    argnums = reals(left)
    taped, gradients = dr.value_and_grad(plain(of.source, dr.math, dr.numpy), argnums)(*arguments(of, wide=True))
    if not all(math.isfinite(x) and abs(x) < LIMIT for x in flat(gradients)):
        raise Discarded("large gradient")
    same("tape's value", float(taped), float(value), 1e-12, max(1.0, abs(value)))
    slopes_agree(f, of, gradients, argnums)
    return Taped(float(value), gradients, argnums, left)


def widened(x: Any) -> Any:
    """The same with float64 arrays in place of float32 ones."""
    if isinstance(x, tuple):
        return x._make(map(widened, x)) if hasattr(x, "_make") else tuple(map(widened, x))
    return x.astype(np.float64) if isinstance(x, np.ndarray) and x.dtype == np.float32 else x


def same(kind: str, found: Any, expected: Any, rtol: float, scale: float) -> None:
    try:
        assert_same(found, expected, rtol=rtol, floor=rtol * scale)
    except AssertionError as error:
        raise Failed(kind, str(error)) from error
