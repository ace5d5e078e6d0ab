"""Types of atoms and trees of core, and predicates on them; those of numba's types are in types/predicates.py."""

from __future__ import annotations

from typing import TypeGuard

import numba
from numba.core import types

from dualrev.compiler.ir.core.atoms import Atom, Global, Node, Tree, Var
from dualrev.compiler.types import predicates
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["is_array", "is_real", "is_real_array", "kind_of", "type_of"]


def kind_of(x: Atom) -> NumbaType:
    """Numba type of an atom; None for a constant or a function."""
    return x.type if isinstance(x, (Var, Global)) else None


def is_real(x: object) -> TypeGuard[Var]:
    """Whether an atom is a real scalar variable."""
    return isinstance(x, Var) and isinstance(x.type, types.Float)  # passes ask it too often for one more call


def is_array(x: object) -> bool:
    """Whether an atom is an array."""
    return isinstance(x, (Var, Global)) and isinstance(x.type, types.Array)


def is_real_array(x: Atom) -> bool:
    """Whether an atom is an array of real numbers."""
    return predicates.is_real_array(kind_of(x))


def type_of(tree: Tree) -> NumbaType:
    """Numba type of a tree."""
    if isinstance(tree, Node) and tree.kind is not None:
        return tree.kind
    if isinstance(tree, Node):
        return types.BaseTuple.from_types(list(map(type_of, tree.parts)), tree.cls.value if tree.cls else None)
    return types.unliteral(tree.type if isinstance(tree, Var) else numba.typeof(tree.value))
