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

from collections.abc import Mapping

from numba.core import ir

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.frontend.typing.one_op_per_line import Listing
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf.rewrite import with_blocks

__all__ = ["drop_pruned"]


def drop_pruned(
    body: list[anf.Stmt], listing: Listing, func_ir: ir.FunctionIR, renamed: Mapping[anf.Stmt | Lowered, anf.Stmt]
) -> list[anf.Stmt]:
    """Return the block without dead code: branch sides and `while` bodies that are missing from numba's IR.

    `renamed` are the statements of the listing that read or assign other names.
    """
    lines = {inst.loc.line for block in func_ir.blocks.values() for inst in block.body}
    live = {s for line, (s, _) in listing.places.items() if line in lines}

    def left(block: list[anf.Stmt]) -> tuple[list[anf.Stmt], bool]:
        """Return the remaining statements of a block, and whether all are dead."""
        made: list[anf.Stmt] = []
        alive = False
        for s in block:
            inner = list(map(left, anf.blocks(s)))
            kept, dead = [b for b, _ in inner], [is_dead for _, is_dead in inner]
            match s, dead:
                case anf.If(), [True, False]:
                    made += kept[1]
                    alive |= bool(kept[1])
                case anf.If(), [False, True]:
                    made += kept[0]
                    alive |= bool(kept[0])
                case anf.While(), [_, True]:
                    made += kept[0]
                    alive |= bool(kept[0]) and not dead[0]
                case _:
                    new = renamed.get(s, s)
                    made.append(with_blocks(new, kept) if kept else new)
                    alive |= s in live or any(b and not is_dead for b, is_dead in inner)
        return made, bool(made) and not alive

    return left(body)[0]
