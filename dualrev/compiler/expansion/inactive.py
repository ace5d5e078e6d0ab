"""Functions of numpy without derivative, in expanded core: as they are written."""

from __future__ import annotations

from typing import Any

from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import Let, Node, leaves
from dualrev.compiler.expansion.gathering import Gathering
from dualrev.compiler.expansion.statements import is_array, is_real, is_real_array

__all__ = ["Inactive"]


class Inactive(Gathering):
    """Functions without derivative."""

    def inactive(self, s: Let, kind: Any) -> None:
        """target = the function as it is written; a tuple of results part by part."""
        for x in s.args:
            self.materialise(x)
        target = self.tree(s.target)
        if not isinstance(target, Node):
            self.alloc(s) if is_array(kind) else self.as_written(s)
            return
        made = syntax.expression(s, lambda x: self.syntax_tree(self.tree(x)))
        names = tuple(dict.fromkeys(x for a in s.args for x in leaves(self.tree(a)) if isinstance(x, str)))
        fresh = [self.temp(part) for part in parts_of(kind)]  # a part of the target may be an argument, too
        for k, (x, part) in enumerate(zip(fresh, parts_of(kind), strict=True)):
            item = syntax.subscript(made, (k,), syntax.number)
            self.let("alloc" if is_array(part) else "plain", names, item, s.line, target=x)
        for t, x in zip(target.parts, fresh, strict=True):
            self.let("copy", (x,), None, s.line, target=t)

    def is_inactive(self, s: Let, kind: Any) -> bool:
        """Whether its value is discrete, or is made of discrete values: of numbers, in new arrays."""
        known = all(is_array(x) or isinstance(x, (types.Number, types.Boolean)) for x in parts_of(kind))
        of_reals = any(self.has_reals(self.kind(x)) for a in s.args for x in leaves(self.tree(a)) if x is not None)
        return known and not (of_reals and any(map(self.has_reals, parts_of(kind))))

    def has_reals(self, kind: Any) -> bool:
        """Whether a value of this type may depend on what is differentiated, in a way that has a derivative."""
        if isinstance(kind, types.BaseTuple):
            return any(map(self.has_reals, kind.types))
        return is_real(kind) or is_real_array(kind) or isinstance(kind, (types.List, types.Complex))


def parts_of(kind: Any) -> list[Any]:
    """The types of the items of a tuple; a type that is none, by itself."""
    return list(kind.types) if isinstance(kind, types.BaseTuple) else [kind]
