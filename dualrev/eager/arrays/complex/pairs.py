"""Complex numbers under differentiation, and arrays of them: pairs of real ones.

    z = (Re z, Im z)          two numbers of the tape, or two RealArrays of one shape

So the tape has real numbers only, and costs nothing more for them; derivatives of every order and in both modes, nested
calls, views, and assignments are those of the two parts. What functions make of such numbers is in elements.py
and functions.py.

`join` makes a complex value of two real ones, `real_part` and `imag_part` take it apart: also plain ones, so that a
rule is written once for the numbers of this run, of an outer one, and for those of no run.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from dualrev.eager.arrays.memory.flat import FlatParts
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, plain, real_array, strip
from dualrev.eager.numbers.dual import DualNumber, Run, alive
from dualrev.eager.numbers.numpy_hooks import ANSWERS
from dualrev.errors import ConversionError, HashError, UnsupportedError

__all__ = [
    "ComplexArray",
    "ComplexNumber",
    "as_parts",
    "held",
    "holds_complex",
    "imag_part",
    "is_complex",
    "is_one_complex",
    "join",
    "real_part",
    "stripped",
    "values",
]


_divide: Any = np.divide


class _Complex(NDArrayOperatorsMixin):
    """Base class of traced complex numbers and arrays: the parts, and numpy's functions on them."""

    __slots__ = ()

    @property
    def real(self) -> Any:
        """The real part."""
        raise NotImplementedError

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        raise NotImplementedError

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ANSWERS.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return ANSWERS.function(func, args, kwargs)

    def conjugate(self) -> Any:
        """The number, or every element, with the other sign before its imaginary part."""
        return np.conjugate(self)

    conj = conjugate

    def __bool__(self) -> bool:
        return bool(values(self))

    def __str__(self) -> str:
        return str(values(self))

    def __format__(self, spec: str) -> str:
        return format(values(self), spec)

    def __complex__(self) -> complex:
        if holds_duals(self.real) or holds_duals(self.imag):
            raise ConversionError("complex()")
        return complex(values(self))

    def __float__(self) -> float:
        raise ConversionError("float()")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise ConversionError("pickling")


class ComplexNumber(_Complex):
    """A complex number whose real or imaginary part is being differentiated: it behaves as Python's do."""

    __slots__ = ("_imag", "_real")
    shape, ndim, size = (), 0, 1
    dtype = np.dtype(complex)

    def __init__(self, real: Any, imag: Any) -> None:
        self._real, self._imag = real, imag

    @property
    def real(self) -> Any:
        """The real part."""
        return self._real

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return self._imag

    def item(self) -> ComplexNumber:
        """The number itself."""
        return self

    def __truediv__(self, other: Any) -> Any:
        return _divide(self, _no_zero(other))

    def __rtruediv__(self, other: Any) -> Any:
        return _divide(other, _no_zero(self))

    def _other_number(self, other: Any) -> Any:
        return NotImplemented  # z += w is z = z + w: a number is not changed, as an array is

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = _other_number

    def __eq__(self, other: object) -> Any:
        return values(self) == values(other)

    def __ne__(self, other: object) -> Any:
        return values(self) != values(other)

    def __lt__(self, other: Any) -> Any:
        return NotImplemented  # complex numbers have no order

    __le__ = __gt__ = __ge__ = __lt__

    def __hash__(self) -> int:
        raise HashError

    def __copy__(self) -> ComplexNumber:
        return self

    def __deepcopy__(self, memo: Any) -> ComplexNumber:
        return self

    def __repr__(self) -> str:
        return f"ComplexNumber({values(self)})"


numbers.Complex.register(ComplexNumber)


