"""The errors of the calculus: ill-typed, unreadable or untranslated programs, too many steps, and unrelated values."""

from __future__ import annotations

from stages.calculus.language.terms import Term

__all__ = ["CalculusError", "IllTyped", "NotTranslated", "StepLimit", "Unreadable", "Unrelated"]


class CalculusError(Exception):
    """The base class of the errors below."""


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
    """Text that is not a program: with line, column, the text there, and what was expected."""


class NotTranslated(CalculusError):  # noqa: N818 - as IllTyped
    """A Python function outside the subset: with file, line, the construct, and what to write instead."""


class StepLimit(CalculusError):  # noqa: N818 - as IllTyped
    """The evaluator has reached its limit of steps."""


class Unrelated(CalculusError):  # noqa: N818 - as IllTyped
    """A term and its translation are not related (deltas/relation.py)."""
