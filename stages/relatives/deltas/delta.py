r"""Deltas: every scalar carries a symbolic description of its derivatives, which is evaluated at the end.

Paper:   Krawiec et al. 2022, section 5.2, Figs. 7 and 8
D[R] =   (R, Delta)                                 Delta = Zero | OneHot Int | Scale R Delta | Add Delta Delta
Changed: an operation only writes down the vector that vectorised.py computes, which is O(1). The end evaluates it once,
         into one vector in place. No zero and no one-hot of the size of the input is made, and since zero entries are
         absent, no infinite partial derivative turns them into NaN.
Needs:   overloading, algebraic data, one mutable vector.
Cost:    two uses of a scalar share its Delta in memory, but eval cannot see that, and evaluates it twice: 2^n times for
         n doublings. An explicit list replaces eval's recursion, so that Deltas may be of any depth.

    D[r]               = (r, Zero)
    D[x + y]           = (x + y, Add u1 u2)
    D[x * y]           = (x * y, Add (Scale y u1) (Scale x u2))
    D[op(t1..tn)]      = let (xi, ui) = D[ti] in (op(x1..xn), Add (Scale p1 u1) ... (Scale pn un))
    eval x Zero        = \c. c
    eval x (OneHot i)  = addAt i x
    eval x (Scale y u) = eval (x*y) u
    eval x (Add u1 u2) = eval x u2 . eval x u1
    R[e] (s, dt)       = let (_, u) = D[e] (..., (si, OneHot i), ...) in eval dt u (..., 0, ...)
                         for a value of several scalars (ti, ui): eval 1 (Add (Scale dt1 u1) ... (Scale dtm um))
"""

from __future__ import annotations

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs
from stages.relatives.deltas.delta_data import Add, OneHot, Scale, Zero, total


class Dual(DualNumber):
    """D[R]: a number x and its Delta d."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d


def alloc(a):
    """(..., 0, ...) : R^a"""
    return [0.0] * a


def add_at(i, x, c):
    """The vector c with x added to its component i: in place, since nobody else holds c."""
    c[i] = c[i] + x


def visit(x, u, c):
    """eval x u c for one constructor; returns the Deltas left to evaluate, the last one first."""
    match u:
        case Zero():
            return ()
        case OneHot(i):
            add_at(i, x, c)
            return ()
        case Scale(y, u):
            return ((x * y, u),)
        case Add(u1, u2):
            return ((x, u2), (x, u1))


def evaluate(x, u, c):
    """eval x u c"""
    todo = [(x, u)]
    while todo:
        todo.extend(visit(*todo.pop(), c))
    return c


def constant(run, r):
    """D[r] = (r, Zero)"""
    return Dual(run, r, Zero())


def op(run, y, args, partials):
    """D[op(t1..tn)] = (op(x1..xn), Add (Scale p1 u1) ... (Scale pn un))"""
    return Dual(run, y, total(partials, [u.d for u in args]))


overload(Dual, constant, op)


def interleave(run, scalars, structure):
    """The input with a dual number for every scalar."""
    return structure.rebuild([Dual(run, x, OneHot(i)) for i, x in enumerate(scalars)])


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
    with Run() as run:
        y, duals, output = deinterleave(run, f(*interleave(run, scalars, structure)))

    def pullback(ct):
        """Evaluate the Delta of the output at a cotangent, and return the cotangents of the primals."""
        zs = output.read(ct)
        u = total([zs[k] for k, _ in duals], [u.d for _, u in duals])
        return structure.cotangent(evaluate(1.0, u, alloc(len(scalars))))

    return y, pullback
