r"""The Kripke worlds of Krawiec et al. 2022, Fig. 13: lists of bindings, and what the ids in them mean.

    get [] u = u        get ((y, delta) : C) u = get C (Let y delta u)        phi_a = {i -> onehot i | i < a}
    C' extends C        if C' = C'', C, and C'' binds other ids than C

World.phi is phi_a extended by [[get C (Var y)]] phi_a for each y that C binds, so [[get C u]] phi_a = [[u]] phi.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stages.calculus.language.errors import Unrelated
from stages.calculus.language.values import Elements, Made
from stages.relatives.deltas import delta_data
from stages.relatives.deltas.meaning import meaning, one_hots

__all__ = ["World", "delta", "numbers", "require", "same_number", "shaped"]


def delta(value: Made) -> Any:
    """A Delta of the evaluator as one of stages/relatives/deltas/delta_data.py."""
    fields = [delta(part) if isinstance(part, Made) else part for part in value.fields]
    return getattr(delta_data, value.name)(*fields)


def require(condition: bool, why: str) -> None:
    """Unrelated unless the condition holds."""
    if not condition:
        raise Unrelated(why)


def numbers(value: Any) -> list[Any]:
    """The real scalars of a first-order value, from left to right."""
    if isinstance(value, float):
        return [value]
    return [x for part in value for x in numbers(part)] if isinstance(value, tuple) else []


@dataclass(frozen=True)
class World:
    """The state of the monad, (the next id, the bindings), and phi extended by what the bindings mean."""

    state: tuple[int, Made]
    phi: dict[int, tuple[Any, ...]]
    a: int

    @classmethod
    def start(cls, a: int) -> World:
        """The world without bindings; the ids below a are those of the input."""
        return cls((a, Made("Nil", ())), one_hots(a), a)

    def after(self, state: tuple[int, Made]) -> World:
        """The world of a later state. Unrelated if the state does not extend this one."""
        new: list[tuple[int, Made]] = []
        binds = state[1]
        while binds is not self.state[1]:
            require(binds.name == "Cons", "a later world has the bindings of the earlier one, and this one lacks some")
            entry, binds = binds.fields
            new.append(entry)
        phi = dict(self.phi)
        for i, u in reversed(new):
            require(i not in phi, f"the id {i} is bound twice")
            phi[i] = meaning(delta(u), phi, self.a)  # get: what Let i u (..) does to the environment
        return World(state, phi, self.a)

    def binding(self, u: Made) -> tuple[int, World]:
        """deltaLet u: the new id, and the world with this binding."""
        i, binds = self.state
        return i, self.after((i + 1, Made("Cons", ((i, u), binds))))


def shaped(zero: Any, found: Iterator[Any]) -> Any:
    """The vector as a value of S, with the structure of zero."""
    if isinstance(zero, Made):
        return Made(zero.name, shaped(zero.fields, found))
    if isinstance(zero, Elements):
        return Elements(shaped(zero.elements, found))
    if isinstance(zero, tuple):
        return tuple([shaped(part, found) for part in zero])
    return float(next(found)) if isinstance(zero, float) else zero


def same_number(x: Any, y: Any) -> bool:
    """Whether two numbers are equal, or both NaN."""
    return bool(x == y) or (math.isnan(x) and math.isnan(y))
