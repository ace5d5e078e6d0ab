"""numpy's functions on arrays of dual numbers, as far as they move elements, look at values, or are made of others.

Moving elements moves values and ids alike, and writes nothing on a tape. What looks at values only (comparisons,
argmax, shapes) gives numpy's answer about the values. Sums are in reductions.py, products in jacobian_products.py,
numpy.linalg in linalg.py, numerical methods in numerics.py, what writes to an array in assignment.py. A function that
is in none of them has a definition in the table of functions (defined.py), or is refused by name, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.eager.arrays import assignment, fourier, numerics, reductions
from dualrev.eager.arrays.complex.pairs import held, is_complex
from dualrev.eager.arrays.defined import by_table
from dualrev.eager.arrays.empty import all_empty, of_empty
from dualrev.eager.arrays.linear_algebra import linalg, products
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, innermost, plain, real_array, refuse_foreign
from dualrev.eager.arrays.signatures import by_name, by_position, parameters_of
from dualrev.eager.arrays.ufuncs import as_real_array, into
from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.numbers.numpy_hooks import ANSWERS
from dualrev.eager.tables.meeting import opened
from dualrev.eager.tape.tape import Tape
from dualrev.errors import UnsupportedError
from dualrev.rules.functions import TABLE

__all__ = ["HANDLERS", "apply_function", "assemble"]


def apply_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer numpy's `__array_function__`: one of its functions was called with a traced array or number."""
    args, kwargs = opened(func, args, kwargs)
    if not (args and args[0].__class__ is RealArray and args[0].x.size) and all_empty(args, [*kwargs.values()]):
        return of_empty(func, args, kwargs)
    if any(map(is_complex, (*args, *kwargs.values()))):
        from dualrev.eager.arrays.complex.functions import complex_function  # real code has no need of it

        return complex_function(func, _name(func), args, kwargs)
    handler = HANDLERS.get(func) or by_table(func) or ANSWERS.making.get(func)
    if handler is not None and not kwargs and len(args) <= by_position(func, handler):
        return as_real_array(handler(*args))  # the common case, without what options need
    if handler is not None:
        args, kwargs = by_name(func, handler, args, kwargs)
        out = kwargs.pop("out", None)
        _check_options(func, handler, kwargs)
        return into(out, as_real_array(handler(*args, **kwargs)), True, 0 if func in (np.clip, np.round) else None)
    if func not in _OF_VALUES and any(map(holds_duals, _leaves((*args, *kwargs.values())))):
        raise UnsupportedError(
            _name(func),
            "it with functions that have a rule (docs/numpy.md lists them), or dualrev.value(x) if it is a constant",
        )
    made = func(*_plain_tree(args), **{key: _plain_tree(x) for key, x in kwargs.items()})
    return made if func in _OF_VALUES else as_real_array(made)


#: What to write for a function with an option that has no rule, where numpy's other functions use the option.
_INSTEAD = {np.trim_zeros: "it without, np.polyval(c, x) for np.poly1d(c)(x), or np.roots(c) for its roots"}


def _check_options(func: Any, handler: Any, kwargs: dict[str, Any]) -> None:
    """Refuse options that the handler does not know, and results of other types than floats."""
    known, defaults = parameters_of(handler), parameters_of(func)
    if "dtype" not in known:
        dtype = kwargs.pop("dtype", None)
        if dtype is not None and np.dtype(dtype).kind != "f":
            raise UnsupportedError(
                f"{_name(func)} with dtype={dtype}", "it without a dtype: derivatives are of real numbers"
            )
    for key in [] if "kwargs" in known or handler is func else kwargs.keys() - known.keys():
        if kwargs[key] is not defaults.get(key):
            instead = _INSTEAD.get(func, "it without, or with functions that have a rule")
            raise UnsupportedError(f"{_name(func)} with {key}=", instead)
        kwargs.pop(key)


def _name(func: Any) -> str:
    return f"{func.__module__ or 'numpy'}.{func.__name__}"


def assemble(make: Callable[[list[Any]], Any], *data: Any) -> Any:
    """One array out of several: `make` puts the values together, and the ids of every run in the same way."""
    arrays = [real_array(u) for u in data]
    found = [a for a in arrays if isinstance(a, RealArray)]
    if not found:
        return make(arrays)
    innermost(arrays)  # is none of them from a run that has ended?
    for a in arrays:
        refuse_foreign(a)
    x = np.asarray(make([np.asarray(plain(a), dtype=float) for a in arrays]))
    layers = {}
    for run in {run: None for a in found for run in a.layers() if not run.over}:
        nothing: Any = (0, np.int64) if isinstance(run, Tape) else (None, object)
        ids = [a.layers().get(run) if isinstance(a, RealArray) else None for a in arrays]
        made = make([np.full(np.shape(a), *nothing) if i is None else i for a, i in zip(arrays, ids, strict=True)])
        layers[run] = np.empty_like(x, dtype=nothing[1])  # in the memory layout of x: their views go together
        layers[run][...] = made
    whole = RealArray(x, layers)
    return whole if whole.ndim else whole[()]


