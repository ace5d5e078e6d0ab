"""Nested data, `dr.tree`: its real numbers, and data of the same structure with others.

Real numbers are floats, numpy floating scalars, and the elements of floating arrays. They may stand in tuples, lists,
dicts, OrderedDicts, namedtuples, deques, dataclasses (frozen or not), arrays of objects, tables of pandas and xarray,
and classes registered with `register_node`. All other leaves (int, bool, str, None, enums, integer arrays, functions,
objects of other classes) are discrete: they pass through unchanged, and their cotangent is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
import optree

from dualrev.eager.arrays.memory.storage import real_array
from dualrev.eager.leaves import typed
from dualrev.eager.numbers.dual import alive
from dualrev.errors import ArgumentError, OutputError, TreeError
from dualrev.pytree.structures import NAMESPACE, Structure, flatten, flatten_leaves

__all__ = [
    "Structure",
    "flatten",
    "flatten_leaves",
    "leaves",
    "map",
    "ravel",
    "register_node",
]


def __dir__() -> list[str]:
    return __all__


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


def inputs(primals: tuple[Any, ...]) -> tuple[list[Any], Structure]:
    """Flatten the arguments of a function to differentiate; ArgumentError if they hold no real number."""
    scalars, structure = flatten(primals)
    if not scalars:
        raise ArgumentError(primals)
    return scalars, structure


def outputs(y: Any) -> tuple[list[Any], Structure]:
    """Flatten the value of a function to differentiate; OutputError if it holds no real number."""
    scalars, structure = flatten(y)
    if not scalars:
        raise OutputError(y)
    for x in scalars:
        alive(x)
    return scalars, structure


def leaves(x: Any) -> list[Any]:
    """Real leaves of nested data, from left to right: floats and whole arrays.

    Args:
        x: Nested data. Dicts are read in the order of their sorted keys.

    Returns:
        A list of the leaves.

    Raises:
        LeafError: x holds a value that is neither real nor discrete, such as a masked array.

    >>> import numpy as np
    >>> import dualrev as dr
    >>> dr.tree.leaves({"w": np.ones(2), "b": 0.5, "name": "layer"})
    [0.5, array([1., 1.])]
    """
    return flatten_leaves(x)[0]


def map(f: Callable[..., Any], x: T, *others: Any) -> T:
    """Apply a function to every real leaf of nested data: floats and whole arrays.

    Args:
        f: Function of one leaf of x, and of the leaf at the same position in each of `others`.
        x: Nested data.
        *others: Data of the structure of x, with the same discrete values or None in their place, such as gradients.

    Returns:
        Data of the structure of x with the results of f, and the discrete values of x.

    Raises:
        TreeError: The structure of one of `others` differs.

    >>> import dualrev as dr
    >>> dr.tree.map(lambda p, g: p - 0.1 * g, {"w": [1.0, 2.0], "n": 3}, {"w": [10.0, 20.0], "n": None})
    {'w': [0.0, 0.0], 'n': 3}
    """
    found, structure = flatten_leaves(x)
    columns = [found]
    for other in others:
        of_other, its_structure = flatten_leaves(other)
        columns.append(of_other if its_structure.same(structure) else structure.read_leaves(other, TreeError))
    made: T = structure.rebuild_leaves([f(*row) for row in zip(*columns, strict=True)])
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
