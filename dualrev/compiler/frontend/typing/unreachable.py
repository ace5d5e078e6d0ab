"""Unreachable code elimination: numba has left these statements out, so their names have no types.

An example: the statements below a condition that Python or numba folds, as `if 3 % 2 != 1`. They are removed before any
pass looks up the type of a name. A variable local to an `objmode` block has no type in any case.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf.rewrite import rewritten
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["is_unreached", "without_unreached"]


def without_unreached(body: list[anf.Stmt], of: Mapping[str, NumbaType]) -> list[anf.Stmt]:
    """Return a block without unreachable statements, nested ones included; `of` are the names that have a type."""
    return rewritten([s for s in body if not is_unreached(s, of)], lambda s: [] if is_unreached(s, of) else [s])


def is_unreached(s: anf.Stmt, of: Mapping[str, NumbaType]) -> bool:
    """Whether a statement is unreachable: it has a name without a type."""
    names = {x for x in [*anf.reads(s), *anf.ends(s), *anf.writes(s)] if isinstance(x, str)} - of.keys()
    return not names <= _stay_inside(s) if names and isinstance(s, anf.Opaque) else bool(names)


def _stay_inside(s: anf.Opaque) -> set[str]:
    """Return the variables local to an `objmode` block: it assigns them and does not hand them on."""
    inside = (x for block in s.code if isinstance(block, ast.With) for x in ast.walk(block))
    names = (x for x in inside if isinstance(x, ast.Name))
    return {x.id for x in names if isinstance(getattr(x, "ctx", None), ast.Store)} - {*s.targets}
