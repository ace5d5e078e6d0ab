"""Chapter 5: D3, the Cayley transform."""

from __future__ import annotations

from typing import Any

from stages.exercises.exercise import Case, Chapter, Exercise, MisfitError, Outcome, case, shown

__all__ = ["CHAPTER"]


class Row:
    """A row of a monoid: concatenation, which copies the left operand and counts the copied elements."""

    def __init__(self, elements: list[int], counts: list[int]) -> None:
        self.elements, self._counts = elements, counts

    def __add__(self, other: Row) -> Row:
        self._counts.append(len(self.elements))
        return Row(self.elements + other.elements, self._counts)

    def __len__(self) -> int:
        return len(self.elements)

    def __repr__(self) -> str:
        return f"Row({self.elements})"


def _total(parts: list[list[int]]) -> Case:
    """Return a case: the sum of rows, with its cost."""

    def run(answer) -> Outcome:
        """Add fresh rows, and count."""
        counts: list[int] = []
        found = answer([Row(part, counts) for part in parts], Row([], counts))
        if not isinstance(found, Row):
            raise MisfitError(f"expected a Row, got {shown(found)}")
        return Outcome(found.elements, [x for part in parts for x in part], sum(counts), sum(map(len, parts)))

    rows = ", ".join(f"Row({part})" for part in parts)
    return Case(f"total([{rows}], Row([]))" if len(parts) < 6 else f"total(rows, Row([])) for {len(parts)} rows", run)


def add_1(s):
    """where add_1 maps s to s + 1"""
    return s + 1


def double(s):
    """where double maps s to 2 * s"""
    return 2 * s


def _deep(side: int) -> Case:
    """Return a case: 20,000 nested tuples."""
    function: Any = add_1
    for _ in range(20_000):
        function = (function, add_1) if side else (add_1, function)
    text = "apply(f, 0), where f = add_1; then 20,000 times f = (f, add_1)" if side else ""
    text = text or "apply(f, 0), where f = add_1; then 20,000 times f = (add_1, f)"
    return Case(text, lambda answer: Outcome(answer(function, 0), 20_001))


def _update(path: list[int], c: Any, text: str = "") -> Case:
    """Return a case: z = 5.0 is added at the end of a path, and new tuples are counted."""

    def expected(path: list[int], c: Any) -> Any:
        if not path:
            return c + 5.0
        return tuple(expected(path[1:], part) if half == path[0] else part for half, part in enumerate(c))

    def run(answer) -> Outcome:
        """Update, and count the tuples of the result that are none of c."""
        found = answer(list(path), 5.0, c)
        new = {*_tuples(found)} - {*_tuples(c)}
        return Outcome(found, expected(path, c), len(new), len(path))

    return Case(text or f"update({path}, 5.0, {c})", run)


def _tuples(c: Any) -> list[int]:
    """Return the addresses of the tuples in a product."""
    return [id(c), *_tuples(c[0]), *_tuples(c[1])] if isinstance(c, tuple) and len(c) == 2 else []


_LONG: Any = 0.0
for _k in range(50):
    _LONG = (float(_k), _LONG)

CHAPTER = Chapter(
    5,
    "The Cayley transform (D3)",
    (
        Exercise(
            "total",
            [_total(parts) for parts in ([], [[1]], [[1], [2]], [[1], [2], [3]], [[1, 2], [], [3]], [[1, 2, 3]] * 50)],
            "The function of the last row is applied first. Then the left operand of each sum is one row of the list.",
            "elements copied",
        ),
        Exercise(
            "apply",
            [
                case("apply", 3, add_1, 2),
                case("apply", 2, (), 2),
                case("apply", 5, (add_1, double), 2),
                case("apply", 6, (double, add_1), 2),
                case("apply", 13, (add_1, (double, (), add_1), double), 2.5),
                _deep(0),
                _deep(1),
            ],
            "Keep a list of what is still to apply, as a stack. Take the last element: put the parts of a tuple back, "
            "and apply a function.",
        ),
        Exercise(
            "update",
            [
                _update([], 1.0),
                _update([0], (1.0, 2.0)),
                _update([1], (1.0, 2.0)),
                _update([1, 0], (1.0, (2.0, 3.0))),
                _update([0, 1], ((1.0, 2.0), (3.0, 4.0))),
                _update([1] * 50, _LONG, "update([1] * 50, 5.0, c), where c is a list of 50 nested pairs"),
            ],
            "(g v, w) for a path to the left half, (v, g w) for one to the right half: the other half is passed on.",
            "tuples built",
        ),
    ),
)
