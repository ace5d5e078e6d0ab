"""Growable lists of numbers: an array with spare capacity, and a variable for the length.

    ys = []             ys, n = np.empty(0), 0
    ys.append(x)        if n == ys.size: ys = a larger array with the same elements
                        ys[n] = x; n += 1
    ys.pop()            n -= 1; ys[n]
    ys[k], ys[k] = x    the same of the array, with indices from the end counted from n

So two names may not stand for one such list: which of them grew could not be seen by the other.

Takes the writer, the lists, what has been put off, assignments, layouts, and `expand`, which writes an operation.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.scalarize.arrays.assign import Assignments
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.arrays.layout import Layouts
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.lists.legalize import GROWING, INSTEAD_OF_GROWING, METHODS, Lists, is_harmless
from dualrev.compiler.scalarize.lists.list_methods import ListMethods
from dualrev.compiler.types.aliases import NumbaType
from dualrev.diagnostics.quoting import raising

__all__ = ["Growing"]

_WHOLE = {"sum", "sorted", "np.array", "np.asarray"}


class Growing:
    """Lowering of lists with `append`, `pop` and `clear`."""

    def __init__(
        self,
        code: ScalarBuilder,
        lists: Lists,
        lazy: Lazy,
        assignments: Assignments,
        layouts: Layouts,
        expand: Callable[[anf.Let], None],
    ) -> None:
        self.code, self.lists, self.lengths = code, lists, lists.lengths
        self.lazy, self.assignments, self.layouts, self.expand = lazy, assignments, layouts, expand
        self.methods = ListMethods(code, lists, lazy, self._filled, self._operation)

    def takes(self, s: anf.Stmt) -> bool:
        """Lower a use of a growable list, a list method or a list slice; False for any other statement."""
        if isinstance(s, anf.Let) and s.target in self.lengths:
            self._started(s)
        elif self.methods.takes(s):
            pass
        elif isinstance(s, anf.Store) and s.array in self.lengths and not isinstance(s.index[0], anf.Slice):
            self.lazy.materialise(s.value)
            place = self._place(s.array, s.index, "setitem", s.line)
            self.assignments.store(anf.Store(s.array, (place,), s.value, s.line))
        elif not any(isinstance(x, str) and x in self.lengths for x in anf.reads(s)):
            if not (isinstance(s, anf.GetItem) and self._is_part(s)):
                return False
            self._copied_part(s, s.args[0])
        elif isinstance(s, anf.Let):
            self._used(s)
        elif isinstance(s, anf.Store) and s.value in self.lengths and s.array not in self.lists:
            self.assignments.store(anf.Store(s.array, s.index, self._filled(s.value, s.line), s.line))
        else:
            self._refuse_use(s.line)
        return True

    def _operation(self, s: anf.Let) -> None:
        """Lower an operation whose operands may be lists; growable ones are passed as their used part."""
        if self.methods.takes(s):
            return
        if any(isinstance(x, str) and x in self.lengths for x in anf.reads(s)):
            self._used(s)
        elif isinstance(s, anf.GetItem) and self._is_part(s):
            self._copied_part(s, s.args[0])
        else:
            self.expand(s)

    def _refuse_use(self, line: int) -> None:
        self.code.refuse(line, "this use of a list that grows", GROWING, INSTEAD_OF_GROWING)

    def _started(self, s: anf.Let) -> None:
        """Lower the definition of a growable list: its initial elements fill the array."""
        source = s.args[0] if s.args else None
        new = isinstance(s, (anf.BinOp, anf.CallKnown, anf.CallMethod))  # these make lists that have no other name
        part = isinstance(s, anf.GetItem) and source in self.lengths and source != s.target
        fresh = isinstance(s, (anf.Copy, anf.GetItem)) and source in self.lists.made and source not in self.lengths
        assert part or new or fresh or self._is_part(s), "a second name, or a call's list: refused (legalize.py)"
        self._used(s) if part else self._operation(s)
        self.code.plain("a.size", s.line, target=self.lengths[s.target], a=s.target)

    def _used(self, s: anf.Let) -> None:
        """Lower an operation that reads a growable list."""
        x = next(x for x in anf.reads(s) if isinstance(x, str) and x in self.lengths)
        method = s.method if isinstance(s, anf.CallMethod) else ""
        if s.args and s.args[0] == x and METHODS.get(method) == len(s.args) and x not in s.args[1:]:
            work = {"append": self._append, "pop": self._pop, "clear": self._clear, "lengthen": self._lengthen}
            work[method](s, x, self.lengths[x])
        elif isinstance(s, anf.CallKnown) and s.function == "len":
            self.code.emit(anf.Copy(s.target, self.lengths[x], s.line))
        elif (
            isinstance(s, anf.CallKnown)
            and s.function in _WHOLE
            and s.args[0] == x
            and len(s.args) == 1 + len(s.keywords)
        ):
            self.expand(s.on(self._filled(x, s.line), *s.args[1:]))
        elif isinstance(s, anf.CallUser):
            self.expand(s.on(*(self._filled(y, s.line) if y in self.lengths else y for y in s.args)))
        elif isinstance(s, anf.Window):
            self.code.emit(anf.View(s.target, x, (anf.Slice(s.args[1], s.args[2], None),), s.line))
        elif isinstance(s, anf.GetItem) and self._is_part(s):
            self._copied_part(s, self._filled(x, s.line))
        elif isinstance(s, anf.GetItem) and not isinstance(s.index[0], anf.Slice):
            self.expand(replace(s, index=(self._place(x, s.index, "getitem", s.line),)))
        elif isinstance(s, anf.Discrete) and is_harmless(s.tree, self.lists):
            tree = _GrowableLengths(self.lengths, lambda y: self._filled(y, s.line)).visit(to_python.copied(s.tree))
            names = tuple(
                dict.fromkeys(y.id for y in ast.walk(tree) if isinstance(y, ast.Name) and y.id in self.code.of)
            )
            self.expand(anf.Discrete(s.target, names, tree, s.line))
        else:
            self._refuse_use(s.line)

    def _is_part(self, s: anf.Let) -> bool:
        """Whether an operation is a slice `ys[i:j]` of a list, and not the result of a comprehension."""
        if not isinstance(s, anf.GetItem):
            return False
        return s.base in self.lists and s.base not in self.lists.made and isinstance(s.index[0], anf.Slice)

    def _copied_part(self, s: anf.GetItem, array: str) -> None:
        """Lower `target = ys[i:j]` to a copy."""
        of = self.code.of
        part = self.code.emit(anf.View(self.code.temp(types.Array(of[array].dtype, 1, "A")), array, s.index, s.line))
        self.layouts.same_elements(anf.CallKnown(s.target, "np.copy", (part,), s.line), of[s.target])

    def _filled(self, x: str, line: int) -> str:
        """View of the used part of a list's array."""
        view = self.code.temp(types.Array(self.code.of[x].dtype, 1, "A"))
        self.code.emit(anf.View(view, x, (anf.Slice(None, self.lengths[x], None),), line))
        self.lists.names.add(view)
        if x in self.lists.typed:
            self.lists.typed.add(view)
        return view

    def _place(self, x: str, index: anf.Index, what: str, line: int) -> anf.Atom:
        """Array index for a list index, after a bounds check that raises IndexError."""
        code, k, n = self.code, anf.atom_of(index[0]), self.lengths[x]
        if x in self.lists.unchecked:
            return k
        word = "list index" if x in self.lists.typed else what
        self._unless(code.plain("k >= n or k < -n", line, types.boolean, k=k, n=n), f"{word} out of range", line)
        if isinstance(k, anf.Const) and k.value >= 0:
            return k
        return code.plain("k + n if k < 0 else k", line, k=k, n=n)

    def _unless(self, test: str, text: str, line: int) -> None:
        self.code.add(anf.If(test, [anf.Effect(raising("IndexError", text), (), line, True)], [], line))

    def _append(self, s: anf.Let, x: str, n: str) -> None:
        code = self.code
        self.lazy.materialise(s.args[1])
        self.lazy.flush()
        full = code.plain("n == a.size", s.line, types.boolean, n=n, a=x)
        code.add(anf.If(full, code.collect(lambda: code.library(x, "grown", (x, n), s.line)), [], s.line))
        self.assignments.store(anf.Store(x, (n,), self._in_type(s.args[1], code.of[x].dtype, s.line), s.line))
        code.plain("n + 1", s.line, target=n, n=n)

    def _lengthen(self, s: anf.Let, x: str, n: str) -> None:
        """More elements at the end, which are written later (heap_memory.py)."""
        code, more = self.code, s.args[1]
        self.lazy.flush()
        code.plain("n + m", s.line, target=n, n=n, m=more)
        short = code.plain("n > a.size", s.line, types.boolean, n=n, a=x)
        code.add(anf.If(short, code.collect(lambda: code.library(x, "lengthened", (x, n), s.line)), [], s.line))

    def _in_type(self, value: anf.Atom, kind: NumbaType, line: int) -> anf.Atom:
        """Return a value to store in a list; a float of another type than the elements is refused, an int is not."""
        given = self.code.kind(value) if isinstance(value, (str, anf.Ref)) else kind
        if given != kind and isinstance(given, types.Float):
            what = f"a value of numba type {given} in a list of {kind}"
            self.code.refuse(line, what, GROWING, "values of one type")
        return value

    def _pop(self, s: anf.Let, x: str, n: str) -> None:
        code = self.code
        self.lazy.flush()
        self._unless(code.plain("n == 0", s.line, types.boolean, n=n), "pop from empty list", s.line)
        code.plain("n - 1", s.line, target=n, n=n)
        code.emit(anf.Load(s.target, x, (n,), s.line))

    def _clear(self, s: anf.Let, x: str, n: str) -> None:
        self.code.emit(anf.Copy(n, anf.Const(0), s.line))


class _GrowableLengths(ast.NodeTransformer):
    """Replace `len(ys)` in a condition by the length variable, and `ys` after `in` by the used part of the array."""

    def __init__(self, lengths: dict[str, str], filled: Callable[[str], str]) -> None:
        self.lengths, self.filled = lengths, filled

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Replace a growable list after `in`."""
        right = node.comparators[0]
        if isinstance(node.ops[0], (ast.In, ast.NotIn)) and isinstance(right, ast.Name) and right.id in self.lengths:
            node.comparators[0] = ast.Name(self.filled(right.id), ast.Load())
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace `len` of a growable list."""
        first = node.args[0] if node.args else None
        measured = isinstance(node.func, ast.Name) and node.func.id == "len" and isinstance(first, ast.Name)
        if measured and first.id in self.lengths:  # type: ignore[union-attr]
            return ast.Name(self.lengths[first.id], ast.Load())  # type: ignore[union-attr]
        self.generic_visit(node)
        return node
