"""Recording of array operations on the tape, and the arrays that they return.

Every operation does the same: find the innermost run among its arguments, strip them of it, compute the value with what
is left (plain arrays, or arrays of an outer run, for which this happens again), and write a block whose results are
the new array's elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.id_layers import BORROWED
from dualrev.eager.arrays.memory.layout import consecutive
from dualrev.eager.arrays.memory.storage import (
    RealArray,
    adopt,
    innermost,
    kept,
    own,
    plain,
    real_array,
    refuse_foreign,
    strip,
    to_objects,
)
from dualrev.eager.numbers.dual import DualNumber, Run
from dualrev.eager.tape import row_kernels
from dualrev.eager.tape.blocks import PLAIN, Kept, Rule, Terms
from dualrev.eager.tape.ids import Range, laid_out, saved
from dualrev.eager.tape.tape import Real, Tape, real

__all__ = [
    "alone",
    "attach",
    "attach_array",
    "by_rule",
    "by_terms",
    "holding",
    "ids_of",
    "kept_as_is",
    "kept_on",
    "of_new",
    "record_rule",
    "stripped",
    "sum_of_rows",
    "zeros_view",
]


def attach(run: Tape, y: Any) -> tuple[Any, Any]:
    """The value y with ids of its own, and these: an array, or a number where y has no axes."""
    if y.__class__ is np.ndarray and y.dtype == float and y.ndim:
        return attach_array(run, y)
    if y.__class__ is np.float64:
        i = run.fresh()
        return real(run, float(y), i), Range(i, ())
    if isinstance(y, np.ndarray) and y.dtype == object:
        y = adopt(y)
    refuse_foreign(y)
    if not isinstance(y, (RealArray, np.ndarray)) or y.ndim == 0:
        y = y[()] if isinstance(y, (RealArray, np.ndarray)) else y
        i = run.fresh()
        return real(run, y if isinstance(y, DualNumber) else float(y), i), Range(i, ())
    layers = y.layers() if isinstance(y, RealArray) else {}
    x = np.asarray(plain(y), dtype=float)
    out, ids = of_new(run.allocate(x.size), x)
    made = RealArray(x, {**layers, run: ids}, x.base is None)
    if isinstance(y, RealArray):  # which nobody else knows, but who keeps its values
        made._keeper, y._keeper = y._keeper, BORROWED
    return made, out


def attach_array(run: Tape, y: np.ndarray) -> tuple[RealArray, Range]:
    """The same of a plain array of floats that has axes."""
    start = run.allocate(y.size)
    if y.flags.c_contiguous:
        ids = out = Range(start, y.shape)
    else:
        out, ids = of_new(start, y)
    return RealArray(y, {run: ids}, y.base is None), out


def of_new(start: int, x: np.ndarray) -> tuple[Range, Any]:
    """The ids from `start` for the elements of a new array, and its layer: written out if there are gaps in memory."""
    ids = laid_out(start, x)
    return (Range(start, x.shape), consecutive(start, x)) if ids is None else (ids, ids)


def ids_of(u: Any, run: Run) -> Any:
    """The ids of an array or a number on the tape of a run; None if it is a constant there."""
    if isinstance(u, RealArray):
        return u.layers().get(run)
    if isinstance(u, Real) and u.run is run:
        return Range(u.i, ())
    return None


def alone(args: Sequence[Any]) -> tuple[Tape | None, list[Any], list[Any]]:
    """The tape, the ids of each argument (None for a constant), and its values, where all that is known are floats.

    That is the usual case, and goes fast: arrays and numbers of one run, plain arrays and plain numbers. There is no
    tape if it is another case.
    """
    run: Any = None
    ids: list[Any] = []
    xs: list[Any] = []
    for u in args:
        kind = u.__class__
        if kind is RealArray:
            layers = u.layers() if u._parent is not None else u._layers
            if len(layers) != 1:
                return None, ids, xs
            ((found, mine),) = layers.items()
            xs.append(u.x)
        elif kind is Real:
            found, mine = u.run, Range(u.i, ())
            xs.append(u.x)
        elif (
            kind is float
            or kind is np.float64
            or (kind is int and -_LARGE < u < _LARGE)
            or (kind is np.ndarray and u.dtype == float)
        ):
            ids.append(None)
            xs.append(u)
            continue
        else:
            return None, ids, xs
        if found is not run:
            if run is not None:
                return None, ids, xs
            run = found
        ids.append(mine)
    return (run if run.__class__ is Tape and not run.over else None), ids, xs


def kept_on(run: Tape, u: Any) -> Any:
    """As `kept`. Of a plain array there is one copy for all operations, as long as the user does not change it."""
    if u.__class__ is not np.ndarray or u.size < _SHARED or u.dtype != float or not u.flags.c_contiguous:
        return kept(u)
    found = run.constants.get(id(u))
    if found is None or found[0] is not u or not _has_bits(u, found[1].x):
        found = run.constants[id(u)] = u, kept(u)
    return found[1]


def _has_bits(u: np.ndarray, v: np.ndarray) -> bool:
    """Whether arrays of at least one element are the same, NaN and the signs of zeros included."""
    if u.shape != v.shape:
        return False
    return bool(row_kernels.same(u.reshape(-1).view(np.int64), v.reshape(-1).view(np.int64)))


_LARGE = 2**53  # ints below are exact in double precision
_SHARED = 2000  # elements: below, to compare takes longer than to copy


def by_terms(
    run: Tape,
    y: Any,
    operands: Sequence[tuple[Any, Any]],
    domain: tuple[int, ...],
    reduced: tuple[int, ...] | None = None,
    rows: np.ndarray | None = None,
) -> Any:
    """The value y of an operation, given its contributions: (ids, partials) of each operand; see `Terms`.

    A function in place of a partial makes it of the result.
    """
    made, out = attach(run, y)
    nested, given = False, []
    for ids, p in operands:
        p = p(made) if callable(p) else p
        nested = nested or p.__class__ not in PLAIN
        given.append((ids if ids.__class__ is Range else saved(ids), p))
    kept = out.shape if reduced is None else reduced
    run.blocks.append(Terms(run.fresh(), out, given, domain, kept, rows, nested))
    return made


def by_rule(
    compute: Callable[..., Any],
    pull: Callable[..., Sequence[Any]],
    push: Callable[..., Sequence[Any]],
    *args: Any,
    keeps_value: bool = True,
    needs: Sequence[bool] | None = None,
) -> Any:
    """compute(*args), an array or a tuple of them, where derivatives follow a rule for whole arrays.

    With xs the stripped arguments and ys the tuple of values, pull(xs, ys, gs) returns a cotangent for every argument,
    push(xs, ys, ts) a tangent for every value; a tangent of an argument is None if it is constant. They use numpy's
    functions, so that they can be differentiated themselves. Where they do not need ys, `keeps_value` is False;
    `needs` says which xs they need more of than the shape.
    """
    args = tuple([u if u.__class__ is RealArray else real_array(u) for u in args])
    run, ids, xs = stripped(args)
    if run is None:
        return holding(compute(*(plain(u) for u in args)), args)
    if not isinstance(run, Tape):
        return compute(*(to_objects(u) for u in args))
    return record_rule(run, compute, pull, push, args, ids, xs, keeps_value, needs)


def stripped(args: Sequence[Any]) -> tuple[Run | None, list[Any], list[Any]]:
    """The innermost run among arrays, their ids (None for a constant), and what they are to the runs around it."""
    tape, ids, xs = alone(args)
    if tape is not None:
        return tape, ids, xs
    run = innermost(args)
    if not isinstance(run, Tape):
        return run, [], []
    for u in args:
        refuse_foreign(u)
    return run, [ids_of(u, run) for u in args], [strip(u, run) for u in args]


def record_rule(
    run: Tape,
    compute: Callable[..., Any],
    pull: Callable[..., Sequence[Any]],
    push: Callable[..., Sequence[Any]],
    args: Sequence[Any],
    ids: Sequence[Any],
    xs: Sequence[Any],
    keeps_value: bool = True,
    needs: Sequence[bool] | None = None,
) -> Any:
    """The same for arrays that have been stripped of a run."""
    y = compute(*xs)
    ys = [_apart(v) for v in y] if isinstance(y, tuple) else [_apart(y)]
    nested = RealArray in map(type, xs)
    # what is kept does not change when the user's function assigns to an element later
    given = []
    for k, (x, u) in enumerate(zip(xs, args, strict=True)):
        if needs is None or needs[k] or nested:
            given.append(kept_as_is(run, u, x))
        else:
            given.append(Kept(zeros_view(x.shape)))
    made, found = [], []
    for v in ys:
        of_run = v.keep_layers() if keeps_value and v.__class__ is RealArray else None
        made.append(attach(run, v))
        if keeps_value:
            found.append(of_run or _kept_value(v, made[-1][0]))
    run.blocks.append(
        Rule(
            run.fresh(),
            [out for _, out in made],
            ids,
            lambda gs: pull([k.x for k in given], tuple([k.x for k in found]), gs),
            lambda ts: push([k.x for k in given], tuple([k.x for k in found]), ts),
            nested,
        )
    )
    return tuple([v for v, _ in made]) if isinstance(y, tuple) else made[0][0]


def kept_as_is(run: Tape, u: Any, x: Any) -> Any:
    """Return what a rule keeps of an array u, which is stripped to x."""
    if x.__class__ is RealArray:
        return x.keep_layers()
    return Kept(own(x)) if _is_discrete(u) else kept_on(run, u)


def _kept_value(v: Any, made: Any) -> Kept:
    """Return what a rule keeps of a value v without traced numbers of outer runs; `made` is the run's array of it."""
    return made.keep() if made.__class__ is RealArray and not _is_discrete(v) else Kept(own(v))


def zeros_view(shape: tuple[int, ...]) -> np.ndarray:
    """Zeros that take no memory: np.broadcast_to(0.0, shape), but faster."""
    return np.ndarray(shape, float, _ZERO, 0, (0,) * len(shape))


_ZERO = np.zeros(())


def _is_discrete(u: Any) -> bool:
    return isinstance(u, np.ndarray) and u.dtype != float


def _apart(y: Any) -> Any:
    """A value that is no view of an argument."""
    if y.__class__ is np.ndarray:
        return y if y.base is None else own(y)
    alone = not isinstance(y, (np.ndarray, RealArray)) or plain(y).flags.owndata
    return y if alone else own(y)


def holding(y: Any, args: Sequence[Any]) -> Any:
    """A plain result that can hold numbers under differentiation, if one of the arguments could."""
    if isinstance(y, tuple):
        return type(y)(holding(v, args) for v in y)
    if isinstance(y, np.ndarray) and y.ndim and y.dtype == float and any(isinstance(u, RealArray) for u in args):
        return RealArray(y)
    return y


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
    return by_terms(run, y, [(ids, 1.0)], row.shape, rows=row)
