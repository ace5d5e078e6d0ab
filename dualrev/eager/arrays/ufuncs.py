"""numpy's elementwise functions on arrays of dual numbers, with all that can be asked of them: what numpy calls.

What they do is in elementwise.py; products of matrices, which are ufuncs for numpy, too, are in jacobian_products.py.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays import assignment, reductions, shape_derivatives
from dualrev.eager.arrays.complex.elements import complex_ufunc, refused
from dualrev.eager.arrays.complex.pairs import ComplexArray, as_parts, imag_part, is_complex, real_part
from dualrev.eager.arrays.elementwise import as_real_array, elementwise, in_general, of_one_run, on_arrays
from dualrev.eager.arrays.empty import all_empty, of_empty
from dualrev.eager.arrays.linear_algebra import products
from dualrev.eager.arrays.memory.record import sum_of_rows
from dualrev.eager.arrays.memory.storage import (
    RealArray,
    holds_duals,
    innermost,
    plain,
    real_array,
)
from dualrev.eager.arrays.series import refuse_columns
from dualrev.eager.arrays.special_composed import composed, of_whole
from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.tables.kinds import is_table
from dualrev.eager.tables.meeting import with_table
from dualrev.eager.tape.tape import Tape
from dualrev.errors import UnsupportedError
from dualrev.rules.functions import TABLE
from dualrev.rules.primitives import PRIMITIVES, Primitive
from dualrev.rules.scipy_tape import COMPOSED, OUTPUTS

__all__ = ["apply_ufunc", "as_real_array", "elementwise", "into", "on_arrays", "table_by_ufunc"]


def apply_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A numpy ufunc, or a method of it, on arrays and numbers, some under differentiation: what numpy calls.

    UnsupportedError for what has no rule. ConversionError if the result is to go into a plain array.
    """
    name = ufunc.__name__
    if len(inputs) == 2 and (inputs[0].__class__ is np.ndarray or inputs[1].__class__ is np.ndarray):
        refuse_columns(sys._getframe(2))
    if method == "__call__" and not kwargs:  # the common case, without what the others need
        line = table_by_ufunc().get(name)
        made = None if line is None else of_one_run(line, inputs, ufunc)
        if made is not None:
            return made
        if all(map(_is_usual, inputs)):
            if line is not None:
                return in_general(line, inputs, ufunc)
            if name in _CORES:
                return getattr(products, name)(*inputs)
    if any(map(is_table, inputs)):
        return with_table(ufunc, method, inputs, kwargs)
    if method == "at":
        return _at(ufunc, *inputs)
    if method != "__call__" and all_empty(inputs, [*kwargs.values()]):
        return of_empty(getattr(ufunc, method), inputs, kwargs)
    args = tuple(u if isinstance(u, DualNumber) or is_complex(u) else real_array(u) for u in inputs)
    out, where = kwargs.pop("out", (None,)), plain(kwargs.pop("where", True))
    if method == "__call__":
        made = _call(ufunc, name, args, kwargs, where)
    elif method in ("reduce", "accumulate", "reduceat") and name not in _OF_VALUES:
        if where is not True:
            kwargs["where"] = where
        made = _along(ufunc, method, *args, **{"axis": 0, **kwargs})
        return into(out[0], as_real_array(made), True, None)
    elif method == "outer":
        a, b = (as_parts(u) if is_complex(u) else real_array(u) for u in args)
        made = ufunc(a.reshape(a.shape + (1,) * b.ndim), b, **kwargs)
    elif name in _OF_VALUES and not any(map(is_complex, args)):
        made = getattr(ufunc, method)(*map(plain, args), **kwargs, **({} if where is True else {"where": where}))
        where = True
    else:
        raise UnsupportedError(f"numpy.{name}.{method}", "it with numpy's functions on whole arrays, or as a loop")
    if isinstance(made, tuple):
        outs = out if len(out) == len(made) else (None,) * len(made)
        return tuple(into(o, m, where) for o, m in zip(outs, made, strict=True))
    return into(out[0], made, where, _CORES[name](*map(np.ndim, args)) if name in _CORES else 0)


