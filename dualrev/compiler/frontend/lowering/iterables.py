"""Loop iterables: the length, and the k-th element, of range, zip, enumerate, arrays and tuples."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from dualrev.compiler.frontend.lowering.expressions import Expressions
from dualrev.compiler.frontend.reading.njit_options import is_parallel
from dualrev.compiler.frontend.reading.source import describe
from dualrev.compiler.ir import anf

#: An element of an iterable: an atom, or the elements of `zip` and the like that are side by side.
Element: TypeAlias = "anf.Atom | list[Element]"

__all__ = ["Sequences"]

_READING = ("copy", "count", "index")  # methods of lists that change nothing


class Sequences(Expressions):
    """Lowering of iterables: range, enumerate, zip, reversed, arrays and tuples, in any combination.

    `listed` says that any other iterable (a set, the keys of a dict) may become a list first.
    """

    def is_own_counter(self, s: ast.For) -> bool:
        """Whether a loop variable can be the induction variable: used and bound by such `range` loops only."""
        assert isinstance(s.target, ast.Name)
        name = s.target.id
        if name in self.parameters:
            return False
        seen: set[int] = set()
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name) and node.target.id == name:
                if self.range_call(node.iter) is None:
                    return False
                seen.add(id(node.target))
                for inner in node.body:
                    for x in ast.walk(inner):
                        if isinstance(x, ast.Name) and x.id == name:
                            if isinstance(x.ctx, ast.Store):
                                return False
                            seen.add(id(x))
        return all(id(x) in seen for x in ast.walk(self.source.tree) if isinstance(x, ast.Name) and x.id == name)

    def range_call(self, node: ast.expr) -> ast.Call | None:
        """Return the node if it is a call of `range` or `prange`; else None."""
        if isinstance(node, ast.Call) and not node.keywords:
            static = self.static(node.func)
            if static is not None and (static.value is range or _is_prange(static.value)):
                return node
        return None

    def is_parallel(self, node: ast.expr) -> bool:
        """Whether a loop runs in parallel: over `prange` or `pndindex`, and with `parallel=True`."""
        static = self.static(node.func) if isinstance(node, ast.Call) else None
        if static is None or not is_parallel(self.source.dispatcher):
            return False
        return _is_prange(static.value) or describe(static.value) == "numba.misc.special.pndindex"

    def range_bounds(self, node: ast.expr) -> list[anf.Atom] | None:
        """Lower the start, stop and step of a `range`; None for any other iterable."""
        call = self.range_call(node)
        if call is None:
            return None
        atoms = [self.atom(x) for x in call.args]
        if len(atoms) == 1:
            return [anf.Const(0), atoms[0], anf.Const(1)]
        if len(atoms) == 2:
            return [*atoms, anf.Const(1)]
        return atoms

    def _ListComp(self, node: ast.ListComp, target: str) -> anf.Atom:  # noqa: N802
        """Lower a list comprehension to a list of known length and a loop; with conditions, a prefix of it."""
        (loop,), line = node.generators, node.lineno  # rewriter.py writes several as a list that grows
        self.check_lists(loop.iter, [node.elt, *loop.ifs])
        n, element = self.sequence(loop.iter, {self.name(x) for x in self.assigned_in([ast.Expr(loop.target)])})
        made, k = self.emit(anf.AllocList(self.temp(), n, line)), self.temp()
        count = self.emit(anf.Copy(self.temp(), anf.Const(0), line)) if loop.ifs else None

        def add(tests: list[ast.expr]) -> None:
            """Emit the remaining conditions, and inside of them the store of the element."""
            if tests:
                test = self.atom(tests[0])
                self.add(anf.If(test, self.collect(lambda: add(tests[1:])), [], line))
                return
            self.add(anf.Store(made, (k if count is None else count,), self.atom(node.elt), line))
            if count is not None:
                self.emit(anf.InplaceOp(count, "+", count, anf.Const(1), line))

        def one() -> None:
            """Emit the body of one iteration."""
            self.store_element(loop.target, element(k, line), node)
            add(loop.ifs)

        self.add(anf.For(k, anf.Const(0), n, anf.Const(1), self.collect(one), [], line))
        if count is None:
            return self.emit(anf.Copy(target, made, line))
        return self.emit(anf.GetItem(target, made, (anf.Slice(None, count, None),), line))

    def check_lists(self, over: ast.expr, body: Sequence[ast.AST]) -> None:
        """Refuse a loop over a list that its body makes longer or shorter: its end would move."""
        made = self.static(over.func) if isinstance(over, ast.Call) else None
        if isinstance(over, ast.ListComp) or (made is not None and made.value in (list, sorted)):
            return  # a new list
        lists = {x.id for x in ast.walk(over) if isinstance(x, ast.Name) and x.id in self.list_names}
        for x in (x for t in body for x in ast.walk(t)):
            of_list = isinstance(x, ast.Attribute) and isinstance(x.value, ast.Name) and x.value.id in lists
            if of_list and x.attr not in _READING:  # type: ignore[attr-defined]
                what = "a method of a list in a loop over it"
                self.refuse(x, what, "the end of the loop may move", "a loop over range(len(...)), or another list")

    def store_element(self, target: ast.expr, element: Any, s: Any) -> None:
        """Assign an element to the loop's target: to_anf.py knows how."""
        raise NotImplementedError

    @staticmethod
    def is_over_places(f: object) -> bool:
        """Whether a function iterates over all indices of an array: `np.ndindex` or `pndindex`."""
        return f is np.ndindex or describe(f) == "numba.misc.special.pndindex"

    def keep(self, x: anf.Atom, changing: set[str], line: int) -> anf.Atom:
        """Copy an atom that the loop's body may change: Python evaluates it once."""
        if isinstance(x, str) and x in changing:
            return self.emit(anf.Copy(self.temp(), x, line))
        return x

    def _of_range(self, bounds: list[anf.Atom], line: int) -> tuple[anf.Atom, Callable[[anf.Atom, int], Element]]:
        start, stop, step = bounds
        length = self.emit(anf.CallKnown(self.temp(), "runtime.range_length", (start, stop, step), line))

        def nth(k: anf.Atom, line: int) -> anf.Atom:
            """Emit `start + k * step`."""
            if start == anf.Const(0) and step == anf.Const(1):
                return k
            scaled = k if step == anf.Const(1) else self.emit(anf.BinOp(self.temp(), "*", k, step, line))
            return self.emit(anf.BinOp(self.temp(), "+", start, scaled, line))

        return length, nth

    def sequence(self, node: ast.expr, changing: set[str]) -> tuple[anf.Atom, Callable[[anf.Atom, int], Element]]:
        """Lower an iterable to its length, and a function that emits its k-th element."""
        line = node.lineno
        bounds = self.range_bounds(node)
        if bounds is not None:
            return self._of_range([self.keep(x, changing, line) for x in bounds], line)
        if isinstance(node, ast.Call):
            static = self.static(node.func)
            if static is not None and self.is_over_places(static.value) and len(node.args) == 1:
                shape = self.keep(self.atom(node.args[0]), changing, line)
                total = self.emit(anf.CallKnown(self.temp(), "runtime.places_in", (shape,), line))
                return total, lambda k, line: self.emit(
                    anf.CallKnown(self.temp(), "runtime.place_of", (shape, k), line)
                )
            if static is not None and static.value is enumerate:
                n, inner = self.sequence(node.args[0], changing)
                extra = [*node.args[1:], *(k.value for k in node.keywords)]
                first = self.keep(self.atom(extra[0]), changing, line) if extra else anf.Const(0)

                def numbered(k: anf.Atom, line: int) -> Element:
                    """Emit the counter and the k-th element."""
                    number = k if first == anf.Const(0) else self.emit(anf.BinOp(self.temp(), "+", first, k, line))
                    return [number, inner(k, line)]

                return n, numbered
            if static is not None and static.value is zip and not node.keywords:
                parts = [self.sequence(x, changing) for x in node.args]
                n = parts[0][0]
                for m, _ in parts[1:]:
                    n = self.emit(anf.CallKnown(self.temp(), "min", (n, m), line))
                return n, lambda k, line: [inner(k, line) for _, inner in parts]
            if static is not None and static.value is reversed:
                n, inner = self.sequence(node.args[0], changing)

                def backwards(k: anf.Atom, line: int) -> Element:
                    """Emit the k-th element from the end."""
                    last = self.emit(anf.BinOp(self.temp(), "-", n, anf.Const(1), line))
                    return inner(self.emit(anf.BinOp(self.temp(), "-", last, k, line)), line)

                return n, backwards
        if isinstance(node, ast.Attribute) and node.attr == "flat":
            base = self.keep(self.variable(node.value), changing, line)
            flat = self.emit(anf.GetAttr(self.temp(), base, "flat", line))
            n = self.emit(anf.GetAttr(self.temp(), base, "size", line))
            return n, lambda k, line: self.emit(anf.GetItem(self.temp(), flat, (k,), line))
        value = self.keep(self.atom(node), changing, line)
        if self.listed:
            value = self.emit(anf.AsList(self.temp(), value, line))
        n = self.emit(anf.CallKnown(self.temp(), "len", (value,), line))
        self.lengths.add(n)
        return n, lambda k, line: self.emit(anf.GetItem(self.temp(), value, (k,), line))


def _is_prange(f: object) -> bool:
    return describe(f) == "numba.misc.special.prange"