class ComplexArray(_Complex):
    """An array that can hold complex numbers under differentiation: `real` and `imag` are RealArrays, its memory."""

    __slots__ = ("_imag", "_real")
    __hash__ = None  # type: ignore[assignment]  # as numpy's arrays
    dtype = np.dtype(complex)

    def __init__(self, real: RealArray, imag: RealArray) -> None:
        self._real, self._imag = real, imag

    @property
    def real(self) -> RealArray:
        """The real parts, a view."""
        return self._real

    @real.setter
    def real(self, new: Any) -> None:
        """Assign to the real parts in place."""
        self._real[...] = new

    @property
    def imag(self) -> RealArray:
        """The imaginary parts, a view."""
        return self._imag

    @imag.setter
    def imag(self, new: Any) -> None:
        """Assign to the imaginary parts in place."""
        self._imag[...] = new

    def __getitem__(self, key: Any) -> Any:
        return join(self.real[key], self.imag[key])

    def __setitem__(self, key: Any, new: Any) -> None:
        new = as_parts(new)
        real, imag = real_part(new), imag_part(new)
        if new is self or np.may_share_memory(plain(self.real), plain(real)):
            real, imag = (x.copy() if isinstance(x, RealArray) else x for x in (real, imag))
        self.real[key] = real
        self.imag[key] = imag

    def __iter__(self) -> Iterator[Any]:
        return (join(u, v) for u, v in zip(self.real, self.imag, strict=True))

    def __len__(self) -> int:
        return len(self.real)

    def tolist(self) -> Any:
        """Nested lists of the numbers."""
        return [u.tolist() if isinstance(u, ComplexArray) else u for u in self] if self.ndim else self[()]

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self.real.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.real.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.real.size

    @property
    def T(self) -> ComplexArray:  # noqa: N802 - numpy's name
        """The transpose, a view."""
        return ComplexArray(self.real.T, self.imag.T)

    @property
    def mT(self) -> ComplexArray:  # noqa: N802 - numpy's name
        """The matrices transposed, a view."""
        return ComplexArray(self.real.mT, self.imag.mT)

    @property
    def flat(self) -> FlatParts:
        """The elements in C order, by one index."""
        return FlatParts((self.real, self.imag), _parts, join)

    @flat.setter
    def flat(self, new: Any) -> None:
        """Assign to the elements in C order."""
        self.flat[:] = new

    def __repr__(self) -> str:
        return f"ComplexArray({np.array2string(values(self), separator=', ', prefix='ComplexArray(')})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if holds_duals(self.real) or holds_duals(self.imag):
            raise ConversionError("asarray()")
        if copy is False:
            raise ValueError("the plain array of a ComplexArray is a copy: numbers that are stored later are not in it")
        return values(self).astype(dtype or complex)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """A copy, in double precision. ConversionError for other types than complex ones."""
        if np.dtype(dtype).kind != "c":
            raise ConversionError("astype()")
        return self.copy("K")

    def view(self, dtype: Any = None, type: Any = None) -> ComplexArray:
        """A view of the array: of the same type, since its real and imaginary parts are two arrays."""
        if type is not None or (dtype is not None and np.dtype(dtype) != complex):
            interleaved = "np.stack((z.real, z.imag), axis=-1).reshape(-1) for a view of a vector z as floats"
            raise UnsupportedError(f"ndarray.view as {dtype or type}", interleaved)
        return ComplexArray(self.real[...], self.imag[...])

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def fill(self, u: Any) -> None:
        """Every element becomes this number."""
        self[...] = u

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        """An array of its own, with the same numbers."""
        return ComplexArray(self.real.copy(*args, **kwargs), self.imag.copy(*args, **kwargs))


def _of_parts(name: str) -> Callable[..., Any]:
    of_real = getattr(RealArray, name)

    def method(self: ComplexArray, *args: Any, **kwargs: Any) -> Any:
        """Apply a method of real arrays to both parts."""
        return join(of_real(self.real, *args, **kwargs), of_real(self.imag, *args, **kwargs))

    method.__name__, method.__doc__ = name, of_real.__doc__
    return method