def _is_usual(u: Any) -> bool:
    if u.__class__ is np.ndarray:
        return bool(u.dtype == float)
    return isinstance(u, (RealArray, DualNumber, float)) or u.__class__ is int


def _call(ufunc: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], where: Any) -> Any:
    if any(map(is_complex, args)):
        return complex_ufunc(ufunc, args, **kwargs)
    if name in _OF_VALUES:
        return ufunc(*map(plain, args), **kwargs)
    dtype = kwargs.pop("dtype", None)
    if dtype is not None and np.dtype(dtype).kind != "f":
        raise UnsupportedError(
            f"numpy.{name} with dtype={dtype}", "it without a dtype: derivatives are of real numbers"
        )
    if name in _CORES:
        if kwargs.keys() & {"axes", "keepdims"}:
            raise UnsupportedError(
                f"numpy.{name} with {', '.join(kwargs)}", "numpy.einsum, or numpy.moveaxis before it"
            )
        return getattr(products, name)(*args, **{key: u for key, u in kwargs.items() if key == "axis"})
    line = table_by_ufunc().get(name)
    if line is None and name in _SPECIAL:
        return _special(name, args, ufunc, kwargs)
    if line is None and name not in _COMPOSED:
        if any(map(holds_duals, args)):
            if name.endswith(" (vectorized)"):
                raise UnsupportedError("a function of numpy.frompyfunc", "dualrev.numpy.vectorize(f) for it")
            raise UnsupportedError(
                _full_name(ufunc), "it with functions that have a rule, or give it one with dualrev.primitive"
            )
        return as_real_array(ufunc(*map(plain, args), **kwargs))
    for key in kwargs.keys() - {"casting", "subok"}:  # those say nothing about arrays of floats
        if kwargs[key] not in (None, "K"):
            raise UnsupportedError(f"numpy.{name} with {key}=", f"it without, or a copy with that {key}")
    if where is not True:
        with np.errstate(all="ignore"):  # the elements that are left out may lie outside of the domain
            return _call(ufunc, name, args, kwargs, True)
    return _COMPOSED[name](*args) if line is None else elementwise(line, args, ufunc)


def _special(name: str, args: Sequence[Any], ufunc: Any, kwargs: dict[str, Any]) -> Any:
    """A special function of SciPy, by its line in rules/scipy.py."""
    if not any(map(holds_duals, args)):
        made = of_whole(ufunc)(*map(plain, args), **kwargs)
        return tuple(map(as_real_array, made)) if isinstance(made, tuple) else as_real_array(made)
    for k in shape_derivatives.unknown(name):
        if holds_duals(args[k]):
            what = f"scipy.special.{name} by its {('first', 'second', 'third')[k]} argument"
            raise UnsupportedError(what, "dualrev.value(...) for that argument, if it is a constant")
    if not isinstance(innermost(args), Tape):
        raise UnsupportedError(f"scipy.special.{name} in a stage of the paper", "it for the default engine")
    if name in OUTPUTS:
        return tuple(shape_derivatives.by_name(f"{name}_{k}")(*args) for k in range(len(OUTPUTS[name])))
    if name in COMPOSED:
        return composed(ufunc, args)
    if all(np.ndim(u) == 0 for u in args):  # numpy's arithmetic has limits where Python's raises
        first, *rest = (real_array(u) for u in args)
        return elementwise(shape_derivatives.lines()[name], [first.reshape(1), *rest], of_whole(ufunc))[0]
    return elementwise(shape_derivatives.lines()[name], args, of_whole(ufunc))


