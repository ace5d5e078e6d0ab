"""Statements that are never reached: numba has left them out, so it has no types for what they compute.

Such are those below a condition that Python or numba knows when it compiles, as `if 3 % 2 != 1`. They go before anybody
asks for the type of a name.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from dualrev.compiler.core.lowered import blocks, ends, reads, writes

__all__ = ["is_unreached", "without_unreached"]


def without_unreached(body: list[Any], of: Container[str]) -> None:
    """Remove them from a block and from those inside of it; `of` are the names that have a type."""
    body[:] = [s for s in body if not is_unreached(s, of)]
    for s in body:
        for inner in blocks(s):
            without_unreached(inner, of)


def is_unreached(s: Any, of: Container[str]) -> bool:
    """Whether a statement has a name without a type."""
    return any(isinstance(x, str) and x not in of for x in [*reads(s), *ends(s), *writes(s)])
