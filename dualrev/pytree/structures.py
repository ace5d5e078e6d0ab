"""The walk over nested data: its real leaves, and the structure around them. tree.py is what users have of it.

optree knows how each node comes apart. The walk over the nodes is done here, with a list in place of recursion: a
linked list of 100,000 cells is an ordinary input.

Dataclasses are rebuilt from their fields, without calling __init__: see objects.py.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from dualrev.eager.arrays.complex.pairs import as_parts, is_complex, is_one_complex
from dualrev.eager.arrays.memory.storage import Holder, adopt, holds_duals, plain, real_array
from dualrev.eager.leaves import (
    FLOAT,
    SAME,
    Array,
    Discrete,
    Node,
    Scalar,
    alone,
    array_of,
    complex_node,
    has_type,
    is_exact,
    is_number,
    is_numeric,
    is_plain,
    is_real_of,
    leaf_of,
    object_array,
    part_of,
    read_array,
    read_number,
    same,
    same_part,
    scalars_of,
    typed,
)
from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.numbers.ufuncs import DualArray
from dualrev.eager.tables.pandas_xarray import with_labels
from dualrev.errors import CotangentError, DualrevError, LeafError
from dualrev.pytree.objects import take_apart

__all__ = ["NAMESPACE", "Structure", "flatten_leaves", "flatten_scalars", "unpack"]

NAMESPACE = "dualrev"  # of the classes that optree knows for us


class Structure:
    """Structure of nested data without its real leaves, which `flatten_scalars` and `flatten_leaves` return.

    A real leaf is a float or a whole floating array; a complex number has two. Methods with `leaves` in their names
    take one item for each leaf; the others take one number for each real number, as many for an array as it has
    elements. `has_complex` says whether the data hold complex numbers.

    >>> structure = flatten_scalars({"w": [1.0, 2], "b": 0.5})[1]
    >>> structure.rebuild([10.0, 20.0])
    {'w': [20.0, 2], 'b': 10.0}
    """

    def __init__(self, parts: Sequence[Scalar | Array | Discrete | Node], flat: Any = None) -> None:
        self._parts = parts
        self._flat = flat  # tuple, list, or `alone`, if it is a tuple or a list of leaves or one leaf: then, no walk
        self._leaf_parts = _leaf_parts(parts, flat)
        self._numbers = _NUMBERS.issuperset(self._leaf_parts)
        self.has_complex = flat is None and any(part.__class__ is Node and part.cls is complex for part in parts)
        self._of_value: Structure | None = None

    def __repr__(self) -> str:
        count = len(self._leaf_parts)
        return f"<dualrev.tree.Structure with {count} real {'leaf' if count == 1 else 'leaves'}>"

    def rebuild(self, scalars: Sequence[Any]) -> Any:
        """Return the same data with new real numbers; arrays become arrays of floats or, for traced numbers,
        RealArrays.
        """
        return self.rebuild_leaves(self.grouped(scalars))

    def cotangent(self, scalars: Sequence[Any]) -> Any:
        """Return data of this structure and its dtypes with new real numbers, and None in place of discrete values."""
        return self.cotangent_leaves(self.grouped(scalars))

    def read(self, ct: Any) -> list[Any]:
        """Return the numbers of a cotangent of this structure, one for every real number.

        Raises:
            CotangentError: The structure differs.
        """
        return [x for leaf in self.read_leaves(ct) for x in scalars_of(leaf)]

    def rebuild_leaves(self, leaves: Sequence[Any]) -> Any:
        """Return the same data with new leaves."""
        if self._flat is not None:
            return self._flat(leaves)
        return self.fold(leaves, node=lambda part, children: part.restore(children), discrete=lambda x: x)

    def cotangent_leaves(self, leaves: Sequence[Any], copy: bool = True) -> Any:
        """Return data of this structure and its dtypes with new leaves, and None in place of discrete values.

        Without `copy`, arrays of the right dtype are used as given.
        """
        if self._numbers:
            for x in leaves:  # faster than all(...) for a few
                if x.__class__ is not float:
                    leaves = self._typed(leaves, copy)
                    break
        elif copy or not all(map(has_type, self._leaf_parts, leaves)):
            with np.errstate(over="ignore"):  # in float16 a large cotangent is inf
                leaves = self._typed(leaves, copy)
        return self.map_leaves(leaves) if self._flat is None else self._flat(leaves)

    def _typed(self, leaves: Sequence[Any], copy: bool) -> list[Any]:
        return [
            leaf if part is FLOAT and leaf.__class__ is float else typed(part, leaf, copy)
            for part, leaf in zip(self._leaf_parts, leaves, strict=True)
        ]

    def map_leaves(self, leaves: Sequence[Any]) -> Any:
        """Return data of this structure with anything in place of the leaves, and None in place of discrete values."""
        return self.fold(leaves, node=lambda part, children: part.build(children), discrete=lambda x: None)

    def complex_places(self) -> list[int]:
        """Return the positions of the real parts of complex numbers among the leaves; the imaginary part is the next
        leaf.
        """
        places, k = [], 0
        for part in self._parts:
            if part.__class__ is Node and part.cls is complex:
                places.append(k)
            k += part.__class__ is Scalar or part.__class__ is Array
        return places

    def conjugated(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """Return the leaves with imaginary parts negated: the cotangent of x + iy is df/dx - i df/dy."""
        if not self.has_complex:
            return leaves
        made = list(leaves)
        for k in self.complex_places():
            made[k + 1] = 0.0 - made[k + 1]
        return made

    def owned(self) -> Structure:
        """Return the same structure with copies of the discrete arrays, so that nobody else can change them."""
        return Structure([part.owned() if isinstance(part, Discrete) else part for part in self._parts])

    def of_value(self) -> Structure:
        """Return the same structure for the value of a function: real numbers are floats, even numpy's."""
        if self._of_value is None:
            parts = [FLOAT if part.__class__ is Scalar else part for part in self._parts]
            self._of_value = Structure(parts, self._flat)
        return self._of_value

    def same(self, other: Structure) -> bool:
        """Whether nodes and discrete values equal those of another structure."""
        if len(self._parts) != len(other._parts):
            return False
        return all(same_part(a, b) for a, b in zip(self._parts, other._parts, strict=True))

    def leaf_parts(self) -> list[Scalar | Array]:
        """Return the parts that describe the real leaves."""
        return list(self._leaf_parts)

    def fold(
        self,
        leaves: Sequence[Any],
        node: Callable[[Node, list[Any]], Any],
        discrete: Callable[[Any], Any],
    ) -> Any:
        """Rebuild from the leaves up, with `node` and `discrete` in place of the original constructors."""
        end = len(leaves)
        done: list[Any] = []
        for part in reversed(self._parts):  # children before their node, the first child on top of the stack
            if part.__class__ is Scalar or part.__class__ is Array:
                end -= 1
                done.append(leaves[end])
            elif part.__class__ is Discrete:
                done.append(discrete(part.value))
            else:
                first = len(done) - part.size
                children = done[first:][::-1]
                del done[first:]
                done.append(node(part, children))
        return done.pop()

    def grouped(self, scalars: Sequence[Any], array: Callable[[list[Any]], Any] | None = None) -> list[Any]:
        """Return one item for every leaf: a number, or `array` of an array's numbers; by default, an array."""
        leaves, start = [], 0
        for part in self._leaf_parts:
            if isinstance(part, Scalar):
                leaves.append(scalars[start])
                start += 1
            else:
                end = start + math.prod(part.shape)
                elements = list(scalars[start:end])
                leaves.append(array(elements) if array else array_of(part.shape, elements))
                start = end
        return leaves

    def read_leaves(self, ct: Any, error: Callable[[Any, str], DualrevError] = CotangentError) -> list[Any]:
        """Return the numbers and arrays of a cotangent or a tangent of this structure, one for every leaf.

        Raises:
            CotangentError: The structure differs; or `error`, if that is given.
        """
        if self._numbers and self._flat is not None:
            given = [ct] if self._flat is alone else list(ct) if ct.__class__ is self._flat else []
            if len(given) == len(self._leaf_parts):
                for x in given:
                    if not is_exact(x):
                        break
                else:
                    return given
        leaves: list[Any] = []
        todo = [ct]
        for part in self._parts:
            x = todo.pop()
            match part:
                case Scalar():
                    if not is_number(x):
                        raise error(x, "a real scalar")
                    leaves.append(read_number(x))
                case Array(shape):
                    if shape == () and is_number(x):
                        x = real_array(read_number(x))
                    if not is_numeric(x) or x.shape != shape:
                        raise error(x, f"an array of shape {shape}")
                    leaves.append(read_array(x))
                case Discrete(value):
                    if x is not None:
                        raise error(x, f"a discrete value ({type(value).__name__})")
                case Node(cls, size, rest):
                    node, children = unpack(x) or (None, [])
                    if cls is complex and node is None and is_real_of(x, rest):
                        node, children = part, [x, np.zeros(rest) if rest else 0.0]
                    if node is None and cls is np.ndarray and is_numeric(x) and x.shape == rest:
                        node, children = part, scalars_of(x)
                    if node is None or (node.cls, node.size) != (cls, size) or not same(node.rest, rest):
                        raise error(x, f"a {cls.__name__} with {size} entries")
                    todo.extend(reversed(children))
        return leaves


