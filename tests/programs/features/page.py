"""docs/numba_features.md: what became of all features, as tables, and read from them."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from programs.features import FEATURES
from programs.features.checking import NOT_NUMBA, RIGHT

__all__ = ["PAGE", "printed", "read"]

PAGE = Path(__file__).parents[3] / "docs" / "numba_features.md"

_HEAD = """\
# Which features of numba have gradients

This page goes through what numba documents as supported, feature by feature. It says for each whether its gradient is
right or refused, and what to write instead. Of {compiled} features that numba compiles, {right} are right, and
{refused} are refused.

<div class="filter-tables"></div>

"Right" means that the value and the gradient agree with numba's value, with finite differences, and with the tape where
it supports the feature. For a feature without derivatives, such as a string, it means that the rest of the function has
its gradient. "Not numba" means that numba itself refuses the feature. What is not listed is untested.

`tests/programs/features` has a function of about three lines for each feature. `python -m programs.features`, in the
folder `tests`, writes this page. [What numba code can be differentiated](numba/supported.md) is the guide.
"""

_TABLE = ["| feature | status | what to write instead |", "| --- | --- | --- |"]
_WHY = " *Reason:* "


def printed(found: dict[tuple[str, str], str]) -> str:
    """Return the page; `found` says what became of a feature, by its heading and its name."""
    compiled = [x for x in found.values() if not x.startswith(NOT_NUMBA)]
    right = compiled.count(RIGHT)
    parts = [_HEAD.format(compiled=len(compiled), right=right, refused=len(compiled) - right)]
    for heading, of in groupby(FEATURES, key=lambda f: f.heading):
        rows = [_row(f.name, found[heading, f.name]) for f in of]
        parts.append("\n".join([f"## {heading}\n", *_TABLE, *rows]) + "\n")
    return "\n".join(parts)


def _row(name: str, became: str) -> str:
    """A row of a table: of what is refused, the cure comes first, and then the reason."""
    why, write, cure = became.rpartition(" Write ")
    if became == RIGHT or became.startswith(NOT_NUMBA):
        cells = became, ""
    else:
        cells = "refused", f"Write {cure}{_WHY}{why}" if write else became
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in (f"`{name}`", *cells)) + " |"


def read(text: str) -> dict[tuple[str, str], str]:
    """Parse the page: the outcome that it lists for each feature."""
    made = {}
    for section in text.split("\n## ")[1:]:
        heading, _, rest = section.partition("\n")
        for row in re.findall(r"(?m)^\| `.*$", rest):
            name, status, instead = (
                cell.replace(r"\|", "|").strip() for cell in re.split(r"(?<!\\)\|", row.strip("|"))
            )
            cure, mark, why = instead.partition(_WHY)
            refused = f"{why} {cure}" if mark else instead
            made[heading, name.strip("`")] = refused if status == "refused" else status
    return made
