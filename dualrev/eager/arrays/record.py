"""What operations on arrays write on the tape, and the arrays that they make.

Every operation does the same: find the innermost run among its arguments, strip them of it, compute the value with what
is left (plain arrays, or arrays of an outer run, for which this happens again), and write a block whose results are
the new array's elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.layout import consecutive
from dualrev.eager.arrays.storage import (
    RealArray,
    adopt,
    innermost,
    own,
    plain,
    real_array,
    refuse_foreign,
    strip,
    to_objects,
)
from dualrev.eager.blocks import Range, Rule, Terms
from dualrev.eager.dual import DualNumber, Run
from dualrev.eager.tape import Real, Tape, real

__all__ = ["NestedFlow", "attach", "by_rule", "by_terms", "holding", "ids_of", "spread", "sum_of_rows"]


def attach(run: Tape, y: Any, out: int) -> Any:
    """The value y with consecutive ids from `out`: an array, or a number where y has no axes."""
    if isinstance(y, np.ndarray) and y.dtype == object:
        y = adopt(y)
    refuse_foreign(y)
    if not isinstance(y, (RealArray, np.ndarray)) or y.ndim == 0:
        y = y[()] if isinstance(y, (RealArray, np.ndarray)) else y
        return real(run, y if isinstance(y, DualNumber) else float(y), out)
    layers = y.layers() if isinstance(y, RealArray) else {}
    x = np.asarray(plain(y), dtype=float)
    return RealArray(x, {**layers, run: consecutive(out, x)})


def ids_of(u: Any, run: Run) -> np.ndarray | None:
    """The ids of an array or a number on the tape of a run; None if it is a constant there."""
    if isinstance(u, RealArray):
        return u.layers().get(run)
    if isinstance(u, Real) and u.run is run:
        return np.array(u.i)
    return None


def spread(a: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """np.broadcast_to, as an array of its own; faster."""
    made = np.empty(shape, np.int64 if a.dtype == np.int64 else float)
    made[...] = a
    return made


def by_terms(run: Tape, y: Any, terms: Sequence[tuple[np.ndarray | None, Any, np.ndarray]]) -> Any:
    """The value y of an operation, given its contributions: (rows, partials, ids) of each operand, flat.

    Rows say which element of y a contribution is to; None where there is one for every element, in order. A partial
    may be one number for all.
    """
    out = run.allocate(y.size if isinstance(y, (np.ndarray, RealArray)) else 1)
    for row, p, ids in terms:
        if isinstance(p, DualNumber) or (isinstance(p, np.ndarray) and p.dtype == object):
            p = real_array(p).reshape(-1)
        elif not isinstance(p, (np.ndarray, RealArray)) or not p.ndim:
            refuse_foreign(p)
            p = np.array([p], dtype=float)
        run.blocks.append(Terms(run.fresh(), out, row, p, ids))
    return attach(run, y, out)


def by_rule(
    compute: Callable[..., Any],
    pull: Callable[..., Sequence[Any]],
    push: Callable[..., Sequence[Any]],
    *args: Any,
    keeps_value: bool = True,
) -> Any:
    """compute(*args), an array or a tuple of them, where derivatives follow a rule for whole arrays.

    With xs the stripped arguments and ys the tuple of values, pull(xs, ys, gs) returns a cotangent for every argument,
    push(xs, ys, ts) a tangent for every value; a tangent of an argument is None if it is constant. They use numpy's
    functions, so that they can be differentiated themselves. Where they do not need ys, `keeps_value` is False.
    """
    args = tuple(real_array(u) for u in args)
    run = innermost(args)
    if run is None:
        return holding(compute(*(plain(u) for u in args)), args)
    if not isinstance(run, Tape):
        return compute(*(to_objects(u) for u in args))
    for u in args:
        refuse_foreign(u)
    # what is saved must not change when the user's function assigns to an element later
    xs = [own(strip(u, run)) for u in args]
    y = compute(*xs)
    ys = y if isinstance(y, tuple) else (y,)
    saved = tuple(map(own, ys)) if keeps_value else ()
    outs = [run.allocate(int(np.size(v))) for v in ys]
    run.blocks.append(
        Rule(
            run.fresh(),
            outs,
            [np.shape(v) for v in ys],
            [ids_of(u, run) for u in args],
            lambda gs: pull(xs, saved, gs),
            lambda ts: push(xs, saved, ts),
            nested=not all(isinstance(x, np.ndarray) for x in xs),
        )
    )
    made = tuple(attach(run, v, out) for v, out in zip(ys, outs, strict=True))
    return made if isinstance(y, tuple) else made[0]


def holding(y: Any, args: Sequence[Any]) -> Any:
    """A plain result that can hold numbers under differentiation, if one of the arguments could."""
    if isinstance(y, tuple):
        return type(y)(holding(v, args) for v in y)
    if isinstance(y, np.ndarray) and y.ndim and y.dtype == float and any(isinstance(u, RealArray) for u in args):
        return RealArray(y)
    return y


class NestedFlow:
    """Cotangents or tangents that are numbers of an outer run: see `dualrev.eager.blocks.Flow`.

    Those of elements are in an array, those of scalars in a dict.
    """

    def __init__(self, elements: int) -> None:
        self._scalars: dict[int, Any] = {}
        self._elements = RealArray(np.zeros(elements))
        self._reached = np.zeros(elements, bool)

    def numbers(self, ids: list[int]) -> list[Any]:
        """The numbers at these ids."""
        return [self.take(i) if self.has(i) else 0.0 for i in ids]

    def has(self, i: int) -> bool:
        """Whether anything contributed to this id."""
        return bool(self._reached[i]) if i < 0 else i in self._scalars

    def take(self, i: int) -> Any:
        """The number at this id, which has been reached."""
        return self._elements[i] if i < 0 else self._scalars[i]

    def add_one(self, i: int, ct: Any) -> None:
        """Add to this id."""
        if i < 0:
            self._elements[i] = self._elements[i] + ct
            self._reached[i] = True
        elif i > 0:
            self._scalars[i] = self._scalars[i] + ct if i in self._scalars else ct

    def reached(self, ids: Any) -> np.ndarray:
        """Whether anything contributed to these ids."""
        if isinstance(ids, Range) and ids.start < 0:
            return ids.of(self._reached)
        ids = np.asarray(ids)
        found = np.zeros(ids.shape, bool)
        negative = ids < 0
        found[negative] = self._reached[ids[negative]]
        for k in np.flatnonzero(ids > 0):
            found.flat[k] = ids.flat[k] in self._scalars
        return found

    def get(self, ids: Any) -> Any:
        """The numbers at these ids, 0 where nothing contributed."""
        if isinstance(ids, Range) and ids.start < 0:
            return ids.of(self._elements) if ids.shape else self._elements[ids.start]
        ids = np.asarray(ids)
        if (ids < 0).all() and ids.size:
            return self._elements[ids]
        made = RealArray(np.zeros(ids.shape))
        negative = ids < 0
        if negative.any():
            made[negative] = self._elements[ids[negative]]
        flat = made.reshape(-1)
        for k in np.flatnonzero(ids > 0):
            flat[k] = self._scalars.get(int(ids.flat[k]), 0.0)
        return made if made.ndim else made[()]

    def add(self, ids: Any, ct: Any) -> None:
        """Add to these ids; one may occur more than once."""
        if isinstance(ids, Range) and ids.start < 0:
            mine, reached = ids.of(self._elements), ids.of(self._reached)
            mine[...] = mine + ct if reached.any() else ct
            reached[...] = True
            return
        ids = np.asarray(ids)
        ct = np.broadcast_to(real_array(ct), ids.shape).reshape(-1)
        ids = ids.reshape(-1)
        chosen = ids != 0
        if not chosen.all():
            ids, ct = ids[chosen], ct[chosen]
        if not ids.size:
            return
        unique, inverse = np.unique(ids, return_inverse=True)
        if unique.size < ids.size:
            ids, ct = unique, sum_of_rows(ct, inverse.reshape(-1), unique.size)
        negative = ids < 0
        if negative.any():
            places = ids[negative]
            self._elements[places] = self._elements[places] + ct[negative]
            self._reached[places] = True
        for k in np.flatnonzero(~negative):
            self.add_one(int(ids[k]), ct[k])


def sum_of_rows(x: Any, row: np.ndarray, n: int) -> Any:
    """An array of n elements: element r is the sum of the x[k] with row[k] = r. x has one axis."""
    run = innermost([x])
    if run is None:
        return np.bincount(row, plain(x), n)
    if not isinstance(run, Tape):
        made = np.zeros(n, dtype=object)
        np.add.at(made, row, to_objects(x))
        return made
    y = sum_of_rows(strip(x, run), row, n)
    ids = ids_of(x, run)
    assert ids is not None
    return by_terms(run, y, [(row, 1.0, ids.copy())])