def _full_name(ufunc: Any) -> str:
    """Return the name with its package, which a ufunc does not say: numpy.exp, scipy.special.gammaln."""
    name: str = ufunc.__name__
    packages = {"numpy": np, "scipy.special": sys.modules.get("scipy.special")}
    known = [package for package, module in packages.items() if getattr(module, name, None) is ufunc]
    return f"{known[0]}.{name}" if known else f"the ufunc {name!r}"


def _along(ufunc: Any, method: str, a: Any, *at: Any, axis: Any, **kwargs: Any) -> Any:
    """reduce, accumulate and reduceat: by the function of numpy that does the same, or slice by slice."""
    name = ufunc.__name__
    if method == "accumulate" and axis is None and np.ndim(a) > 1:
        raise ValueError("accumulate does not allow multiple axes")
    known = _METHODS.get(method, {}).get(name)
    if known is not None:
        return known(a, axis=axis, **{key: u for key, u in kwargs.items() if u is not None})
    if is_complex(a):
        raise refused(f"numpy.{name}.{method}")
    if not any(map(holds_duals, (a, *kwargs.values()))):
        return getattr(ufunc, method)(plain(a), *at, axis=axis, **kwargs)
    dtype = kwargs.pop("dtype", None)
    of_others = kwargs or (dtype is not None and np.dtype(dtype).kind != "f")
    if ufunc.nin != 2 or ufunc.nout != 1 or np.ndim(axis) or axis is None or of_others:
        raise UnsupportedError(f"numpy.{name}.{method}", "it with numpy's functions on whole arrays, or as a loop")
    if method == "accumulate":
        return reductions.accumulate(ufunc, a, axis)
    if method == "reduce":
        return reductions.accumulate(ufunc, a, axis).take(-1, axis)
    if not len(at[0]):
        return a.take(np.zeros(0, int), axis)
    slices = np.moveaxis(a, axis, 0)
    ends = [*at[0][1:], len(slices)]
    made = [ufunc.reduce(slices[i:j]) if i < j else slices[i] for i, j in zip(at[0], ends, strict=True)]
    return np.moveaxis(np.stack(made), 0, axis)


def into(out: Any, made: Any, where: Any, core: int | None = 0) -> Any:
    """Write a result into the array `out`, where `where` is true; return the result itself without `out`.

    It broadcasts, but for its last `core` axes; None means all, and no axis more.
    """
    if out is None:
        if where is not True:
            raise UnsupportedError(
                "a numpy function with where= but without out=", "np.where(condition, result, other)"
            )
        return made
    shape, room = np.shape(made), np.shape(out)
    fits = core is not None and shape[len(shape) - core :] == room[len(room) - core :]
    if shape != room and not (fits and np.broadcast_shapes(shape, room) == room):
        raise ValueError(f"non-broadcastable output operand with shape {room} for a result of {shape}")
    assignment.copyto(out, made, where=where)
    return out


def _at(ufunc: Any, a: Any, key: Any, b: Any = None) -> None:
    """a[key] = ufunc(a[key], b), where an element may be chosen more than once."""
    name = ufunc.__name__
    chosen = np.arange(a.size).reshape(a.shape)[key]
    if b is not None and np.broadcast_shapes(np.shape(b), chosen.shape) != chosen.shape:
        raise ValueError(f"array of shape {np.shape(b)} is not broadcastable to {chosen.shape}")
    if np.unique(chosen).size == chosen.size:
        assignment.assign(a, key, ufunc(a[key]) if ufunc.nin == 1 else ufunc(a[key], b))
    elif name in ("add", "subtract") and isinstance(a, ComplexArray):
        for part, of in ((a.real, real_part), (a.imag, imag_part)):
            _at(ufunc, part, key, of(b))
    elif is_complex(a) or is_complex(b):
        raise refused(f"numpy.{name}.at")
    elif name in ("add", "subtract"):
        b = np.broadcast_to(real_array(b), chosen.shape).reshape(-1)
        total = sum_of_rows(b, chosen.reshape(-1), a.size)
        assignment.assign(a, ..., ufunc(a, real_array(total).reshape(a.shape)))
    else:
        raise UnsupportedError(f"numpy.{name}.at with an element chosen more than once", "a loop")


