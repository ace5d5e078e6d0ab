r"""D1, naive: every scalar carries a backpropagator, a closure from its cotangent to the whole input's.

Paper:   section 3, Figs. 6 and 7
D[R] =   (R, R -o c)                                c, the input as a product of scalars (pairs.py)
Changed: nothing yet; this is the transformation that is easy to prove right.
Cost:    a backpropagator is called once for every path from its scalar to the output: 2^n paths for n doublings. Each
         call that reaches an input builds a one-hot and adds it: O(size(c)).

    D[r]          = (r, \z. 0)
    D[op(t1..tn)] = let (xi, di) = D[ti] in (op(x1..xn), \z. d1(z*p1) + ... + dn(z*pn))
                    where \z. .. holds x1..xn, and computes p1..pn, the partial derivatives of op there
    Interleave_R (x, d)          = (x, d)
    Interleave_(s,t) ((x, y), d) = (Interleave (x, \z. d (z, 0)), Interleave (y, \z. d (0, z)))
    Deinterleave_R (x, d)        = (x, d)
    Deinterleave_(s,t) (x, y)    = ((x1, y1), \z. x2 (fst z) + y2 (snd z)) where (x1, x2), (y1, y2) = Deinterleave x, y
    Wrap[f] x                    = Deinterleave (D[f] (Interleave (x, id)))
"""

from __future__ import annotations

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs
from stages import pairs


class Dual(DualNumber):
    """D[R]: a number x and its backpropagator d."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d


def zero(run):
    """0 : c"""
    return pairs.zeros(run.c)


def plus(c1, c2):
    """(+) : c, c -> c"""
    return pairs.add(c1, c2)


def total(run, calls):
    """d1 z1 + ... + dn zn, in a loop that spares Python's stack: op's backpropagators return the calls of their sum."""
    c, todo = zero(run), calls[::-1]
    while todo:
        u, z = todo.pop()
        result = u.d(z)
        if isinstance(result, list):
            todo.extend(reversed(result))
        else:
            c = plus(c, result)
    return c


def one_hot(path, z):
    """The one-hot cotangent that Interleave builds: \\z. d (z, 0) at a left half, \\z. d (0, z) at a right half."""
    return pairs.one_hot(path, z)


def constant(run, r):
    """D[r] = (r, \\z. 0)"""
    return Dual(run, r, lambda z: zero(run))


def op(run, y, args, partials):
    """D[op(t1..tn)] = (op(x1..xn), \\z. d1(z*p1) + ... + dn(z*pn)), where `partials` holds x1..xn"""
    return Dual(run, y, lambda z: [(u, z * p) for u, p in zip(args, partials(), strict=True)])


overload(Dual, constant, op, late=True)


def interleave(run, structure):
    """The input with a dual number for every scalar."""
    return structure.rebuild([Dual(run, x, lambda z, path=path: one_hot(path, z)) for x, path in pairs.paths(run.c)])


def deinterleave(run, y):
    """The output's value and its backpropagator."""
    leaves, structure = outputs(y)
    duals = [u if isinstance(u, Dual) and u.run is run else constant(run, u) for u in leaves]

    def d(ct):
        """The output's backpropagator: maps a cotangent of the output to a cotangent of the input."""
        return total(run, list(zip(duals, structure.read(ct), strict=True)))

    return structure.rebuild([u.x for u in duals]), d


def vjp(f, *primals):
    """Wrap[f] primals: f's value, and the map from a cotangent of it to a tuple of cotangents, one for every primal."""
    scalars, structure = inputs(primals)
    with Run(c=pairs.of(structure, scalars)) as run:
        y, d = deinterleave(run, f(*interleave(run, structure)))
    return y, lambda ct: structure.cotangent(pairs.scalars(d(ct)))