def _by_function(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def method(self: ComplexArray, *args: Any, **kwargs: Any) -> Any:
        """Call numpy's function with this array."""
        return function(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"numpy.{name} of this array."
    return method


for _name in ("flatten", "item", "reshape", "ravel", "transpose", "swapaxes", "squeeze"):
    setattr(ComplexArray, _name, _of_parts(_name))
_OF_NUMPY = "sum prod mean var std cumsum cumprod dot trace take repeat diagonal all any nonzero round"
for _name in _OF_NUMPY.split():
    setattr(ComplexArray, _name, _by_function(_name))


def is_complex(u: Any) -> bool:
    """Whether a number, an array or a list is of complex numbers, under differentiation or not."""
    kind = u.__class__
    if kind is float or kind is RealArray or kind is int or kind is str:
        return False
    if kind is np.ndarray and u.dtype.kind == "f":
        return False
    if isinstance(u, np.ndarray) and u.dtype == object:
        return any(map(is_one_complex, u.flat))
    return any(map(is_complex, u)) if kind is list or kind is tuple else is_one_complex(u)


def is_one_complex(u: Any) -> bool:
    """Whether this is a complex number, or an array whose type is complex: what has a real and an imaginary part."""
    return u.dtype.kind == "c" if isinstance(u, np.ndarray) else isinstance(u, (_Complex, complex, np.complexfloating))


def holds_complex(u: Any) -> bool:
    """Whether a value is complex and is being differentiated: it would be lost in a plain array."""
    return is_complex(u) and (holds_duals(real_part(u)) or holds_duals(imag_part(u)))


def as_parts(u: Any) -> Any:
    """Lists, and arrays of objects, of complex numbers as an array of them; all else unchanged."""
    listed = u.__class__ is list or u.__class__ is tuple or (isinstance(u, np.ndarray) and u.dtype == object)
    if not listed or not is_complex(u):
        return u
    if isinstance(u, np.ndarray):
        return as_parts(u.ravel().tolist()).reshape(u.shape)
    parts = [as_parts(x) for x in u]
    return join(*(np.stack([real_array(take(x)) for x in parts]) for take in (real_part, imag_part)))


def real_part(u: Any) -> Any:
    """The real part of a number, an array or a list; what is real, unchanged."""
    if not is_complex(u):
        return u
    u = as_parts(u)
    return float(u.real) if isinstance(u, complex) else u.real


def imag_part(u: Any) -> Any:
    """The imaginary part of a number, an array or a list; zeros of what is real."""
    if not is_complex(u):
        shape = np.shape(plain(real_array(u)))
        return np.zeros(shape) if shape else 0.0
    u = as_parts(u)
    return float(u.imag) if isinstance(u, complex) else u.imag


def _parts(u: Any) -> tuple[Any, Any]:
    """The real and the imaginary part."""
    return real_part(u), imag_part(u)


def join(re: Any, im: Any) -> Any:
    """The complex value of a real and an imaginary part, which broadcast: plain if they are, with a dtype of theirs."""
    if isinstance(re, (list, tuple)):
        made = [join(u, v) for u, v in zip(re, im, strict=True)]
        return type(re)(*made) if hasattr(re, "_fields") else type(re)(made)
    if isinstance(re, RealArray) or isinstance(im, RealArray):
        shape = np.broadcast_shapes(np.shape(re), np.shape(im))
        return ComplexArray(_part(re, shape), _part(im, shape))
    if isinstance(re, np.ndarray) or isinstance(im, np.ndarray):
        if holds_duals(re) or holds_duals(im):
            return join(real_array(re), real_array(im))
        shape, kind = np.broadcast_shapes(np.shape(re), np.shape(im)), np.result_type(re, im, np.complex64)
        whole: Any = np.empty_like(re if np.shape(re) == shape else im, kind, shape=shape)  # laid out as they are
        whole.real, whole.imag = re, im
        return whole
    if isinstance(re, DualNumber) or isinstance(im, DualNumber):
        return ComplexNumber(alive(re), alive(im))
    if isinstance(re, np.floating) and isinstance(im, np.floating):
        return np.result_type(re, im, np.complex64).type(complex(re, im))
    return complex(re, im)


def _part(x: Any, shape: tuple[int, ...]) -> RealArray:
    """A part of an array, with memory of its own if it is not a RealArray of this shape."""
    if isinstance(x, RealArray) and x.shape == shape:
        return x
    if holds_duals(x):
        whole: Any = np.broadcast_to(real_array(x), shape)
        return RealArray.copy(whole)
    return RealArray(np.array(np.broadcast_to(plain(x), shape), dtype=float))


def held(x: Any) -> Any:
    """A plain array of real or complex numbers as one that can hold such under differentiation; all else unchanged."""
    kind = x.dtype.kind if isinstance(x, np.ndarray) else ""
    if kind == "c":
        return join(RealArray(np.array(x.real, dtype=float)), x.imag)
    return RealArray(np.array(x, dtype=float)) if kind == "f" else x


def values(u: Any) -> Any:
    """The plain complex values; what is real as its plain values."""
    return join(plain(real_part(u)), plain(imag_part(u))) if is_complex(u) else plain(u)


def stripped(u: Any, run: Run) -> Any:
    """Return a value as the runs around this one see it; a plain number is numpy's, which does not raise."""
    if is_complex(u):
        made = join(strip(real_part(u), run), strip(imag_part(u), run))
        return np.complex128(made) if isinstance(made, complex) else made
    made = strip(u, run)
    return np.float64(made) if isinstance(made, (int, float)) else made


def _no_zero(u: Any) -> Any:
    """A divisor, which is not zero if it is a number: Python's numbers raise where numpy's give infinities."""
    if not isinstance(u, np.generic) and np.ndim(values(u)) == 0 and values(u) == 0:
        raise ZeroDivisionError("division by zero")
    return u
