r"""Deltas with explicit sharing: every Delta is bound to an id, and a scalar carries the id.

Paper:   Krawiec et al. 2022, section 5.3, Figs. 9 to 11, and 16
D[R] =   (R, Delta)                                 Delta = Zero | Scale R Delta | Add Delta Delta
                                                          | Var Id | Let Id Delta Delta
Changed: an operation binds its Delta to a fresh id by deltaLet, and its scalar carries Var id, which can be copied
         without losing the sharing. The bindings become a nest of Lets around the result. eval adds up in a map what
         each id receives, and evaluates its Delta once, with the sum: from the latest id to the first.
Needs:   overloading, algebraic data, a persistent map; and a state monad, which threads ids and bindings through the
         program. Overloading has no monad: here the Run holds the state, and deltaLet updates it.
Cost:    O(1) for an operation, and eval visits every constructor once: linear in steps of the map, each of which is
         O(log n). An explicit list replaces eval's recursion, so that nests may be of any depth.

    state                = (the next id, [(id, Delta)])                 the latest binding first
    deltaLet u           = \(i, binds). (i, (i + 1, (i, u) : binds))
    D[r]                 = (r, Zero)
    D[op(t1..tn)]        = let (xi, ui) = D[ti] in do i <- deltaLet (Add (Scale p1 u1) ... (Scale pn un))
                                                      (op(x1..xn), Var i)
    eval x Zero m        = m
    eval x (Scale y u) m = eval (x*y) u m
    eval x (Add u1 u2) m = eval x u2 (eval x u1 m)
    eval x (Var i) m     = m with x added at i
    eval x (Let i u b) m = let m2 = eval x b m in if i is in m2 then eval m2[i] u (m2 without i) else m2
    runDelta             = foldl (\b (i, u). Let i u b) (the result's Delta) binds
    R[e] (s, dt)         = let u = runDelta of the dot product of dt and D[e] (..., (si, Var i), ...)
                           in (..., (eval 1 u {})[i], or 0, ...)

The ids of the input's scalars begin at 0, in the paper at 1. The paper differentiates the dot product, too; since the
Deltas of dt are Zero, that adds nothing. So here it is one Delta, Add (Scale dt1 u1) ... (Scale dtm um).
"""

from __future__ import annotations

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs
from stages import ordered_map
from stages.relatives.deltas.delta_data import Add, Bound, Let, Scale, Var, Zero, total


class Dual(DualNumber):
    """D[R]: a number x and its Delta d, which is Zero or Var."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d


def delta_let(run, u):
    """deltaLet u = \\(i, binds). (i, (i + 1, (i, u) : binds))"""
    i, binds = run.state
    run.state = (i + 1, ((i, u), binds))
    return i


def visit(x, u, m):
    """eval x u m for one constructor; returns the map, and the Deltas left to evaluate, the last one first."""
    match u:
        case Zero():
            return m, ()
        case Scale(y, u):
            return m, ((x * y, u),)
        case Add(u1, u2):
            return m, ((x, u2), (x, u1))
        case Var(i):
            return ordered_map.insert_with(lambda z, x: z + x, m, i, x), ()
        case Let(i, u, b):
            return m, ((x, Bound(i, u)), (x, b))
        case Bound(i, u):
            z = ordered_map.find(m, i)
            # To delete i is to pop the highest key: a Delta refers to earlier ids only, and later ones are gone.
            return (m, ()) if z is None else (ordered_map.pop_max(m)[2], ((z, u),))


def evaluate(x, u, m):
    """eval x u m"""
    todo = [(x, u)]
    while todo:
        m, more = visit(*todo.pop(), m)
        todo.extend(more)
    return m


def run_delta(run, u):
    """runDelta: u in a nest of Lets, the first binding outermost."""
    _, binds = run.state
    while binds:
        (i, bound), binds = binds
        u = Let(i, bound, u)
    return u


def constant(run, r):
    """D[r] = (r, Zero)"""
    return Dual(run, r, Zero())


def op(run, y, args, partials):
    """D[op(t1..tn)] = do i <- deltaLet (Add (Scale p1 u1) ... (Scale pn un)); (op(x1..xn), Var i)"""
    return Dual(run, y, Var(delta_let(run, total(partials, [u.d for u in args]))))


overload(Dual, constant, op)


def interleave(run, scalars, structure):
    """The input with a dual number for every scalar."""
    run.state = (len(scalars), ())
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
        """Evaluate the nest of Lets at a cotangent, and return the cotangents of the primals."""
        zs = output.read(ct)
        u = total([zs[k] for k, _ in duals], [u.d for _, u in duals])
        m = evaluate(1.0, run_delta(run, u), None)
        return structure.cotangent([ordered_map.find(m, i, 0.0) for i in range(len(scalars))])

    return y, pullback
