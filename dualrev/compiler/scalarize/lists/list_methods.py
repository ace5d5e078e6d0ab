"""List methods and operators other than append and pop at the end: calls of rules/library/lists.py on arrays.

    ys.insert(k, x), ys.pop(k), ys.remove(x)    ys.append and ys.pop, and a loop that moves elements
    ys.reverse(), ys.sort(), sorted(ys)         elements in another order
    ys.count(x), ys.index(x)                    numbers without derivative
    ys.copy(), ys + zs, ys * n, max(ys)         new lists, and numbers

Takes the writer, the lists, what has been put off, and of lists that grow (growable.py) `filled`, which gives the part
of the array that is used, and `expand`, which writes an operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.lists.legalize import Lists
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array
from dualrev.diagnostics.quoting import raising

__all__ = ["ListMethods"]

_SEARCHES = {"list": "value not in list", "typed": "item not in list"}


class ListMethods:
    """Lowering of operations on whole lists."""

    def __init__(
        self,
        code: ScalarBuilder,
        lists: Lists,
        lazy: Lazy,
        filled: Callable[[str, int], str],
        expand: Callable[[anf.Let], None],
    ) -> None:
        self.code, self.lists, self.lazy, self.filled, self.expand = code, lists, lazy, filled, expand
        self._methods: dict[str, tuple[int, Callable[[anf.CallMethod, str], None]]] = {
            "count": (2, self._count),
            "index": (2, self._index),
            "insert": (3, self._insert),
            "pop": (2, self._pop),
            "remove": (2, self._remove),
            "reverse": (1, self._reverse),
        }

    def takes(self, s: anf.Stmt) -> bool:
        """Lower an operation on a list; False for any other operation."""
        if not isinstance(s, anf.Let) or not s.args or s.args[0] not in self.lists:
            return False
        if isinstance(s, anf.CallMethod) and s.method == "copy":
            self.expand(anf.GetItem(s.target, s.base, (anf.Slice(None, None, None),), s.line))
        elif isinstance(s, anf.CallMethod) and s.method == "sort":
            self._reorder(self._whole(s), s, s.args[1:], s.keywords)
        elif isinstance(s, anf.CallMethod) and s.keywords == () and self._methods.get(s.method, (0,))[0] == len(s.args):
            self.lazy.materialise(s.args[-1])
            self._methods[s.method][1](s, self._whole(s))
        elif isinstance(s, anf.BinOp) and s.symbol in ("+", "*"):
            self._joined(s)
        elif (
            isinstance(s, anf.CallKnown) and (s.function, s.keywords) in (("max", ()), ("min", ())) and len(s.args) == 1
        ):
            self.code.library(s.target, "greatest" if s.function == "max" else "least", (self._whole(s),), s.line)
        else:
            return False
        return True

    def _whole(self, s: anf.Let) -> str:
        """Array of the elements of the operand, after all deferred expressions are materialised."""
        self.lazy.flush()
        return self._elements(s.args[0], s.line)

    def _elements(self, x: str, line: int) -> str:
        return self.filled(x, line) if x in self.lists.lengths else x

    def _run(self, name: str, *args: anf.Atom, line: int) -> None:
        """Call a library definition that mutates its first argument."""
        self.code.library(self.code.temp(types.int64), name, args, line)

    def _joined(self, s: anf.BinOp) -> None:
        """Lower `ys + zs` and `ys * n`."""
        self.lazy.flush()
        args = [self._elements(x, s.line) if x in self.lists else x for x in s.args]
        self.code.library(s.target, "two_lists" if s.symbol == "+" else "repeated", tuple(args), s.line)

    def sorted(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `sorted` of a list or a vector."""
        code, x = self.code, s.args[0]
        self.lazy.materialise(x)
        if not is_array(code.kind(x)) or code.kind(x).ndim != 1:
            code.refuse(s.line, "sorted of these arguments", "only that of a list or a vector is known", "np.sort")
        base = self._elements(x, s.line)
        made = s.target if s.target not in (x, base) else code.temp(kind)
        code.copy_elements(made, base, s.line)
        self._reorder(made, s, s.args[1:], s.keywords)
        code.copy(s.target, made, s.line)

    def _reorder(self, elements: str, s: anf.Let, args: tuple[anf.Atom, ...], keywords: tuple[str, ...]) -> None:
        """Sort the elements in place, in numba's order: a permutation without derivative, then a library call."""
        given = dict(zip(keywords, args, strict=False))
        if len(args) > len(keywords) or set(given) - {"reverse"}:
            what, why = "a sort with a key", "which function it is, is not known here"
            self.code.refuse(s.line, what, why, "np.argsort of the keys")
        backwards = given.get("reverse", anf.Const(False))
        kind = types.Array(types.int64, 1, "C")
        order = self.code.plain("runtime.sorting_order(a, b)", s.line, kind, a=elements, b=backwards)
        self._run("reordered", elements, order, line=s.line)

    def _reverse(self, s: anf.CallMethod, elements: str) -> None:
        self._run("reversed_list", elements, line=s.line)

    def _count(self, s: anf.CallMethod, elements: str) -> None:
        self.code.plain("runtime.count_in(a, x)", s.line, target=s.target, a=elements, x=s.args[1])

    def _index(self, s: anf.CallMethod, elements: str) -> None:
        typed = s.args[0] in self.lists.typed
        place = self._place(s, elements, _SEARCHES["typed" if typed else "list"])
        self.code.copy(s.target, place, s.line)

    def _place(self, s: anf.CallMethod, elements: str, text: str) -> str:
        """Index of the first occurrence of a value, or a ValueError."""
        place = self.code.plain("runtime.place_in(a, x)", s.line, a=elements, x=s.args[1])
        self._unless("k < 0", raising("ValueError", text), s.line, k=place)
        return place

    def _unless(self, test: str, error: str, line: int, **names: Any) -> None:
        wrong = self.code.plain(test, line, types.boolean, **names)
        self.code.add(anf.If(wrong, [anf.Effect(error, (), line, True)], [], line))

    # Those that change the length: the end grows or shrinks as by append and pop

    def _insert(self, s: anf.CallMethod, elements: str) -> None:
        x, k, value = s.args
        n = self.lists.lengths[x]
        text = "min(max(k + n if k < 0 else k, 0), n)"
        place = self.code.plain(text, s.line, k=k, n=n)
        self.expand(anf.CallMethod(s.target, x, "append", (value,), s.line))
        self._run("moved_down", self.filled(x, s.line), place, line=s.line)

    def _pop(self, s: anf.CallMethod, elements: str) -> None:
        x, k = s.args
        n = self.lists.lengths[x]
        text = "list index out of range" if x in self.lists.typed else "pop index out of range"
        empty = "pop from empty list" if x in self.lists.typed else text
        self._unless("n == 0", raising("IndexError", empty), s.line, n=n)
        self._unless("k >= n or k < -n", raising("IndexError", text), s.line, k=k, n=n)
        self._taken(s, elements, self.code.plain("k + n if k < 0 else k", s.line, k=k, n=n))

    def _remove(self, s: anf.CallMethod, elements: str) -> None:
        self._taken(s, elements, self._place(s, elements, "list.remove(x): x not in list"))

    def _taken(self, s: anf.CallMethod, elements: str, place: str) -> None:
        """Remove the element at an index; `pop` returns it."""
        self._run("moved_up", elements, place, line=s.line)
        gives = s.method == "pop"
        target = s.target if gives else self.code.temp(self.code.kind(s.args[0]).dtype)
        self.expand(anf.CallMethod(target, s.base, "pop", (), s.line))
