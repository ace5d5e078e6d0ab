r"""Forward mode with tags: a scalar carries its derivative in one direction, and the tag of its derivative call.

Paper:   Wang et al. 2019, sections 2.3 to 2.5, Figs. 4 and 5
D[R] =   (R, R, Tag)                                the value, the tangent, and a number for each call of jvp
Changed: Fig. 5 has no tag, and confuses perturbations: in grad (\x. x * grad (\y. x + y) 1) the inner derivative takes
         x's tangent for its own, and returns 2 instead of 1. With a tag for each call, an operation belongs to the
         latest call among its arguments, and numbers of earlier calls are constants to it: derivatives nest.
Needs:   overloading, and a counter for the tags (the level of a Run).
Cost:    a jvp is O(program). A vjp takes a jvp for every scalar of the input: n times too slow.

    D[r]          = r                               of an earlier call, or none: its tangent is 0
    D[op(t1..tn)] = let (xi, di) = D[ti] in (op(x1..xn), d1*p1 + ... + dn*pn)
    jvp f x dx    = let fresh tag: f (x, dx, tag)
    vjp f x       = (f x, \ct. (..., the inner product of ct and jvp f x (one-hot i), ...))

vjp runs f n times and keeps all derivatives, so that the pullback need not run f.
"""

from __future__ import annotations

import functools
import operator

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.errors import TangentError
from dualrev.tree import inputs, outputs


class Dual(DualNumber):
    """D[R]: a number x and its tangent d; the tag is the run's level."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d


constant = None  # not represented: p * 0 is left out, which would be NaN if p is infinite


def op(run, y, args, partials):
    """D[op(t1..tn)] = (op(x1..xn), d1*p1 + ... + dn*pn)"""
    terms = [u.d * p for u, p in zip(args, partials, strict=True)]
    return Dual(run, y, functools.reduce(operator.add, terms) if terms else 0.0)


overload(Dual, constant, op)


def interleave(run, scalars, tangents, structure):
    """The input with a dual number for every scalar with a tangent other than 0; the others are constants."""
    moves = [isinstance(dx, DualNumber) or dx != 0.0 for dx in tangents]
    return structure.rebuild([Dual(run, x, dx) if m else x for x, dx, m in zip(scalars, tangents, moves, strict=True)])


def deinterleave(run, y):
    """The output's value; its tangents, None for a constant; its structure."""
    leaves, structure = outputs(y)
    duals = [isinstance(u, Dual) and u.run is run for u in leaves]
    values = [u.x if dual else u for u, dual in zip(leaves, duals, strict=True)]
    return structure.rebuild(values), [u.d if dual else None for u, dual in zip(leaves, duals, strict=True)], structure


def forward(f, scalars, tangents, structure):
    """Run f once, with a fresh tag."""
    with Run() as run:
        return deinterleave(run, f(*interleave(run, scalars, tangents, structure)))


def jvp(f, primals, tangents):
    """f's value at the primals, and its derivative in the direction of the tangents.

    Primals and tangents are tuples of the same structure; None is the tangent of discrete data. TangentError if the
    structures differ.

    >>> jvp(lambda x, y: x * y, (3.0, 2.0), (1.0, 0.5))
    (6.0, 3.5)
    """
    scalars, structure = inputs(tuple(primals))
    structure.read_leaves(tuple(tangents), TangentError)
    y, dys, output = forward(f, scalars, structure.read(tuple(tangents)), structure)
    return y, output.cotangent([0.0 if dy is None else dy for dy in dys])


def vjp(f, *primals):
    """f's value at the primals, and the map from a cotangent of it to a tuple of cotangents, one for each.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    scalars, structure = inputs(primals)
    columns = []
    for i in range(len(scalars)):
        one_hot = [float(j == i) for j in range(len(scalars))]
        y, dys, output = forward(f, scalars, one_hot, structure)
        columns.append([(k, dy) for k, dy in enumerate(dys) if dy is not None])

    def pullback(ct):
        """The inner product of a cotangent with the tangents of the output, for each input."""
        zs = output.read(ct)
        return structure.cotangent([functools.reduce(operator.add, [zs[k] * dy for k, dy in c], 0.0) for c in columns])

    return y, pullback