def flatten_scalars(x: Any) -> tuple[list[Any], Structure]:
    """Real numbers of nested data, as floats, from left to right, and the structure around them.

    Args:
        x: Nested data. Dicts are read in the order of their sorted keys.

    Returns:
        (scalars, structure), a list and the `Structure` that rebuilds the data.

    Raises:
        LeafError: x holds a value that is neither real nor discrete (masked arrays, sets of floats, cyclic data).

    >>> scalars, structure = flatten_scalars({"w": [1.0, 2], "b": 0.5})
    >>> scalars
    [0.5, 1.0]
    >>> structure.cotangent([10.0, 20.0])
    {'w': [20.0, None], 'b': 10.0}
    """
    leaves, structure = _walk(x, adopting=False)
    return [scalar for leaf in leaves for scalar in scalars_of(leaf)], structure


def flatten_leaves(x: Any) -> tuple[list[Any], Structure]:
    """Real leaves of nested data, floats and whole arrays, from left to right, and the structure around them.

    Args:
        x: Nested data. Arrays of objects that are traced numbers become RealArrays.

    Returns:
        (leaves, structure), a list and the `Structure` that rebuilds the data.

    Raises:
        LeafError: As in `flatten_scalars`.

    >>> flatten_leaves({"w": np.ones(2), "b": 0.5})[0]
    [0.5, array([1., 1.])]
    """
    kind: Any = x.__class__
    if kind is tuple or kind is list:
        given = list(x)
        parts = tuple([FLOAT if leaf.__class__ is float else part_of(leaf) for leaf in given])
    elif isinstance(x, DualNumber):
        return [x], _NUMBER
    else:
        kind, given, parts = alone, [x], (part_of(x),)
    if None in parts or not parts:
        return _walk(x, adopting=True)
    return given, _of_few(parts, kind) if len(parts) <= 4 else _flat_structure(parts, kind)


