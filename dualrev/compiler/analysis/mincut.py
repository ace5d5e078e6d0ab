"""Flow networks and their minimum cuts, by shortest augmenting paths (Edmonds-Karp)."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Hashable

__all__ = ["INFINITE", "SINK", "SOURCE", "Network"]

INFINITE = 1 << 40
SOURCE, SINK = "source", "sink"


class Network:
    """A flow network; the nodes are anything but SOURCE and SINK."""

    def __init__(self) -> None:
        self._capacity: dict[Hashable, dict[Hashable, int]] = {SOURCE: {}, SINK: {}}

    def edge(self, a: Hashable, b: Hashable, capacity: int) -> None:
        """Add an edge from `a` to `b`, or add to its capacity."""
        out = self._capacity.setdefault(a, {})
        out[b] = min(INFINITE, out.get(b, 0) + capacity)
        self._capacity.setdefault(b, {}).setdefault(a, 0)

    def behind_the_cut(self) -> set[Hashable]:
        """The sink side of a minimum cut; the network is used up."""
        while way := self._path():
            edges = list(itertools.pairwise(way))
            amount = min(self._capacity[a][b] for a, b in edges)
            for a, b in edges:
                self._capacity[a][b] -= amount
                self._capacity[b][a] += amount
        behind: set[Hashable] = {SINK}
        todo: deque[Hashable] = deque([SINK])
        while todo:
            b = todo.popleft()
            for a in self._capacity[b]:
                if a not in behind and self._capacity[a].get(b, 0) > 0:
                    behind.add(a)
                    todo.append(a)
        return behind

    def _path(self) -> list[Hashable]:
        """A shortest augmenting path from source to sink; empty if the flow is maximal."""
        came: dict[Hashable, Hashable] = {SOURCE: None}
        todo: deque[Hashable] = deque([SOURCE])
        while todo:
            a = todo.popleft()
            if a == SINK:
                way: list[Hashable] = []
                while a is not None:
                    way.append(a)
                    a = came[a]
                return way[::-1]
            for b, room in self._capacity[a].items():
                if room > 0 and b not in came:
                    came[b] = a
                    todo.append(b)
        return []
