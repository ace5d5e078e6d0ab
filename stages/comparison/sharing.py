"""Fig. 10: the sharing structure of backpropagators, before and after defunctionalisation.

The references are read from the real dual numbers: from the closures of a stage whose backpropagators are functions,
from the lists of `lists` and `contrib`, from the tape of `tape`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from stages.comparison.counting import fresh
from stages.order import STAGES

__all__ = ["Shared", "sharing"]


_STAGES = ("collectorless", "lists", "contrib", "tape")


class Shared(NamedTuple):
    """One backpropagator: its id (from 0; the paper counts from 1), the scalar's value, and what it refers to."""

    id: int
    value: float
    refers: tuple[tuple[float, int], ...]  #: (partial derivative, id), in the order of the operation's arguments
    closure: bool  #: whether it is a function, or data

    def __str__(self) -> str:
        if self.closure:
            calls = " . ".join(f"SCall d{i} ({p:g}*z)" for p, i in self.refers)
            return f"{self.value:g} = ({self.id}, \\z. {calls or 'id'})"
        return f"{self.value:g} = ({self.id}, [{', '.join(f'({p:g}, d{i})' for p, i in self.refers)}])"


def sharing(name: str, f: Callable[..., Any], *primals: Any) -> list[Shared]:
    """The backpropagators that a stage creates for f at the primals, by id.

    ValueError for the stages before `collectorless`, as their input backpropagators write to the collector.

    >>> for backpropagator in sharing("lists", lambda x, y: x * (x + y), 3.0, 2.0):
    ...     print(backpropagator)
    3 = (0, [])
    2 = (1, [])
    5 = (2, [(1, d0), (1, d1)])
    15 = (3, [(5, d0), (3, d2)])
    """
    if name not in _STAGES:
        raise ValueError(f"there are no sharing structures of '{name}'; ask for one of {', '.join(_STAGES)}")
    stage: Any = fresh(STAGES[name])
    plain, created = stage.Dual.__init__, []

    def __init__(u: Any, run: Any, x: Any, d: Any) -> None:  # noqa: N807 - it is that method
        plain(u, run, x, d)
        created.append(u)

    stage.Dual.__init__ = __init__
    stage.vjp(f, *primals)
    return [Shared(u.i, u.x, tuple(_refers(u)), callable(getattr(u, "d", None))) for u in created]


def _refers(u: Any) -> list[tuple[float, int]]:
    """The partial derivatives and the ids of the backpropagators that this one refers to."""
    if not hasattr(u, "d"):  # what a tape's dual number refers to stands on the tape
        run = u.run
        return [(run.partials[k], run.ids[k]) for k in range(run.ends[u.i], run.ends[u.i + 1])]
    if isinstance(u.d, list):
        return [(p, i) for p, (i, _) in u.d]
    captured = inspect.getclosurevars(u.d).nonlocals
    partials = captured["partials"]() if "partials" in captured else ()
    return [(p, v.i) for p, v in zip(partials, captured.get("args", ()), strict=True)]