def _flat_structure(parts: Sequence[Any], kind: Any) -> Structure:
    """A tuple or a list of leaves, or a leaf `alone`."""
    return Structure(parts if kind is alone else [Node(kind, len(parts), None, kind, kind), *parts], kind)


_NUMBERS = frozenset((FLOAT, SAME))
_of_few = functools.lru_cache(_flat_structure)  # functions of a few numbers are called most often


def _leaf_parts(parts: Sequence[Any], flat: Any) -> Sequence[Any]:
    if flat is not None:
        return parts if flat is alone else parts[1:]
    return [part for part in parts if part.__class__ is Scalar or part.__class__ is Array]


_NUMBER = Structure((SAME,), alone)


def _walk(x: Any, adopting: bool) -> tuple[list[Any], Structure]:
    leaves: list[Any] = []
    parts: list[Scalar | Array | Discrete | Node] = []
    todo: list[Any] = [x]
    above: dict[int, Any] = {}  # the nodes that the walk is inside of; kept, so that no other gets their id
    while todo:
        x = todo.pop()
        if x.__class__ is float:
            leaves.append(x)
            parts.append(FLOAT)
        elif x.__class__ is _Leave:
            del above[x.node]
        elif isinstance(x, Holder):
            todo.append(x.numbers)
        elif adopting and isinstance(x, np.ndarray) and x.dtype == object and is_plain(x) and holds_duals(x):
            todo.append(adopt(x))
        elif adopting and isinstance(x, np.ndarray) and x.dtype == object and is_complex(x):
            todo.append(as_parts(x))
        elif (unpacked := unpack(x) if adopting or not is_one_complex(x) else None) is not None:
            if id(x) in above:
                raise LeafError(x, "it contains itself", "Pass a tree, or register the class with the links left out")
            above[id(x)] = x
            node, children = unpacked
            parts.append(node)
            todo.append(_Leave(id(x)))
            todo.extend(reversed(children))
        else:
            parts.append(leaf_of(x, leaves, lambda data: bool(flatten_scalars(data)[0])))
    return leaves, Structure(parts)


