r"""D3, Cayley-transformed: a staged object is represented by the function that adds it to another one.

Paper:   section 5, Fig. 9
D[R] =   (R, (Int, R -o (Staged c -> Staged c)))    Staged c = (c, Map Int (R -o (Staged c -> Staged c), R))
Changed: a monoid M embeds in M -> M by m |-> (m + -): 0 becomes id and + becomes composition, both O(1), so an
         operation no longer touches whole cotangents. One 0 : c is left, where SResolve starts.
         This solves (A).
Cost:    O(log of the pending calls) for an operation. An input's backpropagator costs the DEPTH of its scalar in the
         input: log(size) in a balanced input, size in a list-like one.

    0 = id           f + g = f . g
    SCotan g (c, m) = (g c, m), for g : c -> c
    SCall (i, d) z (c, m) = (c, m with i -> (d, z) inserted, or z added to the argument of i)
    SResolve u = run (u (0, {})), where run (c, m) = if m is empty then c
                   else let i = highest id of m; (d, z) = m[i] in run (d z (c, m without i))
    D[r]          = fresh i: (r, (i, \z. id))
    D[op(t1..tn)] = let (xi, di) = D[ti] in fresh i: (op(x1..xn), (i, \z. SCall d1 (z*p1) . ... . SCall dn (z*pn)))
    Interleave_R (x, d) = fresh i: (x, (i, \z. d (\a. z + a)))
    Interleave_(s,t) ((x, y), d) = (Interleave (x, \g. d (\(v, w). (g v, w))),
                                    Interleave (y, \g. d (\(v, w). (v, g w))))
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


zero = ()  # id : Staged c -> Staged c


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


def one_hot(path, z):
    """SCotan of the setter of Interleave, which rebuilds only the pairs between the scalar and the root."""
    return lambda s: Staged(pairs.update(path, z, s.c), s.m)


def resolve(function, c):
    """SResolve: the highest id first, from the only zero of type c that is left"""
    s = apply(function, Staged(pairs.zeros(c), None))
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
    return y, lambda ct: structure.cotangent(pairs.scalars(resolve(d(ct), run.c)))
