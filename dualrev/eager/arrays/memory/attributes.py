"""Attributes and methods of numpy's arrays for traced arrays and numbers: x.dtype, x.T, x.reshape(...).

Elements of arrays and sums are traced numbers, where numpy has scalars; code that takes either as small arrays finds
the same attributes here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.storage import RealArray, real_array
from dualrev.eager.numbers.dual import DualNumber, value
from dualrev.eager.tape.tape import Real
from dualrev.errors import UnsupportedError

__all__: list[str] = []


def _as_array(name: str) -> Callable[..., Any]:
    """A method of arrays for a number: what numpy's function of the same name makes of an array without axes."""

    def method(self: Real, *args: Any, **kwargs: Any) -> Any:
        """Call the method of an array without axes that holds this number."""
        made = getattr(real_array(self), name)(*args, **kwargs)
        return made[()] if isinstance(made, RealArray) and not made.ndim else made

    method.__name__, method.__doc__ = name, f"numpy.{name} of this number, as of an array without axes."
    return method


def _item(self: Real, key: Any) -> Any:
    """x[None], x[...] and x[()], as of an array without axes."""
    parts = key if isinstance(key, tuple) else (key,)
    if not all(part is None or part is Ellipsis for part in parts):
        raise TypeError("a number has no axes: x[None], x[...] and x[()] are all the indices that it takes")
    return real_array(self)[key] if parts else self


def _astype(self: Real, dtype: Any, *args: Any, **kwargs: Any) -> Any:
    """The number itself for a float type, a complex number for a complex one; for others its value, a constant."""
    if np.dtype(dtype).kind == "c":
        made: Any = self
        return made + 0j
    return self if np.dtype(dtype).kind == "f" else np.dtype(dtype).type(value(self))


def _same(self: Real, dtype: Any = None) -> Real:
    """The number itself: a view in double precision."""
    if dtype is not None and np.dtype(dtype) != float:
        raise UnsupportedError(
            f"a view as {dtype} of a number", "np.float64(dualrev.value(x)).view(...), which is a constant"
        )
    return self


def _view(self: RealArray, dtype: Any = None, type: Any = None) -> RealArray:
    """A view of the array: of the same type, since numbers under differentiation have no bytes."""
    if type is not None or (dtype is not None and np.dtype(dtype) != self.dtype):
        raise UnsupportedError(f"ndarray.view as {dtype or type}", "dualrev.value(x).view(...), which is a constant")
    return self.derived(lambda a: a[...])


def _set_flat(self: RealArray, new: Any) -> None:
    self.flat[:] = new


class NumberType:
    """numpy's float64, whose `type` leaves a number under differentiation as it is: np.mean of a list calls it."""

    dtype = np.dtype(float)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.dtype, name)

    @staticmethod
    def type(x: Any) -> Any:
        """The number, in double precision."""
        return x if isinstance(x, DualNumber) else np.float64(x)

    def __eq__(self, other: object) -> bool:
        return self.dtype == (other.dtype if isinstance(other, NumberType) else other)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return repr(self.dtype)


_METHODS = "sum mean prod max min std var cumsum cumprod clip round reshape ravel flatten squeeze transpose repeat take"
_MORE = "all any argmax argmin argsort nonzero tolist"
for _name in (*_METHODS.split(), *_MORE.split()):
    setattr(Real, _name, _as_array(_name))
_number: Any = Real
_number.dtype = NumberType()
_number.T = property(lambda self: self, doc="The number itself.")
_number.copy = lambda self, order="C": self
_number.astype = _astype
_number.conj = lambda self: self
_number.fabs = lambda self: abs(self)  # which np.fabs of an array of objects looks for
_number.view = _same
_number.strides, _number.itemsize, _number.nbytes = (), 8, 8
_number.flags = np.float64().flags
_number.__getitem__ = _item
_number.__iter__ = None  # else Python would take what has indices for a sequence
_number.__array_priority__ = 10_000

_array: Any = RealArray
_array.__array_priority__ = 10_000
_array.view = _view
_array.flat = _array.flat.setter(_set_flat)
_array.flags = property(lambda self: self.x.flags, doc="How the values lie in memory.")
_array.strides = property(lambda self: self.x.strides, doc="The steps in memory from one value to the next.")
