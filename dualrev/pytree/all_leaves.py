"""The walk over nested data that finds every leaf, real or discrete, with the meaning of JAX: None is an empty node.

structures.py, which engines use, finds the real leaves. Both take nodes apart alike: `unpack`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dualrev.eager.arrays.complex.pairs import is_one_complex
from dualrev.eager.arrays.memory.storage import Holder, RealArray, adopt, holds_duals
from dualrev.eager.leaves import Node, is_numeric, is_plain, same, scalars_of
from dualrev.eager.numbers.dual import DualNumber
from dualrev.errors import LeafError, TreeError
from dualrev.pytree.structures import unpack

__all__ = ["TreeDef", "flatten_all"]

IsLeaf = Callable[[Any], bool]
_LEAF, _NONE = object(), object()


class TreeDef:
    """Structure of nested data without its leaves, which `flatten` and `structure` of `dualrev.tree` return.

    `num_leaves` is the number of leaves. Two are equal if the data have the same nodes: the same classes, keys and
    lengths.

    >>> import dualrev as dr
    >>> found = dr.tree.structure({"w": [1.0, 2], "b": None})
    >>> found, found == dr.tree.structure({"w": ["x", "y"], "b": None})
    (<dualrev.tree.TreeDef with 2 leaves>, True)
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        self._parts = parts
        self.num_leaves = sum(part is _LEAF for part in parts)

    def __repr__(self) -> str:
        return f"<dualrev.tree.TreeDef with {self.num_leaves} {'leaf' if self.num_leaves == 1 else 'leaves'}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeDef):
            return NotImplemented
        return len(self._parts) == len(other._parts) and all(map(_same, self._parts, other._parts))

    def __hash__(self) -> int:
        return hash((len(self._parts), self.num_leaves))

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """Return the data with these leaves; TreeError for another number of leaves."""
        if len(leaves) != self.num_leaves:
            raise TreeError(leaves, f"{self.num_leaves} leaves")
        end, done = len(leaves), list[Any]()
        for part in reversed(self._parts):  # children before their node, the first child on top of the stack
            if part is _LEAF:
                end -= 1
                done.append(leaves[end])
            elif part is _NONE:
                done.append(None)
            else:
                first = len(done) - part.size
                children = done[first:][::-1]
                del done[first:]
                done.append(part.restore(children))
        return done.pop()

    def subtrees(self, tree: Any) -> list[Any]:
        """Return what stands in a tree where this structure has its leaves; TreeError if the nodes differ."""
        found, todo = list[Any](), [tree]
        for part in self._parts:
            x = todo.pop()
            if part is _LEAF:
                found.append(x)
            elif part is _NONE:
                if x is not None:
                    raise TreeError(x, "None")
            else:
                todo.extend(reversed(_children(part, x)))
        return found


def _children(part: Node, x: Any) -> list[Any]:
    """The children of a node that has to be like this one."""
    if part.cls is np.ndarray and is_numeric(x) and x.shape == part.rest:
        return scalars_of(x)  # an array of numbers for an array of objects
    node, children = unpack(x) or (None, [])
    if node is None or not _same(node, part):
        raise TreeError(x, f"a {part.cls.__name__} with {part.size} entries")
    return children


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Node) and isinstance(b, Node):
        return (a.cls, a.size) == (b.cls, b.size) and same(a.rest, b.rest)
    return a is b


def flatten_all(x: Any, is_leaf: IsLeaf | None) -> tuple[list[Any], TreeDef]:
    """All leaves of nested data, from left to right, and the structure; LeafError for data that contain themselves."""
    leaves, parts, todo = list[Any](), list[Any](), [x]
    above: dict[int, Any] = {}  # the nodes that the walk is inside of; kept, so that no other gets their id
    while todo:
        x = todo.pop()
        if x.__class__ is _Leave:
            del above[x.node]
            continue
        x = _as_seen(x)
        chosen = is_leaf is not None and is_leaf(x)
        if x is None and not chosen:
            parts.append(_NONE)
        elif chosen or _is_leaf(x) or (unpacked := unpack(x)) is None:
            parts.append(_LEAF)
            leaves.append(x)
        else:
            if id(x) in above:
                raise LeafError(x, "it contains itself", "Pass a tree, or register the class with the links left out")
            above[id(x)] = x
            node, children = unpacked
            parts.append(node)
            todo += [_Leave(id(x)), *reversed(children)]
    return leaves, TreeDef(parts)


class _Leave(NamedTuple):
    """A mark on the list of things to do: all of this node's descendants have been visited."""

    node: int


def _as_seen(x: Any) -> Any:
    """Traced numbers in an array of objects as the array of numbers that they are."""
    if isinstance(x, Holder):
        return x.numbers
    return adopt(x) if isinstance(x, np.ndarray) and x.dtype == object and is_plain(x) and holds_duals(x) else x


def _is_leaf(x: Any) -> bool:
    """Whether x is one leaf, though it may come apart elsewhere, as a complex number does."""
    return isinstance(x, (float, int, str, DualNumber, RealArray)) or is_one_complex(x)
