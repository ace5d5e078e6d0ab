"""Nested data, `dr.tree`: which leaves are real scalars, and how to take them out and put others in.

Real scalars are floats, numpy floating scalars, and the elements of floating arrays. Everything that nests is taken
apart: tuple, list, dict, OrderedDict, namedtuple, deque, dataclass (frozen or not), an array of objects, tables of
pandas and xarray, and classes registered with `register_node`. All other leaves (int, bool, str, None, enums, integer
arrays, functions, objects of other classes) are discrete: they pass through, and their cotangent is None.

structures.py takes it apart.
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
from dualrev.pytree.structures import NAMESPACE, Structure, flatten, flatten_leaves, unpack

__all__ = [
    "Structure",
    "flatten",
    "flatten_leaves",
    "inputs",
    "leaves",
    "map",
    "outputs",
    "ravel",
    "register_node",
    "unpack",
]

T = TypeVar("T")


def register_node(
    cls: type,
    flatten: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten: Callable[[Any, tuple[Any, ...]], Any],
) -> None:
    """Treat objects of a class as nested data.

    `flatten(x)` returns the children and whatever else is needed to rebuild x; `unflatten(rest, children)` rebuilds it,
    also with dual numbers, None or cotangents for children, so it should not check or convert them. ValueError if the
    class is registered already.

    >>> class Interval:
    ...     def __init__(self, low, high):
    ...         self.low, self.high = low, high
    >>> register_node(Interval, lambda i: ((i.low, i.high), None), lambda rest, children: Interval(*children))
    >>> flatten(Interval(1.0, 2.0))[0]
    [1.0, 2.0]
    """

    def flattened(x: Any) -> tuple[Iterable[Any], Any]:
        children, rest = flatten(x)
        return tuple(children), rest

    optree.register_pytree_node(
        cls, flattened, lambda rest, children: unflatten(rest, tuple(children)), namespace=NAMESPACE
    )


def inputs(primals: tuple[Any, ...]) -> tuple[list[Any], Structure]:
    """`flatten` for the arguments of a function to differentiate: ArgumentError if they hold no real scalar."""
    scalars, structure = flatten(primals)
    if not scalars:
        raise ArgumentError(primals)
    return scalars, structure


def outputs(y: Any) -> tuple[list[Any], Structure]:
    """`flatten` for the value of a function to differentiate: OutputError if it holds no real scalar."""
    scalars, structure = flatten(y)
    if not scalars:
        raise OutputError(y)
    for x in scalars:
        alive(x)
    return scalars, structure


def leaves(x: Any) -> list[Any]:
    """The real leaves of nested data, floats and whole arrays, from left to right.

    >>> leaves({"w": np.ones(2), "b": 0.5, "name": "layer"})
    [0.5, array([1., 1.])]
    """
    return flatten_leaves(x)[0]


def map(f: Callable[..., Any], x: T, *others: Any) -> T:
    """Nested data with f(leaf, ...) in place of every real leaf of x: of floats and whole arrays.

    `others` have the structure of x, with the same discrete values or None in their place, as gradients have it: f is
    called with a leaf of each. TreeError (a ValueError) if the structure of one differs.

    >>> map(lambda p, g: p - 0.1 * g, {"w": [1.0, 2.0], "n": 3}, {"w": [10.0, 20.0], "n": None})
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
    """The real scalars of nested data as one vector, and the way back: for optimisers that know vectors only.

    The way back takes a vector of as many numbers (TreeError if not) to data of the structure and the dtypes of x.

    >>> vector, unravel = ravel({"w": np.ones((2, 1)), "b": 0.5})
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
