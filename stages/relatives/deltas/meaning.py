r"""The meaning of a Delta: Krawiec et al. 2022, section 7, [[u]]_D.

A Delta is an expression for a vector of R^a. Its free variables stand for vectors, which an environment g gives: in
the derivative, the one-hots of the a scalars of the input.

    [[u]]_D : (Id -> R^a) -> R^a
    [[Zero]] g      = 0                        [[Add u v]] g     = [[u]] g + [[v]] g
    [[OneHot i]] g  = onehot i                 [[Var i]] g       = g(i)
    [[Scale r u]] g = r * [[u]] g              [[Let i u v]] g   = [[v]] (g with i -> [[u]] g)

`meaning` builds a vector for each constructor, from the input to the output. `eval` (delta_map.py) builds none: it
carries one number from the output to the input, and adds it up at the free variables. Lemma 10 says that the two agree:

    s [[u]] g = sum over a in FV(u) of ((eval s u m)(a) - m(a)) g(a)          for each s and m

The lemma needs that m has none of the ids that u binds, and that no id is bound twice or bound and free: eval looks
bound ids up in m, so a number that is there already counts as a contribution. runDelta's ids are fresh. The paper
leaves this out; tests/relatives/test_relatives_meaning.py has the smallest example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.relatives.deltas.delta_data import Add, Delta, Let, OneHot, Scale, Var, Zero

__all__ = ["bound", "free", "meaning", "one_hots"]

Vector = tuple[Any, ...]


def one_hots(a: int) -> dict[int, Vector]:
    """The environment of the input's variables, i -> onehot i, for i < a: the paper's phi_a."""
    return {i: tuple([int(k == i) for k in range(a)]) for i in range(a)}


def meaning(u: Delta, g: Mapping[int, Sequence[Any]], a: int) -> Vector:
    """[[u]]_D g, a vector of R^a. KeyError if g lacks a free variable of u.

    >>> meaning(Let(2, Add(Var(0), Var(1)), Add(Scale(5, Var(0)), Scale(3, Var(2)))), one_hots(2), 2)
    (8, 3)
    """
    while isinstance(u, Let):  # a nest of Lets is as deep as the program is long
        g = {**g, u.i: meaning(u.u, g, a)}
        u = u.body
    match u:
        case Zero():
            return (0,) * a
        case OneHot(i):
            return one_hots(a)[i]
        case Scale(r, v):
            return tuple([r * x for x in meaning(v, g, a)])
        case Add(v, w):
            return tuple([x + y for x, y in zip(meaning(v, g, a), meaning(w, g, a), strict=True)])
        case Var(i):
            return tuple(g[i])
    raise TypeError(f"no Delta: {u!r}")


def free(u: Delta) -> set[int]:
    """FV(u), the ids that are free in u."""
    match u:
        case Var(i):
            return {i}
        case Let(i, v, body):
            return free(v) | (free(body) - {i})
        case Scale(_, v):
            return free(v)
        case Add(v, w):
            return free(v) | free(w)
    return set()


def bound(u: Delta) -> list[int]:
    """The ids that u binds, one for each Let."""
    match u:
        case Let(i, v, body):
            return [i, *bound(v), *bound(body)]
        case Scale(_, v):
            return bound(v)
        case Add(v, w):
            return [*bound(v), *bound(w)]
    return []
