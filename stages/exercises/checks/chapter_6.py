"""Chapter 6: D4, mutable arrays."""

from __future__ import annotations

from typing import Any

from stages.exercises.exercise import Case, Chapter, Exercise, Outcome, case, pair
from stages.exercises.graphs import GRAPHS, Graph, chain, cotangents, doublings

__all__ = ["CHAPTER"]


def _written(i: int, ct: list[float]) -> Case:
    """Return a case of write_pullback."""
    expected = [0.0 if k == i else z for k, z in enumerate(ct)], ct[i]
    plain = case("write_pullback", expected, i, ct)

    def run(answer) -> Outcome:
        """Refuse a result that is no pair."""
        return plain.run(lambda i, ct: pair(answer(i, ct), "a pair (cotangent of x before, cotangent of v)"))

    return Case(plain.text, run)


def _resolved(graph: Graph, text: str = "") -> Case:
    """Return a case: the backpropagators of a graph, which write in place and count their calls."""
    inputs = [i for i, operands in enumerate(graph) if not operands]

    def run(answer) -> Outcome:
        """Resolve the last id with the argument 2.0."""
        calls = 0

        def made(i: int) -> Any:
            def d(z, c, m):
                """Add to the input's element, or to the arguments of the operands."""
                nonlocal calls
                calls += 1
                if i in inputs:
                    c[inputs.index(i)] += z
                for partial, j in graph[i]:
                    m[j] += z * partial

            return d

        found = answer([made(i) for i in range(len(graph))], len(inputs), 2.0)
        expected = cotangents(graph, 2.0)
        return Outcome(found, [expected[i] for i in inputs], calls, len(graph))

    return Case(text or f"resolve(backpropagators, {len(inputs)}, 2.0) for the graph {graph}", run)


_READS = [
    (1, [0], [2.0]),
    (2, [1], [3.0]),
    (1, [0, 0], [2.0, 3.0]),
    (3, [], []),
    (3, [2, 0, 2, 2], [1.0, 2.0, 3.0, 4.0]),
]

CHAPTER = Chapter(
    6,
    "Mutable arrays (D4)",
    (
        Exercise(
            "read_pullback",
            [
                case(
                    "read_pullback",
                    [sum((z for i, z in zip(at, zs, strict=True) if i == k), 0.0) for k in range(n)],
                    n,
                    at,
                    zs,
                )
                for n, at, zs in _READS
            ],
            "z[k] belongs to the k-th read, x[indices[k]]. Begin with zeros, and add: an index that occurs twice "
            "receives two contributions. In numpy, `ct[indices] += z` adds only one of them; `np.add.at` adds all.",
        ),
        Exercise(
            "write_pullback",
            [_written(0, [2.0]), _written(0, [2.0, 3.0]), _written(1, [2.0, 3.0]), _written(1, [4.0, 5.0, 6.0])],
            "The cotangent of v is what ct[i] was. The old value of x[i] is lost in the assignment, so the cotangent "
            "of x is a copy of ct with 0.0 at i. Return both: (that of x, that of v).",
        ),
        Exercise(
            "resolve",
            [
                *map(_resolved, GRAPHS),
                _resolved(doublings(60), "resolve for the graph of 60 doublings"),
                _resolved(chain(500), "resolve for a chain of 500 operations"),
            ],
            "The same two lists go to every call. Begin with m[-1] = z, and go from the last id down to 0.",
            "calls of backpropagators",
        ),
    ),
)
