"""Generated data: sentences about films as trees. The sentiment of a phrase follows from the sentiments of its parts:

    a word      its sentiment in ADJECTIVES    very X           X, one further from 0
    X and Y     the mean, rounded from 0       not X            minus X
    X but Y     Y                              adjective noun   the adjective's

A model that reads single words fails at `not very good`; a model that composes along the tree can learn it. Word
vectors are constants, as GloVe's are: random numbers that depend on the word and the seed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np

from examples.lantern.data.trees import Tree, words_of

__all__ = ["sentences", "vectors", "vocabulary"]

ADJECTIVES = {
    -2: ["awful", "dreadful", "unwatchable", "hopeless", "insulting"],
    -1: ["dull", "slow", "thin", "tired", "uneven"],
    0: ["long", "short", "french", "black-and-white", "recent"],
    1: ["good", "warm", "clever", "pretty", "solid"],
    2: ["brilliant", "gorgeous", "unforgettable", "superb", "thrilling"],
}
NOUNS = [
    "film",
    "story",
    "plot",
    "cast",
    "ending",
    "script",
    "music",
    "camera",
    "dialogue",
    "director",
    "scene",
    "comedy",
]


def sentences(count: int, seed: int, longest: int = 30) -> list[Tree]:
    """Generate trees of 2 to `longest` words each."""
    rng = np.random.default_rng([seed, 1])
    return [_phrase(rng, int(rng.integers(2, longest + 1)))[0] for _ in range(count)]


def _tree(score: int, left: Tree, right: Tree) -> tuple[Tree, int]:
    return Tree(score + 2, None, left, right), score


def _leaf(word: str, score: int = 0) -> Tree:
    return Tree(score + 2, word)


def _phrase(rng: np.random.Generator, length: int) -> tuple[Tree, int]:
    """Generate a phrase of `length` words, and its score from -2 to 2."""
    if length == 1:
        score = int(rng.integers(-2, 3))
        return _leaf(str(rng.choice(ADJECTIVES[score])), score), score
    kind = rng.random()
    if length == 2 and kind < 0.5:
        adjective, score = _phrase(rng, 1)
        return _tree(score, adjective, _leaf(str(rng.choice(NOUNS))))
    if length < 4 or kind < 0.3:
        inner, score = _phrase(rng, length - 1)
        if rng.random() < 0.5:
            return _tree(-score, _leaf("not"), inner)
        return _tree(int(np.sign(score)) * min(2, abs(score) + 1), _leaf("very"), inner)
    size = int(rng.integers(1, length - 1))
    (first, a), (second, b) = _phrase(rng, size), _phrase(rng, length - 1 - size)
    joined = "and" if rng.random() < 0.5 else "but"
    score = int(np.sign(a + b)) * ((abs(a + b) + 1) // 2) if joined == "and" else b
    return _tree(score, first, _tree(b, _leaf(joined), second)[0])


def vocabulary(trees: Iterable[Tree]) -> dict[str, int]:
    """Return the words of all trees in alphabetical order, each with its index."""
    return {word: k for k, word in enumerate(sorted({w for tree in trees for w in words_of(tree)}))}


def vectors(words: Iterable[str], size: int, seed: int) -> np.ndarray:
    """Return a vector for each word, which depends only on the word and the seed."""
    rows = [np.random.default_rng([seed, zlib.crc32(w.encode())]).normal(size=size) for w in words]
    return np.array(rows, np.float32).reshape(-1, size)
