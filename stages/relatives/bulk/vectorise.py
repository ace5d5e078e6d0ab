r"""The bulk-operation transform: a program without build, in which each operation is on whole arrays.

Paper:   Smeding, Konarski, Peyton Jones and Fitzgibbon 2025, "Dual-numbers reverse AD for functional array languages"
Changed: the program means the same. A build is pushed inwards until it meets a variable, and disappears.
Needs:   build has a constant size, and its body is first order: it has no functions but those of build and gather.

    B[build n (\i. t)]                  = V i n B[t];  B goes through all other terms
    V i n t                             = replicate n t                                         i not free in t
    V i n (op(t1, .., tn))              = op(V i n t1, .., V i n tn)
    V i n (let x = s in t)              = let x = V i n s in V i n (t with x[i] in place of x)
    V i n (sum t)                       = sum (transpose (V i n t))                             a gather
    V i n (t[js])                       = gather n t (\i. js)                                   i not free in t
                                        = gather n (V i n t) (\i. i js)                         i free in t
    V i n (gather ns t (\is. js))       = the same, with gather (n, ns) and \i is.
    V i n (scatter ns t (\is. js))      = scatter (n, ns) (V i n t) (\i is. i js)

An array that does not depend on i is not copied for an index or a gather: x[i] of an input is one gather. `sum` needs
the axes of V i n t in another order; a gather does that, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from stages.relatives.bulk.binding import free, rewritten, substituted
from stages.relatives.bulk.language import Program
from stages.relatives.bulk.shapes import Shapes, shape
from stages.relatives.bulk.terms import Build, Gather, Index, Let, Op, Scatter, Sum, Term, Var

__all__ = ["vectorised"]


def vectorised(program: Program, shapes: Shapes) -> Program:
    """The program without build, for arguments of the given shapes.

    >>> from stages.relatives.bulk.language import build, program, sum_of
    >>> dot = program(lambda xs, ys: sum_of(build(3, lambda i: xs[i] * ys[i])))
    >>> print(vectorised(dot, {"xs": (3,), "ys": (3,)}))
    \\xs ys. sum (gather 3 xs (\\i. i) * gather 3 ys (\\i. i))
    """
    shape(program.body, shapes)
    return Program(program.arguments, _bulk(program.body, shapes))


def _bulk(t: Term, shapes: Shapes) -> Term:
    match t:
        case Build(n, i, body):
            inner = {**shapes, i: ()}
            return _vector(i, n, _bulk(body, inner), inner)
        case Let(x, bound, body):
            return Let(x, _bulk(bound, shapes), _bulk(body, {**shapes, x: shape(bound, shapes)}))
        case Gather() | Scatter():
            return replace(t, array=_bulk(t.array, shapes))
        case Index():
            return _index(replace(t, array=_bulk(t.array, shapes)))
    return rewritten(lambda u: _bulk(u, shapes), t)


def _index(t: Index) -> Term:
    """An index outside of all builds, t[js], is a gather of no axes."""
    return Gather((), t.array, (), t.at)


def _vector(i: str, n: int, t: Term, shapes: Shapes) -> Term:
    """V i n t, for a t without build; the shapes are those in its scope."""
    if i not in free(t):
        return Gather((n,), t, (i,), ())
    match t:
        case Op(name, args):
            return Op(name, tuple(_vector(i, n, u, shapes) for u in args))
        case Let(x, bound, body):
            whole, element = _vector(i, n, bound, shapes), Index(Var(x), (Var(i),))
            found = shape(bound, shapes)
            return Let(x, whole, _vector(i, n, substituted(body, {x: element}), {**shapes, x: (n, *found)}))
        case Sum(array):
            first = shape(array, shapes)[0]
            k = next(name for name in _names() if name not in shapes)
            return Sum(Gather((first, n), _vector(i, n, array, shapes), (k, i), (Var(i), Var(k))))
        case Index(array, at):
            return _gathered(Gather((), array, (), at), i, n, shapes)
        case Gather():
            return _gathered(t, i, n, shapes)
        case Scatter(ns, array, indices, at):
            return Scatter((n, *ns), _vector(i, n, array, shapes), (i, *indices), (Var(i), *at))
        case Var():
            raise TypeError(f"the index {i} is no array element: write an element of an array of numbers instead")
    raise TypeError(f"no bulk term: {t}")


def _names() -> Iterator[str]:
    """Names for the index of a sum: k, k1, k2 and so on."""
    return (f"k{c or ''}" for c in itertools.count())


def _gathered(t: Gather, i: str, n: int, shapes: Shapes) -> Gather:
    whole = (n, *t.shape)
    if i not in free(t.array):
        return Gather(whole, t.array, (i, *t.indices), t.at)
    return Gather(whole, _vector(i, n, t.array, shapes), (i, *t.indices), (Var(i), *t.at))
