"""Chapter 3: D1, naive backpropagators."""

from __future__ import annotations

from stages.exercises.exercise import Case, Chapter, Counter, Exercise, MisfitError, Outcome, case, pair, shown
from stages.exercises.graphs import GRAPHS, Graph, doublings

__all__ = ["CHAPTER"]

_DUAL = "a pair (value, backpropagator)"


def _one_hots(xs: list[float]) -> Case:
    """Return a case: call the backpropagator of every input, after all of them have been made."""

    def run(answer) -> Outcome:
        """Call every backpropagator with 1.0 and 2.0."""
        duals = answer(list(xs))
        if not isinstance(duals, (list, tuple)):
            raise MisfitError(f"expected a list of pairs (value, backpropagator), got {shown(duals)}")
        found, expected = [], []
        for dual in duals:
            x, d = pair(dual, _DUAL)
            found.append((x, d(2.0)))
        for k, x in enumerate(xs):
            expected.append((x, [2.0 if i == k else 0.0 for i in range(len(xs))]))
        return Outcome(found, expected)

    return Case(f"[(x, d(2.0)) for x, d in inputs({xs!r})]", run)


def _product(x: float, y: float, z: float, row1: list[float], row2: list[float]) -> Case:
    """Return a case: the product of two numbers whose backpropagators return multiples of two rows."""

    def run(answer) -> Outcome:
        """Count the calls of both backpropagators, while the product is made and after that."""
        d1, d2 = Counter(lambda z: [z * a for a in row1]), Counter(lambda z: [z * a for a in row2])
        value, d = pair(answer((x, d1), (y, d2)), _DUAL)
        early = d1.calls + d2.calls
        fault = f"product called {early} backpropagators already; only a call of the new one may" if early else ""
        expected = x * y, [z * (y * a + x * b) for a, b in zip(row1, row2, strict=True)]
        return Outcome((value, d(z)), expected, d1.calls + d2.calls, 2, fault)

    text = f"value, d = product(({x}, d1), ({y}, d2)); (value, d({z}))"
    return Case(f"{text}, where d1(z) is z times {row1}, and d2(z) is z times {row2}", run)


def _paths(graph: Graph) -> int:
    """Return the number of calls: those of an id are the sum of the calls of all ids that use it."""
    times = [0] * (len(graph) - 1) + [1]
    for i in reversed(range(len(graph))):
        for _, j in graph[i]:
            times[j] += times[i]
    return sum(times)


def _many(n: int) -> Case:
    """Return the case of n doublings."""
    return case("calls", _paths(doublings(n)), doublings(n), text=f"calls(graph) for the graph of {n} doublings")


_PRODUCTS = [
    _product(3.0, 2.0, 1.0, [1.0, 0.0], [0.0, 1.0]),
    _product(3.0, 2.0, 10.0, [1.0, 0.0], [0.0, 1.0]),
    _product(0.0, 5.0, 1.0, [1.0], [4.0]),
    _product(-1.0, 0.5, 2.0, [1.0, 2.0, 3.0], [0.0, -1.0, 4.0]),
]

CHAPTER = Chapter(
    3,
    "Naive backpropagators (D1)",
    (
        Exercise(
            "inputs",
            [_one_hots(xs) for xs in ([5.0], [5.0, 6.0], [1.0, -2.0, 3.0])],
            "Each d returns a new list of len(xs) elements, with z at k. "
            "A function that is made in a loop reads the loop's variable when it is called, not when it is made: "
            "write `lambda z, k=k: ...`.",
        ),
        Exercise(
            "product",
            _PRODUCTS,
            "\\z. d1(z * p1) + d2(z * p2), where p1 is the value of the second factor, and p2 that of the first.",
            "calls of d1 and d2",
        ),
        Exercise(
            "calls",
            [*(case("calls", _paths(graph), graph) for graph in GRAPHS), _many(10), _many(60)],
            "An id j is called once for every pair (p, j), each time that the id with this pair is called: two equal "
            "pairs count twice. Go through the ids from the last to the first, and pass the counts on. "
            "Do not make the calls one by one: there may be 2**61 of them.",
        ),
    ),
)
