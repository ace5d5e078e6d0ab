"""Run of an answer on its cases: the first case with a fault, an exception with its line, or too many operations.

Python's instructions in the student's files are counted, so an endless loop ends, and the message names the line that
was running. Code of installed packages is not counted.
"""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from dualrev.diagnostics.user_instructions import each_user_instruction
from dualrev.diagnostics.user_lines import is_of_user, line_of
from stages.exercises.exercise import Case, Exercise, MisfitError, Outcome, same, shown

__all__ = ["LIMIT", "Result", "TooLong", "examine", "explain", "limited"]

#: The most instructions of Python that one case may execute in a student's code.
LIMIT = 3_000_000


class TooLong(BaseException):
    """The answer has exceeded the limit; no subclass of Exception, so that an answer does not catch it."""


@dataclass(frozen=True)
class Result:
    """The result of an exercise.

    Attributes:
        exercise: the exercise
        state: "right", "wrong", "error", or "missing": no function, or one that is not written yet
        details: lines of text, each with its label
        passed: the number of cases without a fault
        outcome: the last outcome, which has the counts of the largest input
    """

    exercise: Exercise
    state: str
    details: tuple[tuple[str, str], ...] = ()
    passed: int = 0
    outcome: Outcome | None = None


@contextlib.contextmanager
def limited(limit: int = LIMIT) -> Iterator[None]:
    """Raise TooLong when the user's code has executed this many instructions of Python.

    >>> def endless():
    ...     while True:
    ...         pass
    >>> with limited(1000):
    ...     endless()
    Traceback (most recent call last):
    ...
    stages.exercises.running.TooLong: more than 1,000 operations
    """
    left = limit

    def count(_: FrameType) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise TooLong(f"more than {limit:,} operations")

    with each_user_instruction(count):
        yield


def examine(exercise: Exercise, answer: Callable[..., Any]) -> Result:
    """Run an answer on the cases, from the smallest on, until one shows a fault."""
    outcome: Outcome | None = None
    hint = ("hint", exercise.hint)
    for k, one in enumerate(exercise.cases):
        try:
            with limited():
                outcome = one.run(answer)
        except NotImplementedError as error:
            return Result(exercise, "missing", (("", _unwritten(error, exercise.name)),))
        except MisfitError as error:
            return Result(exercise, "wrong", (("input", one.text), ("why", str(error)), hint), k)
        except (Exception, TooLong) as error:
            return Result(exercise, "error", (("input", one.text), *explain(error), hint), k)
        details = _faults(exercise, one, outcome)
        if details:
            return Result(exercise, "wrong", details, k, outcome)
    return Result(exercise, "right", (), len(exercise.cases), outcome)


def _unwritten(error: NotImplementedError, name: str) -> str:
    """Return which function is not written yet: the exercise's own, or one that it calls."""
    found = traceback.extract_tb(error.__traceback__)[-1].name
    return "not written yet" if found == name else f"it calls {found}, which is not written yet"


def _faults(exercise: Exercise, one: Case, outcome: Outcome) -> tuple[tuple[str, str], ...]:
    """Return the faults of an outcome; an empty tuple if it is right."""
    hint = ("hint", exercise.hint)
    if not same(outcome.found, outcome.expected, exercise.tolerance):
        found, expected = shown(outcome.found), shown(outcome.expected)
        kind = type(outcome.found).__name__
        sequence = isinstance(outcome.expected, (list, tuple)) and kind not in ("list", "tuple", "ndarray")
        why = (
            (("why", f"expected a {type(outcome.expected).__name__}, got a value of type {kind}"),) if sequence else ()
        )
        return ("input", one.text), ("found", found), ("expected", expected), *why, hint
    if outcome.fault:
        return ("input", one.text), ("why", outcome.fault), hint
    if outcome.count is not None and outcome.bound is not None and outcome.count > outcome.bound:
        counts = f"{exercise.counted}: {outcome.count:,}, bound {outcome.bound:,}. The value is right."
        return ("input", one.text), ("count", counts), hint
    return ()


def explain(error: BaseException) -> tuple[tuple[str, str], ...]:
    """Return the line of the student's code at which an error was raised, and the error."""
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if is_of_user(frame.filename)]
    line = (("line", line_of(users[-1].filename, users[-1].lineno or 0)),) if users else ()
    if isinstance(error, TooLong):
        why = f"it executed {error} and was stopped: a loop that does not end, or too much work"
    elif isinstance(error, RecursionError):
        why = "RecursionError: the calls are nested too deeply; use a loop"
    elif isinstance(error, SyntaxError):
        line = (("line", f"{error.filename}:{error.lineno}: `{(error.text or '').strip()}`"),)
        why = f"{type(error).__name__}: {error.msg}"
    else:
        why = f"{type(error).__name__}: {error}"
        if not users:
            why = f"the check cannot use the result: {why}"
    return *line, ("why", why)
