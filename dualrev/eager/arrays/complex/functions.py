"""numpy's functions of complex numbers and arrays under differentiation, by the parts.

    partwise       linear, or it moves elements: the same of the real and of the imaginary parts
    multilinear    a product: linear in each of its arguments (elements.py)
    written        made of others, and of real functions

What is in none of them, and looks at values only, is of the values; the others are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.arrays import fourier
from dualrev.eager.arrays.assignment import copyto
from dualrev.eager.arrays.complex.elements import as_held, multilinear, refused
from dualrev.eager.arrays.complex.pairs import (
    as_parts,
    held,
    holds_complex,
    imag_part,
    is_complex,
    join,
    real_part,
    values,
)
from dualrev.eager.arrays.linear_algebra import linalg
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, plain
from dualrev.eager.arrays.polynomials import roots
from dualrev.eager.arrays.signatures import by_name, hands_on, parameters_of
from dualrev.errors import UnsupportedError
from dualrev.rules.functions import TABLE

__all__ = ["complex_function"]


def complex_function(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of numpy, one of whose arguments is complex. UnsupportedError for what has no rule."""
    handler = _HANDLERS.get(func)
    if handler is not None:
        args, kwargs = by_name(func, handler, args, kwargs)
        out = kwargs.pop("out", None)
        if func not in _MAKING:
            dtype = kwargs.pop("dtype", None)
            if dtype is not None and np.dtype(dtype).kind != "c":
                raise refused(f"{name} with dtype={dtype}")
        if not hands_on(handler) and (unknown := kwargs.keys() - parameters_of(handler)):
            raise refused(f"{name} with {', '.join(sorted(unknown))}")
        made = handler(*args, **kwargs)
        if out is None:
            return made
        copyto(out, made)
        return out
    discrete = func in _OF_VALUES
    if not discrete and any(map(_moves, (*args, *kwargs.values()))):
        raise refused(name)
    made = func(*map(_plain, args), **{key: _plain(u) for key, u in kwargs.items()})
    return made if discrete else as_held(made, args)


def _moves(u: Any) -> bool:
    if isinstance(u, (list, tuple)):
        return any(map(_moves, u))
    return holds_complex(u) or holds_duals(u)


def _plain(u: Any) -> Any:
    if type(u) in (list, tuple):
        return type(u)(map(_plain, u))
    return values(u) if is_complex(u) or isinstance(u, RealArray) or holds_duals(u) else u


def _partwise(func: Any, where: Sequence[int] = (0,)) -> Callable[..., Any]:
    """A function that is linear in what it is given at these places and in what it adds, all together.

    UnsupportedError if something else that it is given is complex.
    """
    names = [*parameters_of(func)]
    linear = {*where, *(names[k] for k in where if k < len(names)), *_ADDED}

    def part(take: Callable[[Any], Any], u: Any) -> Any:
        """Take the real or the imaginary part of an argument, or of each array in a list."""
        if u is None:
            return None
        listed = isinstance(u, (list, tuple)) and any(np.ndim(values(x)) for x in u)
        return [part(take, x) for x in u] if listed else take(u)

    def handler(*args: Any, **kwargs: Any) -> Any:
        """Apply the function to the real and to the imaginary parts; UnsupportedError for another complex argument."""
        for key, u in (*enumerate(args), *kwargs.items()):
            if key not in linear and is_complex(u):
                raise refused(f"numpy.{func.__name__} with the argument {key!r}")
        made = []
        for take in (real_part, imag_part):
            given = [part(take, u) if k in linear else u for k, u in enumerate(args)]
            named = {key: part(take, u) if key in linear else u for key, u in kwargs.items()}
            made.append(func(*given, **named))
        return join(*made)

    return handler


def _product(func: Any, conjugated: int | None = None) -> Callable[..., Any]:
    """Return a rule for a product of two arrays; operand `conjugated` is conjugated first."""
    names = [*parameters_of(func)][:2]

    def handler(*args: Any, **kwargs: Any) -> Any:
        """Expand the product into products of real and imaginary parts."""
        operands = [*args, *(kwargs.pop(name) for name in names[len(args) :] if name in kwargs)]
        given = [np.conj(u) if k == conjugated else u for k, u in enumerate(operands)]
        return multilinear(lambda *us: func(*us, **kwargs), given)

    return handler


def _einsum(*operands: Any, **kwargs: Any) -> Any:
    if not isinstance(operands[0], str):
        raise UnsupportedError("numpy.einsum of complex numbers with lists of axes", "the subscripts as a string")
    return multilinear(lambda *us: np.einsum(*us, **kwargs), operands)


def _along(z: Any, axis: Any) -> tuple[Any, int]:
    """An array, raveled without an axis, and the axis."""
    z = as_parts(z)
    return (np.ravel(z), 0) if axis is None else (z, axis)


