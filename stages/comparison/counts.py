"""The operation counts of an algorithm: of a stage or of a related algorithm."""

from __future__ import annotations

import dataclasses

__all__ = ["Counts", "LimitReached"]


@dataclasses.dataclass
class Counts:
    """Operation counts of a stage for one value and one pullback."""

    created: int = 0  #: backpropagators (dual numbers) created
    calls: int = 0  #: backpropagators called; ids resolved, where backpropagators are data
    scalars: int = 0  #: real scalars touched by zero, plus and one-hots on whole cotangents of the input
    pairs: int = 0  #: pairs on the way to a scalar that one-hots and setters built
    map_steps: int = 0  #: map nodes visited; steps in a table
    array_writes: int = 0  #: elements written to mutable arrays, the tape included, allocation not
    span: int = (
        0  #: the longest chain of ids that wait for each other, where a stage knows of jobs; inputs wait for none
    )

    @property
    def work(self) -> int:
        """The sum of all counts except the span; the growth laws are fitted to it."""
        return sum(dataclasses.astuple(self)) - self.span


class LimitReached(Exception):  # noqa: N818 - not an error: the answer of a count that was told when to stop
    """The stage has exceeded the limit on counted work."""
