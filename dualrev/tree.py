"""Nested data, `dr.tree`: its leaves, and data of the same structure with others. The names are those of `jax.tree`.

Nested data are tuples, lists, dicts, OrderedDicts, namedtuples, deques, dataclasses (frozen or not), arrays of objects,
tables of pandas and xarray, and classes registered with `register_node`. Everything else is a leaf, whole arrays too.
None is no leaf but a part of the structure, as in JAX.

Real leaves are floats, numpy floating scalars, floating arrays, and complex numbers and arrays: they have derivatives.
All other leaves (int, bool, str, enums, integer arrays, functions, objects of other classes) are discrete: engines pass
them through unchanged, and their cotangent is None. So `map` leaves a discrete leaf unchanged where other data have
None in its place, and `real` returns the data with None in place of all discrete leaves.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import optree

from dualrev.eager.arrays.memory.storage import real_array
from dualrev.eager.leaves import typed
from dualrev.eager.numbers.dual import alive
from dualrev.errors import ArgumentError, OutputError, TreeError
from dualrev.pytree.all_leaves import TreeDef, flatten_all
from dualrev.pytree.objects import set_meta_fields
from dualrev.pytree.structures import NAMESPACE, Structure, flatten_leaves, flatten_scalars

__all__ = [
    "Structure",
    "TreeDef",
    "all",
    "flatten",
    "flatten_leaves",
    "flatten_scalars",
    "leaves",
    "map",
    "ravel",
    "real",
    "reduce",
    "register_dataclass",
    "register_node",
    "structure",
    "unflatten",
]

_NOTHING: Any = object()


def __dir__() -> list[str]:
    return __all__


C = TypeVar("C", bound=type)
T = TypeVar("T")


def register_node(
    cls: type,
    flatten: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten: Callable[[Any, tuple[Any, ...]], Any],
) -> None:
    """Register a class as nested data, so that derivatives reach the numbers inside of its objects.

    Args:
        cls: Class to register, for the whole process.
        flatten: Function of an object that returns (children, rest): the parts that may hold numbers, in an iterable,
            and everything else that is needed to rebuild the object.
        unflatten: Function (rest, children) that rebuilds the object. children is a tuple, and may hold traced numbers,
            None or cotangents: do not check or convert them.

    Raises:
        ValueError: The class is registered already.

    >>> import dualrev as dr
    >>> class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    >>> dr.register_node(Interval, lambda i: ((i.low, i.high), None), lambda _, children: Interval(*children))
    >>> dr.grad(lambda i: i.high - i.low)(Interval(1.0, 2.0)).low
    -1.0
    """

    def flattened(x: Any) -> tuple[Iterable[Any], Any]:
        """Return the children as a tuple, which optree needs, and the rest."""
        children, rest = flatten(x)
        return tuple(children), rest

    optree.register_pytree_node(
        cls, flattened, lambda rest, children: unflatten(rest, tuple(children)), namespace=NAMESPACE
    )


def register_dataclass(cls: C, data_fields: Sequence[str] | None = None, meta_fields: Sequence[str] | None = None) -> C:
    """Name the fields of a dataclass that are data, and those that its objects carry unchanged; also a decorator.

    Every dataclass is nested data, and needs no registration. A registered one has meta fields, which are no part of
    the data: functions and gradients have them as they are, whatever they hold, numbers too.

    Args:
        cls: Dataclass.
        data_fields: Names of the fields that are differentiated. Without it, all fields except `meta_fields`.
        meta_fields: Names of the fields that are carried. Without it, all fields except `data_fields`; without both,
            the fields whose metadata say so: `dataclasses.field(metadata={"static": True})`.

    Returns:
        cls. As a decorator with fields: functools.partial(dr.tree.register_dataclass, meta_fields=("name",)).

    Raises:
        TypeError: cls is no dataclass.
        ValueError: A name is no field of cls or stands on both sides, or a field stands on none.

    >>> import dataclasses, functools
    >>> import dualrev as dr
    >>> @functools.partial(dr.tree.register_dataclass, meta_fields=("scale",))
    ... @dataclasses.dataclass
    ... class Line:
    ...     slope: float
    ...     scale: float
    >>> dr.grad(lambda line: line.slope * line.scale)(Line(2.0, 10.0))
    Line(slope=10.0, scale=10.0)
    """
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise TypeError(f"register_dataclass takes a dataclass, got {cls!r}: write @dataclasses.dataclass below it")
    fields = {f.name: bool(f.metadata.get("static", False)) for f in dataclasses.fields(cls)}
    if data_fields is None and meta_fields is None:
        meta_fields = [name for name, static in fields.items() if static]
    if meta_fields is None:
        meta_fields = [name for name in fields if name not in (data_fields or ())]
    if data_fields is None:
        data_fields = [name for name in fields if name not in meta_fields]
    named = [*data_fields, *meta_fields]
    if sorted(named) != sorted(fields):
        raise ValueError(
            f"data_fields and meta_fields of {cls.__name__} must name each of its fields once, which are"
            f" {', '.join(fields)}; they name {', '.join(map(str, named)) or 'none'}"
        )
    set_meta_fields(cls, meta_fields)
    return cls


def inputs(primals: tuple[Any, ...]) -> tuple[list[Any], Structure]:
    """Flatten the arguments of a function to differentiate; ArgumentError if they hold no real number."""
    scalars, structure = flatten_scalars(primals)
    if not scalars:
        raise ArgumentError(primals)
    return scalars, structure


def outputs(y: Any) -> tuple[list[Any], Structure]:
    """Flatten the value of a function to differentiate; OutputError if it holds no real number."""
    scalars, structure = flatten_scalars(y)
    if not scalars:
        raise OutputError(y)
    for x in scalars:
        alive(x)
    return scalars, structure


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeDef]:
    """Leaves of nested data and its structure, as `jax.tree.flatten` has them.

    Args:
        tree: Nested data. Dicts are read in the order of their sorted keys.
        is_leaf: Function that says of a part of the data whether it is a leaf, even if it could be taken apart.

    Returns:
        (leaves, structure): a list of all leaves, real and discrete, and the `TreeDef` that `unflatten` takes. Arrays
        and complex numbers are leaves. None is no leaf: it belongs to the structure.

    Raises:
        LeafError: The data contain themselves.

    >>> import dualrev as dr
    >>> dr.tree.flatten({"w": [1.0, 2], "b": None, "name": "layer"})
    (['layer', 1.0, 2], <dualrev.tree.TreeDef with 3 leaves>)
    """
    return flatten_all(tree, is_leaf)


def unflatten(structure: TreeDef, leaves: Iterable[Any]) -> Any:
    """Nested data of a structure with these leaves: the inverse of `flatten`.

    Args:
        structure: Structure, from `flatten` or `structure`.
        leaves: Leaves from left to right.

    Raises:
        TreeError: The number of leaves differs.

    >>> import dualrev as dr
    >>> leaves, structure = dr.tree.flatten({"w": [1.0, 2.0], "b": None})
    >>> dr.tree.unflatten(structure, [10.0, 20.0])
    {'w': [10.0, 20.0], 'b': None}
    """
    return structure.unflatten(list(leaves))


def structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeDef:
    """Structure of nested data, without its leaves.

    Args:
        tree: Nested data.
        is_leaf: As in `flatten`.

    >>> import dualrev as dr
    >>> dr.tree.structure([1.0, (2.0, 3)]) == dr.tree.structure(["a", ("b", "c")])
    True
    """
    return flatten_all(tree, is_leaf)[1]


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """All leaves of nested data, real and discrete, from left to right. None is no leaf.

    Args:
        tree: Nested data. Dicts are read in the order of their sorted keys.
        is_leaf: As in `flatten`.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> dr.tree.leaves({"w": np.ones(2), "b": 0.5, "name": "layer", "n": None})
    [0.5, 'layer', array([1., 1.])]
    >>> dr.tree.leaves(dr.tree.real({"w": np.ones(2), "b": 0.5, "name": "layer", "n": None}))
    [0.5, array([1., 1.])]
    """
    return flatten_all(tree, is_leaf)[0]


def reduce(
    f: Callable[[Any, Any], Any], tree: Any, initializer: Any = _NOTHING, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Combine all leaves of nested data with a function of two, from left to right, as `functools.reduce` does.

    Args:
        f: Function (so far, leaf).
        tree: Nested data.
        initializer: What to begin with; without it, the first leaf.
        is_leaf: As in `flatten`.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> dr.tree.reduce(lambda total, x: total + np.sum(x**2), {"w": np.ones(3), "b": 2.0}, 0.0)
    np.float64(7.0)
    """
    found = flatten_all(tree, is_leaf)[0]
    return functools.reduce(f, found) if initializer is _NOTHING else functools.reduce(f, found, initializer)


