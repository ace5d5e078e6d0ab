r"""D4 defunctionalised: a backpropagator is the list of its contributions.

Paper:   section 8.2, Fig. 10
D[R] =   (R, (Int, Contrib))                        Contrib = [(R, (Int, Contrib))], Staged = Array (Contrib, R)
Changed: backpropagators have only three forms (inputs, constants, operations), and an operation's is linear in z, so
         data describes them: [] for inputs and constants, [(p1, d1), ..., (pn, dn)] for operations. The partial
         derivatives do not depend on z: the forward pass computes them, and no longer keeps x1..xn. SResolve
         interprets the list instead of calling a function.
Cost:    as before, without calls of closures.

    SAlloc i_out     = i_out times ([], 0)
    SCall (i, c) z m = m[i] := (c, m[i].argument + z)
    SResolve i_out m = for i from i_out - 1 down to 0: (c, z) = m[i]; for (p, d) in c: SCall d (z*p) m
                       Then return the arguments
    D[r]             = fresh i: (r, (i, []))
    D[op(t1..tn)]    = let (xi, di) = D[ti] in fresh i: (op(x1..xn), (i, [(p1, d1), ..., (pn, dn)]))
    Interleave_R x   = fresh i: ((x, (i, [])), \g. g i)
    Deinterleave     = as before, with [(z1, d1), ..., (zn, dn)] for the output's backpropagator. Wrap: as before
"""

from __future__ import annotations

import itertools

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs


class Dual(DualNumber):
    """D[R]: a number x, an id i, and the contributions d: [(partial, (id, contributions))]."""

    __slots__ = ("d", "i", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.i, self.d = run, x, next(run.ids), d


def alloc(i_out):
    """SAlloc: for every id no contributions and a zero argument"""
    return [([], 0.0)] * i_out


def call(u, z):
    """SCall (i, d) z: delay the call, by adding z to the argument of id i"""
    i, d = u

    def write(m):
        m[i] = d, m[i][1] + z

    return write


def interpret(contributions, z, m):
    """Interpret a list of contributions as its backpropagator: SCall d1 (z*p1) . ... . SCall dn (z*pn)"""
    for p, u in contributions:
        call(u, z * p)(m)


def resolve(m):
    """SResolve: the highest id first"""
    for i in reversed(range(len(m))):
        d, z = m[i]
        interpret(d, z, m)
    return [z for _, z in m]


def constant(run, r):
    """D[r] = fresh i: (r, (i, []))"""
    return Dual(run, r, [])


def op(run, y, args, partials):
    """D[op(t1..tn)] = fresh i: (op(x1..xn), (i, [(p1, d1), ..., (pn, dn)]))"""
    return Dual(run, y, [(p, (u.i, u.d)) for u, p in zip(args, partials, strict=True)])


overload(Dual, constant, op)


def interleave(run, scalars, structure):
    """The input with a dual number for every scalar, and the rebuild function."""
    duals = [Dual(run, x, []) for x in scalars]
    return structure.rebuild(duals), lambda arguments: structure.cotangent(arguments[: len(duals)])


def deinterleave(run, y):
    """The output's value, and its contributions at a cotangent."""
    leaves, structure = outputs(y)
    duals = [u if isinstance(u, Dual) and u.run is run else constant(run, u) for u in leaves]

    def d(ct):
        """The output's contributions at the cotangent ct."""
        return [(z, (u.i, u.d)) for u, z in zip(duals, structure.read(ct), strict=True)]

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
        interpret(d(ct), 1.0, s)
        return rebuild(resolve(s))

    return y, pullback
