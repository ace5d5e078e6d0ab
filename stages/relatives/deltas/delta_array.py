r"""Deltas with explicit sharing, in arrays: bindings and cotangents are indexed by id.

Paper:   Krawiec et al. 2022, section 5.3.3
D[R] =   (R, Delta)                                 Delta = Zero | Scale R Delta | Add Delta Delta | Var Id
                                                    and binds: Array Delta, which grows
Changed: the state monad is a mutable one, and eval uses its map linearly, so arrays can replace both. The array of
         bindings replaces the nest of Lets, and eval goes through it backwards.
Needs:   overloading, algebraic data, a mutable array and a growing one.
Cost:    O(1) for an operation and for a visit: linear. This is a Wengert list; the paper has arrived at Kmett's `ad`.

    binds                = the Deltas of the ids a, a + 1, ...; the ids 0, ..., a - 1 are those of the input
    deltaLet u           = write u to the end of binds, and return its id
    D[r]                 = (r, Zero)
    D[op(t1..tn)]        = let (xi, ui) = D[ti] in do i <- deltaLet (Add (Scale p1 u1) ... (Scale pn un))
                                                      (op(x1..xn), Var i)
    eval x Zero m        = ()
    eval x (Scale y u) m = eval (x*y) u m
    eval x (Add u1 u2) m = eval x u1 m; eval x u2 m
    eval x (Var i) m     = m[i] := m[i] + x
    R[e] (s, dt)         = eval 1 (the dot product of dt and D[e] (..., (si, Var i), ...)) m, and then
                           for (i, u) of binds, the highest i first, if m[i] was written: eval m[i] u m
                           in (..., m[i], or 0, ...)

The paper fills m with zeros. Here, as in its map, None stands for no contribution: an id that received none is not
evaluated, as 0 times an infinite partial derivative would be NaN.
"""

from __future__ import annotations

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs
from stages.relatives.deltas.delta_data import Add, Scale, Var, Zero, total


class Dual(DualNumber):
    """D[R]: a number x and its Delta d, which is Zero or Var."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d


def delta_let(run, u):
    """deltaLet u = write u to the end of binds, and return its id"""
    run.binds.append(u)
    return run.a + len(run.binds) - 1


def alloc(size):
    """emptyMap : Array (Maybe R)"""
    return [None] * size


def visit(x, u, m):
    """eval x u m for one constructor; returns the Deltas left to evaluate, the last one first."""
    match u:
        case Zero():
            return ()
        case Scale(y, u):
            return ((x * y, u),)
        case Add(u1, u2):
            return ((x, u2), (x, u1))
        case Var(i):
            m[i] = x if m[i] is None else m[i] + x
            return ()


def evaluate(x, u, m):
    """eval x u m"""
    todo = [(x, u)]
    while todo:
        todo.extend(visit(*todo.pop(), m))


def constant(run, r):
    """D[r] = (r, Zero)"""
    return Dual(run, r, Zero())


def op(run, y, args, partials):
    """D[op(t1..tn)] = do i <- deltaLet (Add (Scale p1 u1) ... (Scale pn un)); (op(x1..xn), Var i)"""
    return Dual(run, y, Var(delta_let(run, total(partials, [u.d for u in args]))))


overload(Dual, constant, op)


def interleave(run, scalars, structure):
    """The input with a dual number for every scalar."""
    run.a, run.binds = len(scalars), []
    return structure.rebuild([Dual(run, x, Var(i)) for i, x in enumerate(scalars)])


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
        """Evaluate the output's Delta and then the bindings backwards; return the cotangents of the primals."""
        zs = output.read(ct)
        m = alloc(run.a + len(run.binds))
        evaluate(1.0, total([zs[k] for k, _ in duals], [u.d for _, u in duals]), m)
        for i in range(len(m) - 1, run.a - 1, -1):
            if m[i] is not None:
                evaluate(m[i], run.binds[i - run.a], m)
        return structure.cotangent([0.0 if z is None else z for z in m[: run.a]])

    return y, pullback
