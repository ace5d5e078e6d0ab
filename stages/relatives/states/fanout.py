r"""The data-flow graph of the numbers, and its adjoint: Pearlmutter and Siskind 2008, section 6 and Fig. 5.

A program's linearization at x is a graph: edges multiply by partial derivatives, a `sum` node adds up what comes in (an
operation's result), and a `fanout` node passes a number on to each of its uses. In the adjoint,

    edges are reversed         addition nodes become fanout nodes, fanout nodes addition nodes
    factors stay               inputs become outputs, outputs inputs

so the adjoint of the adjoint is the graph, and the graph computes dx -> J dx, the adjoint ct -> J^T ct. Each edge is
used once in both: this is why a gradient takes a constant times the work of the function.

Fig. 5 is the graph of f = \x0. let x1 = f1 x0 in b ((f2 x1), (f3 x1)). x1 has a fanout, so the adjoint has an addition
there: f1's backpropagator gets ct1 = ct1.2 + ct1.3, and is called once. Calling it twice, f1 ct1.2 + f1 ct1.3, has the
same value, since it is linear (the stage naive does that).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stages.relatives.states.modes import states
from stages.relatives.states.transitions import Assignment, partials

__all__ = ["Edge", "Graph", "adjoint", "linearized", "run"]


class Edge(NamedTuple):
    """Multiplication by a factor, between two nodes."""

    source: str
    target: str
    factor: Any


class Graph(NamedTuple):
    """Nodes in an order of evaluation, each with its kind, input, sum, fanout or output; and edges."""

    nodes: dict[str, str]
    edges: list[Edge]

    def __str__(self) -> str:
        lines = []
        for name, kind in self.nodes.items():
            found = ", ".join(f"{e.factor:g} {e.source}" for e in self.edges if e.target == name)
            lines.append(f"{kind:<7}{name}" + (f" <- {found}" if found else ""))
        return "\n".join(lines)


def linearized(program: Sequence[Assignment], x: Sequence[Any], results: Sequence[int]) -> Graph:
    """The graph of the program at x, from all elements of x to these elements of the last state.

    >>> print(linearized([Assignment(1, "mul", (0, 0))], [3.0, 0.0], [1]))
    input  x0
    fanout x0.uses <- 1 x0
    input  x1
    sum    y1 <- 3 x0.uses, 3 x0.uses
    output out1 <- 1 y1
    """
    current = [f"x{i}" for i in range(len(x))]
    nodes, edges = dict.fromkeys(current, "input"), []
    uses: dict[str, int] = {}
    for k, (a, before) in enumerate(zip(program, states(program, x), strict=False), 1):
        for i, p in partials(a, before):
            uses[current[i]] = uses.get(current[i], 0) + 1
            edges.append(Edge(current[i], f"y{k}", p))
        current[a.target] = f"y{k}"
        nodes[f"y{k}"] = "sum"
    for j, i in enumerate(results, 1):
        uses[current[i]] = uses.get(current[i], 0) + 1
        nodes[f"out{j}"] = "output"
        edges.append(Edge(current[i], f"out{j}", 1.0))
    return _with_fanouts(nodes, edges, uses)


def _with_fanouts(nodes: dict[str, str], edges: list[Edge], uses: dict[str, int]) -> Graph:
    """The graph with a fanout node after each node that is used more than once."""
    shared = {name for name, count in uses.items() if count > 1}
    ordered: dict[str, str] = {}
    for name, kind in nodes.items():
        ordered[name] = kind
        if name in shared:
            ordered[f"{name}.uses"] = "fanout"
    moved = [e._replace(source=f"{e.source}.uses") if e.source in shared else e for e in edges]
    return Graph(ordered, [*[Edge(name, f"{name}.uses", 1.0) for name in nodes if name in shared], *moved])


_ADJOINT = {"input": "output", "output": "input", "sum": "fanout", "fanout": "sum"}


def adjoint(graph: Graph) -> Graph:
    """The adjoint graph: edges reversed, sums and fanouts exchanged."""
    nodes = {name: _ADJOINT[kind] for name, kind in reversed(graph.nodes.items())}
    return Graph(nodes, [Edge(e.target, e.source, e.factor) for e in graph.edges])


def run(graph: Graph, given: dict[str, Any]) -> dict[str, Any]:
    """The numbers at the outputs, for numbers at the inputs."""
    values: dict[str, Any] = {}
    for name, kind in graph.nodes.items():
        into = [e.factor * values[e.source] for e in graph.edges if e.target == name]
        values[name] = given.get(name, 0.0) if kind == "input" else sum(into, 0.0)
    return {name: values[name] for name, kind in graph.nodes.items() if kind == "output"}
