"""Chapter 10: parallel reverse mode."""

from __future__ import annotations

import itertools
from functools import cache

from stages.exercises.exercise import Case, Chapter, Exercise, MisfitError, Outcome, case, shown
from stages.exercises.graphs import GRAPHS, Graph, chain, doublings, tree

__all__ = ["CHAPTER"]


class Deep:
    """A number that knows the longest chain of additions that made it."""

    def __init__(self, x: float, depth: int = 0) -> None:
        self.x, self.depth = x, depth

    def __add__(self, other: Deep | float) -> Deep:
        if not isinstance(other, Deep):  # a start value of 0
            other = Deep(other)
        return Deep(self.x + other.x, max(self.depth, other.depth) + 1)

    __radd__ = __add__

    def __repr__(self) -> str:
        return f"{self.x}"


def _sum(n: int) -> Case:
    """Return a case: the sum of 1.0, 2.0, ..., n, with the longest chain of additions."""

    def run(answer) -> Outcome:
        """Add numbers that know their depth."""
        found = answer([Deep(float(k)) for k in range(1, n + 1)])
        if not isinstance(found, Deep):
            raise MisfitError(f"expected the sum of the numbers, got {shown(found)}")
        return Outcome(found.x, n * (n + 1) / 2.0, found.depth, (n - 1).bit_length())

    numbers = [float(k) for k in range(1, n + 1)] if n < 9 else f"[1.0, 2.0, ..., {n}.0]"
    return Case(f"tree_sum({numbers})", run)


def _span(graph: Graph) -> int:
    """Return the longest path, by its definition."""

    @cache
    def longest(i: int) -> int:
        return 1 + max(longest(j) for _, j in graph[i]) if graph[i] else 0

    return max(map(longest, range(len(graph))))


def _levels(graph: Graph) -> list[list[int]]:
    """Return the ids by the length of the longest path from the result."""
    users = {j: {i for i, operands in enumerate(graph) if j in [k for _, k in operands]} for j in range(len(graph))}

    @cache
    def level(j: int) -> int | None:
        above = [found for i in users[j] if (found := level(i)) is not None]
        return 0 if j == len(graph) - 1 else 1 + max(above) if above else None

    found = sorted((at, j) for j in range(len(graph)) if (at := level(j)) is not None)
    return [[j for _, j in group] for _, group in itertools.groupby(found, key=lambda pair: pair[0])]


#: The result uses id 2 at once, and again through id 3.
_SHORT_CUT: Graph = [[], [(1.0, 0)], [(1.0, 1)], [(1.0, 2)], [(1.0, 3), (1.0, 2), (1.0, 0)]]
_GRAPHS = [*GRAPHS, _SHORT_CUT, tree(3), chain(40)]

CHAPTER = Chapter(
    10,
    "Parallel reverse mode",
    (
        Exercise(
            "tree_sum",
            [_sum(n) for n in (1, 2, 3, 4, 5, 7, 8, 100, 257)],
            "A loop over the list makes a chain of n - 1 additions. Begin with no 0.0: it would be one more addition.",
            "longest chain of additions",
        ),
        Exercise(
            "span",
            [
                *(case("span", _span(graph), graph) for graph in _GRAPHS),
                case("span", 200, doublings(200), text="span for the graph of 200 doublings"),
            ],
            "One more than the longest chain that ends in an operand; 0 for an input.",
        ),
        Exercise(
            "levels",
            [case("levels", _levels(graph), graph) for graph in _GRAPHS],
            "From the last id down: an operand stands at least one level after the id that uses it. Two users: the "
            "later level counts.",
        ),
    ),
)
