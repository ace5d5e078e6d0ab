r"""The evaluation of cells and of delimited control.

In this evaluator, the continuation of a term up to reset is the list of rules that wait above reset's own rule. So

    reset(e)            evaluates e while reset's rule waits
    shift k : t in e    removes all rules above reset's from the list, stores them in k, and evaluates e
    k v                 adds a new reset's rule and k's rules to the list, and resumes the topmost one with v

A waiting rule can be resumed only once, so continuations are one-shot: a second call is an error. The transformations
of the paper call each continuation once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stages.calculus.continuations.terms import Assign, Gradient, Read, Ref, Reset, Shift
from stages.calculus.language.errors import CalculusError
from stages.calculus.language.values import Cells, Evaluator, Jump, Rule, Tail

__all__ = ["RULES", "Continuation", "ControlError"]


class ControlError(CalculusError):
    """A shift outside of reset, or a second call of a continuation."""


class Continuation:
    """The captured continuation up to a reset, which `machine.enter` resumes."""

    made_by = ""

    def __init__(self, rules: list[Rule]) -> None:
        self.rules: list[Rule] | None = rules

    def entered(self, value: Any) -> Jump:
        """k value"""

        def go(waiting: list[Rule]) -> Any:
            """Put the captured rules back on the list. ControlError for a second call."""
            if self.rules is None:
                raise ControlError(
                    "a continuation is one-shot, and was called a second time: run the whole reset again"
                )
            delimiter = _delimiter()
            next(delimiter)
            waiting += [delimiter, *self.rules]
            self.rules = None
            return value

        return Jump(go)


def _delimiter() -> Rule:
    """The rule of a reset, while its term is evaluated."""
    return (yield)


def _is_reset(rule: Rule) -> bool:
    return getattr(rule, "gi_code", None) in (_delimiter.__code__, _reset.__code__)


def _ref(machine: Evaluator, term: Ref, environment: Mapping[str, Any]) -> Rule:
    return Cells([(yield term.content, environment)])


def _read(machine: Evaluator, term: Read, environment: Mapping[str, Any]) -> Rule:
    return (yield term.cell, environment).cells[0]


def _assign(machine: Evaluator, term: Assign, environment: Mapping[str, Any]) -> Rule:
    cell = yield term.cell, environment
    cell.cells[0] = yield term.content, environment
    return ()


def _shift(machine: Evaluator, term: Shift, environment: Mapping[str, Any]) -> Rule:
    yield from ()

    def go(waiting: list[Rule]) -> Any:
        """Take the rules above the nearest reset off the list. ControlError without a reset."""
        at = next((k for k in range(len(waiting) - 1, -1, -1) if _is_reset(waiting[k])), None)
        if at is None:
            raise ControlError(
                "a shift outside of reset: write reset(..) around the part that its continuation should be"
            )
        taken = waiting[at + 1 :]
        del waiting[at + 1 :]
        return Tail(term.body, {**environment, term.name: Continuation(taken)})

    return Jump(go)


def _reset(machine: Evaluator, term: Reset, environment: Mapping[str, Any]) -> Rule:
    return (yield term.body, environment)


def _gradient(machine: Evaluator, term: Gradient, environment: Mapping[str, Any]) -> Rule:
    yield from ()
    raise CalculusError("grad(f, x) has a value in a transformed program only: transform it (--to tagged)")


#: The rules by class of terms, for evaluate.py.
RULES: Mapping[type, Callable[..., Rule]] = {
    Ref: _ref,
    Read: _read,
    Assign: _assign,
    Shift: _shift,
    Reset: _reset,
    Gradient: _gradient,
}
