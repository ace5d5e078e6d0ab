"""`vmap`: a function of one sample as a function of a batch.

On the tape, a Python loop runs the samples one after the other, and their results are stacked. For a numba function
the loop is compiled (dualrev/compiler/bridge/batch.py).

Mapped axes are moved to the front first, and the axes of the results to their positions at the end: in between, axis 0
counts the samples.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, TypeAlias, cast

import numpy as np
import optree
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaTypeError
from numba.extending import overload

from dualrev import numpy as dnp
from dualrev.api.derivatives import compiled
from dualrev.api.transform_types import as_vmap
from dualrev.compiler.frontend.reading.ad_operators import FROM_PYTHON
from dualrev.diagnostics.keywords import answered
from dualrev.diagnostics.nans import debugging
from dualrev.diagnostics.progress import progress
from dualrev.eager.arrays.memory.storage import RealArray, plain
from dualrev.eager.checking.finite_results import finite_result
from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.py_func_globals import numeric
from dualrev.errors import BatchError
from dualrev.pytree.structures import NAMESPACE, unpack
from dualrev.transformed import Transformed, name_of

__all__ = ["vmap"]

#: An axis, None for what all samples share, or nested data of these for nested data.
Axes: TypeAlias = Any


@as_vmap
@answered
def vmap(f: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0, *, parallel: bool = False) -> Callable[..., Any]:
    """Vectorizing map: f, which takes one sample, over an axis of its arguments.

    Args:
        f: Function of one sample. It must not depend on what another sample has changed: a mapped argument that it
            writes to may be a copy.
        in_axes: Axis of the samples for all arguments, or a tuple with one for each; nested data of axes for an
            argument of nested data. None for an argument that all samples share. Keyword arguments are mapped over axis
            0.
        out_axes: Axis of the samples in the results, or nested data of axes. None for a result that is the same for all
            samples, and is returned once.
        parallel: Whether numba.get_num_threads() threads share the samples. f has to be a numba function.

    Returns:
        A function of batches that returns the results of f, stacked. For a numba function, or the compiled derivative
        of one, the loop over the samples is compiled; call it from Python.

    Raises:
        BatchError: An argument or a result lacks the axis, batches have different sizes, results differ in structure or
            shape, or a result with out_axes=None differs between samples.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> dr.vmap(lambda a, b: (a + b, a * b), in_axes=(0, None))(np.array([1.0, 2.0]), 3.0)
    (array([4., 5.]), array([3., 6.]))

    >>> from numba import njit
    >>> @njit
    ... def loss(w, x, y):
    ...     return (np.sum(w * x) - y) ** 2
    >>> per_sample = dr.vmap(dr.grad(loss), in_axes=(None, 0, 0))
    >>> per_sample(np.array([1.0, 2.0]), np.eye(2), np.zeros(2))
    array([[2., 0.],
           [0., 4.]])
    """
    return Transformed(_vmap, f, in_axes=in_axes, out_axes=out_axes, parallel=parallel)


@overload(vmap)
def _typed(f, in_axes=0, out_axes=0, parallel=False):  # type: ignore[no-untyped-def]
    """Raise numba's error for dr.vmap inside of a numba function: it maps from Python only."""
    why, instead = FROM_PYTHON
    raise NumbaTypeError(f"dr.vmap in a numba function: {why}. Write {instead}.")


