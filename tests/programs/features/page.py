"""docs/numba_features.md: what became of all features, as a page, and read from it."""

from __future__ import annotations

import re
import textwrap
from itertools import groupby
from pathlib import Path

from programs.features import FEATURES
from programs.features.checking import NOT_NUMBA, RIGHT

__all__ = ["PAGE", "printed", "read"]

PAGE = Path(__file__).parents[3] / "docs" / "numba_features.md"

_HEAD = """\
# Numba's features

What [numba](numba.md) documents as supported, feature by feature: which of it has a compiled gradient, and what is
refused, with the reason that the error gives. For each there is a function of about three lines in
`tests/programs/features`. "Right" means that value and gradient agree with numba's own value, with differences, and
with the tape where it knows the feature. What is discrete is right if the rest of the function has its gradient.

This page is generated: `python -m programs.features`, in the folder `tests`. Anything that is not listed is untested.
"""


def printed(found: dict[tuple[str, str], str]) -> str:
    """The page; `found` says what became of a feature, by its heading and its name."""
    rows = ["| heading | compiled by numba | right | refused |", "| --- | --- | --- | --- |"]
    sections = []
    for heading, of in groupby(FEATURES, key=lambda f: f.heading):
        by = {f.name: found[heading, f.name] for f in of}
        rows.append(_row(f"[{heading}](#{_anchor(heading)})", list(by.values())))
        sections.append(_section(heading, by))
    rows.append(_row("all", list(found.values())))
    return "\n".join([_HEAD, "\n".join(rows) + "\n", *sections])


def _row(title: str, of: list[str]) -> str:
    compiled = [x for x in of if not x.startswith(NOT_NUMBA)]
    right = compiled.count(RIGHT)
    return f"| {title} | {len(compiled)} | {right} | {len(compiled) - right} |"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _section(heading: str, by: dict[str, str]) -> str:
    parts = [f"## {heading}"]
    right = [f"`{name}`" for name, x in by.items() if x == RIGHT]
    if right:
        parts.append(_wrapped(f"Right: {'; '.join(right)}."))
    refused = [_wrapped(f"- `{name}`: {x}", "  ") for name, x in by.items() if x != RIGHT]
    if refused:
        parts.append("\n".join(refused))
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def read(text: str) -> dict[tuple[str, str], str]:
    """Parse the page: the outcome that it lists for each feature."""
    made = {}
    for section in text.split("\n## ")[1:]:
        heading, _, rest = section.partition("\n")
        for block in rest.strip().split("\n\n"):
            if block.startswith("Right: "):
                names = re.findall(r"`([^`]*)`", re.sub(r"\s+", " ", block))
                made.update({(heading, name): RIGHT for name in names})
            else:
                for item in re.split(r"(?m)^- ", block)[1:]:
                    name, _, why = re.sub(r"\s+", " ", item).strip()[1:].partition("`: ")
                    made[heading, name] = why
    return made
