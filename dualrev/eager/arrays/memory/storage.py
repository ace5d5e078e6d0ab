"""Traced arrays that behave as numpy's arrays do; id_layers.py says how they store ids.

Selecting, reshaping, stacking and assigning move values and ids together and write nothing on a tape. So views, aliases
and assignments are exact: a view of an array is a view of its values and of its ids.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.flat import Flat
from dualrev.eager.arrays.memory.id_layers import At, Layered, holds_duals, innermost, plain, refuse_foreign
from dualrev.eager.arrays.memory.operators import Operators
from dualrev.eager.numbers.dual import DualNumber, Run, value
from dualrev.eager.numbers.numpy_hooks import ANSWERS
from dualrev.eager.numbers.ufuncs import DualArray
from dualrev.eager.tape.blocks import Kept
from dualrev.eager.tape.ids import Range, is_one
from dualrev.eager.tape.tape import Real, Tape, real
from dualrev.errors import ConversionError, LeafError, LeakError

__all__ = [
    "Holder",
    "RealArray",
    "adopt",
    "holds_duals",
    "innermost",
    "kept",
    "own",
    "plain",
    "real_array",
    "refuse_foreign",
    "strip",
    "to_objects",
    "zero",
]


class Holder:
    """Holder of a RealArray, `numbers`, which numpy's functions take for the array: a column of a table of pandas."""

    numbers: RealArray


