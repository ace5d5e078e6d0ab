"""The leaves of nested data: what is known of each, and what can take its place as a cotangent or a tangent.

A real leaf is a scalar or a whole floating array. A cotangent is read where a leaf is, in double precision, and given
back in the leaf's type. What is not differentiated is discrete.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import optree

from dualrev.eager.arrays.complex.pairs import join
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, innermost, plain
from dualrev.eager.numbers.dual import DualNumber, alive
from dualrev.eager.numbers.ufuncs import DualArray
from dualrev.errors import CotangentError, LeafError

__all__ = [
    "FLOAT",
    "SAME",
    "Array",
    "Discrete",
    "Node",
    "Scalar",
    "alone",
    "array_of",
    "complex_node",
    "has_type",
    "is_exact",
    "is_number",
    "is_numeric",
    "is_plain",
    "is_real_of",
    "leaf_of",
    "object_array",
    "part_of",
    "read_array",
    "read_number",
    "same",
    "same_part",
    "scalars_of",
    "typed",
]


class Scalar(NamedTuple):
    """A real scalar; a cotangent for it is converted by `kind`."""

    kind: Callable[[Any], Any]

    def zero(self) -> float:
        """Return the zero of this kind of leaf."""
        return 0.0


class Array(NamedTuple):
    """A floating array: as many real scalars as it has elements, in C order."""

    shape: tuple[int, ...]
    dtype: np.dtype

    def zero(self) -> np.ndarray:
        """Return zeros of the shape."""
        return np.zeros(self.shape)


class Discrete(NamedTuple):
    """A value that is not differentiated."""

    value: Any

    def owned(self) -> Discrete:
        """The same, an array as a copy."""
        return Discrete(self.value.copy()) if isinstance(self.value, np.ndarray) else self

    def same(self, other: Discrete) -> bool:
        """Whether it is the same value."""
        x, y = self.value, other.value
        if isinstance(x, np.ndarray) and isinstance(y, np.ndarray):
            return x.shape == y.shape and bool(np.all(x == y))
        return x is y or (type(x) is type(y) and same(x, y))


class Node(NamedTuple):
    """A node with `size` children; `build` makes one from a list of new children, `restore` all of it, for a call."""

    cls: type
    size: int
    rest: Any
    build: Callable[[list[Any]], Any]
    restore: Callable[[list[Any]], Any]


FLOAT = Scalar(float)
SAME = Scalar(lambda ct: ct)


def leaf_of(x: Any, leaves: list[Any], has_reals: Callable[[Any], bool]) -> Scalar | Array | Discrete:
    """Classify what does not nest, and note it if it is real; `has_reals` looks into nested data."""
    if isinstance(x, enum.Enum):
        return Discrete(x)
    if isinstance(x, DualNumber):
        leaves.append(x)
        return SAME
    if isinstance(x, (float, np.floating)):
        leaves.append(float(x))
        return Scalar(type(x)) if isinstance(x, np.floating) else FLOAT
    if isinstance(x, RealArray):
        leaves.append(x)
        return Array(x.shape, x.dtype)
    if isinstance(x, np.ma.MaskedArray):
        raise LeafError(x, "the mask would be lost", "Pass the data and the mask as two arrays")
    if isinstance(x, np.ndarray) and not is_plain(x) and x.dtype.kind in "fO":
        raise LeafError(x, "the function would be given an array of another class", "Pass np.asarray(x)")
    if isinstance(x, np.ndarray) and x.dtype.kind == "f":
        leaves.append(x)
        return Array(x.shape, x.dtype)
    if isinstance(x, (complex, np.complexfloating)) or (isinstance(x, np.ndarray) and x.dtype.kind == "c"):
        raise LeafError(x, "derivatives here are of real numbers", "Pass the real and the imaginary part")
    if isinstance(x, np.void) or (isinstance(x, np.ndarray) and x.dtype.kind == "V"):
        raise LeafError(x, "fields of a structured array are not looked at", "Pass the fields as a dict of arrays")
    if isinstance(x, (set, frozenset)) and has_reals(list(x)):
        raise LeafError(x, "its members have no order and would merge", "Pass a list or a tuple")
    if (
        isinstance(x, (list, tuple, dict))
        and not optree.is_structseq(x)
        and has_reals(list(x.values() if isinstance(x, dict) else x))
    ):
        raise LeafError(
            x, "a subclass does not come apart as its base class does", "Register it with dualrev.register_node"
        )
    return Discrete(x)


def complex_node(x: Any) -> tuple[Node, list[Any]]:
    """A complex number, or an array of them, as a node whose two children are its real and its imaginary part."""
    parts = [np.array(u, order="K") for u in (x.real, x.imag)] if isinstance(x, np.ndarray) else [x.real, x.imag]
    return Node(complex, 2, np.shape(parts[0]), _joined, _joined), parts


def _joined(parts: list[Any]) -> Any:
    return join(*parts)


def is_real_of(x: Any, shape: tuple[int, ...]) -> bool:
    """Whether x is of real numbers of this shape, which are complex ones, too."""
    return (is_numeric(x) if shape else is_number(x)) and np.shape(plain(x)) == shape


def same_part(a: Any, b: Any) -> bool:
    """Whether two parts are the same node, the same discrete value, or leaves of one kind."""
    if a.__class__ is not b.__class__:
        return False
    if isinstance(a, Discrete):
        return a.same(b)
    return not isinstance(a, Node) or ((a.cls, a.size) == (b.cls, b.size) and same(a.rest, b.rest))


def part_of(x: Any) -> Scalar | Array | None:
    """Return the part that describes a leaf of one of the usual classes; None for anything else."""
    kind = x.__class__
    if kind is float:
        return FLOAT
    if isinstance(x, DualNumber):
        return SAME
    return Array(x.shape, x.dtype) if kind is RealArray or (kind is np.ndarray and x.dtype.kind == "f") else None


def alone(leaves: list[Any]) -> Any:
    """The leaf of data that is one leaf."""
    return leaves[0]


def is_exact(x: Any) -> bool:
    """Whether x is a number as cotangents are read."""
    return x.__class__ is float or isinstance(x, DualNumber)


def same(a: Any, b: Any) -> bool:
    """Whether two values (keys, names of fields) agree, as far as they can be compared."""
    try:
        return bool(a == b)
    except (TypeError, ValueError):
        return True


def scalars_of(leaf: Any) -> list[Any]:
    """The real scalars of a leaf."""
    if isinstance(leaf, RealArray):
        return leaf.reshape(-1).tolist()
    if isinstance(leaf, np.ndarray):
        return (leaf if leaf.dtype == object else leaf.astype(float)).ravel().tolist()
    return [leaf]


def typed(part: Scalar | Array, leaf: Any, copy: bool = True) -> Any:
    """A cotangent of a leaf in the leaf's type."""
    if isinstance(leaf, DualNumber):
        return alive(leaf)
    if isinstance(part, Scalar):
        return part.kind(leaf)
    if isinstance(leaf, RealArray):
        if innermost([leaf]) is not None:  # and none of it is left over from a call that has ended
            return leaf
        leaf = leaf.x
    if leaf.dtype == object:
        for x in leaf.flat:
            alive(x)
        return leaf
    return leaf.astype(part.dtype, copy=copy)


