"""A terminal table that never breaks a column: columns that do not fit side by side continue in a table below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

__all__ = ["Columns", "empty_table"]


def empty_table(title: str = "") -> Table:
    """A table in the comparison's style, without columns."""
    return Table(title=title or None, title_justify="left", title_style="bold", header_style="", box=box.SIMPLE_HEAD)


class Columns:
    """Rows of cells under headings, in as many tables as the width requires; each repeats the first column.

    `left` lists the headings of text columns, which are aligned left; numbers are aligned right.
    """

    def __init__(self, title: str, headings: Sequence[str], left: Sequence[str] = ()) -> None:
        self.title, self.headings, self.left = title, headings, left
        self.rows: list[list[Any]] = []

    def add_row(self, *cells: Any) -> None:
        """Add a row with a cell for each heading; missing cells are empty."""
        self.rows.append([*cells, *[""] * (len(self.headings) - len(cells))])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        after = list(range(1, len(self.headings)))
        title = self.title
        while after:
            fits = 1
            while fits < len(after) and self._width(console, options, after[: fits + 1]) <= options.max_width:
                fits += 1
            yield self._table(title, after[:fits])
            after, title = after[fits:], ""

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        whole = self._width(console, options, range(1, len(self.headings)))
        return Measurement(min(whole, options.max_width), min(whole, options.max_width))

    def _width(self, console: Console, options: ConsoleOptions, columns: Sequence[int]) -> int:
        unlimited = options.update(width=10**6, max_width=10**6)
        return Measurement.get(console, unlimited, self._table("", columns)).maximum

    def _table(self, title: str, columns: Sequence[int]) -> Table:
        made = empty_table(title)
        made.add_column(self.headings[0], style="bold", no_wrap=True)
        for k in columns:
            heading = self.headings[k]
            made.add_column(heading, justify="left" if heading in self.left else "right", no_wrap=True)
        for row in self.rows:
            made.add_row(*[_cell(row[k]) for k in (0, *columns)])
        return made


def _cell(x: Any) -> Text:
    return x if isinstance(x, Text) else Text(str(x))
