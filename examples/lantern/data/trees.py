"""Trees of sentences, and a reader of treebanks. A node has a label, and either a word or two children.

A treebank has the format of the Stanford Sentiment Treebank: a tree per line, `(label word)` or `(label tree tree)`.

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
    """A node: the sentiment of its phrase, and either a word or two children."""

    label: int
    word: str | None = None
    left: Tree | None = None
    right: Tree | None = None

    def __str__(self) -> str:
        inner = self.word if self.left is None else f"{self.left} {self.right}"
        return f"({self.label} {inner})"


def words_of(tree: Tree) -> Iterator[str]:
    """Yield the words at the leaves, from left to right."""
    if tree.left is None or tree.right is None:
        assert tree.word is not None
        yield tree.word
    else:
        yield from words_of(tree.left)
        yield from words_of(tree.right)


def check_tree(tree: Tree, place: str) -> None:
    """Raise DataError unless every node has a label that is a class, and either a word or two children."""
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
    """Parse a line to a tree. DataError names the column of a mistake."""
    tokens = [(m.group(), f"{place}, column {m.start() + 1}") for m in _TOKEN.finditer(text)]
    tokens.append(("", f"{place}, column {len(text) + 1}"))
    tree, end = _node(tokens, 0)
    if tokens[end][0]:
        raise DataError(f"{tokens[end][1]}: there is {tokens[end][0]!r} after the tree. A line has one tree.")
    return tree


def _node(tokens: list[tuple[str, str]], k: int) -> tuple[Tree, int]:
    """Parse the node that starts at token k; return it and the index of the token after it."""
    (opening, place), k = tokens[k], k + 1
    if opening != "(":
        raise DataError(f"{place}: a tree starts with '(', found {opening or 'the end'!r}.")
    label = tokens[k][0]
    if not re.fullmatch(r"-?\d+", label):
        raise DataError(f"{tokens[k][1]}: expected a label from 0 to {CLASSES - 1}, found {label or 'the end'!r}.")
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
        found = tokens[k][0] or "the end"
        raise DataError(f"{tokens[k][1]}: expected ')', the end of the node at {place}, found {found!r}.")
    return tree, k + 1


def read(path: str) -> list[Tree]:
    """Read the trees of a file, one per line. DataError if a line is wrong (with its column), or without a tree."""
    try:
        with open(path, encoding="utf-8") as file:
            trees = [parse(line.rstrip("\n"), f"{path}, line {k}") for k, line in enumerate(file, 1) if line.strip()]
    except UnicodeDecodeError as e:
        raise DataError(f"{path} is not UTF-8 text: {e.reason} at byte {e.start}.") from e
    if not trees:
        raise DataError(f"{path} has no tree. A line has one, such as (3 (2 it) (4 works)).")
    return trees