class RealArray(Layered, Operators):
    """Array of real numbers that may be traced, with numpy's interface and dtype float64.

    A function that runs on the tape gets such arrays in place of arrays of floats; `dualrev.numpy` makes them, too.
    numpy's functions, arithmetic, indexing, views and assignment work as for numpy's arrays. np.asarray(a) returns the
    plain array if no element is traced, and raises ConversionError otherwise; `dualrev.value(a)` is a plain copy.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> dr.grad(lambda x: print(type(x).__name__, x.shape) or np.sum(x * x))(np.ones(2))
    RealArray (2,)
    array([2., 2.])
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # as numpy's arrays

    # Elements

    def __getitem__(self, key: Any) -> Any:
        one = is_one(key, self.x.ndim)  # as in a loop over elements: faster
        x = self.x.item(key) if one else self.x[key]
        if isinstance(x, np.ndarray):
            sure = key.__class__ is int or key.__class__ is slice  # a view, as numpy has it
            return self.seen(x, At(key)) if sure else self.taken(x, At(key))
        u: Any = float(x)
        layers = self.layers()
        for run in sorted(layers, key=_level) if len(layers) > 1 else layers:
            i = layers[run].item(key) if one else _at(layers[run], key)
            if not isinstance(run, Tape):
                u = u if i is None else i
            elif i:
                u = real(run, u, int(i))
        return u

    def __setitem__(self, key: Any, new: Any) -> None:
        parts: dict[Run, Any] = {}
        u: Any = new
        if isinstance(u, DualNumber):
            while isinstance(u, DualNumber):
                if u.run.over:
                    raise LeakError
                parts[u.run] = u.i if isinstance(u, Real) else u
                u = u.x
        elif u.__class__ is not float:
            source: Any = real_array(u)
            innermost([source])  # is it left over from a call that has ended?
            parts = source.layers() if isinstance(source, RealArray) else {}
            u = plain(source)
            refuse_foreign(u)
        self.before_change()
        if parts and u.__class__ is np.ndarray and np.may_share_memory(u, self.x):
            for run in tuple(parts):  # numpy may read what it has just written, as in a[1] = a[:, 2]: of ids, too
                self.layer(run)
            parts = source.layers()
        self.x[key] = u
        for run in {**self.layers(), **parts}:
            self.layer(run)[key] = parts.get(run, 0 if isinstance(run, Tape) else None)

    def __iter__(self) -> Iterator[Any]:
        if not self.x.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(len(self.x)))

    def __len__(self) -> int:
        return len(self.x)

    def __contains__(self, u: Any) -> bool:
        return value(u) in self.x

    def tolist(self) -> Any:
        """Nested lists of the numbers."""
        return [u.tolist() if isinstance(u, RealArray) else u for u in self] if self.x.ndim else self[()]

    def item(self, *args: Any) -> Any:
        """The number of an array that has one, or the number at a flat or a full index."""
        if not args:
            if self.x.size != 1:
                raise ValueError("can only convert an array of size 1 to a Python scalar")
            return self.reshape(-1)[0]
        index = args[0] if len(args) == 1 else args
        return self[index] if isinstance(index, tuple) else self.reshape(-1)[index]

    def fill(self, u: Any) -> None:
        """Every element becomes this number."""
        self[...] = u

    # What an array knows of itself

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.x.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.x.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.x.size

    @property
    def dtype(self) -> np.dtype:
        """float64"""
        return self.x.dtype

    @property
    def nbytes(self) -> int:
        """The bytes of the values."""
        return self.x.nbytes

    @property
    def itemsize(self) -> int:
        """8"""
        return self.x.itemsize

    @property
    def T(self) -> RealArray:  # noqa: N802 - numpy's name
        """The transpose, a view."""
        return self.derived(np.transpose)

    @property
    def mT(self) -> RealArray:  # noqa: N802 - numpy's name
        """The matrices transposed, a view."""
        return self.derived(lambda a: np.swapaxes(a, -1, -2))

    @property
    def real(self) -> RealArray:
        """The array itself."""
        return self

    @property
    def imag(self) -> np.ndarray:
        """Zeros."""
        return np.zeros(self.x.shape)

    @property
    def flat(self) -> Flat:
        """The numbers, one after the other; an index into them reads and writes."""
        return Flat(self)

    @property
    def base(self) -> RealArray | None:
        """The array that this one is a view of."""
        return self._parent

    def __repr__(self) -> str:
        return f"RealArray({np.array2string(self.x, separator=', ', prefix='RealArray(')})"

    def __str__(self) -> str:
        return str(self.x)

    def __format__(self, spec: str) -> str:
        return format(self.x, spec)

    def __bool__(self) -> bool:
        return bool(self.x)

    def __int__(self) -> int:
        return int(self.x)

    def __float__(self) -> float:
        if holds_duals(self):
            raise ConversionError("float()")
        return float(self.x)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if holds_duals(self):
            by_name = dtype is not None and np.dtype(dtype) == object  # as np.vectorize does
            if by_name or (dtype is None and _asked_by_xarray() and not np.any(np.isnan(self.x))):
                return to_objects(self).view(np.ndarray)
            if dtype is None and _asked_by_series():
                return to_objects(self).view(np.ndarray)
            if dtype is None or np.dtype(dtype).kind not in "iub":  # those are piecewise constant, as astype(int) is
                raise ConversionError("asarray()")
        if copy is False:
            raise ValueError("the plain array of a RealArray is a copy: numbers that are stored later are not in it")
        return np.array(self.x, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ANSWERS.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return ANSWERS.function(func, args, kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if holds_duals(self):
            raise ConversionError("pickling")
        return RealArray, (np.ascontiguousarray(self.x),)

    # Copies and shapes

    def __copy__(self) -> RealArray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> RealArray:
        return self.copy()

    def flatten(self, order: Any = "C") -> RealArray:
        """A copy with one axis."""
        return self.ravel(order).copy()

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """For a float or complex type a copy, in double precision; for integers the values, which are constants.

        With copy=False, the array itself for float64, in any order, as in numpy.
        """
        kind = np.dtype(dtype).kind
        if kind == "f":
            same = not copy and np.dtype(dtype) == self.dtype and self.x.astype(float, order, copy=False) is self.x
            return self if same else self.copy(order)
        if kind == "c":
            return self + 0j
        if kind == "O" and holds_duals(self):  # the values alone would lose their derivatives
            return to_objects(self)
        return self.x.astype(dtype, order, casting, subok, copy)

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> RealArray:
        """Return a view where possible, and a copy with copy=True; ValueError with copy=False where no view exists."""
        wanted: Any = shape[0] if len(shape) == 1 else shape
        made = self.derived(lambda a: a.reshape(wanted, order=order))
        if copy is None or copy == (made._parent is None):
            return made
        if not copy:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        return made.copy("K")

    def ravel(self, order: Any = "C") -> RealArray:
        """One axis; a view where possible."""
        return self.derived(lambda a: a.ravel(order))

    def transpose(self, *axes: Any) -> RealArray:
        """A view with the axes in another order."""
        return self.derived(lambda a: a.transpose(*axes))

    def swapaxes(self, a: int, b: int) -> RealArray:
        """A view with two axes exchanged."""
        return self.derived(lambda x: x.swapaxes(a, b))

    def squeeze(self, axis: Any = None) -> RealArray:
        """A view without axes of length 1."""
        return self.derived(lambda a: a.squeeze(axis))

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """numpy.compress of this array."""
        return np.compress(condition, self, axis, out)

    def partition(self, kth: Any, axis: int = -1) -> None:
        """numpy.partition of this array, in place."""
        self[...] = np.partition(self, kth, axis)

    def sort(self, axis: int = -1, kind: Any = None) -> None:
        """Sort in place by value, NaN last."""
        self[...] = np.sort(self, axis=axis, kind=kind)


def _as_method(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: RealArray, *args: Any, **kwargs: Any) -> Any:
        """Call numpy's function with this array."""
        return function(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"numpy.{name} of this array."
    return method


for _name in [
    *("sum", "prod", "mean", "var", "std", "max", "min", "cumsum", "cumprod", "dot", "trace", "clip", "take", "round"),
    *("repeat", "diagonal", "argmax", "argmin", "argsort", "all", "any", "nonzero", "searchsorted"),
    *("choose", "conj", "conjugate", "put", "argpartition"),
]:
    setattr(RealArray, _name, _as_method(_name))


def _asked_by_xarray() -> bool:
    """Whether this is `values` of a DataArray, which has objects for numbers that xarray knows nothing of."""
    return sys._getframe(2).f_globals.get("__name__", "").startswith("xarray.")


def _asked_by_series() -> bool:
    """Whether numpy.polynomial asks, called by series.py: it computes with arrays of objects."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and (name := frame.f_globals.get("__name__", "")).startswith("numpy."):
        frame = frame.f_back
    return frame is not None and name == "dualrev.eager.arrays.series"


def _level(run: Run) -> int:
    return run.level


def _at(ids: Any, key: Any) -> Any:
    """The id, or the number, at an index."""
    if ids.__class__ is not Range:
        return ids[key]
    found = ids[key]
    return np.asarray(ids)[key] if found is None else found


def kept(u: Any) -> Any:
    """An array or a number as it is now, in double precision: in the attribute x of what is returned."""
    if isinstance(u, RealArray):
        return u.keep()
    if isinstance(u, np.ndarray):
        return Kept(u.copy("K") if u.dtype == float else u.astype(float))
    return Kept(u if isinstance(u, DualNumber) else np.float64(u))


def own(leaf: Any) -> Any:
    """Return a leaf; if it is an array, a copy."""
    return leaf.copy() if isinstance(leaf, (RealArray, np.ndarray)) else leaf


def zero(leaf: Any) -> Any:
    """Return zeros of a leaf's shape."""
    return np.zeros(leaf.shape) if isinstance(leaf, (RealArray, np.ndarray)) else 0.0


def strip(u: Any, run: Run) -> Any:
    """Return a number or an array as the runs around this one see it: its value x."""
    if isinstance(u, RealArray):
        layers = u.layers()
        if len(layers) == 1 and run in layers and isinstance(run, Tape):
            return u.x
        layers = {r: ids for r, ids in layers.items() if r is not run and not r.over}
        if not isinstance(run, Tape) and run in u.layers():  # the outer runs' numbers are inside of its own
            flat = [strip(x, run) for x in u.reshape(-1).tolist()]
            return real_array(flat).reshape(u.shape)
        if not layers:
            return u.x
        return u.relayered(layers)
    if isinstance(u, DualNumber):
        return u.x if u.run is run else u
    return u


def real_array(x: Any) -> Any:
    """Return np.asarray(x), or a RealArray where x holds traced numbers."""
    if isinstance(x, RealArray):
        return x
    if isinstance(x, np.ndarray):
        return adopt(x) if x.dtype == object and holds_duals(x) else x
    if isinstance(x, DualNumber):
        made = RealArray(np.zeros(()))
        made[()] = x
        return made
    if isinstance(x, (list, tuple)):
        if any(isinstance(u, (RealArray, np.ndarray, list, tuple, Holder)) for u in x):
            parts = [real_array(u) for u in x]
            return np.stack(parts) if any(isinstance(u, RealArray) for u in parts) else np.asarray(x)
        made_of_objects = np.array(x)
        return adopt(made_of_objects) if made_of_objects.dtype == object else made_of_objects
    return x.numbers if isinstance(x, Holder) else np.asarray(x)


def adopt(x: np.ndarray) -> RealArray:
    """Return an array of objects, numbers and dual numbers, as an array of dual numbers."""
    made = RealArray(np.zeros(x.shape))
    flat = made.reshape(-1)
    for k, u in enumerate(x.ravel()):
        if not isinstance(u, (numbers.Real, np.bool_)):
            raise LeafError(x, f"there is {u!r} (type {type(u).__name__}) among its numbers", "Take these apart")
        flat[k] = u
    return made


def to_objects(u: Any) -> Any:
    """An array as an array of objects, for transformations that know no other arrays."""
    if not isinstance(u, RealArray) or not holds_duals(u):
        return plain(u) if isinstance(u, RealArray) else u
    made = np.empty(math.prod(u.shape), dtype=object)
    made[:] = u.reshape(-1).tolist()
    return made.reshape(u.shape).view(DualArray)
