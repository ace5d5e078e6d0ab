"""Lists of numbers whose length is known when they are made, in expanded core: arrays that only do what lists do.

A list is what `[x, y]` or a comprehension makes. It may be indexed, changed, measured, gone over, summed, and made an
array of; its indices are checked, as numba checks those of lists.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any

from numba.core import types

from dualrev.compiler.core.lowered import Const, Effect, For, If, Let, Slice, Store, reads, walk, writes
from dualrev.compiler.expansion.vectorized import Vectorized

__all__ = ["Lists"]

_ALLOWED = {"len", "sum", "np.array", "np.asarray"}


class Lists(Vectorized):
    """Lists of numbers."""

    def take_lists(self) -> None:
        """Give the lists the types of arrays."""
        self.made = {s.target for s in walk(self.lowered.body) if isinstance(s, Let) and s.op == "list"}
        numbers = (types.Float, types.Integer, types.Boolean)
        self.lists = {
            x
            for x, kind in self.of.items()
            if isinstance(kind, (types.List, types.ListType))
            and isinstance(kind.dtype, numbers)
            and x not in self.lowered.parameters
        }
        for x in self.lists:
            self.of[x] = types.Array(self.of[x].dtype, 1, "C")
        if self.lowered.result in self.lists:
            self.refuse(self.line_of(str(self.lowered.result)), "a list that is returned", _WHY, _INSTEAD)
        lengths = {s.target: s.args[0] for s in walk(self.lowered.body) if isinstance(s, Let) and _is_length(s)}
        once = {x for x, count in Counter(x for s in walk(self.lowered.body) for x in writes(s)).items() if count == 1}
        self.within = {  # the lists and places of `for k in range(len(ys))`, where nothing else is assigned to them
            (lengths[s.stop], s.target)
            for s in walk(self.lowered.body)
            if isinstance(s, For) and (s.start, s.step) == (Const(0), Const(1)) and self.names.is_temporary(str(s.stop))
            if s.stop in lengths and {lengths[s.stop], s.stop, s.target} <= once
        }

    def check_lists(self, s: Any) -> None:
        """Refuse what a list does otherwise than an array, and write what raises where an index is out of range."""
        if not self.lists or not any(x in self.lists for x in reads(s)):
            return
        if isinstance(s, Store) and len(s.index) == 1 and s.value not in self.lists:
            if s.array not in self.made:
                self.check_place(s.array, s.index[0], "setitem", s.line)
            return
        if isinstance(s, Let):
            if s.op in ("copy", "list") or (s.op == "func" and s.info[0] in _ALLOWED):
                return
            if s.op == "getitem" and (s.args[0] in self.made or not isinstance(s.info[0], Slice)):
                if s.args[0] not in self.made and (s.args[0], s.info[0]) not in self.within:
                    self.check_place(s.args[0], s.info[0], "getitem", s.line)
                return
            if s.op == "plain" and self.is_harmless(s.info):
                return
        grows = isinstance(s, Let) and s.op == "method"
        self.refuse(s.line, "a list that grows or changes" if grows else "this use of a list", _WHY, _INSTEAD)

    def is_harmless(self, tree: ast.expr) -> bool:
        """Whether a condition only asks for lengths of lists."""
        inside = [x for node in ast.walk(tree) if _asks_length(node) for x in ast.walk(node)]
        names = [x for x in ast.walk(tree) if isinstance(x, ast.Name) and x.id in self.lists]
        return all(any(x is y for y in inside) for x in names)

    def check_place(self, array: str, place: Any, what: str, line: int) -> None:
        test = self.plain("k >= a.size or k < -a.size", line, types.boolean, k=place, a=array)
        self.out.append(If(test, [Effect(f'raise IndexError("{what} out of range")', (), line, True)], [], line))

    def _list(self, s: Let, kind: Any) -> None:
        """[x, y], or room for a comprehension."""
        items = s.info == "items"
        (size,) = (Const(len(s.args)),) if items else s.args
        text = str(size.value) if isinstance(size, Const) else size
        self.empty(s.target, f"({text},)", () if isinstance(size, Const) else (size,), s.line)
        for k, x in enumerate(s.args if items else ()):
            self.out.append(Store(s.target, (Const(k),), x, s.line))


def _is_length(s: Let) -> bool:
    return s.op == "func" and s.info[0] == "len"


def _asks_length(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"


_WHY = "of lists, only those of numbers are known that are indexed, gone over, summed or made arrays of"
_INSTEAD = "an array (np.empty, np.array)"
