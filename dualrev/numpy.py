"""NumPy with arrays that can hold traced numbers. Write `from dualrev import numpy as np`.

numpy's own np.zeros(n) makes an array of plain floats; to store a traced number in it is an error. The constructors
here make a `RealArray` in place of an array of floats; arrays of ints and bools are numpy's. Every other name is
numpy's own, and takes both kinds of arrays. Parameters are numpy's.

>>> from dualrev import numpy as np
>>> import dualrev as dr
>>> def f(x):
...     powers = np.ones(4)
...     for k in range(3):
...         powers[k + 1] = powers[k] * x
...     return np.sum(powers)
>>> dr.grad(f)(2.0)  # 1 + 2 x + 3 x**2
17.0
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as _np

from dualrev.eager.arrays.complex.pairs import ComplexArray, as_parts, held, holds_complex, is_complex, join, values
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, plain, real_array
from dualrev.eager.arrays.series import Series
from dualrev.eager.numbers.dual import DualNumber, value
from dualrev.eager.numbers.numpy_hooks import ANSWERS
from dualrev.errors import UnsupportedError
from dualrev.transformed import name_of

__all__ = [
    "arange",
    "array",
    "asanyarray",
    "asarray",
    "asarray_chkfinite",
    "ascontiguousarray",
    "asfortranarray",
    "c_",
    "copy",
    "diag",
    "empty",
    "empty_like",
    "eye",
    "frombuffer",
    "fromfunction",
    "fromiter",
    "fromstring",
    "full",
    "full_like",
    "geomspace",
    "identity",
    "linspace",
    "logspace",
    "ndenumerate",
    "ones",
    "ones_like",
    "polynomial",
    "r_",
    "tri",
    "vander",
    "vectorize",
    "zeros",
    "zeros_like",
]


def __getattr__(name: str) -> Any:
    return getattr(_np, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_np)})


def array(
    x: Any, dtype: Any = None, *, copy: bool | None = True, order: Any = "K", ndmin: int = 0, **kwargs: Any
) -> Any:
    """Array of numbers, nested sequences or another array: a `RealArray` where numpy makes an array of floats.

    Args:
        x: Numbers, traced or plain, or sequences or arrays of them.
        dtype: dtype of the array. A float dtype means float64. Another dtype gives numpy's array of the plain values.
        copy: Whether to copy a `RealArray`.
        order: Memory layout, as in numpy.
        ndmin: Least number of axes.
        **kwargs: Other options of numpy.array.

    Returns:
        A `RealArray` of the shape of x, or numpy's array for ints and bools.

    Raises:
        TypeError: x mixes traced numbers with something else than real numbers.

    >>> from dualrev import numpy as np
    >>> np.array([[1, 2.5]])
    RealArray([[1. , 2.5]])
    """
    if is_complex(x):
        return _complex_array(x, dtype, order, ndmin)
    made = real_array(x)
    if not isinstance(made, RealArray):
        made = held(_np.array(made, dtype, order=order, **kwargs))
    elif dtype is not None and _np.dtype(dtype).kind != "f":
        made = made.astype(dtype)
    elif (copy and made is x) or (order in ("C", "F") and not made.x.flags[order]):
        made = made.copy(order)
    return made.reshape((1,) * (ndmin - made.ndim) + made.shape) if made.ndim < ndmin else made


def _complex_array(x: Any, dtype: Any, order: Any, ndmin: int) -> Any:
    """Return a new array of complex numbers."""
    if dtype is not None and _np.dtype(dtype).kind != "c":
        raise TypeError(f"an array of complex numbers was asked for with dtype={dtype}")
    made = as_parts(x) if holds_complex(x) or isinstance(x, ComplexArray) else held(_np.array(values(x)))
    made = join(*(array(u, order=order) for u in (made.real, made.imag)))
    return made.reshape((1,) * (ndmin - made.ndim) + made.shape) if made.ndim < ndmin else made


def asarray(x: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """Array of x, as `array`, but without a copy of a `RealArray`. A plain array of floats is copied.

    >>> from dualrev import numpy as np
    >>> a = np.zeros(2)
    >>> np.asarray(a) is a
    True
    """
    return array(x, dtype, copy=not isinstance(x, RealArray), **kwargs)


def ascontiguousarray(x: Any, dtype: Any = None) -> Any:
    """Array of x in C order, with at least one axis: as `asarray`, and x itself where it is such an array.

    >>> from dualrev import numpy as np
    >>> a = np.zeros((2, 3))
    >>> np.ascontiguousarray(a) is a, np.ascontiguousarray(a.T) is a
    (True, False)
    """
    return array(x, dtype, copy=not isinstance(x, RealArray), order="C", ndmin=1)


def asfortranarray(x: Any, dtype: Any = None) -> Any:
    """Array of x in Fortran order, as `ascontiguousarray` in C order."""
    return array(x, dtype, copy=not isinstance(x, RealArray), order="F", ndmin=1)


asanyarray = asarray


def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Iterate over (index, number) of an array, in C order.

    >>> from dualrev import numpy as np
    >>> list(np.ndenumerate(np.array([[1.5], [2.5]])))
    [((0, 0), 1.5), ((1, 0), 2.5)]
    """
    made = real_array(arr)
    return ((index, made[index]) for index in _np.ndindex(made.shape))


