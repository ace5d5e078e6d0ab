r"""Efficient CHAD: the cotangent of the environment is not returned but accumulated, in a cell for each variable.

Paper:   Smeding and Vákár 2024, "Efficient CHAD"
D[R] =   R                                          and a term of type R has R -o EVM, where
                                                    EVM = Array R ->R Array R, an accumulator for each variable
Changed: chad returns a tuple for the whole environment from each term, with zeros for what the term does not use. Here
         the environment's cotangent is a state: a variable adds to its own accumulator, and 0 does nothing. The scope
         of a variable is the life of its accumulator, so that accumulators are a stack. The paper also makes the 0 of
         a pair a value of its own; of scalars there is only the accumulator that is empty.
Needs:   as chad: programs as terms; and mutable arrays, of which only addition is observed, in any order.
Cost:    O(1) for each use of a variable: linear. The paper proves it for pairs and sums, too: a sum of two cotangents
         visits what both have, which is paid for by the code that has made it.

    0                 = \a. a
    d1 z1 + d2 z2     = d1 z1 . d2 z2
    D[xi]             = (xi, \z. \a. a[i] := a[i] + z)
    D[op(x1..xn)]     = (op(x1..xn), \z. d1 (z*p1) . ... . dn (z*pn))             (xi, di) = D[xi]
    D[let x = s in t] = let (x, d) = D[s] in let (y, e) = D[t] in (y, \z. \a. push 0 a; e z a; let zx = pop a in d zx a)
    Wrap[f] x         = D[f x], in the environment of the input's scalars: z |-> what it leaves in n empty accumulators

A run is a sequence of lets, so that all of its scopes end one after the other: pop is a loop from the last let to the
first, and this program is `lists` without its ids. i is the number of variables before xi, as the stages draw ids; but
the calculus (stages/calculus/chad) knows it before the program runs.
"""

from __future__ import annotations

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs


class Dual(DualNumber):
    """A variable: a number x, the function d of its term, its index i in the environment."""

    __slots__ = ("d", "i", "run", "x")

    def __init__(self, run, x, d, i):
        self.run, self.x, self.d, self.i = run, x, d, i


zero = None  # an empty accumulator: nothing has been added yet


def alloc(n):
    """n empty accumulators"""
    return [zero] * n


def add(a, i, z):
    """a[i] := a[i] + z"""
    a[i] = z if a[i] is zero else a[i] + z


constant = None  # not represented: its function is 0


def op(run, y, args, partials):
    """The variable x of a let, bound to the operation, which opens a scope."""

    def d(z):
        """d1 (z*p1) . ... . dn (z*pn) : EVM"""

        def run(a):
            """Add to the accumulators of x1..xn."""
            for u, p in zip(args, partials, strict=True):
                add(a, u.i, z * p)

        return run

    x = Dual(run, y, d, run.scalars + len(run.lets))
    run.lets.append(x)
    return x


overload(Dual, constant, op)


def deinterleave(run, y):
    """The output's value; the variables in it, with their indices; the structure of its cotangents."""
    leaves, structure = outputs(y)
    duals = [(k, u) for k, u in enumerate(leaves) if isinstance(u, Dual) and u.run is run]
    for k, u in duals:
        leaves[k] = u.x
    return structure.rebuild(leaves), duals, structure


def vjp(f, *primals):
    """Wrap[f] primals: f's value, and the map from a cotangent of it to a tuple of cotangents, one for every primal.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    scalars, structure = inputs(primals)
    with Run(scalars=len(scalars), lets=[]) as run:
        xs = [Dual(run, x, None, i) for i, x in enumerate(scalars)]
        y, duals, output = deinterleave(run, f(*structure.rebuild(xs)))

    def pullback(ct):
        """Run the term on empty accumulators, leave the scopes, and return the contents of the input's accumulators."""
        zs, a = output.read(ct), alloc(len(scalars) + len(run.lets))
        for k, u in duals:
            add(a, u.i, zs[k])
        for x in reversed(run.lets):
            z = a.pop()
            if z is not zero:
                x.d(z)(a)
        return structure.cotangent([0.0 if z is zero else z for z in a])

    return y, pullback
