"""The paper's persistent ordered map, Map Int a, with union, insertion, lookup and removal of the highest key.

A weight-balanced search tree (Adams; the parameters are those of Haskell's Data.Map, proved right by Hirai and
Yamamoto, 2011). Maps are immutable: every operation returns a new map that shares most of its nodes with the old one.
 `None` is the empty map. With n keys in the larger map and m in the smaller one:

    find, insert_with, pop_max    O(log n)
    union_with                    O(m log(n/m + 1))

Python's persistent maps (immutables, pyrsistent) are unordered; its ordered maps (sortedcontainers) are mutable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

__all__ = ["Map", "find", "insert_with", "items", "pop_max", "singleton", "size", "union_with"]

_DELTA = 3  # neither subtree may weigh more than this many times the other
_RATIO = 2  # a single rotation if the outer grandchild weighs at least 1/_RATIO of the inner one


class Node(NamedTuple):
    """A key with its value, the smaller keys on the left, the larger ones on the right, and the size of it all."""

    key: int
    value: Any
    left: Map
    right: Map
    size: int


Map = Node | None


def size(t: Map) -> int:
    """The number of keys."""
    return 0 if t is None else t.size


def singleton(key: int, value: Any) -> Map:
    """{key: value}"""
    return Node(key, value, None, None, 1)


def find(t: Map, key: int, default: Any = None) -> Any:
    """The value at the key, or `default`.

    >>> find(singleton(3, "c"), 3)
    'c'
    """
    if t is None:
        return default
    if key == t.key:
        return t.value
    return find(t.left if key < t.key else t.right, key, default)


def insert_with(f: Callable[[Any, Any], Any], t: Map, key: int, value: Any) -> Map:
    """Add {key: value}; a key that the map already has gets the value f(old, value)."""
    if t is None:
        return singleton(key, value)
    if key == t.key:
        return Node(key, f(t.value, value), t.left, t.right, t.size)
    if key < t.key:
        return _balance(t.key, t.value, insert_with(f, t.left, key, value), t.right)
    return _balance(t.key, t.value, t.left, insert_with(f, t.right, key, value))


def pop_max(t: Node) -> tuple[int, Any, Map]:
    """The highest key, its value, and the map without them.

    >>> pop_max(union_with(max, singleton(1, 10), singleton(2, 20)))[:2]
    (2, 20)
    """
    if t.right is None:
        return t.key, t.value, t.left
    key, value, rest = pop_max(t.right)
    return key, value, _balance(t.key, t.value, t.left, rest)


def union_with(f: Callable[[Any, Any], Any], a: Map, b: Map) -> Map:
    """The union of two maps; a key of both gets the value f(value in a, value in b)."""
    if a is None:
        return b
    if b is None:
        return a
    if b.size == 1:
        return insert_with(f, a, b.key, b.value)
    left, both, value, right = _split(b, a.key)
    return _join(
        a.key,
        f(a.value, value) if both else a.value,
        union_with(f, a.left, left),
        union_with(f, a.right, right),
    )


def items(t: Map) -> Iterator[tuple[int, Any]]:
    """Keys and values, in the order of the keys.

    >>> list(items(insert_with(max, singleton(2, "b"), 1, "a")))
    [(1, 'a'), (2, 'b')]
    """
    if t is not None:
        yield from items(t.left)
        yield t.key, t.value
        yield from items(t.right)


def _node(key: int, value: Any, left: Map, right: Map) -> Node:
    return Node(key, value, left, right, (0 if left is None else left.size) + (0 if right is None else right.size) + 1)


def _balance(key: int, value: Any, left: Map, right: Map) -> Node:
    """Build a node from two subtrees, one of them at most a little too heavy (by one insertion or removal)."""
    weights = size(left), size(right)
    if sum(weights) > 1:
        if right is not None and weights[1] > _DELTA * weights[0]:
            inner, outer = right.left, right.right
            if inner is not None and size(inner) >= _RATIO * size(outer):
                return _node(
                    inner.key,
                    inner.value,
                    _node(key, value, left, inner.left),
                    _node(right.key, right.value, inner.right, outer),
                )
            return _node(right.key, right.value, _node(key, value, left, inner), outer)
        if left is not None and weights[0] > _DELTA * weights[1]:
            outer, inner = left.left, left.right
            if inner is not None and size(inner) >= _RATIO * size(outer):
                return _node(
                    inner.key,
                    inner.value,
                    _node(left.key, left.value, outer, inner.left),
                    _node(key, value, inner.right, right),
                )
            return _node(left.key, left.value, outer, _node(key, value, inner, right))
    return Node(key, value, left, right, sum(weights) + 1)


def _join(key: int, value: Any, left: Map, right: Map) -> Node:
    """Build a node from two subtrees of any weights."""
    if right is not None and size(right) > _DELTA * size(left):
        return _balance(right.key, right.value, _join(key, value, left, right.left), right.right)
    if left is not None and size(left) > _DELTA * size(right):
        return _balance(left.key, left.value, left.left, _join(key, value, left.right, right))
    return _node(key, value, left, right)


def _split(t: Map, key: int) -> tuple[Map, bool, Any, Map]:
    """Split at a key: the smaller keys, whether t has the key, its value, the larger keys."""
    if t is None:
        return None, False, None, None
    if key == t.key:
        return t.left, True, t.value, t.right
    if key < t.key:
        left, both, value, right = _split(t.left, key)
        return left, both, value, _join(t.key, t.value, right, t.right)
    left, both, value, right = _split(t.right, key)
    return _join(t.key, t.value, t.left, left), both, value, right
