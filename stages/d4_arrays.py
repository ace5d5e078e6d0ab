r"""D4, mutable arrays: both maps of D3 become arrays that are updated in place.

Paper:   section 7 and appendix A, Figs. 11 and 12
D[R] =   (R, (Int, R -o (Staged -> Staged)))        Staged = (Array R, Array (R -o (Staged -> Staged), R))
Changed: after the forward pass the numbers of input scalars, i_inp, and of backpropagators, i_out, are known, so both
         arrays are allocated once. Nothing else refers to them (the paper's resource-linear types guarantee it), so
         nobody can observe that they are updated in place. This solves (B) and (C).
Cost:    O(1) for everything: O(program + input) in all, the bound that reverse AD should meet.

    SAlloc i_inp i_out   = (zeros (i_inp), i_out times (\z. id, 0))
    SCall (i, d) z (c, m) = m[i] := (d, m[i].argument + z)
    SOneHot i z (c, m)    = c[i] := c[i] + z
    SResolve i_out (c, m) = for i from i_out - 1 down to 0: (d, z) = m[i]; d z (c, m).  Then drop m, return c
    Wrap[f] x = let (x', rebuild) = Interleave x; (y, d) = Deinterleave (D[f] x'), i_inp and i_out the ids drawn by each
                in (y, \z. rebuild (SResolve i_out (d z (SAlloc i_inp i_out))))
    D[r], D[op], Deinterleave: as before
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs


class Dual(DualNumber):
    """D[R]: a number x, an id i, and the backpropagator d of that id."""

    __slots__ = ("d", "i", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.i, self.d = run, x, next(run.ids), d


class Staged(NamedTuple):
    """Staged: the input's cotangents by number, and delayed calls: id -> (backpropagator, argument)."""

    c: list[Any]
    m: list[Any]


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
            f(s)


def alloc(i_inp, i_out):
    """SAlloc: zero cotangents, and for every id a zero argument"""
    return Staged([0.0] * i_inp, [(lambda z: zero, 0.0)] * i_out)


def call(u, z):
    """SCall (i, d) z: delay the call, by adding z to the argument of id i"""

    def write(s):
        s.m[u.i] = u.d, s.m[u.i][1] + z

    return write


def one_hot(i, z):
    """SOneHot i z: add z to the cotangent of the input's scalar i"""

    def write(s):
        s.c[i] = s.c[i] + z

    return write


def resolve(s):
    """SResolve: the highest id first"""
    for i in reversed(range(len(s.m))):
        d, z = s.m[i]
        apply(d(z), s)
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
    return structure.rebuild(duals), structure.cotangent


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
    i_out = next(run.ids)

    def pullback(ct):
        """Map a cotangent of the output to the cotangents of the primals."""
        s = alloc(len(scalars), i_out)
        apply(d(ct), s)
        return rebuild(resolve(s))

    return y, pullback
