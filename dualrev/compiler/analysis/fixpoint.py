"""Least fixpoint over a recursive call graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["FixedPoint"]

V = TypeVar("V")


class FixedPoint(Generic[V]):
    """Values by function keys, computed on demand; computing one may demand the values of others, or its own."""

    def __init__(self) -> None:
        self._known: dict[Hashable, V] = {}
        self._settled: set[Hashable] = set()
        self._visited: set[Hashable] | None = None

    def value(self, key: Hashable, least: Callable[[], V], compute: Callable[[], V]) -> V:
        """The value for a key; `least` is the bottom element that the iteration starts from."""
        if key in self._settled:
            return self._known[key]
        if self._visited is not None:
            return self._visit(key, least, compute)
        while True:
            before = dict(self._known)
            self._visited = set()
            try:
                self._visit(key, least, compute)
            finally:
                visited, self._visited = self._visited, None
            if before == self._known:
                self._settled |= visited
                return self._known[key]

    def _visit(self, key: Hashable, least: Callable[[], V], compute: Callable[[], V]) -> V:
        assert self._visited is not None
        if key in self._visited:
            return self._known[key] if key in self._known else least()
        self._visited.add(key)
        self._known[key] = compute()
        return self._known[key]