def _vmap(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, in_axes: Axes, out_axes: Axes, parallel: bool
) -> Any:
    """The results of all samples."""
    axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    if len(axes) != len(args):
        what = f"in_axes={in_axes!r} of a call with {len(args)} arguments by place"
        raise BatchError(what, f"it has {len(axes)} axes", "an axis for each argument, or one for all")
    if isinstance(f, Dispatcher):
        f = compiled().of_count(f, len(args))
        whole = compiled().bound(f, args, kwargs)
        names = list(inspect.signature(f.py_func).parameters)
        axes += tuple(0 if name in kwargs else None for name in names[len(args) :])
        args, kwargs = whole, {}
    sizes: dict[int, str] = {}
    moved = tuple(_moved(x, axis, sizes, f"argument {k}") for k, (x, axis) in enumerate(zip(args, axes, strict=True)))
    by_name = {name: _moved(x, 0, sizes, f"argument {name!r}") for name, x in kwargs.items()}
    if not sizes:
        raise BatchError(f"in_axes={in_axes!r}", "there is nothing to map over", "the axis of an array")
    if len(sizes) > 1:
        found = " and ".join(f"{place} has {size}" for size, place in sizes.items())
        raise BatchError("vmap over arguments of different sizes", found, "arrays with as many samples")
    (count,) = sizes
    if isinstance(f, Dispatcher) and not any(map(_holds_duals, moved)):
        compiled_loop = functools.partial(_compiled_loop, f, axes=axes, count=count, parallel=parallel)
        if debugging() and hasattr(f, "derivative_of"):
            by_tape = functools.partial(_loop, f.py_func, axes=axes, kwargs={}, count=count)
            stacked = finite_result(compiled_loop, by_tape, (moved,), {}, f.py_func)
        else:
            stacked = compiled_loop(moved)
    else:
        stacked = _loop(_lifted(f) if isinstance(f, Dispatcher) else numeric(f), moved, axes, by_name, count)
    return _placed(stacked, out_axes)


def _lifted(f: Any) -> Any:
    from dualrev.compiler.bridge.tape_block import lift  # it takes time to import

    return lift(f)


def _compiled_loop(f: Any, moved: tuple[Any, ...], axes: tuple[Axes, ...], count: int, parallel: bool) -> Any:
    from dualrev.compiler.bridge.batch import mapped  # it takes time to import

    return mapped(f, moved, axes, count, parallel)


def _loop(f: Any, args: tuple[Any, ...], axes: tuple[Axes, ...], kwargs: dict[str, Any], count: int) -> Any:
    """The stacked results, one sample after the other."""
    if not count:
        raise BatchError("vmap over no samples", "the shape of a result is not known", "at least one")
    made: list[Any] = []
    with progress(f"mapping {name_of(f)} over {count:,} samples", lambda: f"{len(made):,} done"):
        for i in range(count):
            sample = [_sample(x, axis, i) for x, axis in zip(args, axes, strict=True)]
            made.append(f(*sample, **{name: _sample(x, 0, i) for name, x in kwargs.items()}))
    return _stacked(made)


# Arguments


def _moved(x: Any, axis: Axes, sizes: dict[int, str], place: str) -> Any:
    """An argument with the axis of the samples in front, wherever it has one; their number is noted."""
    if axis is None:
        return x
    node = unpack(x) if not isinstance(x, RealArray) else None
    if node is not None:
        parts = zip(node[1], _inner(axis, x, node, place), strict=True)
        return node[0].restore([_moved(u, a, sizes, f"{place}[{k}]") for k, (u, a) in enumerate(parts)])
    if x is None:
        return None
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise BatchError(f"the axis {axis!r} of {place}", "an axis is an int or None", "the number of an axis")
    if not isinstance(x, (np.ndarray, RealArray)) or not -x.ndim <= axis < x.ndim:
        kind = f"{x.ndim} axes" if isinstance(x, (np.ndarray, RealArray)) else f"none: it is of type {type(x).__name__}"
        raise BatchError(f"axis {axis} of {place}", f"it has {kind}", "None for what all samples share")
    sizes.setdefault(x.shape[axis], place)
    if axis in (0, -x.ndim):
        return x
    made: Any = np.moveaxis(x, axis, 0)  # type: ignore[type-var]  # numpy's protocol is there
    return np.ascontiguousarray(made) if isinstance(x, np.ndarray) else made  # a sample is one piece of memory


def _inner(axis: Axes, x: Any, node: Any, place: str) -> list[Axes]:
    """The axes of the parts of nested data."""
    if axis is None or isinstance(axis, int):
        return [axis] * len(node[1])
    if isinstance(axis, dict) and isinstance(x, dict) and set(axis) == set(x):
        parts: Any = optree.tree_flatten_one_level(cast("Any", x), none_is_leaf=True, namespace=NAMESPACE)
        return [axis[key] for key in parts.entries]  # in the order of the parts, which is not always that of x
    if not isinstance(axis, (tuple, list)) or len(axis) != len(node[1]):
        raise BatchError(
            f"the axes {axis!r} of {place}",
            f"it is a {type(x).__name__} with {len(node[1])} entries",
            "one axis for all, or as many",
        )
    return list(axis)


