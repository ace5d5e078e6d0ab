"""Dead branch removal: A-normal form without the sides of branches that numba removed before type inference.

    n = 3                   n = 3
    if n == 2:              y = x * x
        y = (x, x)
    else:
        y = x * x

Numba removes the side of a branch whose condition is constant, and gives no types to what stands there. So no later
pass may look at it: here y is a float. The lines that are missing in numba's IR tell which sides it has removed.
"""

from __future__ import annotations

from typing import Any

from dualrev.compiler.frontend.typing.one_op_per_line import Listing
from dualrev.compiler.ir.anf.operations import If, While, blocks, walk

__all__ = ["drop_pruned"]


def drop_pruned(body: list[Any], listing: Listing, func_ir: Any) -> None:
    """Remove dead code: branch sides and `while` bodies that are missing from numba's IR."""
    lines = {inst.loc.line for block in func_ir.blocks.values() for inst in block.body}
    live = {id(s) for line, (s, _) in listing.places.items() if line in lines}
    _drop(body, live)


def _drop(body: list[Any], live: set[int]) -> None:
    made: list[Any] = []
    for s in body:
        for inner in blocks(s):
            _drop(inner, live)
        match s:
            case If() if _is_dead(s.then, live) and not _is_dead(s.orelse, live):
                made += s.orelse
            case If() if _is_dead(s.orelse, live) and not _is_dead(s.then, live):
                made += s.then
            case While() if _is_dead(s.body, live):
                made += s.test_block
            case _:
                made.append(s)
    body[:] = made


def _is_dead(body: list[Any], live: set[int]) -> bool:
    return bool(body) and not any(id(s) in live for s in walk(body))