class _Leave(NamedTuple):
    """A mark on the list of things to do: all of this node's descendants have been visited."""

    node: int


def unpack(x: Any) -> tuple[Node, list[Any]] | None:
    """A node and its children; None for a leaf. A complex number, and an array of them, has two children."""
    if x.__class__ is list or x.__class__ is tuple:
        kind = x.__class__
        return Node(kind, len(x), None, kind, kind), list(x)
    if is_one_complex(x):
        return complex_node(x)
    if isinstance(x, np.ndarray):
        if x.dtype != object or not is_plain(x):
            return None
        children = x.ravel().tolist()
        if isinstance(x, DualArray) or any(isinstance(child, DualNumber) for child in children):
            # np.maximum(x, 0) and np.zeros_like(x): in an array of floats the ints would be floats
            children = [float(child) if isinstance(child, (int, np.integer, np.bool_)) else child for child in children]
        of_shape = functools.partial(object_array, x.shape)
        return Node(np.ndarray, x.size, x.shape, of_shape, of_shape), children
    if optree.is_structseq(x):  # a record of the operating system or of Python
        return None
    if not optree.tree_is_leaf(x, none_is_leaf=True, namespace=NAMESPACE):
        children, rest, _, build = optree.tree_flatten_one_level(x, none_is_leaf=True, namespace=NAMESPACE)
        of_children = functools.partial(build, rest)
        return Node(type(x), len(children), rest, of_children, of_children), list(children)
    if (table := with_labels(x)) is not None:
        return Node(type(x), len(table.children), None, table.build, table.restore), table.children
    if dataclasses.is_dataclass(x) and not isinstance(x, (type, enum.Enum)):
        values, carried, of_fields, restore = take_apart(x, _same_numbers)
        return Node(type(x), len(values), carried, of_fields, restore), values
    return None


def _same_numbers(u: Any, v: Any) -> bool:
    """Whether two attributes of a dataclass hold the same real numbers."""
    us, vs = ([plain(leaf) for leaf in flatten_leaves(w)[0]] for w in (u, v))
    return len(us) == len(vs) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
        for a, b in zip(us, vs, strict=True)
    )
