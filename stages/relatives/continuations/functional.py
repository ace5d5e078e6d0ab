r"""Reverse mode by shift and reset without mutable cells: a continuation returns a map of cotangents.

Paper:   Wang et al. 2019, section 3.6
D[R] =   (R, Id)                                    a continuation: D[R] -> Map Id R
Changed: in Fig. 8 (shift_reset.py) a continuation adds to the cells of all numbers that it uses, and returns nothing.
         Returning the cotangent of its own argument does not suffice, since it may have used other numbers, too. So
         every number has an id, and the continuation returns an immutable map from ids to cotangents.
Needs:   overloading, fresh ids, a persistent map (ordered_map.py), delimited continuations (one-shot ones: greenlets,
         control.py), with levels for nesting.
Cost:    O(log n) for an operation, in steps of the map. The reverse pass removes a number from the map as soon as
         nothing can add to it any more. Greenlets, memory and runs of f as in shift_reset.

    D[r]          = r
    D[op(t1..tn)] = let (xi, ii) = D[ti] in shift (\k. let fresh i; m = k (op(x1..xn), i) in
                                                       m without i, with m[i] * p1 added at i1, ..., m[i] * pn at in)
    grad f x ct   = let fresh i; m = reset (let (y, j) = D[f] (x, i) in {j: ct}) in m[i]
"""

from __future__ import annotations

import itertools
import operator

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.errors import LeakError
from dualrev.tree import outputs
from stages import ordered_map
from stages.relatives.continuations.again import running_again
from stages.relatives.continuations.control import reset, shift


class Dual(DualNumber):
    """D[R]: a number x and an id i."""

    __slots__ = ("i", "run", "x")

    def __init__(self, run, x, i):
        self.run, self.x, self.i = run, x, i


constant = None  # not represented


def op(run, y, args, partials):
    """D[op(t1..tn)] = shift (\\k. let fresh i; m = k (op(x1..xn), i) in ...)"""
    if run.over:
        raise LeakError

    def body(k):
        """Call k, and move z's cotangent in the map that it returns to z's arguments."""
        z = Dual(run, y, next(run.ids))
        m = k(z)
        reached = ordered_map.find(m, z.i) is not None
        return visit(m, z, args, partials) if reached else m

    return shift(body, run)


def visit(m, z, args, partials):
    """The reverse step: m without z's id, which is its highest, and with z's contributions"""
    i, ct, m = ordered_map.pop_max(m)
    assert i == z.i
    return with_all(m, ((u, ct * p) for u, p in zip(args, partials, strict=True)))


def with_all(m, contributions):
    """Add contributions to the cotangents of these dual numbers in the map."""
    for u, z in contributions:
        m = ordered_map.insert_with(operator.add, m, u.i, z)
    return m


overload(Dual, constant, op)


def deinterleave(run, y):
    """The output's scalars; the dual numbers among them, with their indices; its structure."""
    leaves, structure = outputs(y)
    duals = [(k, u) for k, u in enumerate(leaves) if isinstance(u, Dual) and u.run is run]
    for k, u in duals:
        leaves[k] = u.x
    return leaves, duals, structure


def there_and_back(f, scalars, structure, seeds):
    """grad f x ct: the output's scalars, its structure, and the cotangents of the input."""
    found: list = []
    with Run(ids=itertools.count()) as run:
        xs = [Dual(run, x, next(run.ids)) for x in scalars]

        def whole():
            """Run f, and return the map of the output's cotangents, which is empty without seeds."""
            values, ys, output = deinterleave(run, f(*structure.rebuild(xs)))
            found.extend((values, output))
            zs = seeds and seeds(values)
            return with_all(None, ((y, zs[k]) for k, y in ys)) if zs else None  # None is the empty map

        m = reset(whole, run)
    return *found, [ordered_map.find(m, u.i, 0.0) for u in xs]


def vjp(f, *primals):
    """f's value at the primals, and the map from a cotangent of it to a tuple of cotangents, one for each.

    ImportError without greenlet.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    return running_again(there_and_back, f, primals)
