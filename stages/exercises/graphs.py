"""Small programs as graphs of contributions (Fig. 10), for the exercises.

`graph[i]` is the list of pairs (partial derivative, id of an operand) of the scalar with the id i. Operands have
smaller ids. An input or a constant has no operands. The last id is the result.

>>> FIG1
[[], [], [(1.0, 0), (1.0, 1)], [(5.0, 0), (3.0, 2)]]
"""

from __future__ import annotations

__all__ = ["FIG1", "GRAPHS", "SECTION4", "Graph", "chain", "cotangents", "doublings", "tree"]

Graph = list[list[tuple[float, int]]]

#: x * (x + y) at x = 3, y = 2: the ids are those of x, y, x + y and the product.
FIG1: Graph = [[], [], [(1.0, 0), (1.0, 1)], [(5.0, 0), (3.0, 2)]]

#: The program of section 4 of the paper.
SECTION4: Graph = [[], [(2.0, 0), (3.0, 0)], [(4.0, 1), (5.0, 0)], [(1.0, 1), (2.0, 2)]]

#: A graph in which the id 1, and the input 0 below it, do not reach the result.
UNUSED: Graph = [[], [(2.0, 0)], [], [(7.0, 2)]]


def doublings(n: int) -> Graph:
    """The graph of n times x = x + x: there are 2**n paths from the result to the input."""
    return [[], *([(1.0, i), (1.0, i)] for i in range(n))]


def chain(n: int) -> Graph:
    """The graph of n operations in a row, each with one operand."""
    return [[], *([(2.0 if i % 2 else 0.5, i)] for i in range(n))]


def tree(levels: int) -> Graph:
    """The graph of a balanced sum of 2**levels inputs."""
    graph: Graph = [[] for _ in range(2**levels)]
    level = list(range(2**levels))
    while len(level) > 1:
        level, below = [], level
        for left, right in zip(below[::2], below[1::2], strict=True):
            level.append(len(graph))
            graph.append([(1.0, left), (1.0, right)])
    return graph


#: From the smallest to the largest.
GRAPHS: list[Graph] = [[[]], [[], [(3.0, 0)]], doublings(1), UNUSED, FIG1, SECTION4, doublings(3), tree(2), chain(6)]


def cotangents(graph: Graph, z: float) -> list[float]:
    """The argument of each id, for the argument z of the last one: a sum over all of its uses.

    >>> cotangents(SECTION4, 1.0)
    [55.0, 9.0, 2.0, 1.0]
    """
    found = [0.0] * len(graph)
    found[-1] = z
    for i in reversed(range(len(graph))):
        for partial, j in graph[i]:
            found[j] += found[i] * partial
    return found
