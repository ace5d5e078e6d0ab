"""Union-find: disjoint sets, of arrays that may share memory or of versions of a variable."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["Sets"]

T = TypeVar("T")


class Sets(Generic[T]):
    """Disjoint sets; an element not seen before is in a set of its own.

    >>> sets = Sets[str]()
    >>> sets.join("a", "b"), sets.join("c", "b")
    (None, None)
    >>> sets.same("a", "c"), sets.same("a", "d")
    (True, False)
    """

    def __init__(self) -> None:
        self._parent: dict[T, T] = {}

    def find(self, x: T) -> T:
        """Return the representative of an element's set."""
        while self._parent.setdefault(x, x) != x:
            x = self._parent[x]
        return x

    def join(self, x: T, y: T) -> None:
        """Merge the sets of two elements; the second gives the representative."""
        self._parent[self.find(x)] = self.find(y)

    def same(self, x: T, y: T) -> bool:
        """Whether two elements are in one set."""
        return self.find(x) == self.find(y)
