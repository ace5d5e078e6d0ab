"""Arrays of dual numbers, kept apart: an array of values, and for every derivative call an array of ids beside it.

    Layered = (x : Array R, layers : Run -> Array Id)          the number at an index is ((x, i1), i2), ... by level

A layer comes into being when the first number of its run is stored. Views made before that find it through the array
that they are a view of: a view remembers its parent and how it was taken from it.

In the layer of a run that writes no tape (a stage, forward mode), the dual numbers themselves take the place of ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from dualrev.eager.dual import DualNumber, Run, value
from dualrev.eager.tape import Tape
from dualrev.errors import LeakError, UnsupportedError

__all__ = ["Layered", "holds_duals", "innermost", "plain", "refuse_foreign"]


class Layered:
    """Values with layers of ids: what is taken of one is taken of all of them. storage.py makes an array of it."""

    __slots__ = ("_layers", "_parent", "_select", "x")

    def __init__(self, x: np.ndarray, layers: dict[Run, np.ndarray] | None = None) -> None:
        self.x = x
        self._layers = {} if layers is None else layers
        self._parent: Self | None = None
        self._select: Callable[[np.ndarray], np.ndarray] | None = None

    def layers(self) -> dict[Run, np.ndarray]:
        """The ids of every run that has numbers here (or had)."""
        if self._parent is None:
            return self._layers
        chain = [self]  # no recursion: x = x[1:] in a loop makes a long one
        while chain[-1]._parent is not None:
            chain.append(chain[-1]._parent)
        for above, view in zip(chain[:0:-1], chain[-2::-1], strict=True):
            for run, ids in list(above._layers.items()):
                if run not in view._layers:
                    view._layers[run] = view._select(ids)  # type: ignore[misc]
        return self._layers

    def layer(self, run: Run) -> np.ndarray:
        """The ids of a run, made if there are none yet."""
        if run in self.layers():
            return self._layers[run]
        if self._parent is not None:
            root = self._parent
            while root._parent is not None:
                root = root._parent
            root.layer(run)
            return self.layers()[run]
        for old in [r for r in list(self._layers) if r.over and not _has_ids(self._layers[r])]:
            self._layers.pop(old, None)  # an array that is kept between calls would keep every call's tape
        # in the memory layout of x, so that what is a view of one is a view of the other
        made = np.zeros_like(self.x, np.int64) if isinstance(run, Tape) else np.full_like(self.x, None, object)
        return self._layers.setdefault(run, made)  # another thread may have been faster

    def derived(self, select: Callable[[np.ndarray], np.ndarray]) -> Self:
        """The same selection of values and of ids: a view where numpy makes a view."""
        x = select(self.x)
        made = type(self)(x, {run: select(ids) for run, ids in self.layers().items()})
        if np.may_share_memory(x, self.x):
            made._parent, made._select = self, select
        else:  # ids are compact where x may not be: a copy of x takes a copy of them
            for run, ids in made._layers.items():
                if np.may_share_memory(ids, self._layers[run]):
                    made._layers[run] = ids.copy()
        return made


def holds_duals(x: Any) -> bool:
    """Whether an array or a number is, or contains, a number under differentiation."""
    if isinstance(x, Layered):
        return any(map(_has_ids, x.layers().values()))
    if isinstance(x, np.ndarray):
        return x.dtype == object and any(map(_is_dual, x.flat))
    return isinstance(x, DualNumber)


def _has_ids(ids: np.ndarray) -> bool:
    return any(map(_is_dual, ids.flat)) if ids.dtype == object else bool(ids.any())


def _is_dual(x: Any) -> bool:
    return isinstance(x, DualNumber)


def plain(x: Any) -> Any:
    """The values of an array, or of a number, without any derivative; arrays are not copied."""
    if isinstance(x, Layered):
        return x.x
    if isinstance(x, np.ndarray) and x.dtype == object:
        return np.array([value(u) for u in x.ravel()]).reshape(x.shape)
    return value(x)


def innermost(args: Sequence[Any]) -> Run | None:
    """The innermost run among arrays and numbers; LeakError if one of them is left over from a run that has ended."""
    run: Run | None = None
    for u in args:
        if isinstance(u, Layered):
            for other, ids in u.layers().items():
                if not other.over:
                    run = other if run is None or other.level > run.level else run
                elif _has_ids(ids):  # they may also have been overwritten since
                    raise LeakError
        elif isinstance(u, DualNumber):
            if u.run.over:
                raise LeakError
            run = u.run if run is None or u.run.level > run.level else run
    return run


def refuse_foreign(x: Any) -> None:
    """UnsupportedError for what would lose a part of itself beside real numbers."""
    if x.__class__ is float or isinstance(x, Layered):
        return
    if isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c":
        raise UnsupportedError("complex arithmetic", "the real and the imaginary part as two numbers")
    if isinstance(x, (np.ma.MaskedArray, np.matrix)):
        raise UnsupportedError(
            f"a {type(x).__name__} in an operation", "np.where with the mask, or np.asarray of the matrix"
        )
