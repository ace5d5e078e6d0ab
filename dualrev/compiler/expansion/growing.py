"""Lists of numbers that grow and shrink at their end, in expanded core: an array with room, and how much of it is used.

    ys = []             ys, n = np.empty(0), 0
    ys.append(x)        if n == ys.size: ys = a larger array with the same elements
                        ys[n] = x; n += 1
    ys.pop()            n -= 1; ys[n]
    ys[k], ys[k] = x    the same of the array, with indices from the end counted from n

So two names may not stand for one such list: which of them grew could not be seen by the other.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any

from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import Const, Effect, If, Let, Ref, Slice, Store, reads, walk
from dualrev.compiler.expansion.lists import Lists

__all__ = ["Growing"]

_METHODS = {"append": 2, "pop": 1, "clear": 1}
_WHOLE = {"sum", "np.array", "np.asarray"}
_WHY = "of lists that grow, only those of numbers are known that have one name, and grow or shrink at their end"
_INSTEAD = "an array (np.empty) and its length"


class Growing(Lists):
    """Lists with append, pop and clear."""

    def take_lists(self) -> None:
        """Find those that grow, and give each a variable for its length."""
        self.typed_lists = {x for x, kind in self.of.items() if isinstance(kind, types.ListType)}
        super().take_lists()
        self.lengths: dict[str, str] = {}
        for s in walk(self.lowered.body):
            if isinstance(s, Let) and s.op == "method" and s.args[0] in self.lists and s.info[0] in _METHODS:
                x = s.args[0]
                if x not in self.lengths:
                    self.lengths[x] = self.names.fresh("{}_n", x)
                    self.of[self.lengths[x]] = types.int64
        if not self.lengths:
            return
        uses = Counter(x for s in walk(self.lowered.body) for x in reads(s) if isinstance(x, str))
        for s in walk(self.lowered.body):
            if isinstance(s, Let) and s.op == "copy" and s.target in self.lists:
                fresh = s.args[0] in self.made and s.args[0] not in self.lengths
                used = uses[s.args[0]] - sum(isinstance(t, Store) and t.array == s.args[0] for t in self.stores())
                if (s.target in self.lengths or s.args[0] in self.lengths) and not (fresh and used == 1):
                    self.refuse(s.line, "a second name for a list that grows", _WHY, _INSTEAD)
        self.within = {(x, k) for x, k in self.within if x not in self.lengths}

    def stores(self) -> list[Any]:
        return [s for s in walk(self.lowered.body) if isinstance(s, Store)]

    def grows(self, s: Any) -> bool:
        """Write a statement that has to do with a list that grows, if it is one."""
        if isinstance(s, Let) and s.target in self.lengths:
            self.started(s)
        elif isinstance(s, Store) and s.array in self.lengths:
            self.materialise(s.value)
            self.store(Store(s.array, (self.place(s.array, s.index, "setitem", s.line),), s.value, s.line))
        elif not any(isinstance(x, str) and x in self.lengths for x in reads(s)):
            if not (isinstance(s, Let) and s.op == "getitem" and self.is_part(s)):
                return False
            self.copied_part(s, s.args[0])
        elif isinstance(s, Let):
            self.used(s)
        else:
            self.refuse(s.line, "this use of a list that grows", _WHY, _INSTEAD)
        return True

    def started(self, s: Let) -> None:
        """A list is made: what is in it now fills its array."""
        source = s.args[0] if s.args else None
        part = s.op == "getitem" and source in self.lengths and source != s.target
        if not part and (s.op not in ("copy", "getitem") or source in self.lengths or source not in self.made):
            self.refuse(s.line, "this list, which grows,", _WHY, _INSTEAD)
        self.used(s) if part else self.operation(s)
        self.plain("a.size", s.line, target=self.lengths[s.target], a=s.target)

    def used(self, s: Let) -> None:
        """An operation that reads a list that grows."""
        x = next(x for x in reads(s) if isinstance(x, str) and x in self.lengths)
        n = self.lengths[x]
        method = s.info[0] if s.op == "method" else ""
        if s.args and s.args[0] == x and _METHODS.get(method) == len(s.args) and x not in s.args[1:]:
            work = {"append": self.append_of, "pop": self.pop_of, "clear": self.clear_of}[method]
            work(s, x, n)
            return
        if s.op == "func" and s.info == ("len", ()):
            self.let("copy", (n,), None, s.line, target=s.target)
            return
        if s.op == "func" and s.info[0] in _WHOLE and s.args[0] == x and len(s.args) == 1:
            self.operation(Let(s.target, s.op, (self.filled(x, s.line),), s.info, s.line))
            return
        if s.op == "getitem" and self.is_part(s):
            self.copied_part(s, self.filled(x, s.line))
            return
        if s.op == "getitem" and not isinstance(s.info[0], Slice):
            self.operation(Let(s.target, s.op, s.args, (self.place(x, s.info, "getitem", s.line),), s.line))
            return
        if s.op == "plain" and self.is_harmless(s.info):
            tree = _Lengths(self.lengths).visit(syntax.substitute(s.info, lambda _: None))
            names = tuple(self.lengths.get(y, y) for y in s.args)
            self.operation(Let(s.target, "plain", names, tree, s.line))
            return
        self.refuse(s.line, "this use of a list that grows", _WHY, _INSTEAD)

    def is_part(self, s: Let) -> bool:
        """Whether an operation is ys[i:j]; that of a comprehension ends where its list is filled."""
        return s.args[0] in self.lists and s.args[0] not in self.made and isinstance(s.info[0], Slice)

    def copied_part(self, s: Let, array: str) -> None:
        """target = ys[i:j], a new list."""
        part = self.let("view", (array,), s.info, s.line, types.Array(self.of[array].dtype, 1, "A"))
        self.same_elements(Let(s.target, "func", (part,), ("np.copy", ()), s.line), self.of[s.target])

    def same_elements(self, s: Let, kind: Any) -> None:
        """A copy of an array: layouts.py knows how."""
        raise NotImplementedError

    def filled(self, x: str, line: int) -> str:
        """The part of the array that is used."""
        view = self.temp(types.Array(self.of[x].dtype, 1, "A"))
        self.let("view", (x,), (Slice(None, self.lengths[x], None),), line, target=view)
        self.lists.add(view)
        return view

    def place(self, x: str, index: tuple[Any, ...], what: str, line: int) -> Any:
        """An index of the array for one of the list; what raises IndexError if there is no such element."""
        (k,), n = index, self.lengths[x]
        word = "list index" if x in self.typed_lists else what
        self.unless(self.plain("k >= n or k < -n", line, types.boolean, k=k, n=n), f"{word} out of range", line)
        if isinstance(k, Const) and k.value >= 0:
            return k
        return self.plain("k + n if k < 0 else k", line, k=k, n=n)

    def unless(self, test: str, text: str, line: int) -> None:
        self.out.append(If(test, [Effect(f'raise IndexError("{text}")', (), line, True)], [], line))

    def append_of(self, s: Let, x: str, n: str) -> None:
        self.materialise(s.args[1])
        self.flush()
        full = self.plain("n == a.size", s.line, types.boolean, n=n, a=x)
        larger = Let(x, "func", (x, n), None, s.line)
        self.out.append(If(full, self.collect(lambda: self.library(larger, "grown", (x, n))), [], s.line))
        self.store(Store(x, (n,), self.in_type(s.args[1], self.of[x].dtype, s.line), s.line))
        self.plain("n + 1", s.line, target=n, n=n)

    def in_type(self, value: Any, kind: Any, line: int) -> Any:
        """A value in the type of the list's elements: an int may stand among floats."""
        if isinstance(value, (str, Ref)) and self.kind(value) != kind and isinstance(self.kind(value), types.Float):
            self.refuse(
                line, f"a value of numba type {self.kind(value)} in a list of {kind}", _WHY, "values of one type"
            )
        return value

    def pop_of(self, s: Let, x: str, n: str) -> None:
        self.flush()
        self.unless(self.plain("n == 0", s.line, types.boolean, n=n), "pop from empty list", s.line)
        self.plain("n - 1", s.line, target=n, n=n)
        self.let("load", (x,), (n,), s.line, target=s.target)

    def clear_of(self, s: Let, x: str, n: str) -> None:
        self.let("copy", (Const(0),), None, s.line, target=n)


class _Lengths(ast.NodeTransformer):
    """len(ys) in a condition -> the variable for it."""

    def __init__(self, lengths: dict[str, str]) -> None:
        self.lengths = lengths

    def visit_Call(self, node: ast.Call) -> ast.AST:
        first = node.args[0] if node.args else None
        measured = isinstance(node.func, ast.Name) and node.func.id == "len" and isinstance(first, ast.Name)
        if measured and first.id in self.lengths:  # type: ignore[union-attr]
            return ast.Name(self.lengths[first.id], ast.Load())  # type: ignore[union-attr]
        self.generic_visit(node)
        return node
