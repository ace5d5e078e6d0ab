"""Sets that are joined and never split: of arrays that may share memory, of versions of a variable that are one."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Sets"]

T = TypeVar("T")


class Sets(Generic[T]):
    """Disjoint sets. Whatever is asked for is in a set, at first in one of its own.

    >>> sets = Sets[str]()
    >>> sets.join("a", "b"), sets.join("c", "b")
    (None, None)
    >>> sets.same("a", "c"), sets.same("a", "d")
    (True, False)
    """

    def __init__(self) -> None:
        self._parent: dict[T, T] = {}

    def find(self, x: T) -> T:
        """The representative of a set: the same for all that are in it."""
        while self._parent.setdefault(x, x) != x:
            x = self._parent[x]
        return x

    def join(self, x: T, y: T) -> None:
        """One set of the sets of two; the second gives the representative."""
        self._parent[self.find(x)] = self.find(y)

    def same(self, x: T, y: T) -> bool:
        """Whether two are in one set."""
        return self.find(x) == self.find(y)
