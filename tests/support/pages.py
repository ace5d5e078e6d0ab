"""Tables in pages of Markdown, which the tests compare with what the code gives."""

from __future__ import annotations

import re
from pathlib import Path


def table(page: Path, mark: str) -> list[list[str]]:
    """The rows of the table below a comment that begins with the mark, as lists of cells."""
    text = page.read_text(encoding="utf-8")
    lines = text[text.index(f"<!-- {mark}") :].splitlines()[1:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("*`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows[2:]
