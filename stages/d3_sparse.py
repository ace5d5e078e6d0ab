r"""D3, sparse: the cotangents of the input's scalars are collected in a map, by number.

Paper:   section 6
D[R] =   (R, (Int, R -o (Staged -> Staged)))        Staged = (Map Int R, Map Int (R -o (Staged -> Staged), R))
Changed: a cotangent of the input is a Map Int R in place of c, so an input's backpropagator costs O(log n) wherever its
         scalar is. Interleave also builds the rebuild function, from (Int -> R) to the input's structure. This
         solves (B), up to the logarithm.
Cost:    O(log n) for everything, with n = program + input: O(n log n) in all.

    SOneHot i z (c, m) = (c with i -> z inserted, or z added to c[i], m)        in place of SCotan
    Interleave_R x = fresh i: ((x, (i, SOneHot i)), \g. g i)
    Interleave_(s,t) (x, y) = let (x', r1) = Interleave x; (y', r2) = Interleave y in ((x', y'), \g. (r1 g, r2 g))
    Wrap[f] x = let (x', rebuild) = Interleave x; (y, d) = Deinterleave (D[f] x')
                in (y, \z. let c = SResolve (d z) in rebuild (\i. c[i], or 0 where c has no i))
    SCall, SResolve, D[r], D[op], Deinterleave: as before, with {} for 0 : c
"""

from __future__ import annotations

import itertools
import operator
from typing import NamedTuple

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs
from stages import ordered_map


class Dual(DualNumber):
    """D[R]: a number x, an id i, and the backpropagator d of that id."""

    __slots__ = ("d", "i", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.i, self.d = run, x, next(run.ids), d


class Staged(NamedTuple):
    """Staged: the input's cotangents by number, and delayed calls: id -> (backpropagator, argument)."""

    c: ordered_map.Map
    m: ordered_map.Map


zero = ()  # id : Staged -> Staged


def plus(*functions):
    """Composition, kept as the tuple of its parts: O(1), and `apply` runs a deep one without growing Python's stack."""
    return functions


def apply(function, s):
    """Apply a composed function to s."""
    todo = [function]
    while todo:
        f = todo.pop()
        if isinstance(f, tuple):
            todo.extend(f)
        else:
            s = f(s)
    return s


def factor(call1, call2):
    """Linear factoring: f x + f y = f (x + y)"""
    return call1[0], call1[1] + call2[1]


def call(u, z):
    """SCall (i, d) z"""
    return lambda s: Staged(s.c, ordered_map.insert_with(factor, s.m, u.i, (u.d, z)))


def one_hot(i, z):
    """SOneHot i z"""
    return lambda s: Staged(ordered_map.insert_with(operator.add, s.c, i, z), s.m)


def resolve(function):
    """SResolve: the highest id first, from empty maps"""
    s = apply(function, Staged(None, None))
    while s.m is not None:
        _, (d, z), m = ordered_map.pop_max(s.m)
        s = apply(d(z), Staged(s.c, m))
    return s.c


def constant(run, r):
    """D[r] = fresh i: (r, (i, \\z. id))"""
    return Dual(run, r, lambda z: zero)


def op(run, y, args, partials):
    """D[op(t1..tn)] = fresh i: (op(x1..xn), (i, \\z. SCall d1 (z*p1) . ... . SCall dn (z*pn)))"""
    return Dual(run, y, lambda z: plus(*[call(u, z * p) for u, p in zip(args, partials(), strict=True)]))


overload(Dual, constant, op, late=True)


def interleave(run, scalars, structure):
    """The input with a dual number for every scalar, and the rebuild function."""
    duals = [Dual(run, x, lambda z, i=i: one_hot(i, z)) for i, x in enumerate(scalars)]

    def rebuild(c):
        """Put the collected cotangents into the input's structure; a scalar that received none gets 0."""
        return structure.cotangent([ordered_map.find(c, i, 0.0) for i in range(len(scalars))])

    return structure.rebuild(duals), rebuild


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
    with Run(ids=itertools.count()) as run:
        dual_primals, rebuild = interleave(run, scalars, structure)
        y, d = deinterleave(run, f(*dual_primals))
    return y, lambda ct: rebuild(resolve(d(ct)))