def _plain_tree(x: Any) -> Any:
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)(_plain_tree(u) for u in x)
    if isinstance(x, DualNumber):
        return np.float64(plain(x))
    return plain(x) if isinstance(x, (RealArray, np.ndarray)) else x


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [leaf for u in x for leaf in _leaves(u)]
    return [x]


def _moved(func: Any) -> Callable[..., Any]:
    """A function that selects or reorders the elements of one array: a view where numpy's is a view."""

    def handler(a: Any, *args: Any, **kwargs: Any) -> Any:
        """Select elements as the function does."""
        if not isinstance(real_array(a), RealArray):
            return func(a, *args, **kwargs)
        return _selected(real_array(a), lambda x: func(x, *args, **kwargs), number=isinstance(a, DualNumber))

    return handler


def _pieces(func: Any) -> Callable[..., Any]:
    """A function that cuts an array into a list of views."""

    def handler(a: Any, *args: Any, **kwargs: Any) -> Any:
        """Select the elements of each piece as the function does."""
        a = real_array(a)
        made = func(plain(a), *args, **kwargs)
        if not isinstance(a, RealArray):
            return made
        pieces = [_selected(a, lambda x, k=k: func(x, *args, **kwargs)[k]) for k in range(len(made))]  # type: ignore[misc]
        return type(made)(pieces)

    return handler


def _selected(a: RealArray, select: Callable[[Any], Any], number: bool = False) -> Any:
    """A view; where numpy selects one element, or of a number, a number."""
    made = select(a.x)
    if not isinstance(made, np.ndarray) or (number and not made.ndim):
        return a.derived(lambda x: np.asarray(select(x)))[()]
    return a.derived(select)


def _joined(func: Any) -> Callable[..., Any]:
    """A function that puts a sequence of arrays together."""

    def handler(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        """Join arrays as the function does."""
        return assemble(lambda parts: func(parts, *args, **kwargs), *arrays)

    return handler


def _like(value: Any) -> Callable[..., Any]:
    """zeros_like and the like: an array that can hold numbers under differentiation, of the same shape."""

    def handler(
        a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, device: Any = None
    ) -> Any:
        """Return an array of the shape of a, filled with the value."""
        made = np.full_like(plain(real_array(a)), value, dtype or float, order, shape=shape)
        return held(made)

    return handler


def _full_like(a: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    made = _like(0.0)(a, dtype, **kwargs)
    assignment.copyto(made, fill_value)
    return made


def _where(condition: Any, *choices: Any) -> Any:
    condition = plain(real_array(condition))
    return assemble(lambda xy: np.where(condition, *xy), *choices) if choices else np.where(condition)


def _select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    made = default
    for condition, choice in list(zip(condlist, choicelist, strict=True))[::-1]:
        made = _where(condition, choice, made)
    return made


def _choose(a: Any, choices: Any) -> Any:
    index = plain(real_array(a))
    if np.any((index < 0) | (index >= len(choices))):
        raise ValueError("invalid entry in choice array")
    return _select([index == k for k in range(len(choices))], choices)


def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kwargs: Any) -> Any:
    x = real_array(x)
    if np.ndim(condlist) <= 1 and x.ndim:
        condlist = [condlist]
    conditions = [np.broadcast_to(plain(real_array(c)), x.shape).astype(bool) for c in condlist]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~np.any(conditions, axis=0))
    made = RealArray(np.zeros(x.shape))
    for condition, f in zip(conditions, funclist, strict=True):
        made[condition] = f(x[condition], *args, **kwargs) if callable(f) else f
    return made


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    a = real_array(array)
    if mode == "constant":
        inside = np.pad(np.ones(a.shape, bool), pad_width)
        constants = kwargs.get("constant_values", 0)
        if isinstance(constants, DualNumber):
            made = _full_like(a, constants, shape=inside.shape)
        elif not any(map(holds_duals, _leaves(constants))):
            made = RealArray(np.pad(np.zeros(a.shape), pad_width, constant_values=_plain_tree(constants)))
        else:
            raise UnsupportedError("numpy.pad with several constant_values", "numpy.concatenate of the pieces")
        made[inside] = a.reshape(-1)
        return made
    if mode in ("edge", "reflect", "symmetric", "wrap") and kwargs.get("reflect_type", "even") == "even":
        return _moved(np.pad)(a, pad_width, mode, **kwargs)
    raise UnsupportedError(f"numpy.pad with mode={mode!r}", "one of the modes constant, edge, reflect, symmetric, wrap")


def _triangle(func: Any) -> Callable[..., Any]:
    def handler(m: Any, k: int = 0) -> Any:
        """Set the other triangle to zeros."""
        a = real_array(m)
        return _where(func(np.ones(a.shape[-2:], bool), k), a, 0.0)

    return handler


