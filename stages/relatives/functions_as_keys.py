r"""The first version of staged calls: the backpropagators themselves are the keys of the map, and none has an id.

Paper:   Smeding and Vákár 2023, section 4, before ids are introduced
D[R] =   (R, R -o Staged c)                         Staged c = (c, Map (R -o Staged c) R)
Changed: in staged (D2), an id says which of two backpropagators is newer, so that the newest is called first. Here a
         function is found by its identity, which tells nothing about its age, and SResolve may take any key.
Cost:    each order gives the right cotangents, since backpropagators are linear. But one that is called before all of
         its callers have been is called again: between n and exponentially many calls, by the order.

    (c, m) + (c', m') = (c + c', m union m'); a function in both adds its arguments
    SCotan c = (c, {})          SCall d z = (0, {d -> z})
    SResolve (c, m)  = if m is empty then c
                       else let d = choose m; z = m[d] in SResolve (d z + (c, m without d))
    D[op(t1..tn)]    = let (xi, di) = D[ti] in (op(x1..xn), \z. SCall d1 (z*p1) + ... + SCall dn (z*pn))
    Interleave, Deinterleave: as in D2
    Wrap[f] x        = let (y, d) = Deinterleave (D[f] (Interleave (x, SCotan))) in (y, \z. SResolve (d z))

>>> def fibonacci(a, b):
...     for _ in range(20):
...         a, b = b, b + a
...     return b
>>> resolve(fibonacci, [1.0, 1.0], first)
Resolved(cotangents=[6765.0, 10946.0], calls=22)
>>> resolve(fibonacci, [1.0, 1.0], last)
Resolved(cotangents=[6765.0, 10946.0], calls=35421)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dualrev.eager.numbers.overload import DualNumber, Run, overload

__all__ = ["Choose", "Resolved", "at_random", "first", "last", "resolve"]


class Dual(DualNumber):
    """D[R]: a number x and its backpropagator d."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d


#: Staged c: the cotangents of the input's scalars, and delayed calls: backpropagator -> argument.
Staged = tuple[dict[int, float], dict[Callable[[float], Any], float]]
#: Chooses the call that is made next.
Choose = Callable[[dict[Callable[[float], Any], float]], Callable[[float], Any]]


def plus(*terms: Staged) -> Staged:
    """(+) : Staged c, Staged c -> Staged c, for any number of terms; the order of the keys is that of the terms"""
    c: dict[Any, float] = {}
    m: dict[Any, float] = {}
    for of_c, of_m in terms:
        _add(c, of_c)
        _add(m, of_m)
    return c, m


def _add(into: dict[Any, float], part: dict[Any, float]) -> None:
    for key, z in part.items():
        into[key] = into[key] + z if key in into else z


def constant(run, r):
    """D[r] = (r, \\z. 0)"""
    return Dual(run, r, lambda z: plus())


def op(run, y, args, partials):
    """D[op(t1..tn)] = (op(x1..xn), \\z. SCall d1 (z*p1) + ... + SCall dn (z*pn))"""
    return Dual(run, y, lambda z: plus(*[({}, {u.d: z * p}) for u, p in zip(args, partials, strict=True)]))


overload(Dual, constant, op)


def first(m: dict[Callable[[float], Any], float]) -> Callable[[float], Any]:
    """Choose the call that was delayed first."""
    return next(iter(m))


def last(m: dict[Callable[[float], Any], float]) -> Callable[[float], Any]:
    """Choose the call that was delayed last."""
    return next(reversed(m))


def at_random(seed: int) -> Choose:
    """Choose any call."""
    generator = random.Random(seed)
    return lambda m: generator.choice(list(m))


class Resolved(NamedTuple):
    """The cotangents of the input's scalars, and how many calls were made."""

    cotangents: list[float]
    calls: int


def resolve(f: Callable[..., Any], primals: Sequence[float], choose: Choose) -> Resolved:
    """Wrap[f] for real arguments and a real result, at the cotangent 1; `choose` decides the order of calls.

    Errors of f propagate.
    """
    with Run() as run:
        inputs = [Dual(run, x, lambda z, i=i: ({i: z}, {})) for i, x in enumerate(primals)]
        y = f(*inputs)
    c, m = ({}, {y.d: 1.0}) if isinstance(y, Dual) else plus()
    calls = 0
    while m:
        d = choose(m)
        z, calls = m.pop(d), calls + 1
        c, m = plus((c, m), d(z))
    return Resolved([c.get(i, 0.0) for i in range(len(primals))], calls)
