r"""D2, staged calls with linear factoring: a backpropagator is called once, with the sum of its arguments.

Paper:   section 4, Fig. 8
D[R] =   (R, (Int, R -o Staged c))                  Staged c = (c, Map Int (R -o Staged c, R))
Changed: f x + f y = f (x + y), so calls are delayed, and calls of the same backpropagator are merged. It draws an id
         when it is made, and can only call older ids. So resolving from the highest id down calls each at most
         once. This solves D1's 2^n.
Cost:    O(size(c)) for every operation: (A) 0 and + build whole cotangents, (B) one-hots of inputs build whole
         cotangents, and (C) the maps cost a logarithm.

    0 = (0, {})      (c, m) + (c', m') = (c + c', m union m'); an id in both keeps its d and adds the arguments
    SCotan c = (c, {})          SCall (i, d) z = (0, {i -> (d, z)})
    SResolve (c, m) = if m is empty then c
                      else let i = highest id of m; (d, z) = m[i] in SResolve (d z + (c, m without i))
    D[r]          = fresh i: (r, (i, \z. 0))
    D[op(t1..tn)] = let (xi, di) = D[ti] in fresh i: (op(x1..xn), (i, \z. SCall d1 (z*p1) + ... + SCall dn (z*pn)))
    Interleave_R (x, d)        = fresh i: (x, (i, d)); pairs as in D1; the top is called with SCotan
    Deinterleave_R (x, (i, d)) = (x, SCall (i, d)); pairs as in D1
    Wrap[f] x = let (y, d) = Deinterleave (D[f] (Interleave (x, SCotan))) in (y, \z. SResolve (d z))
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs
from stages import ordered_map, pairs


class Dual(DualNumber):
    """D[R]: a number x, an id i, and the backpropagator d of that id."""

    __slots__ = ("d", "i", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.i, self.d = run, x, next(run.ids), d


class Staged(NamedTuple):
    """Staged c: a cotangent of the input, and delayed calls: id -> (backpropagator, argument)."""

    c: Any
    m: ordered_map.Map


def zero(run):
    """0 : Staged c"""
    return Staged(pairs.zeros(run.c), None)


def plus(s, *more):
    """(+) : Staged c, Staged c -> Staged c, for any number of terms"""
    for s2 in more:
        s = Staged(pairs.add(s.c, s2.c), ordered_map.union_with(factor, s.m, s2.m))
    return s


def factor(call1, call2):
    """Linear factoring: f x + f y = f (x + y)"""
    return call1[0], call1[1] + call2[1]


def call(u, z):
    """SCall (i, d) z"""
    return Staged(pairs.zeros(u.run.c), ordered_map.singleton(u.i, (u.d, z)))


def one_hot(path, z):
    """SCotan of the one-hot cotangent of Interleave: \\z. d (z, 0) at a left half, \\z. d (0, z) at a right half."""
    return Staged(pairs.one_hot(path, z), None)


def resolve(s):
    """SResolve: calls every delayed backpropagator, the highest id first"""
    while s.m is not None:
        _, (d, z), m = ordered_map.pop_max(s.m)
        s = plus(d(z), Staged(s.c, m))
    return s.c


def constant(run, r):
    """D[r] = fresh i: (r, (i, \\z. 0))"""
    return Dual(run, r, lambda z: zero(run))


def op(run, y, args, partials):
    """D[op(t1..tn)] = fresh i: (op(x1..xn), (i, \\z. SCall d1 (z*p1) + ... + SCall dn (z*pn)))"""
    return Dual(run, y, lambda z: plus(*[call(u, z * p) for u, p in zip(args, partials(), strict=True)]))


overload(Dual, constant, op, late=True)


def interleave(run, structure):
    """The input with a dual number for every scalar."""
    return structure.rebuild([Dual(run, x, lambda z, path=path: one_hot(path, z)) for x, path in pairs.paths(run.c)])


def deinterleave(run, y):
    """The output's value and its backpropagator."""
    leaves, structure = outputs(y)
    duals = [u if isinstance(u, Dual) and u.run is run else constant(run, u) for u in leaves]

    def d(ct):
        """The output's backpropagator: a sum with one delayed call for each scalar of the output."""
        return plus(*[call(u, z) for u, z in zip(duals, structure.read(ct), strict=True)])

    return structure.rebuild([u.x for u in duals]), d


def vjp(f, *primals):
    """Wrap[f] primals: f's value, and the map from a cotangent of it to a tuple of cotangents, one for every primal."""
    scalars, structure = inputs(primals)
    with Run(c=pairs.of(structure, scalars), ids=itertools.count()) as run:
        y, d = deinterleave(run, f(*interleave(run, structure)))
    return y, lambda ct: structure.cotangent(pairs.scalars(resolve(d(ct))))
