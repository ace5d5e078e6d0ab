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
right or refused. Of {compiled} features that numba compiles, {right} are right, and
{refused} are refused.

<div class="filter-tables"></div>

"Right" means that the value and the gradient agree with numba's value, with finite differences, and with the tape where
it supports the feature. For a feature without derivatives, such as a string, it means that the rest of the function has
its gradient. "Not numba" means that numba itself refuses the feature. What is not listed is untested.

`tests/programs/features` has a function of about three lines for each feature. `python -m programs.features`, in the
folder `tests`, writes this page. [What numba code can be differentiated](numba/supported.md) is the guide.
"""

_TABLE = ["| feature | status |", "| --- | --- |"]
_REFUSED = "What is refused, and what to write instead"
_REFUSED_TABLE = ["| feature | of | what to write instead |", "| --- | --- | --- |"]
_WHY = " *Reason:* "


def printed(found: dict[tuple[str, str], str]) -> str:
    """Return the page; `found` says what became of a feature, by its heading and its name."""
    compiled = {key: x for key, x in found.items() if not x.startswith(NOT_NUMBA)}
    refused = {key: x for key, x in compiled.items() if x != RIGHT}
    parts = [_HEAD.format(compiled=len(compiled), right=len(compiled) - len(refused), refused=len(refused))]
    rows = [_row(f"`{name}`", heading, _cure(became)) for (heading, name), became in refused.items()]
    parts.append("\n".join([f"## {_REFUSED}\n", *_REFUSED_TABLE, *rows]) + "\n")
    for heading, of in groupby(FEATURES, key=lambda f: f.heading):
        names = [(f"`{f.name}`", (heading, f.name)) for f in of]
        rows = [_row(name, "refused" if key in refused else found[key]) for name, key in names]
        parts.append("\n".join([f"## {heading}\n", *_TABLE, *rows]) + "\n")
    return "\n".join(parts)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _cure(became: str) -> str:
    """What to write instead of a refused feature comes first, and then the reason."""
    why, write, cure = became.rpartition(" Write ")
    return f"Write {cure}{_WHY}{why}" if write else became


def read(text: str) -> dict[tuple[str, str], str]:
    """Parse the page: the outcome that it lists for each feature."""
    made, refused = {}, {}
    for section in text.split("\n## ")[1:]:
        heading, _, rest = section.partition("\n")
        for row in re.findall(r"(?m)^\| `.*$", rest):
            name, *cells = (cell.replace(r"\|", "|").strip() for cell in re.split(r"(?<!\\)\|", row.strip("|")))
            name = name.strip("`")
            if heading == _REFUSED:
                cure, mark, why = cells[1].partition(_WHY)
                refused[cells[0], name] = f"{why} {cure}" if mark else cells[1]
            else:
                made[heading, name] = refused.get((heading, name), cells[0])
    return made
