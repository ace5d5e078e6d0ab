r"""Futhark's reverse mode: forward sweeps that run again instead of a tape, and rules for loops, reduce and scan.

Paper:   Schenck, Rønning, Henriksen and Oancea 2022, "AD for an array language with nested parallelism"

    terms.py        loop, reduce and scan
    anf.py          a name for each value
    sweeps.py       the forward sweep and the return sweep of each scope
    rules.py        the rules of reduce and scan

The paper's text was not at hand: the modules are written from its published definitions. They write Python instead of
Futhark. `derivative` returns that text, and `vjp` runs it. Its numbers may be those of another derivative.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from dualrev import math
from stages.relatives.bulk.language import Program
from stages.relatives.futhark import rules
from stages.relatives.futhark.anf import normal
from stages.relatives.futhark.sweeps import Sweeps, text

__all__ = ["derivative", "primal", "vjp"]


def primal(program: Program, *ranks: int) -> str:
    """The program as Python text, for arguments of these ranks."""
    sweeps = Sweeps(dict(zip(program.arguments, ranks, strict=True)))
    sweeps.write(0, f"def primal({', '.join(program.arguments)}):")
    result = sweeps.forward(normal(program.body), 1, False)
    sweeps.write(1, f"return {text(result)}")
    return "\n".join(sweeps.lines)


def derivative(program: Program, *ranks: int) -> str:
    """The forward and the return sweep of a program as Python text, for arguments of these ranks.

    >>> from stages.relatives.bulk.language import program
    >>> from stages.relatives.futhark.terms import loop
    >>> print(derivative(program(lambda x: loop(x, 3, lambda v, i: v * x)), 0))
    def derivative(x, ct):
        v_at = keep()
        v = x
        for i in range(3):
            v_at.append(v)
            t1 = v * x
            v = t1
        t2 = v
        ct_x = 0.0
        ct_t2 = 0.0
        ct_t2 = ct_t2 + ct
        ct_v = ct_t2
        for i in reversed(range(3)):
            v, c_v = v_at[i], ct_v
            t1 = v * x
            ct_v = 0.0
            ct_t1 = 0.0
            ct_t1 = ct_t1 + c_v
            ct_v = ct_v + ct_t1 * x
            ct_x = ct_x + ct_t1 * v
        ct_x = ct_x + ct_v
        return t2, (ct_x,)
    """
    sweeps = Sweeps(dict(zip(program.arguments, ranks, strict=True)))
    sweeps.write(0, f"def derivative({', '.join((*program.arguments, 'ct'))}):")
    result = sweeps.both(normal(program.body), 1, "ct", program.arguments)
    sweeps.write(1, f"return {text(result)}, ({''.join(f'ct_{x}, ' for x in program.arguments).rstrip()})")
    return "\n".join(sweeps.lines)


def vjp(program: Program, *args: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The program's value, and the map from a cotangent of it to cotangents of the arguments.

    >>> from stages.relatives.bulk.language import program
    >>> from stages.relatives.futhark.terms import reduce, scan
    >>> y, pullback = vjp(program(lambda xs: reduce("add", scan("mul", xs))), [2.0, 3.0, 5.0])
    >>> y, pullback(1.0)
    (38.0, ([19.0, 12.0, 6.0],))
    """
    ranks = [_rank(u) for u in args]
    back = compiled(derivative(program, *ranks), "derivative")
    return compiled(primal(program, *ranks), "primal")(*args), lambda ct: back(*args, ct)[1]


def compiled(source: str, name: str, also: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """The function of this name that a text defines; `also` replaces functions that it calls."""
    scope = {**_CALLED, **(also or {})}
    exec(source, scope)
    return scope[name]


def zeros(like: Any) -> Any:
    """Nested lists of the same shape, of zeros."""
    return [zeros(u) for u in like] if isinstance(like, list) else 0.0


def plus(u: Any, v: Any) -> Any:
    """The sum, element by element."""
    return [plus(a, b) for a, b in zip(u, v, strict=True)] if isinstance(u, list) else u + v


def _rank(u: Any) -> int:
    return 1 + _rank(u[0]) if isinstance(u, list) else 0


#: What the text calls.
_CALLED = {
    **{name: getattr(rules, name) for name in rules.__all__},
    **{name: getattr(math, name) for name in ("sin", "cos", "exp", "log", "sqrt", "maximum")},
    "inf": inf,
    "keep": list,
    "zeros": zeros,
    "plus": plus,
    "add": operator.add,
    "mul": operator.mul,
    "d_mul": lambda a, b, z: (z * b, z * a),
    "d_maximum": lambda a, b, z: (z, 0.0) if a >= b else (0.0, z),
}