def _prod(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """The product, of halves that are multiplied."""
    shape = np.shape(values(a))
    axes = tuple(range(len(shape))) if axis is None else tuple(k % len(shape) for k in np.atleast_1d(axis).tolist())
    z = np.moveaxis(as_parts(a), axes, range(len(axes)))
    z = np.reshape(z, (-1, *(n for k, n in enumerate(shape) if k not in axes)))
    if not len(z):
        return np.ones(z.shape[1:])
    while len(z) > 1:
        half = len(z) // 2
        z = np.concatenate([z[:half] * z[half : 2 * half], z[2 * half :]])
    return np.expand_dims(z[0], axes) if keepdims else z[0]


def _cumprod(a: Any, axis: Any = None) -> Any:
    z, axis = _along(a, axis)
    rows = np.moveaxis(z, axis, 0)
    made = [rows[0]] if len(rows) else []
    for row in rows[1:]:
        made.append(made[-1] * row)
    return np.stack(made, axis) if made else z


def _var(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: Any = False) -> Any:
    d = a - np.mean(a, axis=axis, keepdims=True)
    squares = real_part(d) ** 2 + imag_part(d) ** 2
    total = np.sum(squares, axis=axis, keepdims=keepdims)
    count = np.size(plain(squares)) / max(np.size(plain(total)), 1)
    return (plain(total) if count == 1 else total) / (count - ddof)  # of one number it is 0, and so is its root


def _std(a: Any, axis: Any = None, *, ddof: Any = 0, keepdims: Any = False) -> Any:
    return np.sqrt(_var(a, axis, ddof=ddof, keepdims=keepdims))


def _angle(z: Any, deg: bool = False) -> Any:
    made = np.arctan2(imag_part(z), real_part(z))
    return np.degrees(made) if deg else made


def _where(condition: Any, *choices: Any) -> Any:
    condition = values(condition) != 0 if is_complex(condition) else condition
    return _partwise(np.where, (1, 2))(condition, *choices) if choices else np.where(condition)


def _like(value: float) -> Callable[..., Any]:
    """zeros_like and the like: of complex numbers, if no dtype says otherwise."""

    def handler(a: Any, dtype: Any = None, **kwargs: Any) -> Any:
        """Return an array of the shape of a, filled with the value."""
        made = np.full_like(values(a), value, dtype, **{key: u for key, u in kwargs.items() if key != "order"})
        return as_held(made, [a]) if made.ndim else made

    return handler


def _full_like(a: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    if dtype is None:
        dtype = complex if is_complex(a) else float
    made = held(np.full_like(values(a), 0, dtype, **kwargs))
    copyto(made, fill_value)
    return made


def _polyval(p: Any, x: Any) -> Any:
    made: Any = 0.0
    for k in range(len(p)):
        made = made * x + p[k]
    return made


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    if x is None:
        return _partwise(np.trapezoid)(y, dx=dx, axis=axis)
    return multilinear(lambda u, v: np.trapezoid(u, v, axis=axis), (y, x))


def _broadcast_arrays(*arrays: Any, subok: bool = False) -> Any:
    shape = np.broadcast_shapes(*(np.shape(values(a)) for a in arrays))
    return tuple(np.broadcast_to(as_parts(a) if is_complex(a) else a, shape) for a in arrays)


#: What is added to the numbers, or put beside them, by its name: it has an imaginary part, which may be zero.
_ADDED = ("initial", "constant_values", "prepend", "append", "to_begin", "to_end")
_MAKING = (np.zeros_like, np.ones_like, np.empty_like, np.full_like)
_MOVING = """reshape ravel transpose swapaxes moveaxis rollaxis expand_dims squeeze diagonal flip fliplr flipud rot90
roll tile repeat broadcast_to take take_along_axis delete diag diagflat resize matrix_transpose triu tril atleast_1d
atleast_2d atleast_3d split array_split hsplit vsplit dsplit unstack concatenate stack hstack vstack dstack column_stack
block pad compress copy"""
_LINEAR = "sum nansum mean cumsum trace gradient nan_to_num round around fix"
_LINEAR += " linalg.trace linalg.diagonal linalg.matrix_transpose"
_PRODUCTS = "dot inner outer kron tensordot cross convolve linalg.outer linalg.tensordot linalg.cross"


def _named(names: str) -> list[Any]:
    """The functions of numpy with these names; not every numpy has them all."""
    parted = [name.rpartition(".") for name in names.split()]
    found = [getattr(getattr(np, module) if module else np, name, None) for module, _, name in parted]
    return [f for f in found if f is not None]


_HANDLERS: dict[Any, Callable[..., Any]] = {
    **linalg.HANDLERS,
    **{f: _partwise(f) for f in _named(f"{_MOVING} {_LINEAR}")},
    **{f: _product(f) for f in _named(_PRODUCTS)},
    np.broadcast_arrays: _broadcast_arrays,
    np.compress: _partwise(np.compress, (1,)),
    np.extract: _partwise(np.extract, (1,)),
    np.diff: _partwise(np.diff, (0, 3, 4)),
    np.ediff1d: _partwise(np.ediff1d, (0, 1, 2)),
    np.trapezoid: _trapezoid,
    np.append: _partwise(np.append, (0, 1)),
    np.insert: _partwise(np.insert, (0, 2)),
    np.interp: _partwise(np.interp, (2, 3, 4)),
    np.select: _partwise(np.select, (1, 2)),
    np.choose: _partwise(np.choose, (1,)),
    np.where: _where,
    np.vdot: lambda a, b: np.dot(np.conj(np.ravel(a)), np.ravel(b)),
    np.correlate: _product(np.correlate, 1),
    np.linalg.vecdot: lambda x1, x2, axis=-1: np.sum(np.conj(x1) * x2, axis=axis),
    np.linalg.matmul: np.matmul,
    np.einsum: _einsum,
    np.prod: _prod,
    np.cumprod: _cumprod,
    np.var: _var,
    np.std: _std,
    np.polyval: _polyval,
    np.roots: roots,
    np.real: real_part,
    np.imag: imag_part,
    np.angle: _angle,
    np.zeros_like: _like(0.0),
    np.empty_like: _like(0.0),
    np.ones_like: _like(1.0),
    np.full_like: _full_like,
    np.copyto: copyto,
    **fourier.HANDLERS,
}
_OF_VALUES = {f.function for f in TABLE.values() if f.discrete} | {np.size}