def has_type(part: Scalar | Array, leaf: Any) -> bool:
    """Whether a cotangent of a leaf is a float or a plain array of the leaf's type as it is."""
    if leaf.__class__ is np.ndarray:
        return part.__class__ is Array and bool(leaf.dtype == part.dtype)
    return leaf.__class__ is float and part is FLOAT


def array_of(shape: tuple[int, ...], scalars: list[Any]) -> np.ndarray:
    """An array of so many scalars; of floats, where there are none."""
    return object_array(shape, scalars) if scalars else np.empty(shape)


def object_array(shape: tuple[int, ...], children: list[Any]) -> np.ndarray:
    """An array of floats if all children are, otherwise of objects."""
    dtype = float if children and all(child.__class__ is float for child in children) else object
    made = np.fromiter(children, dtype=dtype, count=len(children)).reshape(shape)
    return made.view(DualArray) if any(isinstance(child, DualNumber) for child in children) else made


def is_plain(x: np.ndarray) -> bool:
    """Whether the array is one that a function would compute with in the same way after it was rebuilt."""
    return type(x) in (np.ndarray, np.memmap, DualArray)


def is_numeric(x: Any) -> bool:
    """Whether x is an array that can be a cotangent: of real numbers."""
    if isinstance(x, RealArray):
        return True
    if not isinstance(x, np.ndarray) or not is_plain(x):
        return False
    return all(map(is_number, x.ravel().tolist())) if x.dtype == object else x.dtype.kind in "fiu"


def is_number(x: Any) -> bool:
    """Whether x can be a cotangent of a real scalar: a real number, or an array of one without dimensions."""
    if isinstance(x, np.ndarray):
        return x.shape == () and x.dtype.kind in "fiu"
    return isinstance(x, (int, float, np.integer, np.floating, DualNumber)) and not isinstance(x, (bool, enum.Enum))


def read_number(x: Any) -> Any:
    """A number of a cotangent, in double precision, or a dual number of an outer run; CotangentError if too large."""
    try:
        return x if isinstance(x, DualNumber) else float(x)
    except OverflowError:
        raise CotangentError(x, "a real scalar, of double precision") from None


def read_array(x: Any) -> Any:
    """An array of a cotangent, in double precision, or an array of dual numbers of an outer run."""
    if isinstance(x, RealArray):
        return x if holds_duals(x) else x.x.copy()
    if x.dtype != object:
        return x.astype(float)
    return object_array(x.shape, [read_number(u) for u in x.ravel().tolist()])
