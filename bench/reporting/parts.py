"""The parts of a report, and how it writes numbers."""

from __future__ import annotations

import dataclasses

__all__ = ["Picture", "Section", "Table", "microseconds", "significant", "times"]


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of texts. Columns are aligned right, except those with their number in `left`."""

    heading: list[str]
    rows: list[list[str]]
    caption: str = ""
    left: tuple[int, ...] = (0,)


@dataclasses.dataclass(frozen=True)
class Picture:
    """A plot of plots.py, with a text for readers who cannot see it."""

    name: str
    alt: str


@dataclasses.dataclass
class Section:
    """A heading with texts, pictures, tables and notes below it."""

    name: str
    title: str
    text: list[str]
    pictures: list[Picture] = dataclasses.field(default_factory=list)
    tables: list[Table] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)


def significant(x: float, digits: int = 3) -> str:
    """Format a number to `digits` significant digits, without an exponent.

    >>> [significant(x) for x in (0.01234, 1.0, 56.78, 1234567.0)]
    ['0.0123', '1.00', '56.8', '1,230,000']
    """
    if x == 0.0:
        return "0"
    rounded = float(f"{x:.{digits - 1}e}")
    decimals = max(0, digits - 1 - int(f"{rounded:e}".partition("e")[2]))
    return f"{rounded:,.{decimals}f}"


def microseconds(seconds: float) -> str:
    """Format seconds as microseconds, to three digits."""
    return significant(seconds * 1e6)


def times(ratio: float) -> str:
    """Format a ratio to two digits, as "4.8x"."""
    return f"{significant(ratio, 2)}x"
