"""The shape of a term: `shape`, and the errors of terms whose shapes do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stages.relatives.bulk.terms import Build, Gather, Index, Let, Num, Op, Scatter, Sum, Term, Var

__all__ = ["Shapes", "shape"]

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]


def shape(t: Term, shapes: Shapes) -> Shape:
    """The shape of a term, for variables of the given shapes. ValueError if there is none.

    >>> from stages.relatives.bulk.language import build
    >>> shape(build(3, lambda i: Var("xs")[i]), {"xs": (4, 2)})
    (3, 2)
    """
    match t:
        case Var(name):
            return shapes[name]
        case Num():
            return ()
        case Op(_, args):
            found = {shape(u, shapes) for u in args}
            if len(found) != 1:
                raise ValueError(f"operands of the shapes {' and '.join(map(str, sorted(found)))}: {t}")
            return found.pop()
        case Let(x, bound, body):
            return shape(body, {**shapes, x: shape(bound, shapes)})
        case Build(n, i, body):
            return _positive((n,), t) + shape(body, {**shapes, i: ()})
        case Index(array, at):
            return _rest(array, at, shapes, t)
        case Sum(array):
            return _rest(array, (Num(0),), shapes, t)
        case Gather(ns, array, indices, at):
            _same(len(ns), len(indices), t)
            return _positive(ns, t) + _rest(array, at, {**shapes, **dict.fromkeys(indices, ())}, t)
        case Scatter(ns, array, indices, at):
            _same(len(ns), len(at), t)
            return _positive(ns, t) + _rest(
                array, tuple(map(Var, indices)), {**shapes, **dict.fromkeys(indices, ())}, t
            )
    raise TypeError(f"no term: {t!r}")


def _rest(array: Term, at: Sequence[Term], shapes: Shapes, t: Term) -> Shape:
    whole = shape(array, shapes)
    if len(at) > len(whole):
        raise ValueError(f"{len(at)} indices for an array of shape {whole}: {t}")
    for j in at:
        if shape(j, shapes) != ():
            raise ValueError(f"an index of shape {shape(j, shapes)}: {t}")
    return whole[len(at) :]


def _positive(ns: Shape, t: Term) -> Shape:
    if any(n < 1 for n in ns):
        raise ValueError(f"an axis of size {min(ns)}, sizes are at least 1: {t}")
    return ns


def _same(n: int, m: int, t: Term) -> None:
    if n != m:
        raise ValueError(f"a shape of {n} axes and {m} indices: {t}")
