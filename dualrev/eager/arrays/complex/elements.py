"""numpy's elementwise functions of complex numbers and arrays under differentiation.

The partial derivative p of a function that has one is a complex number, which is two real ones for each part:

    y = f(z)  ~>  dRe y = Re p dRe z - Im p dIm z,      dIm y = Im p dRe z + Re p dIm z

Sums, and products with real factors, are those of the parts. What is not differentiable in this sense (abs, angle) is
written in the parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays.complex.pairs import (
    ComplexNumber,
    as_parts,
    held,
    imag_part,
    is_complex,
    join,
    real_part,
    stripped,
    values,
)
from dualrev.eager.arrays.memory.record import by_terms, ids_of
from dualrev.eager.arrays.memory.storage import RealArray, innermost, plain, real_array
from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.numbers.primitive_functions import contribute
from dualrev.eager.tape.tape import Real, Tape
from dualrev.errors import UnsupportedError
from dualrev.rules.functions import TABLE

__all__ = ["as_held", "complex_ufunc", "multilinear", "recorded", "refused"]


def complex_ufunc(ufunc: Any, args: Sequence[Any], dtype: Any = None, **options: Any) -> Any:
    """A ufunc of numbers and arrays, one of them complex. UnsupportedError for what has no rule."""
    name = ufunc.__name__
    said = f"{'numpy' if hasattr(np, name) else 'scipy.special'}.{name}"
    args = [as_parts(u) if is_complex(u) else u if isinstance(u, DualNumber) else real_array(u)[()] for u in args]
    if dtype is not None and np.dtype(dtype).kind != "c":
        raise refused(f"{said} with dtype={dtype}")
    if asked := [key for key, u in options.items() if key not in ("casting", "subok") and u not in (None, "K")]:
        raise refused(f"{said} with {', '.join(asked)}")
    if name in _OF_VALUES:
        return ufunc(*map(values, args))
    if name in _LINEAR or (name in _SCALING and not is_complex(args[-1])):
        return _of_parts(ufunc, args)
    if name == "multiply" and not is_complex(args[0]):
        return _of_parts(ufunc, args)
    if name in _WRITTEN:
        return _WRITTEN[name](*args)
    if name in _PARTIALS:
        return _differentiable(ufunc, args, _PARTIALS[name])
    if _run(args) is not None:
        raise refused(said)
    return as_held(ufunc(*map(values, args)), args)


def _of_parts(ufunc: Any, args: Sequence[Any]) -> Any:
    """Apply a ufunc to the real and to the imaginary parts; a real factor is the same for both."""
    scaling = ufunc.__name__ in _SCALING
    real = [real_part(u) for u in args]
    imag = [u if scaling and not is_complex(u) else imag_part(u) for u in args]
    return join(ufunc(*real), ufunc(*imag))


def _run(args: Sequence[Any]) -> Tape | None:
    """The innermost run of these values; UnsupportedError if it is one of a stage."""
    run = innermost([part for u in args for part in (real_part(u), imag_part(u) if is_complex(u) else 0.0)])
    if run is not None and not isinstance(run, Tape):
        raise UnsupportedError("complex arithmetic in a stage of the paper", "it for the default engine")
    return run


def _differentiable(ufunc: Any, args: Sequence[Any], partials: Sequence[Callable[..., Any]]) -> Any:
    """A function with a complex partial derivative by each argument: of these, and of the value."""
    run = _run(args)
    if run is None:
        return as_held(ufunc(*map(values, args)), args)
    xs = [stripped(u, run) for u in args]
    y = ufunc(*xs)
    with np.errstate(all="ignore"):  # partial derivatives never warn
        ps = [partial(*xs, y) for partial in partials]
    return recorded(run, y, list(zip(args, ps, strict=True)), np.shape(y))


def recorded(
    run: Tape,
    y: Any,
    operands: Sequence[tuple[Any, Any]],
    domain: tuple[int, ...],
    reduced: tuple[int, ...] | None = None,
) -> Any:
    """The complex value y on the tape, with the complex partials by its operands; see `by_terms`."""
    real: list[tuple[Any, Any]] = []
    imag: list[tuple[Any, Any]] = []
    for u, p in operands:
        a, b = real_part(p), imag_part(p)
        real.append((real_part(u), a))
        imag.append((real_part(u), b))
        if is_complex(u):
            real.append((imag_part(u), -b))
            imag.append((imag_part(u), a))
    return join(
        _recorded_part(run, _without_gaps(real_part(y)), real, domain, reduced),
        _recorded_part(run, _without_gaps(imag_part(y)), imag, domain, reduced),
    )


def _recorded_part(run: Tape, y: Any, operands: Sequence[tuple[Any, Any]], domain: Any, reduced: Any) -> Any:
    if not domain:
        us, ps = zip(*((_number(u), _number(p)) for u, p in operands), strict=True)
        return contribute(run, Real, _number(y), us, ps)
    terms = [(ids, _own(p)) for u, p in operands if (ids := ids_of(u, run)) is not None]
    return by_terms(run, y, terms, domain, reduced) if terms else y


def _without_gaps(y: Any) -> Any:
    """A part of a plain complex array, with memory of its own, so that numpy makes views of both alike."""
    return y.copy("K") if isinstance(y, np.ndarray) and y.ndim else y


def _entry(u: Any) -> Any:
    """The number of an array without axes."""
    return u if isinstance(u, (ComplexNumber, complex)) else u[()]


def _number(u: Any) -> Any:
    u = u[()] if isinstance(u, (RealArray, np.ndarray)) else u
    return u if isinstance(u, DualNumber) else float(u)


def _own(p: Any) -> Any:
    """A partial derivative that nobody else can change."""
    if isinstance(p, RealArray):
        return p.copy()
    return np.array(p, dtype=float) if isinstance(p, np.ndarray) and p.ndim else _number(p)


def as_held(y: Any, args: Sequence[Any]) -> Any:
    """A plain result as one that can hold numbers under differentiation, if an argument could."""
    could = any(isinstance(real_part(u), RealArray) for u in args)
    return held(y) if could and np.ndim(y) else y


def multilinear(function: Callable[..., Any], args: Sequence[Any], where: Sequence[int] | None = None) -> Any:
    """A function that is linear in each of its arguments at these places: of the parts, one by one."""
    for k, u in enumerate(args):
        if is_complex(u) and (where is None or k in where):
            one, other = (
                multilinear(function, [*args[:k], f(u), *args[k + 1 :]], where) for f in (real_part, imag_part)
            )
            return join(real_part(one) - imag_part(other), imag_part(one) + real_part(other))
    return function(*args)


def refused(name: str) -> UnsupportedError:
    """Return the error for a function without a rule for complex numbers."""
    return UnsupportedError(
        f"{name} of complex numbers,", "it of z.real and z.imag, or with functions that have a rule (docs/numpy.md)"
    )


def _but_zero(u: Any, instead: float, beside: Any = 0.0) -> Any:
    """The same with another number in place of zeros beside zeros: where 0**0 and log(0) are multiplied by 0."""
    zero = np.equal(u, 0) & (np.abs(values(beside)) < _TINY)
    return _entry(np.where(zero, instead, u)) if np.any(zero) else u


def _absolute(z: Any) -> Any:
    """Return the modulus; its derivative at 0 is 0, and its second derivative there is infinite, as for u**1.5."""
    x, y = real_part(z), imag_part(z)
    size = np.hypot(plain(x), plain(y))
    zero = size == 0.0
    if not np.any(zero):
        return np.hypot(x, y)
    away = np.hypot(np.where(zero, 1.0, x), np.where(zero, 0.0, y))
    at_zero = np.where(zero, x, 0.0) ** 1.5 + np.where(zero, y, 0.0) ** 1.5
    made = np.where(zero, at_zero, away)
    return made if isinstance(made, DualNumber) else made[()]


def _sign(z: Any) -> Any:
    size = _absolute(z)
    zero = plain(size) == 0.0
    return _entry(np.where(zero, 0.0, z / np.where(zero, 1.0, size)))


_DISCRETE = {f.name[3:] for f in TABLE.values() if f.discrete and isinstance(f.function, np.ufunc)}
_OF_VALUES = _DISCRETE - {"signbit", "spacing"}
_LINEAR = {"add", "subtract", "negative", "positive"}
_SCALING = {"multiply", "divide"}
_WRITTEN: dict[str, Callable[..., Any]] = {
    "absolute": _absolute,
    "sign": _sign,
    "conjugate": lambda z: join(+real_part(z), -imag_part(z)),
    "matmul": lambda a, b: multilinear(np.matmul, (a, b)),
    "matvec": lambda a, b: multilinear(np.matmul, (a, b[..., None]))[..., 0],
    "vecmat": lambda a, b: multilinear(np.matmul, (np.conj(a)[..., None, :], b))[..., 0, :],
    "vecdot": lambda a, b: np.sum(np.conj(a) * b, axis=-1),
}
_TINY = 1e-100  # whose inverse, and that of its square, are floats
_ERF = 2.0 / math.sqrt(math.pi)  # the derivative of erf at 0
#: The derivatives of the functions that have one, as functions of the arguments and of the value. They divide by
#: numpy's functions, which have infinities where Python's numbers raise.
_PARTIALS: dict[str, tuple[Callable[..., Any], ...]] = {
    "multiply": (lambda a, b, y: b, lambda a, b, y: a),
    "divide": (lambda a, b, y: np.reciprocal(b), lambda a, b, y: np.divide(-y, b)),
    "power": (
        lambda a, b, y: b * np.power(a, _but_zero(b, 1.0, beside=a) - 1.0),
        lambda a, b, y: np.log(_but_zero(a, 1.0) + 0j) * y,
    ),
    "square": (lambda x, y: 2.0 * x,),
    "reciprocal": (lambda x, y: -y * y,),
    "sqrt": (lambda x, y: np.divide(0.5, y),),
    "exp": (lambda x, y: y,),
    "exp2": (lambda x, y: math.log(2.0) * y,),
    "expm1": (lambda x, y: np.exp(x),),
    "log": (lambda x, y: np.reciprocal(x),),
    "log1p": (lambda x, y: np.reciprocal(1.0 + x),),
    "log2": (lambda x, y: np.reciprocal(math.log(2.0) * x),),
    "log10": (lambda x, y: np.reciprocal(math.log(10.0) * x),),
    "sin": (lambda x, y: np.cos(x),),
    "cos": (lambda x, y: -np.sin(x),),
    "tan": (lambda x, y: 1.0 + y * y,),
    "sinh": (lambda x, y: np.cosh(x),),
    "cosh": (lambda x, y: np.sinh(x),),
    "tanh": (lambda x, y: 1.0 - y * y,),
    "arcsin": (lambda x, y: np.reciprocal(np.sqrt(1.0 - x) * np.sqrt(1.0 + x)),),
    "arccos": (lambda x, y: -np.reciprocal(np.sqrt(1.0 - x) * np.sqrt(1.0 + x)),),
    "arctan": (lambda x, y: np.reciprocal(1.0 + x * x),),
    "arcsinh": (lambda x, y: np.reciprocal(np.sqrt(1.0 - 1j * x) * np.sqrt(1.0 + 1j * x)),),
    "arccosh": (lambda x, y: np.reciprocal(np.sqrt(x - 1.0) * np.sqrt(x + 1.0)),),
    "arctanh": (lambda x, y: np.reciprocal((1.0 - x) * (1.0 + x)),),
    # of scipy.special
    "erf": (lambda x, y: _ERF * np.exp(-x * x),),
    "erfc": (lambda x, y: -_ERF * np.exp(-x * x),),
    "erfi": (lambda x, y: _ERF * np.exp(x * x),),
    "erfcx": (lambda x, y: 2.0 * x * y - _ERF,),
    "wofz": (lambda x, y: 1j * _ERF - 2.0 * x * y,),
    "dawsn": (lambda x, y: 1.0 - 2.0 * x * y,),
    "exp1": (lambda x, y: np.divide(-np.exp(-x), x),),
    "expi": (lambda x, y: np.divide(np.exp(x), x),),
}
_PARTIALS["true_divide"] = _PARTIALS["divide"]
_PARTIALS["float_power"] = _PARTIALS["power"]