def all(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether every leaf of nested data is true.

    Args:
        tree: Nested data.
        is_leaf: As in `flatten`.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> dr.tree.all(dr.tree.map(lambda x: np.isfinite(x).all(), {"w": np.ones(2), "b": np.inf}))
    False
    """
    return builtins.all(flatten_all(tree, is_leaf)[0])


def map(f: Callable[..., Any], tree: T, *rest: Any, is_leaf: Callable[[Any], bool] | None = None) -> T:
    """Apply a function to every leaf of nested data, as `jax.tree.map` does, except where a gradient has None.

    Args:
        f: Function of a leaf, and of what stands in its place in each of `rest`. It is called with all leaves: with
            floats and whole arrays, and with ints, strings and other discrete values, too; not with None, which is no
            leaf.
        tree: Nested data.
        *rest: Data with the nodes of `tree`, such as gradients. A leaf of `tree` may be nested data there.
        is_leaf: As in `flatten`.

    Returns:
        Data with the nodes of `tree` and the results of f. Here dualrev differs from JAX: where `tree` has a discrete
        leaf and one of `rest` has None, as a gradient has it, f is not called, and the leaf stays as it is.

    Raises:
        TreeError: The nodes of one of `rest` differ, or it has None in place of a real number or a real array.

    To apply f to the real leaves only, write `map(f, dr.tree.real(tree))`.

    >>> import dualrev as dr
    >>> dr.tree.map(lambda p, g: p - 0.1 * g, {"w": [1.0, 2.0], "n": 3}, {"w": [10.0, 20.0], "n": None})
    {'w': [0.0, 0.0], 'n': 3}
    >>> dr.tree.map(lambda x: x + 1, {"w": 1.0, "n": 3, "bias": None})
    {'w': 2.0, 'n': 4, 'bias': None}
    """
    found, nodes = flatten_all(tree, is_leaf)
    columns = [nodes.subtrees(other) for other in rest]
    if not (is_leaf is not None and is_leaf(None)):
        made = [row[0] if _stays(row) else f(*row) for row in zip(found, *columns, strict=True)]
    else:  # f has been asked for
        made = [f(*row) for row in zip(found, *columns, strict=True)]
    result: T = nodes.unflatten(made)
    return result


def _stays(row: tuple[Any, ...]) -> bool:
    """Whether a leaf is discrete, with None in its place in other data; TreeError for a real one."""
    if builtins.all(x is not None for x in row[1:]):
        return False
    if flatten_leaves(row[0])[0]:
        raise TreeError(None, "a real number or a real array")
    return True


def real(tree: T) -> T:
    """Nested data with None in place of all discrete leaves, which is the structure of its gradient.

    Args:
        tree: Nested data.

    Returns:
        The data with their real numbers and arrays, and None in place of ints, strings and other discrete values.
        Arrays are copies.

    Raises:
        LeafError: The data hold a value that is neither real nor discrete, such as a masked array.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> dr.tree.map(np.zeros_like, dr.tree.real({"w": np.ones(2), "name": "layer", "n": 3}))
    {'w': array([0., 0.]), 'name': None, 'n': None}
    """
    found, its_structure = flatten_leaves(tree)
    made: T = its_structure.cotangent_leaves(found)
    return made


def ravel(x: T) -> tuple[Any, Callable[[Any], T]]:
    """Vector of the real numbers of nested data, and the inverse: for optimizers that take vectors only.

    Args:
        x: Nested data.

    Returns:
        (vector, unravel). vector has shape (n,), with the n real numbers from left to right. unravel takes a vector of
        shape (n,) to data with the structure, the shapes and the dtypes of x, and raises TreeError for another shape.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> vector, unravel = dr.tree.ravel({"w": np.ones((2, 1)), "b": 0.5})
    >>> vector
    array([0.5, 1. , 1. ])
    >>> unravel(2.0 * vector)
    {'w': array([[2.],
           [2.]]), 'b': 1.0}
    """
    found, structure = flatten_leaves(x)
    shapes = [np.shape(leaf) for leaf in found]
    sizes = [math.prod(shape) for shape in shapes]

    def unravel(vector: Any) -> T:
        """Return data with the structure of the ravelled one, and the numbers of this vector."""
        vector = real_array(vector)
        if vector.shape != (sum(sizes),):
            raise TreeError(vector, f"a vector of {sum(sizes)} numbers")
        made, start = [], 0
        for part, shape, size in zip(structure.leaf_parts(), shapes, sizes, strict=True):
            piece = vector[start : start + size].reshape(shape)
            made.append(typed(part, piece if shape else piece.item()))
            start += size
        whole: T = structure.rebuild_leaves(made)
        return whole

    return np.concatenate([np.zeros(0), *(np.ravel(real_array(leaf)) for leaf in found)]), unravel
