"""What can be wrong with a program of the calculus, and where."""

from __future__ import annotations

from stages.calculus.language.terms import Term

__all__ = ["CalculusError", "IllTyped", "NotTranslated", "StepLimit", "Unreadable"]


class CalculusError(Exception):
    """Anything below."""


class IllTyped(CalculusError):  # noqa: N818 - the field's word
    """A term that no typing rule covers.

    `term` is the part that is wrong, `reason` says why. `str` shows the part in the whole, marked with carets, once
    the outermost caller of the type checker has added the place.
    """

    def __init__(self, term: Term, reason: str, place: str = "") -> None:
        super().__init__(reason)
        self.term, self.reason, self.place = term, reason, place

    def __str__(self) -> str:
        return f"{self.reason}\n{self.place}" if self.place else self.reason


class Unreadable(CalculusError):  # noqa: N818 - as IllTyped
    """Text that is no program: with line, column, what stands there and what was expected."""


class NotTranslated(CalculusError):  # noqa: N818 - as IllTyped
    """A Python function outside the subset: with file, line, the construct, and what to write instead."""


class StepLimit(CalculusError):  # noqa: N818 - as IllTyped
    """The evaluator has made as many steps as it may."""
