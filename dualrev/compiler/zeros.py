"""Where a known zero must be kept apart from what it is multiplied by: docs/conventions.md, rules 3 and 4.

A cotangent to which nothing has contributed is 0, and takes no part: 0 times a partial that is infinite or NaN is 0
there, as on the tape. Compiled code has no mark for "nothing yet". So it asks, while it runs, whether a cotangent is 0,
and writes `term if ct != 0.0 else 0.0` in place of the term `ct * partial`; but only

    where the partial may be infinite or NaN although all arguments of the function are finite (`Wild`), and
    where the source does not show that something contributes in any case (`Reached`).

Where something does, a 0 was computed, and nothing hides the NaN that it gives with an infinite partial. In forward
mode the same is asked of tangents; those of arguments may be 0, so that nothing is known from the source.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dualrev.compiler.activity import Activity, Classes, atom_name
from dualrev.compiler.core import Call, Const, For, If, Let, OfElements, Store, While, leaves, walk, writes
from dualrev.compiler.plan import changed

__all__ = ["NOTHING", "Known", "Zeros"]


@dataclass(frozen=True)
class Known:
    """What the caller of a function knows: by the numbers of the leaves of its results, and of its arguments."""

    reached: tuple[bool, ...] = ()  # results to which something contributes in any case
    wild: tuple[bool, ...] = ()  # arguments that may be infinite or NaN


NOTHING = Known()


class Zeros:
    """Where zeros are kept apart in the derivative of a function."""

    def __init__(
        self,
        body: list[Any],
        arguments: list[str],
        results: list[Any],
        activity: Activity,
        effects: Any,
        known: Known,
        checked: bool,
    ) -> None:
        made = [x for x in results if x != Const(None)]
        reached = {x for x, is_so in zip(made, known.reached, strict=False) if is_so and isinstance(x, str)}
        self.reached = Reached(body, reached, activity)
        given = [x for x, is_so in zip(arguments, known.wild, strict=False) if is_so]
        self.wild = Wild(body, activity.classes, effects, given, checked)

    def hide(self, s: Let, k: int) -> bool:
        """Whether a cotangent of 0 hides the k-th partial of an operation."""
        return not self.reached.has(s, s.target) and self.wild.partial(s, k)

    def known_of(self, s: Call) -> Known:
        """What is known to the function that a Call calls."""
        inputs = [x for a in s.args for x in leaves(a)]
        return Known(tuple(self.reached.has(s, t) for t in s.targets), tuple(map(self.wild.has, inputs)))


class Reached:
    """The operations whose result always has a contribution when the reverse sweep comes to them.

    From the end of the function to its start, with the set of scalars that something contributes to in any case:

        y = op(a, b)    if y is one of them, a and b are; y is not, before
        if              what is so on both sides
        a loop          what is so at its end, and again at the end of each of its rounds

    What an array's shadow holds, and what a call contributes, is not known.
    """

    def __init__(self, body: list[Any], results: set[str], activity: Activity) -> None:
        self.activity = activity
        self.found: dict[Any, set[str]] = {}  # statement -> those of its results that have a contribution
        self.block(body, set(results))

    def has(self, s: Let | Call, x: str) -> bool:
        """Whether the result x of a statement always has a contribution."""
        return x in self.found.get(s, ())

    def block(self, body: list[Any], after: set[str]) -> set[str]:
        """What holds before the block, from what holds after it."""
        for s in reversed(body):
            after = self.statement(s, after)
        return after

    def statement(self, s: Any, after: set[str]) -> set[str]:
        if isinstance(s, If):
            return self.block(s.then, after) & self.block(s.orelse, after)
        if isinstance(s, (For, While)):
            return self.loop(s, after)
        if isinstance(s, Store):
            return after
        made = set(writes(s))
        self.found[s] = made & after
        before = after - made
        if isinstance(s, Let) and s.op in ("prim", "copy") and s.target in after:
            before |= set(contributing(s, self.activity))
        return before

    def loop(self, s: For | While, after: set[str]) -> set[str]:
        head = after
        while True:
            new = after & self.block(s.body, head)
            if isinstance(s, While):
                new = self.block(s.test_block, new)
            if new == head:
                return head
            head = new


def contributing(s: Let, activity: Activity) -> list[str]:
    """The scalars that a contribution to the result of an operation gives one to."""
    found = []
    for k, x in enumerate(s.args):
        if activity.is_active(x) and not (s.op == "prim" and is_constantly_zero(s, k)):
            found.append(x)
    return found


def is_constantly_zero(s: Let, k: int) -> bool:
    """Whether the k-th partial is 0 wherever it is computed."""
    line = s.info[0]
    return line.partials[k] == "0.0" or (line.name == "pow" and k == 0 and s.args[1] == Const(0))


#: Lines whose partials are finite wherever their arguments are, and whose values are (overflow aside).
_TAME = {"add", "sub", "mul", "neg", "pos", "abs", "sin", "cos", "tanh", "atan", "asinh", "erf", "erfc", "logaddexp"}
_TAME |= {"floor", "ceil", "trunc", "round", "sign", "maximum", "minimum", "copysign"}


class Wild:
    """Which variables may be infinite or NaN although all arguments of the function are finite.

    `checked` says that numbers are not divided by zero: an error comes first.
    """

    def __init__(self, body: list[Any], classes: Classes, effects: Any, given: Iterable[str], checked: bool) -> None:
        self.classes, self.effects, self.checked = classes, effects, checked
        self.found: set[str] = set()
        for x in given:
            self.add(x)
        count = -1
        while count < len(self.found):
            count = len(self.found)
            for s in walk(body):
                self.statement(s)

    def has(self, x: Any) -> bool:
        """Whether an atom may be."""
        if isinstance(x, Const):
            return isinstance(x.value, float) and not math.isfinite(x.value)
        name = atom_name(x)
        return name is not None and (name in self.found or self.classes.find(name) in self.found)

    def statement(self, s: Any) -> None:
        if isinstance(s, Let):
            tame = s.op in ("copy", "load", "view", "alloc", "plain", "array") or (s.op == "prim" and self.is_tame(s))
            if not tame or any(map(self.has, s.args)):
                self.add(s.target)
        elif isinstance(s, Store):
            if self.has(s.value):
                self.add(s.array)
        elif isinstance(s, Call):
            for x in [*s.targets, *changed(s, self.effects)]:
                self.add(x)

    def add(self, x: str) -> None:
        self.found |= {x, self.classes.find(x)}

    def partial(self, s: Let, k: int) -> bool:
        """Whether the k-th partial of an operation may be infinite or NaN."""
        if s.info[0].partials[k] in ("1.0", "-1.0", "0.0"):
            return False
        return not self.is_tame(s) or any(
            self.has(x) for j, x in enumerate(s.args) if j != k or s.info[0].name != "mul"
        )

    def is_tame(self, s: Let) -> bool:
        """Whether an operation is finite, with its partials, wherever its arguments are."""
        line = s.info[0]
        if line.name == "pow" and isinstance(s.args[1], Const) and isinstance(s.args[1].value, int):
            return s.args[1].value >= 0
        if line.name == "div":
            divisor, elements = s.args[1], isinstance(s.info[1].info, OfElements)
            return bool(divisor.value) if isinstance(divisor, Const) else self.checked and not elements
        return line.name in _TAME
