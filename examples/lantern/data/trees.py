"""Trees of sentences: each node has a label, and a word or two children; and the text of a treebank.

The text is that of the Stanford Sentiment Treebank: a tree per line, `(label word)` or `(label tree tree)`.

    (3 (2 it) (4 (2 works) (3 well)))
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from examples.lantern.errors import DataError, check_label

__all__ = ["CLASSES", "Tree", "check_tree", "parse", "read", "words_of"]

CLASSES = 5  # from 0, very negative, to 4, very positive
_TOKEN = re.compile(r"[()]|[^\s()]+")


@dataclass
class Tree:
    """A node: the sentiment of what stands below it, and a word, or two children."""

    label: int
    word: str | None = None
    left: Tree | None = None
    right: Tree | None = None

    def __str__(self) -> str:
        inner = self.word if self.left is None else f"{self.left} {self.right}"
        return f"({self.label} {inner})"


def words_of(tree: Tree) -> Iterator[str]:
    """The words at the leaves, from left to right."""
    if tree.left is None or tree.right is None:
        assert tree.word is not None
        yield tree.word
    else:
        yield from words_of(tree.left)
        yield from words_of(tree.right)


def check_tree(tree: Tree, place: str) -> None:
    """DataError if a node has one child, both a word and children, none of them, or a label that is no class."""
    check_label(tree.label, CLASSES, place)
    children = {"left": tree.left, "right": tree.right}
    missing = [side for side, child in children.items() if child is None]
    if len(missing) == 1:
        raise DataError(f"{place}: the {missing[0]} child is missing. A node has a word, or two children.")
    if (tree.word is None) == bool(missing):
        found = "neither a word nor children" if missing else f"the word {tree.word!r} and children"
        raise DataError(f"{place}: the node has {found}. A node has a word, or two children.")
    for side, child in children.items():
        if child is not None:
            check_tree(child, f"{place}.{side}")


def parse(text: str, place: str = "text") -> Tree:
    """The tree that a line says; DataError, with the column, if it says none."""
    tokens = [(m.group(), f"{place}, column {m.start() + 1}") for m in _TOKEN.finditer(text)]
    tokens.append(("", f"{place}, column {len(text) + 1}"))
    tree, end = _node(tokens, 0)
    if tokens[end][0]:
        raise DataError(f"{tokens[end][1]}: there is {tokens[end][0]!r} after the tree. A line has one tree.")
    return tree


def _node(tokens: list[tuple[str, str]], k: int) -> tuple[Tree, int]:
    """The node that starts at token k, and the number of the token after it."""
    (opening, place), k = tokens[k], k + 1
    if opening != "(":
        raise DataError(f"{place}: here is {opening or 'the end'!r}, and a tree has to start, by an opening bracket.")
    label = tokens[k][0]
    if not re.fullmatch(r"-?\d+", label):
        raise DataError(f"{tokens[k][1]}: here is {label or 'the end'!r}, where a label has to be, 0 to {CLASSES - 1}.")
    check_label(int(label), CLASSES, tokens[k][1])
    tree, k = Tree(int(label)), k + 1
    if tokens[k][0] not in ("(", ")", ""):
        tree.word, k = tokens[k][0], k + 1
    else:
        if tokens[k][0] == "(":
            tree.left, k = _node(tokens, k)
        if tokens[k][0] == "(":
            tree.right, k = _node(tokens, k)
        check_tree(Tree(tree.label, None, tree.left and Tree(0, ""), tree.right and Tree(0, "")), place)
    if tokens[k][0] != ")":
        raise DataError(f"{tokens[k][1]}: here is {tokens[k][0] or 'the end'!r}, and the node of {place} has to end.")
    return tree, k + 1


def read(path: str) -> list[Tree]:
    """The trees of a file, one a line; DataError, with line and column, for what is none, and if there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            trees = [parse(line.rstrip("\n"), f"{path}, line {k}") for k, line in enumerate(file, 1) if line.strip()]
    except UnicodeDecodeError as e:
        raise DataError(f"{path} is no text in UTF-8: {e.reason} at byte {e.start}.") from e
    if not trees:
        raise DataError(f"{path} has no tree. A line has one, such as (3 (2 it) (4 works)).")
    return trees
