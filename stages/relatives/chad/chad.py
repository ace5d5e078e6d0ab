r"""CHAD: one linear function per term, from the cotangent of its value to the cotangent of its environment.

Paper:   Vákár and Smeding 2022, "CHAD", the rules for variables, products and let
D[R] =   R                                          and a term of type R has R -o D[G]2, where
                                                    D[x1 : R, .., xn : R]2 = (R, .., R)
Changed: naive gives a scalar a backpropagator to the input. Here a scalar carries nothing; the term that computes it
         has a function to the cotangent of all variables in scope. At the end of a variable's scope, its own part is
         taken out, and passed on to the function of the term that it is bound to. So each function is called once,
         without ids: the nesting of scopes is the order.
Needs:   programs as terms: here the run of f is recorded as let x1 = op(..) in .. in let xm = op(..) in the result.
         For functions, sums and recursion see stages/calculus/chad. Lets that the result does not need are left out:
         their cotangents are 0, and 0 times an infinite partial derivative would be NaN.
Cost:    O(G) for each use of a variable, since its one-hot has a number for each variable in scope, and O(G) for each
         sum: n^2 for n operations. Efficient CHAD mends that.

    D[x]              = (x, \z. (0, .., z, .., 0))
    D[op(x1..xn)]     = (op(x1..xn), \z. d1 (z*p1) + ... + dn (z*pn))             (xi, di) = D[xi]
    D[let x = s in t] = let (x, d) = D[s] in let (y, e) = D[t] in (y, \z. let (c, zx) = e z in c + d zx)
    D[(x1, .., xn)]   = ((x1, .., xn), \(z1, .., zn). d1 z1 + ... + dn zn)
    Wrap[f] x         = D[f x], in the environment of the input's scalars
"""

from __future__ import annotations

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs
from stages.relatives.chad import tuples


class Dual(DualNumber):
    """A variable: a number x, the function d of its term, its index i in the environment."""

    __slots__ = ("d", "i", "run", "x")

    def __init__(self, run, x, d, i):
        self.run, self.x, self.d, self.i = run, x, d, i


def total(n, calls):
    """d1 z1 + ... + dn zn : D[G]2, for variables of an environment G of n"""
    made = None
    for u, z in calls:
        added = tuples.one_hot(n, u.i, z)
        made = added if made is None else tuples.plus(made, added)
    return tuples.zero(n) if made is None else made


constant = None  # not represented: its function is 0


def op(run, y, args, partials):
    """The variable x of a let, bound to the operation, which opens a scope."""
    n = run.scalars + len(run.lets)

    def d(z):
        """d1 (z*p1) + ... + dn (z*pn)"""
        return total(n, [(u, z * p) for u, p in zip(args, partials, strict=True)])

    x = Dual(run, y, d, n)
    run.lets.append(x)
    run.uses.append([u.i for u in args])
    return x


overload(Dual, constant, op)


def needed(run, results):
    """The indices of the variables that the results depend on."""
    found = {u.i for u in results}
    for x, uses in zip(reversed(run.lets), reversed(run.uses), strict=True):
        if x.i in found:
            found.update(uses)
    return found


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
    with Run(scalars=len(scalars), lets=[], uses=[]) as run:
        xs = [Dual(run, x, None, i) for i, x in enumerate(scalars)]
        y, duals, output = deinterleave(run, f(*structure.rebuild(xs)))
    wanted = needed(run, [u for _, u in duals])

    def pullback(ct):
        """Leave the scopes, the innermost first, and return the cotangent of the input."""
        zs = output.read(ct)
        c = total(len(scalars) + len(run.lets), [(u, zs[k]) for k, u in duals])
        for x in reversed(run.lets):
            z = c.pop()
            if x.i in wanted:
                c = tuples.plus(c, x.d(z))
        return structure.cotangent(c)

    return y, pullback
