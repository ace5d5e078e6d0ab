"""Special functions that numba does not have: digamma, polygamma, and rules for those of SciPy that numba code calls.

Numba code calls SciPy's functions by numba-scipy, which overloads `scipy.special.erf` and the like, or by the addresses
in `scipy.special.cython_special`. Either way the value is computed by what the user's code calls. The rules are made of
the lines that the tape has; what these call in turn has an address, too.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import ctypes
import functools
import importlib
import linecache
import math
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import get_cython_function_address

from dualrev.rules import special
from dualrev.rules.derived import derived
from dualrev.rules.library.rule_definitions import define
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES, Primitive
from dualrev.rules.scipy import NAMES, UNKNOWN, lines

__all__ = ["SPECIAL", "addresses", "digamma", "polygamma", "with_rule"]

digamma = njit(special.digamma)

#: Its code on floats, where the functions that it calls are compiled, too.
_CALLED = {"digamma": digamma, "_power": njit(special._power)}
polygamma = njit(FunctionType(special.polygamma.__code__, {**vars(special), **_CALLED}, "polygamma"))


@njit
def digamma_fwd(x):
    """The value, and what the rule is of."""
    return digamma(x), x


@njit
def digamma_bwd(x, ct):
    """Cotangent of x."""
    return (ct * polygamma(1.0, x),)


@njit
def digamma_push(primals, y, tangents):
    """The next order."""
    return polygamma(1.0, primals[0]) * tangents[0]


define(digamma, digamma_fwd, digamma_bwd, digamma_push)


@njit
def polygamma_fwd(n, x):
    """The value, and what the rule is of."""
    return polygamma(n, x), (n, x)


@njit
def polygamma_bwd(residuals, ct):
    """Cotangent of x; the order is a constant, and has none."""
    n, x = residuals
    return None, ct * polygamma(n + 1.0, x)


@njit
def polygamma_push(primals, y, tangents):
    """The next order."""
    return polygamma(primals[0] + 1.0, primals[1]) * tangents[1]


define(polygamma, polygamma_fwd, polygamma_bwd, polygamma_push)

#: SciPy's names of lines of the table of primitives.
_USUAL = {**{name: name for name in ("erf", "erfc", "expit", "gamma")}, "gammaln": "lgamma", "psi": "polygamma"}

#: The functions of scipy.special that have a rule.
SPECIAL = frozenset({*NAMES, *_USUAL})


class Address(NamedTuple):
    """A function in C of some doubles, which gives a double."""

    name: str
    address: int
    arity: int


@functools.cache
def addresses() -> tuple[Address, ...]:
    """SciPy's functions of doubles that have a rule; none where there is no SciPy."""
    return tuple(_found())


def _found() -> Iterator[Address]:
    module = "scipy.special.cython_special"
    try:
        functions = vars(importlib.import_module(module))["__pyx_capi__"]
    except ImportError:
        return
    for key, capsule in functions.items():
        name = key.partition("__pyx_fuse_")[2].lstrip("0123456789") or key
        signature = re.search(r'"double \(((?:double, )+)int __pyx_skip_dispatch\)"', repr(capsule))
        if name in SPECIAL and signature:
            yield Address(name, get_cython_function_address(module, key), signature[1].count("double"))


@functools.cache
def _pointer(name: str) -> Any:
    found = next(a for a in addresses() if a.name == name)
    return ctypes.CFUNCTYPE(*(ctypes.c_double,) * (found.arity + 1))(found.address)


@njit
def _times(partial, t):
    """A product with a tangent; 0 with that of what does not move, and no product with a partial that is infinite."""
    if t is None:
        return 0.0
    if t == 0.0 and not math.isfinite(partial):
        return 0.0
    return partial * t


_RULE = """def {name}({args}):
    return {value}


def fwd({args}):
    y = {name}({args})
    return y, ({args}, y)


def bwd(residuals, ct):
    {args}, y = residuals
    return ({cotangents},)


def push(primals, y, tangents):
    {args}, = primals
    return {tangent}
"""


def with_rule(f: Any, name: str) -> Any:
    """A numba function that calls f, a function of scipy.special with this name, and has its rule."""
    line = _line(name)
    return _ruled(line, f"f({', '.join(line.parameters)})", {"f": f}, UNKNOWN.get(name, ()))


def _ruled(line: Primitive, value: str, names: dict[str, Any], unknown: tuple[int, ...] = ()) -> Any:
    """A numba function that computes text of these names, and has the partials of a line.

    Where the table has second partials, a partial is such a function itself.
    """
    partials = {k: text for k, text in enumerate(line.partials) if k not in unknown and text != "0.0"}
    if line.second:
        for k in partials:
            slope = derived(line, k)
            if slope is not None:
                names = {**names, f"slope_{k}": _ruled(slope.line, slope.line.value, {})}
                partials[k] = f"slope_{k}({', '.join((*line.parameters, 'y')[j] for j in slope.places)})"
    parts = {
        "name": line.name,
        "args": ", ".join(line.parameters),
        "value": value,
        "cotangents": ", ".join(
            f"ct * ({partials[k]})" if k in partials else "None" for k in range(len(line.partials))
        ),
        "tangent": " + ".join(f"_times({text}, tangents[{k}])" for k, text in partials.items()) or "0.0",
    }
    text, file = _RULE.format(**parts), f"<the rule of scipy.special.{line.name}>"
    used = set(re.findall(r"[a-z]\w*(?=\()", " ".join((value, *partials.values())))) - {line.name, *names}
    space = {"__name__": __name__, "_times": _times, "inf": math.inf, "nan": math.nan, **names}
    space |= {g: _named(g) for g in used}
    exec(compile(text, file, "exec"), space)
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    for g in (line.name, "fwd", "bwd", "push"):
        space[g] = njit(error_model="numpy")(space[g])
    define(space[line.name], space["fwd"], space["bwd"], space["push"], unknown)
    return space[line.name]


def _line(name: str) -> Primitive:
    """The derivatives of a function of scipy.special, as the table has them."""
    if name == "psi":  # polygamma(0, x)
        return Primitive("psi", "psi(x)", ("polygamma(1.0, x)",), PRIMITIVES["lgamma"].domain)
    return PRIMITIVES[_USUAL[name]] if name in _USUAL else lines()[name]


def _named(name: str) -> Any:
    """Return the numba function for a name in the text of a line."""
    if name in ("abs", "digamma", "polygamma"):
        return {"abs": abs, "digamma": digamma, "polygamma": polygamma}[name]
    return getattr(np, name) if name in FUNCTIONS and hasattr(np, name) else _pointer(name)
