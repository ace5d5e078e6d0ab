"""Arrays of dual numbers, kept apart: an array of values, and for every derivative call an array of ids beside it.

    Layered = (x : Array R, layers : Run -> Array Id)          the number at an index is ((x, i1), i2), ... by level

The ids that an operation gives to its result are a `Range` (ids.py); they are written out when a number is stored.
A layer comes into being when the first number of its run is stored. Views made before that find it through the array
that they are a view of: a view remembers its parent and how it was taken from it.

In the layer of a run that writes no tape (a stage, forward mode), the dual numbers themselves take the place of ids.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from dualrev.eager.numbers.dual import DualNumber, Run, value
from dualrev.eager.tape.blocks import Kept
from dualrev.eager.tape.ids import Range, in_copy, of_view
from dualrev.eager.tape.tape import Tape
from dualrev.errors import LeakError, UnsupportedError

__all__ = ["BORROWED", "At", "KeptLayers", "Layered", "holds_duals", "innermost", "plain", "refuse_foreign"]


class Layered:
    """Values with layers of ids: what is taken of one is taken of all of them. storage.py makes an array of it.

    A layer of a tape is a `Range` until a number is stored: nothing can change it, so a view knows a part of it, and
    finds out by `_sources`, the layers that its own were taken of, that its parent has another one now.
    """

    __slots__ = ("_keeper", "_layers", "_parent", "_select", "_sources", "x")
    _sources: dict[Run, Any]

    def __init__(self, x: np.ndarray, layers: dict[Run, Any] | None = None, owner: bool = False) -> None:
        """`owner` says that nobody else can change x: so it needs no copy until somebody stores a number here."""
        self.x = x
        self._layers = {} if layers is None else layers
        self._parent: Self | None = None
        self._select: Callable[[Any], Any] | None = None
        self._keeper: Any = None if owner else BORROWED  # the Kept of x, if there is one

    def layers(self) -> dict[Run, Any]:
        """The ids of every run that has numbers here (or had): an array or a Range, which is not to be changed."""
        if self._parent is None:
            return self._layers
        above: Any = self._parent
        chain = [self]  # no recursion: x = x[1:] in a loop makes a long one
        while above._parent is not None:
            chain.append(above)
            above = above._parent
        while chain:
            view = chain.pop()
            for run, ids in tuple(above._layers.items()):
                if view._sources.get(run) is not ids:
                    view._layers[run] = _taken(ids, above, view)
                    view._sources[run] = ids
            above = view
        return self._layers

    def layer(self, run: Run) -> np.ndarray:
        """The ids of a run as an array that can be changed, made if there are none yet."""
        found = self.layers().get(run)
        if found is not None and found.__class__ is not Range:
            return found
        if self._parent is not None:
            self.root().layer(run)
            made: np.ndarray = self.layers()[run]
            return made
        if found is None:
            for old in [r for r in list(self._layers) if r.over and not _has_ids(self._layers[r])]:
                self._layers.pop(old, None)  # an array that is kept between calls would keep every call's tape
        # in the memory layout of x, so that what is a view of one is a view of the other
        if found is None:
            made = np.zeros_like(self.x, np.int64) if isinstance(run, Tape) else np.full_like(self.x, None, object)
            return self._layers.setdefault(run, made)  # another thread may have been faster
        made = np.asarray(found)
        if not self.x.flags.c_contiguous:
            written, made = made, np.empty_like(self.x, np.int64)
            made[...] = written
        with _WRITING_OUT:
            if self._layers[run] is found:
                self._layers[run] = made
        return self._layers[run]

    def root(self) -> Self:
        """The array whose memory this is a view of."""
        root = self
        while root._parent is not None:
            root = root._parent
        return root

    def keep(self) -> Kept:
        """The values as they are now, whatever is stored later: not copied before that."""
        kept: Any = self._keeper
        if kept is BORROWED:  # or a view
            return Kept(self.x.copy("K"))
        if kept is None:
            kept = self._keeper = Kept(self.x)
        return kept

    def keep_layers(self) -> KeptLayers:
        """The same with the numbers of all runs."""
        if self._keeper is BORROWED:
            return KeptLayers(self.copy("K"))
        layers = {run: in_copy(ids, "K", self.x, self.x) for run, ids in self.layers().items()}
        return KeptLayers(self.relayered(layers))

    def relayered(self, layers: dict[Run, Any]) -> Self:
        """The same values under other runs, for one operation: it need not copy what this array would not copy."""
        made = type(self)(self.x, layers)
        if self._keeper is not BORROWED:
            made._keeper = self.keep()
        return made

    def copy(self, order: Any = "C") -> Self:
        """An array of its own, with the same numbers."""
        x = self.x.copy(order)
        return type(self)(x, {run: in_copy(ids, order, self.x, x) for run, ids in self.layers().items()}, True)

    def before_change(self) -> None:
        """Give a copy of the values to the block that keeps them."""
        root = self.root()
        if root._keeper is not None and root._keeper is not BORROWED:
            root._keeper.x = root._keeper.x.copy("K")
            root._keeper = None

    def derived(self, select: Callable[[Any], Any]) -> Self:
        """The same selection of values and of ids: a view where numpy makes a view."""
        return self.taken(select(self.x), select)

    def taken(self, x: np.ndarray, select: Callable[[Any], Any]) -> Self:
        """The same, where x is what `select` takes of the values."""
        if np.may_share_memory(x, self.x):
            return self.seen(x, select)
        made = type(self)(x)
        for run, ids in self.layers().items():
            written = np.asarray(ids)
            taken = select(written)
            # ids are compact where x may not be: a copy of x takes a copy of them
            made._layers[run] = taken.copy() if written is ids and np.may_share_memory(taken, ids) else taken
        return made

    def seen(self, x: np.ndarray, select: Callable[[Any], Any]) -> Self:
        """Return the view x of the values, with the ids that `select` takes."""
        made = type(self)(x)
        made._parent, made._select, made._sources = self, select, {}
        return made


class KeptLayers(Kept):
    """Values, and numbers of runs that are kept with them: an array that nobody else knows.

    It has the memory of the array that it was made of, until somebody stores something there.
    """

    __slots__ = ("_array", "_values")

    def __init__(self, array: Layered) -> None:
        self._array, self._values = array, array.keep()

    @property
    def x(self) -> Any:
        """The array."""
        if self._array.x is not self._values.x:
            self._array = self._array.relayered(self._array.layers())
            self._array.x = self._values.x
        return self._array


def _taken(ids: Any, above: Layered, view: Layered) -> Any:
    """Return the ids of a view, given the ids of the array."""
    select = view._select
    assert select is not None
    if ids.__class__ is Range:
        made = ids[select.key] if select.__class__ is At else None
        made = of_view(ids, above.x, view.x) if made is None else made
        if made is not None:
            return made
        ids = np.asarray(ids)
    return select(ids)


#: The `_keeper` of an array with the memory of another one, or of the user's, who do not know who keeps this one.
BORROWED = object()


class At:
    """Selection of the elements at an index."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __call__(self, a: Any) -> Any:
        """Return the elements at the index."""
        return a[self.key]


_WRITING_OUT = threading.Lock()


def holds_duals(x: Any) -> bool:
    """Whether an array or a number is, or contains, a number under differentiation."""
    if isinstance(x, Layered):
        return any(map(_has_ids, x.layers().values()))
    if isinstance(x, np.ndarray):
        return x.dtype == object and any(map(_is_dual, x.flat))
    return isinstance(x, DualNumber)


def _has_ids(ids: Any) -> bool:
    if ids.__class__ is Range:
        return bool(ids.size)
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
        why = "an array of real numbers has no place for an imaginary part"
        what = "a complex number among real ones"
        raise UnsupportedError(what, "z.real or abs(z), or make the array with dtype=complex", why)
    if isinstance(x, (np.ma.MaskedArray, np.matrix)):
        instead = "np.asarray(m) for the matrix m" if isinstance(x, np.matrix) else "np.where with the mask"
        raise UnsupportedError(f"a {type(x).__name__} in an operation", instead)