def _broadcast_arrays(*arrays: Any, subok: bool = False) -> Any:
    shape = np.broadcast_shapes(*(np.shape(a) for a in arrays))
    return tuple(np.broadcast_to(real_array(a), shape) for a in arrays)


def _atleast(func: Any) -> Callable[..., Any]:
    def handler(*arrays: Any) -> Any:
        """Add axes to each array."""
        made = tuple(_moved(func)(a) for a in arrays)
        return made if len(made) > 1 else made[0]

    return handler


def _sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Whatever the kind: of equal numbers the first one comes first, as in numba functions and JAX."""
    np.sort(np.zeros(0), kind=kind, order=order, **({} if stable is None else {"stable": stable}))  # numpy's own errors
    return _in_order(np.argsort, a, axis, kind="stable")


def _partition(a: Any, kth: Any, axis: Any = -1, **kwargs: Any) -> Any:
    return _in_order(np.argpartition, a, axis, kth=kth, **kwargs)


def _in_order(order_of: Callable[..., Any], a: Any, axis: Any, **kwargs: Any) -> Any:
    a = real_array(a)
    if axis is None:
        a, axis = a.reshape(-1), 0
    order = order_of(plain(a), axis=axis, **kwargs)
    return a[order] if a.ndim == 1 else np.take_along_axis(a, order, axis)


def _round(a: Any, decimals: int = 0) -> Any:
    return np.round(plain(real_array(a)), decimals)


def _unique(ar: Any) -> Any:
    a = np.ravel(real_array(ar))
    return a[np.unique(plain(a), return_index=True)[1]]


def _astype(x: Any, dtype: Any, copy: bool = True) -> Any:
    return real_array(x).astype(dtype, copy=copy)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    a, low, high = real_array(a), a_min if min is None else min, a_max if max is None else max
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def _block(arrays: Any) -> Any:
    def depth(x: Any) -> int:
        """Return the depth of nested lists."""
        return 1 + depth(x[0]) if isinstance(x, list) else 0

    def join(x: Any, level: int) -> Any:
        """Concatenate nested lists from the innermost level on."""
        if not isinstance(x, list):
            return real_array(x)
        parts = [join(u, level - 1) for u in x]
        ndim = max(levels, *(np.ndim(part) for part in parts))
        parts = [np.reshape(part, (1,) * (ndim - np.ndim(part)) + np.shape(part)) for part in parts]
        return np.concatenate(parts, axis=-level)

    levels = depth(arrays)
    return join(arrays, levels)


_MOVING = [np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.expand_dims, np.squeeze]
_MOVING += [np.diagonal, np.flip, np.fliplr, np.flipud, np.rot90, np.roll, np.tile, np.repeat, np.broadcast_to]
_MOVING += [np.take, np.take_along_axis, np.delete, np.diag, np.diagflat, np.resize, np.matrix_transpose]
_MOVING += [np.lib.stride_tricks.sliding_window_view, np.linalg.diagonal, np.linalg.matrix_transpose]
_CUTTING = [np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.unstack]
_JOINING = [np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack]

#: What is done for each function of numpy; those of numpy.linalg are there by the same keys.
HANDLERS: dict[Any, Callable[..., Any]] = {
    **{func: _moved(func) for func in _MOVING},
    **{func: _pieces(func) for func in _CUTTING},
    **{func: _joined(func) for func in _JOINING},
    **{func: _atleast(func) for func in (np.atleast_1d, np.atleast_2d, np.atleast_3d)},
    np.block: _block,
    np.zeros_like: _like(0.0),
    np.ones_like: _like(1.0),
    np.empty_like: _like(0.0),
    np.full_like: _full_like,
    np.copy: lambda a, order="K", subok=False: real_array(a).copy(order),
    np.where: _where,
    np.select: _select,
    np.choose: _choose,
    np.piecewise: _piecewise,
    np.compress: lambda condition, a, axis=None: _moved(lambda x: np.compress(condition, x, axis))(a),
    np.extract: lambda condition, arr: np.ravel(real_array(arr))[np.flatnonzero(condition)],
    np.pad: _pad,
    np.triu: _triangle(np.triu),
    np.tril: _triangle(np.tril),
    np.broadcast_arrays: _broadcast_arrays,
    np.sort: _sort,
    np.partition: _partition,
    np.round: _round,
    np.around: _round,
    **({np.fix: lambda x: np.trunc(x)} if hasattr(np, "fix") else {}),  # numpy will remove it
    np.unique: _unique,
    np.clip: _clip,
    np.real: lambda val: real_array(val)[()],
    np.imag: lambda val: np.zeros(np.shape(val))[()],
    np.real_if_close: lambda a, tol=100: real_array(a),
    np.size: lambda a, axis=None: int(np.size(plain(real_array(a)), axis)),
    np.astype: _astype,
    **numerics.HANDLERS,
    **assignment.HANDLERS,
    **reductions.HANDLERS,
    **products.HANDLERS,
    **linalg.HANDLERS,
    **fourier.HANDLERS,
}

_OF_VALUES = {f.function for f in TABLE.values() if f.discrete}
