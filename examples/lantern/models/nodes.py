"""Trees for numba: jitclass instances with children of the same class, and a word's index in place of the word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numba import deferred_type, int64, optional
from numba.experimental import jitclass

from examples.lantern.data.trees import Tree

__all__ = ["Node", "rooted"]

_node = deferred_type()


@jitclass([("label", int64), ("word", int64), ("left", optional(_node)), ("right", optional(_node))])
class Node:
    """A node of a tree; the word is -1 if it has children."""

    def __init__(self, label: int, word: int, left: Any, right: Any) -> None:
        self.label = label
        self.word = word
        self.left = left
        self.right = right


_node.define(Node.class_type.instance_type)  # type: ignore[attr-defined]


def _made(tree: Tree | None, numbers: Mapping[str, int]) -> Any:
    if tree is None:
        return None
    word = -1 if tree.word is None else numbers[tree.word]
    return Node(tree.label, word, _made(tree.left, numbers), _made(tree.right, numbers))


def rooted(tree: Tree, numbers: Mapping[str, int]) -> Any:
    """Convert a tree, and return a root that has it as its left child.

    So every node is a child, and numba compiles functions of nodes for a single type: a node or None.
    """
    return Node(0, -1, _made(tree, numbers), None)
