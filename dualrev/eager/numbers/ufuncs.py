"""numpy's functions on dual numbers, and on arrays of them: element by element, by the table's rules.

An array of dual numbers is an array of objects. Left alone, numpy's loops over objects know nothing of the table: they
fail where an element is a plain float, take one side of a tie, and return a number where a bool is meant. `DualArray`
is such an array that sends numpy's functions here. The arrays in a function's arguments are made so; an array that the
function makes of numbers itself, `np.array([x, y])`, is a plain one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.eager.numbers.dual import DualNumber, value
from dualrev.eager.numbers.primitive_functions import function
from dualrev.errors import ConversionError, UnsupportedError
from dualrev.rules.primitives import PRIMITIVES

__all__ = ["DualArray", "apply_ufunc"]


class DualArray(np.ndarray):
    """An array of objects with dual numbers among them, and the arrays that numpy makes of it."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return apply_ufunc(ufunc, method, inputs, kwargs)

    # By value: numpy's loops over objects leave NaN where it stands.
    def argmax(self, *args: Any, **kwargs: Any) -> Any:
        """Where the largest value is, or the first NaN."""
        return _values(self).argmax(*args, **kwargs)

    def argmin(self, *args: Any, **kwargs: Any) -> Any:
        """Where the smallest value is, or the first NaN."""
        return _values(self).argmin(*args, **kwargs)

    def argsort(self, *args: Any, **kwargs: Any) -> Any:
        """The order of the values, NaN last."""
        return _values(self).argsort(*args, **kwargs)

    def sort(self, axis: Any = -1, *args: Any, **kwargs: Any) -> None:
        """Sort in place by value, NaN last."""
        self[...] = np.take_along_axis(self, self.argsort(axis, *args, **kwargs), axis)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.nan_to_num:
            why = "it does nothing to arrays of objects, which these numbers are kept in"
            raise UnsupportedError("numpy.nan_to_num", "np.where(np.isnan(x), 0.0, x)", why)
        try:
            return _as_dual(super().__array_function__(func, types, args, kwargs))
        except TypeError:
            if func.__module__ != "numpy.linalg":
                raise
            why = "it computes in arrays of plain floats"
            raise UnsupportedError(
                f"numpy.linalg.{func.__name__} in a stage of the paper", "it as loops, or use the default engine", why
            ) from None


def apply_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A numpy function, or a method of it (`reduce`, `outer`, `at`, ...), on arguments with dual numbers among them.

    Comparisons and logic give plain values. ConversionError if the result is to go into an array of floats.
    """
    if any(hasattr(u, "__array_ufunc__") and not isinstance(u, _NUMPY_S) for u in inputs):
        return NotImplemented  # an array of another kind, which knows what to do with these
    name = ufunc.__name__
    if name in _OF_VALUES:
        return getattr(ufunc, method)(*map(_values, inputs), **{key: _objects(x) for key, x in kwargs.items()})
    known = _known(name)
    arrays = [np.asarray(u) if isinstance(u, (list, tuple)) and method != "at" else u for u in inputs]
    if known and method == "__call__" and not kwargs and not any(isinstance(u, np.ndarray) for u in arrays):
        return known(*arrays)
    written = inputs[:1] if method == "at" else kwargs.get("out", ())
    if any(isinstance(made, np.ndarray) and made.dtype != object for made in written):
        raise ConversionError("storing")
    if known and name not in _PYTHON_S:
        # without an identity, numpy would take the loop for one that may not run over two axes at once
        ufunc = np.frompyfunc(known, ufunc.nin, ufunc.nout, identity=ufunc.identity)
    kwargs = {key: _objects(x) for key, x in kwargs.items() if key != "dtype"}
    with np.errstate(all="ignore"):  # the processor's flags after a loop over objects mean nothing
        made = getattr(ufunc, method)(*map(_objects, arrays), **kwargs)
    return tuple(map(_as_dual, made)) if isinstance(made, tuple) else _as_dual(made)


def _known(name: str) -> Callable[..., Any] | None:
    """Return the function that numpy's ufunc of this name is on numbers; None if no line of the table has it."""
    if name in _UFUNCS:
        return _UFUNCS[name]
    line = _LINES.get(name) or next((line for line in PRIMITIVES.values() if line.ufunc == name), None)
    return function(line) if line else None


def _as_dual(made: Any) -> Any:
    return made.view(DualArray) if type(made) is np.ndarray and made.dtype == object else made


def _objects(u: Any) -> Any:
    """The same for numpy's own loops."""
    if isinstance(u, tuple):
        return tuple(map(_objects, u))
    if isinstance(u, DualArray):
        return u.view(np.ndarray)
    if isinstance(u, DualNumber):
        box = np.empty((), dtype=object)
        box[()] = u
        return box
    return u


def _values(u: Any) -> Any:
    """The plain values."""
    if isinstance(u, np.ndarray) and u.dtype == object:
        return np.array([value(x) for x in u.ravel()]).reshape(u.shape)
    return value(u)


_NUMPY_S = (np.ndarray, np.generic, DualNumber)
_OF_VALUES = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
_OF_VALUES |= {"isnan", "isinf", "isfinite", "signbit", "logical_and", "logical_or", "logical_xor", "logical_not"}
_PYTHON_S = {"add", "subtract", "multiply"}  # whose loops over objects do what the operators do, only faster
_LINES = {
    **{line.ufunc: line for line in PRIMITIVES.values() if line.ufunc},
    "fabs": PRIMITIVES["abs"],
    "float_power": PRIMITIVES["pow"],
}


def _maximum(a: Any, b: Any) -> Any:
    return function(_LINES["maximum"])(a, b)


def _minimum(a: Any, b: Any) -> Any:
    return function(_LINES["minimum"])(a, b)


_UFUNCS: dict[str, Callable[..., Any]] = {
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1.0 / x,
    "divmod": lambda a, b: (a // b, a % b),
    "clip": lambda x, low, high: _minimum(_maximum(x, low), high),
    "fmax": lambda a, b: b if a != a else a if b != b else _maximum(a, b),
    "fmin": lambda a, b: b if a != a else a if b != b else _minimum(a, b),
    **dict.fromkeys(("deg2rad", "radians"), lambda x: x * (math.pi / 180.0)),
    **dict.fromkeys(("rad2deg", "degrees"), lambda x: x * (180.0 / math.pi)),
}
