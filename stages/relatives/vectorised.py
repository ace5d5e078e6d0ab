r"""Vectorised forward mode: every scalar carries its derivatives with respect to the whole input.

Paper:   Krawiec et al. 2022, section 5.1, Figs. 5 and 6
D[R] =   (R, dS)                                    dS, a tangent of the input S: a product of scalars (pairs.py)
Changed: forward mode pairs a scalar with its derivative in one direction, and runs once for every input. Here a
         scalar is paired with its derivatives in all directions: one run. Easy to prove right.
Needs:   overloading; neither closures nor mutable data.
Cost:    every operation makes new vectors of the size of the input: n times too slow. The one-hots of n inputs alone
         have n^2 entries. Since vectors are dense, an infinite or NaN partial derivative turns every 0 into
         NaN: sqrt(x) + y loses y's derivative at x = 0.

    D[r]          = (r, zero)
    D[op(t1..tn)] = let (xi, ui) = D[ti] in (op(x1..xn), p1 * u1 + ... + pn * un)           * and + entry by entry
    R[e] (s, dt)  = snd (D[e] (..., (si, dt * onehot i), ...))

The figure scales the input's one-hots by dt. D[e] is linear in them, so here the output's vectors are scaled: one run
serves every dt. For a value with several scalars, dt has a number for each, and their scaled vectors are added.
"""

from __future__ import annotations

import functools

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs
from stages import pairs


class Dual(DualNumber):
    """D[R]: a number x and its derivatives d."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d


def zero(run):
    """zero : dS"""
    return pairs.zeros(run.c)


def plus(u1, u2):
    """(+) : dS, dS -> dS"""
    return pairs.add(u1, u2)


def times(r, u):
    """(*) : R, dS -> dS"""
    return pairs.scale(r, u)


def one_hot(path):
    """onehot i : dS"""
    return pairs.one_hot(path, 1.0)


# D[r] is not represented: zero is left out of sums. p * zero would be zero, too, unless p is infinite or NaN, as the
# partial derivative of x ** 2.0 with respect to 2.0 is at a negative x.
constant = None


def op(run, y, args, partials):
    """D[op(t1..tn)] = (op(x1..xn), p1 * u1 + ... + pn * un)"""
    terms = [times(p, u.d) for u, p in zip(args, partials, strict=True)]
    return Dual(run, y, functools.reduce(plus, terms) if terms else zero(run))


overload(Dual, constant, op)


def interleave(run, structure):
    """The input with a dual number for every scalar."""
    return structure.rebuild([Dual(run, x, one_hot(path)) for x, path in pairs.paths(run.c)])


def deinterleave(run, y):
    """The output's value; the dual numbers in it, with their indices; the structure of its cotangents."""
    leaves, structure = outputs(y)
    duals = [(k, u) for k, u in enumerate(leaves) if isinstance(u, Dual) and u.run is run]
    for k, u in duals:
        leaves[k] = u.x
    return structure.rebuild(leaves), duals, structure


def vjp(f, *primals):
    """R[f]: f's value at the primals, and the map from a cotangent of it to a tuple of cotangents, one for each.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    scalars, structure = inputs(primals)
    with Run(c=pairs.of(structure, scalars)) as run:
        y, duals, output = deinterleave(run, f(*interleave(run, structure)))

    def pullback(ct):
        """The sum of the output's derivative vectors, scaled by the cotangent."""
        zs = output.read(ct)
        u = functools.reduce(plus, [times(zs[k], u.d) for k, u in duals], zero(run))
        return structure.cotangent(pairs.scalars(u))

    return y, pullback