def full(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """Array of a shape, filled with a number, or with an array that broadcasts to it.

    >>> from dualrev import numpy as np
    >>> np.full(3, 0.5)
    RealArray([0.5, 0.5, 0.5])
    """
    if is_complex(fill_value):
        made = zeros(shape, dtype or complex)
        made[...] = fill_value
        return made
    value = real_array(fill_value)
    if not isinstance(value, RealArray):
        return held(_np.full(shape, value, dtype, **kwargs))
    made = RealArray(_np.zeros(shape))
    made[...] = value
    return made if dtype is None else made.astype(dtype)


def _constructor(name: str) -> Callable[..., Any]:
    function = getattr(_np, name)

    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        """Call numpy's function, and return an array that can hold traced numbers."""
        return held(function(*args, **kwargs))

    made.__doc__ = f"numpy.{name}, with the same parameters; an array of floats can hold traced numbers."
    return made


_plain_arange, _plain_fromiter = _constructor("arange"), _constructor("fromiter")


def arange(*args: Any, **kwargs: Any) -> Any:
    """numpy.arange, whose ends and step may be traced. The number of elements is a constant.

    >>> from dualrev import numpy as np
    >>> import dualrev as dr
    >>> dr.jacobian(lambda a: np.arange(a, 2.0, 2.0 * a))(0.5)
    array([1., 3.])
    """
    keys = {key: value(u) for key, u in kwargs.items()}
    made = _plain_arange(*map(value, args), **keys)
    names = ("start", "stop", "step") if len(args) > 1 or "stop" in kwargs else ("stop",)
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    ends = [u for u in (given.get("start"), given.get("step")) if isinstance(u, DualNumber)]
    if not ends or not isinstance(made, RealArray):
        return made
    for name, times in (("start", 1.0), ("step", _np.arange(float(len(made))))):
        if isinstance(u := given.get(name), DualNumber):
            made = made + times * (u - value(u))
    return made


def fromiter(iter: Any, dtype: Any, count: int = -1, **kwargs: Any) -> Any:
    """numpy.fromiter, whose items may be traced numbers.

    >>> from dualrev import numpy as np
    >>> import dualrev as dr
    >>> dr.jacobian(lambda x: np.fromiter((x**k for k in range(3)), float))(2.0)
    array([0., 1., 4.])
    """
    items = list(iter if count < 0 else itertools.islice(iter, count))
    if not any(isinstance(u, DualNumber) for u in items):
        return _plain_fromiter(items, dtype, count, **kwargs)
    _np.fromiter(map(value, items), dtype, count, **kwargs)  # an error, where numpy has one
    return array(items, dtype)


asarray_chkfinite = _constructor("asarray_chkfinite")
copy = _constructor("copy")
diag = _constructor("diag")
empty = _constructor("empty")
empty_like = _constructor("empty_like")
eye = _constructor("eye")
frombuffer = _constructor("frombuffer")
fromfunction = _constructor("fromfunction")
fromstring = _constructor("fromstring")
full_like = _constructor("full_like")
geomspace = _constructor("geomspace")
identity = _constructor("identity")
linspace = _constructor("linspace")
logspace = _constructor("logspace")
ones = _constructor("ones")
ones_like = _constructor("ones_like")
tri = _constructor("tri")
vander = _constructor("vander")
zeros = _constructor("zeros")
zeros_like = _constructor("zeros_like")


class vectorize:  # noqa: N801 - numpy's name
    """numpy.vectorize, whose function may be called with traced numbers, element by element.

    Args:
        pyfunc: Function of numbers that returns a number, or a tuple of numbers.
        *args: Options of numpy.vectorize. With traced numbers there are none.
        **kwargs: The same by name. With traced numbers, `otypes` of floats, `doc` and `cache` are allowed.

    Raises:
        UnsupportedError: It has options, or is called with keywords, where an argument is traced (a TypeError).

    >>> from dualrev import numpy as np
    >>> np.vectorize(lambda a, b: max(a, b))(np.array([1.0, 5.0]), 3.0)
    RealArray([3., 5.])
    """

    def __init__(self, pyfunc: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self._f, self._options = pyfunc, (args, kwargs)
        self._plain = _np.vectorize(pyfunc, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<dualrev.numpy.vectorize of {name_of(self._f)}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply the function to all elements; arguments broadcast."""
        arrays = [real_array(x) for x in args]
        if not any(map(holds_duals, (*arrays, *kwargs.values()))):
            return held(self._plain(*(plain(a) for a in arrays), **kwargs))
        if kwargs or not self._is_of_floats():
            raise UnsupportedError("numpy.vectorize with options or keywords", "it without, or a loop")
        arrays = list(_np.broadcast_arrays(*arrays))
        made = [self._f(*row) for row in zip(*(_np.ravel(a).tolist() for a in arrays), strict=True)]
        if made and isinstance(made[0], tuple):
            return tuple(real_array(list(column)).reshape(arrays[0].shape) for column in zip(*made, strict=True))
        return real_array(made).reshape(arrays[0].shape)

    def _is_of_floats(self) -> bool:
        """Whether the options say no more than that the results are floats."""
        args, kwargs = self._options
        types = kwargs.get("otypes") or ()
        return not args and kwargs.keys() <= {"otypes", "doc", "cache"} and all(_np.dtype(t).kind == "f" for t in types)


class _Together:
    """numpy.r_ and numpy.c_: join arrays, numbers and ranges along the first axis, or as columns."""

    def __init__(self, name: str) -> None:
        self._columns = name == "c_"
        self._plain: Any = getattr(_np, name)

    def __repr__(self) -> str:
        return f"<dualrev.numpy.{'c_' if self._columns else 'r_'}>"

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if not any(map(holds_duals, items)):
            items = tuple(plain(x) if isinstance(x, RealArray) else x for x in items)
            return held(self._plain[items])
        if any(isinstance(x, str) for x in items):
            raise UnsupportedError("numpy.r_ with directions", "numpy.concatenate or numpy.stack")
        parts = [_np.r_[x] if isinstance(x, slice) else _np.atleast_1d(real_array(x)) for x in items]
        if self._columns:
            parts = [x[:, None] if x.ndim == 1 else x for x in parts]
        return _np.concatenate(parts, axis=-1 if self._columns else 0)


r_, c_ = _Together("r_"), _Together("c_")
polynomial = Series(_np.polynomial)

# np.array(x, like=u) asks the class of u: an array or a number under differentiation answers with these.
_WITH_LIKE = "arange array asanyarray asarray ascontiguousarray empty eye full identity ones tri zeros"
ANSWERS.making = {getattr(_np, name): globals()[name] for name in _WITH_LIKE.split()}
