"""The call graph of a program's backpropagators, with the calls of a run, for Fig. 2 and section 4."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from stages import sharing, trace

__all__ = ["CallGraph", "Edge", "call_graph"]


@dataclasses.dataclass(frozen=True)
class Edge:
    """A backpropagator that calls another one, with its argument times a factor."""

    caller: int
    callee: int
    factor: float


@dataclasses.dataclass(frozen=True)
class CallGraph:
    """The edges between backpropagators, whose ids begin at 0, and the arguments of their calls, in order."""

    edges: list[Edge]
    calls: dict[str, dict[int, list[float]]]  #: stage -> id -> arguments

    def count(self, stage: str, i: int) -> int:
        """The number of calls of the backpropagator i in a stage."""
        return len(self.calls[stage][i])

    def total(self, stage: str) -> int:
        """The number of all calls in a stage."""
        return sum(map(len, self.calls[stage].values()))


def call_graph(f: Callable[..., Any], *primals: Any, stages: tuple[str, ...] = ("naive", "staged")) -> CallGraph:
    """Read the graph from the closures of `collectorless`, and the calls from runs of the stages with the cotangent 1.

    >>> graph = call_graph(lambda x: x * x + x, 3.0)
    >>> graph.edges
    [Edge(caller=1, callee=0, factor=3.0), Edge(caller=1, callee=0, factor=3.0), \
Edge(caller=2, callee=1, factor=1.0), Edge(caller=2, callee=0, factor=1.0)]
    >>> graph.calls["staged"]
    {0: [7.0], 1: [1.0], 2: [1.0]}
    """
    nodes = sharing("collectorless", f, *primals)
    edges = [Edge(node.id, i, factor) for node in nodes for factor, i in node.refers]
    calls: dict[str, dict[int, list[float]]] = {}
    for stage in stages:
        made = calls[stage] = {node.id: [] for node in nodes}
        for i, z in trace(stage, f, *primals):
            made[i].append(z)
    return CallGraph(edges, calls)
