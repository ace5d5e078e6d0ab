r"""D4 without the collector: one mutable array.

Paper:   section 8.1
D[R] =   (R, (Int, R -o (Staged -> Staged)))        Staged = Array (R -o (Staged -> Staged), R)
Changed: the sum of an input backpropagator's arguments IS the cotangent of its scalar. So the array of cotangents is
         redundant: an input's backpropagator does nothing, and rebuild reads the arguments.
Cost:    as before, with one array in place of two.

    SAlloc i_out     = i_out times (\z. id, 0)
    SCall (i, d) z m = m[i] := (d, m[i].argument + z)
    SResolve i_out m = for i from i_out - 1 down to 0: (d, z) = m[i]; d z m.  Then return the arguments
    Interleave_R x   = fresh i: ((x, (i, \z. id)), \g. g i)
    D[r], D[op], Deinterleave, Wrap: as before
"""

from __future__ import annotations

import itertools

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs


class Dual(DualNumber):
    """D[R]: a number x, an id i, and the backpropagator d of that id."""

    __slots__ = ("d", "i", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.i, self.d = run, x, next(run.ids), d


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


def alloc(i_out):
    """SAlloc: for every id a zero argument"""
    return [(lambda z: zero, 0.0)] * i_out


def call(u, z):
    """SCall (i, d) z: delay the call, by adding z to the argument of id i"""

    def write(m):
        m[u.i] = u.d, m[u.i][1] + z

    return write


def resolve(m):
    """SResolve: the highest id first"""
    for i in reversed(range(len(m))):
        d, z = m[i]
        apply(d(z), m)
    return [z for _, z in m]


def constant(run, r):
    """D[r] = fresh i: (r, (i, \\z. id))"""
    return Dual(run, r, lambda z: zero)


def op(run, y, args, partials):
    """D[op(t1..tn)] = fresh i: (op(x1..xn), (i, \\z. SCall d1 (z*p1) . ... . SCall dn (z*pn)))"""
    return Dual(run, y, lambda z: plus(*[call(u, z * p) for u, p in zip(args, partials(), strict=True)]))


overload(Dual, constant, op, late=True)


def interleave(run, scalars, structure):
    """The input with a dual number for every scalar, and the rebuild function."""
    duals = [Dual(run, x, lambda z: zero) for x in scalars]
    return structure.rebuild(duals), lambda arguments: structure.cotangent(arguments[: len(duals)])


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
        s = alloc(i_out)
        apply(d(ct), s)
        return rebuild(resolve(s))

    return y, pullback