def _sample(x: Any, axis: Axes, i: int) -> Any:
    """A sample of an argument."""
    if axis is None or x is None:
        return x
    if isinstance(x, RealArray):
        return x[i]
    node = unpack(x)
    if node is None:
        return x[i]
    return node[0].restore([_sample(u, a, i) for u, a in zip(node[1], _inner(axis, x, node, ""), strict=True)])


def _holds_duals(x: Any) -> bool:
    if isinstance(x, (DualNumber, RealArray)):
        return True
    node = None if isinstance(x, np.ndarray) and x.dtype != object else unpack(x)
    return node is not None and any(map(_holds_duals, node[1]))


# Results


def _stacked(made: Sequence[Any]) -> Any:
    """Results of one structure as one, whose arrays have the samples in front."""
    made = [dnp.array(y) if isinstance(y, np.ndarray) and _is_of_numbers(y) else y for y in made]
    first = made[0]
    node = None if isinstance(first, RealArray) else unpack(first)
    if node is None:
        return _stacked_leaves(made)
    others = [unpack(y) for y in made]
    if any(other is None or other[0].cls is not node[0].cls or other[0].size != node[0].size for other in others):
        what, why = "vmap of a function whose results differ", "their structure is not that of the first sample"
        raise BatchError(what, why, "a function that returns the same structure for each sample")
    parts = zip(*(other[1] for other in others if other is not None), strict=True)
    return node[0].build([_stacked(some) for some in parts])


def _is_of_numbers(y: np.ndarray) -> bool:
    """Whether this is an array of objects which np.array made of numbers under differentiation."""
    return y.dtype == object and y.size > 0 and all(isinstance(u, Number) for u in y.flat)


def _stacked_leaves(made: Sequence[Any]) -> Any:
    if all(y is None for y in made):
        return None
    shapes = {np.shape(y) if isinstance(y, (np.ndarray, RealArray)) else () for y in made}
    if len(shapes) > 1 or any(not isinstance(y, (*_NUMBERS, np.ndarray, RealArray)) for y in made):
        kinds = ", ".join(sorted({type(y).__name__ for y in made}))
        why = f"they have the shapes {sorted(shapes)}" if len(shapes) > 1 else f"they are of type {kinds}"
        raise BatchError("vmap of a function whose results cannot be stacked", why, "arrays of one shape, or numbers")
    if any(isinstance(y, RealArray) for y in made):
        return np.stack([y if isinstance(y, (np.ndarray, RealArray)) else dnp.array(y) for y in made])
    return dnp.array(list(made)) if any(isinstance(y, DualNumber) for y in made) else np.array(made)


_NUMBERS = (DualNumber, float, int, complex, np.generic)


def _placed(stacked: Any, axis: Axes) -> Any:
    """The results with the axis of the samples where it is wanted."""
    if isinstance(axis, int) and axis == 0:
        return stacked
    node = None if isinstance(stacked, RealArray) else unpack(stacked)
    if node is not None:
        parts = zip(node[1], _inner(axis, stacked, node, "the value"), strict=True)
        return node[0].build([_placed(u, a) for u, a in parts])
    if stacked is None:
        return None
    if axis is None:
        return _shared(stacked)
    if not isinstance(axis, int) or isinstance(axis, bool) or not -stacked.ndim <= axis < stacked.ndim:
        why = f"a result with its samples has {stacked.ndim} axes"
        raise BatchError(f"out_axes={axis!r}", why, "the number of one of them")
    return np.moveaxis(stacked, 0, axis)


def _shared(stacked: Any) -> Any:
    """The result of the first sample, which all samples have to have."""
    values = plain(stacked)
    if not np.array_equal(values, np.broadcast_to(values[0], values.shape), equal_nan=values.dtype.kind in "fc"):
        raise BatchError("out_axes=None", "samples differ in this result", "the axis where it has its samples")
    return stacked[0]