def _divmod(a: Any, b: Any) -> tuple[Any, Any]:
    return np.floor_divide(a, b), np.remainder(a, b)


def _modf(x: Any) -> tuple[Any, Any]:
    whole = np.trunc(plain(x))
    return x - whole, whole


def _nan_to(x: Any, other: Any, pick: Any) -> Any:
    """fmax and fmin: the number, where the other is NaN."""
    a, b = np.where(np.isnan(x), other, x), np.where(np.isnan(other), x, other)
    return pick(a, b)


def _heaviside(x: Any, h: Any) -> Any:
    x = plain(x)
    return real_array(np.where(np.isnan(x), math.nan, np.where(x == 0, h, 1.0 * (x > 0))))[()]


def _product(how: tuple[str, float | None], x: Any) -> Any:
    """Return a product or a quotient of x, as the line of the table says."""
    symbol, other = how
    return other / x if symbol == "/" else x * (x if other is None else other)


@functools.cache
def table_by_ufunc() -> dict[str, Primitive]:
    """The table's lines by the names that numpy and SciPy have for ufuncs; `cache_clear` when a line is added."""
    lines = {getattr(np, line.ufunc).__name__: line for line in PRIMITIVES.values() if hasattr(np, line.ufunc or "-")}
    of_scipy = {"gammaln": "lgamma", "psi": "digamma", **{name: name for name in ("erf", "erfc", "gamma", "expit")}}
    lines |= {name: PRIMITIVES[line] for name, line in of_scipy.items()}
    lines |= {line.ufunc: line for line in PRIMITIVES.values() if line.ufunc and not hasattr(np, line.ufunc)}
    return lines


_SPECIAL = {*shape_derivatives.NAMES, *COMPOSED, *OUTPUTS}
_OF_VALUES = {f.name[3:] for f in TABLE.values() if f.discrete and isinstance(f.function, np.ufunc)}
#: Products of matrices, with the number of axes that do not broadcast in the result.
_CORES: dict[str, Callable[[int, int], int]] = {
    "matmul": lambda of_a, of_b: (of_a > 1) + (of_b > 1),
    "vecdot": lambda of_a, of_b: 0,
    "matvec": lambda of_a, of_b: 1,
    "vecmat": lambda of_a, of_b: 1,
}
_COMPOSED: dict[str, Callable[..., Any]] = {
    "conjugate": lambda x: real_array(x)[()],
    "frexp": lambda x: (x * np.exp2(-1.0 * np.frexp(plain(x))[1]), np.frexp(plain(x))[1]),
    "divmod": _divmod,
    "modf": _modf,
    "fabs": np.abs,
    "float_power": np.power,
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "fmax": lambda a, b: _nan_to(a, b, np.maximum),
    "fmin": lambda a, b: _nan_to(a, b, np.minimum),
    "logaddexp2": lambda a, b: np.logaddexp(a * math.log(2.0), b * math.log(2.0)) / math.log(2.0),
    "ldexp": lambda x, n: x * np.exp2(1.0 * n),
    "heaviside": _heaviside,
    "nextafter": lambda x, other: x + (np.nextafter(plain(x), plain(other)) - plain(x)),
    **{f.name[3:]: functools.partial(_product, f.product) for f in TABLE.values() if f.product and f.topic},
}
_METHODS: dict[str, dict[str, Callable[..., Any]]] = {
    "reduce": {
        "add": np.sum,
        "multiply": np.prod,
        "maximum": np.max,
        "minimum": np.min,
        "logical_and": np.all,
        "logical_or": np.any,
        "logaddexp": reductions.logsumexp,
    },
    "accumulate": {"add": np.cumsum, "multiply": np.cumprod},
}
