"""Chapter 4: D2, staged calls."""

from __future__ import annotations

from typing import Any

from stages.exercises.exercise import Case, Chapter, Exercise, Outcome, case
from stages.exercises.graphs import GRAPHS, SECTION4, Graph, cotangents, doublings

__all__ = ["CHAPTER"]


def d0(z):
    """where d0, d1 and d2 are backpropagators"""
    return z


def d1(z):
    """Another one."""
    return z


def d2(z):
    """Another one."""
    return z


def _staged(graph: Graph) -> Case:
    """Return a case: resolve a graph whose backpropagators count their calls; the cotangent is that of id 0."""

    def run(answer) -> Outcome:
        """Make a backpropagator for each id, and resolve the last one with the argument 1.0."""
        made: list[Any] = []
        calls = 0

        def backpropagator(i: int) -> Any:
            def d(z):
                """Delay a call for each operand; id 0 is the input."""
                nonlocal calls
                calls += 1
                m: dict[int, tuple[Any, float]] = {}
                for partial, j in graph[i]:
                    m[j] = made[j], z * partial + (m[j][1] if j in m else 0.0)
                return (z if i == 0 else 0.0), m

            return d

        made += [backpropagator(i) for i in range(len(graph))]
        last = len(graph) - 1
        found = answer(0.0, {last: (made[last], 1.0)})
        return Outcome(found, cotangents(graph, 1.0)[0], calls, len(graph))

    last = len(graph) - 1
    text = f"resolve(0.0, {{{last}: (d{last}, 1.0)}}), where the backpropagators are those of the graph {graph}"
    return Case(text if len(text) < 300 else f"resolve on the graph of {last} doublings", run)


def _two_calls() -> Case:
    """Return a case: two calls are delayed at the start, and the input has a cotangent already."""

    def run(answer) -> Outcome:
        """Resolve the result and an operand of it, which a call of the result reaches, too."""
        calls = 0

        def input_d(z):
            """The input's backpropagator."""
            nonlocal calls
            calls += 1
            return z, {}

        def last(z):
            """Pass 3 z to the input."""
            nonlocal calls
            calls += 1
            return 0.0, {0: (input_d, 3.0 * z)}

        return Outcome(answer(5.0, {0: (input_d, 1.0), 1: (last, 2.0)}), 12.0, calls, 2)

    return Case(
        "resolve(5.0, {0: (d0, 1.0), 1: (d1, 2.0)}), where d0(z) is (z, {}) and d1(z) is (0.0, {0: (d0, 3 * z)})", run
    )


_MERGE = [
    case("merge", {}, {}, {}),
    case("merge", {1: (d1, 2.0)}, {1: (d1, 2.0)}, {}),
    case("merge", {1: (d1, 2.0)}, {}, {1: (d1, 2.0)}),
    case("merge", {1: (d1, 7.0)}, {1: (d1, 2.0)}, {1: (d1, 5.0)}),
    case(
        "merge", {0: (d0, 1.0), 1: (d1, 7.0), 2: (d2, 4.0)}, {0: (d0, 1.0), 1: (d1, 2.0)}, {1: (d1, 5.0), 2: (d2, 4.0)}
    ),
]
_REACHED = [graph for graph in GRAPHS if cotangents(graph, 1.0)[0]]

CHAPTER = Chapter(
    4,
    "Staged calls and linear factoring (D2)",
    (
        Exercise("merge", _MERGE, "An id that is in both maps gets the sum of both arguments: f x + f y = f (x + y)."),
        Exercise(
            "resolve",
            [_two_calls(), *map(_staged, _REACHED), _staged(doublings(12))],
            "Take out the call of the highest id, make it, and merge what it returns with the calls that are left.",
            "calls of backpropagators",
        ),
        Exercise(
            "arguments",
            [case("arguments", cotangents(graph, 1.0), graph, 1.0) for graph in GRAPHS]
            + [case("arguments", cotangents(SECTION4, -2.0), SECTION4, -2.0)],
            "Go from the last id down. When an id is reached, all ids that use it have passed on their contributions.",
        ),
    ),
)
