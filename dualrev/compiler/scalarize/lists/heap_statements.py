"""Lowering of statements on containers of arrays and of lists: to handles and heaps (handles.py)."""

from __future__ import annotations

import ast
from dataclasses import replace

from numba.core import types

from dualrev.compiler.frontend.lowering.lowered_function import Lowered
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.rewrite import with_blocks, with_reads
from dualrev.compiler.scalarize.lists.heap import Heap, values_of
from dualrev.compiler.scalarize.lists.heap_memory import HeapMemory, Statements
from dualrev.compiler.scalarize.lists.struct_of_lists import names_in
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array, is_list

__all__ = ["HeapStatements"]

_INT = types.int64


class HeapStatements:
    """Lowering of the statements of a function that uses heaps."""

    def __init__(self, lowered: Lowered, of: dict[str, NumbaType], heaps: list[Heap]) -> None:
        self.lowered, self.of, self.heaps = lowered, of, heaps
        self.code = Statements(lowered.names, of)
        self.memory = {heap: HeapMemory(self.code, heap) for heap in heaps}
        self.kinds = {x: kind.type if isinstance(kind, types.Optional) else kind for x, kind in of.items()}
        self.holding = {x: heap for heap in heaps for x in heap.items}
        for heap in heaps:
            for x in heap.containers | heap.views | heap.pairs | heap.items | heap.outer:
                of[x] = heap.swapped(of[x])

    def function(self) -> tuple[Lowered, set[str]]:
        """The function; the lists of the heaps, whose indices need no check."""
        code, lowered, line = self.code, self.lowered, self.lowered.source.tree.lineno
        body, result = self._block(lowered.body), lowered.result
        with code.opened() as end:
            if result in self.holding:
                result = self._copied(str(result), line)
        with code.opened() as start:
            for memory in self.memory.values():
                memory.begin(line)
        names = {x for memory in self.memory.values() for x in memory.names}
        return replace(lowered, body=[*start, *body, *end], result=result), names

    def _block(self, body: list[anf.Stmt]) -> list[anf.Stmt]:
        """The rewritten statements of a block."""
        code, watched = self.code, list[tuple[str, str, Heap]]()
        with code.opened() as made:
            for s in body:
                self._check_threads(s)
                moving = {heap for heap in self.heaps if any(map(heap.changes_length, anf.walk([s])))}
                if inner := anf.blocks(s):
                    s = with_blocks(s, list(map(self._block, inner)))
                if isinstance(s, anf.For):
                    tests = [
                        t
                        for handle, length, heap in watched
                        if heap in moving
                        for t in self._watch(s, handle, length, heap)
                    ]
                    s, watched = replace(s, body=[*s.body, *tests]), []
                self._statement(s)
                if isinstance(s, anf.CallKnown) and s.target in self.lowered.lengths and s.args[0] in self.holding:
                    heap = self.holding[s.args[0]]
                    watched.append((code.emit(anf.Copy(code.temp(_INT), s.args[0], s.line)), s.target, heap))
        return made

    def _check_threads(self, s: anf.Stmt) -> None:
        """Refuse items that are made in a parallel loop: its threads would share the heap."""
        for t in anf.walk(s.body) if isinstance(s, anf.For) and s.parallel else ():
            if any(heap.grows(t) for heap in self.heaps):
                what = "a container of arrays or lists that is filled in a parallel loop"
                self.lowered.source.refuse(t.line, what, "its threads share memory", "range in place of prange")

    def _watch(self, loop: anf.For, handle: str, length: str, heap: Heap) -> list[anf.Stmt]:
        """Raise an error at the end of an iteration, if the list that a loop goes over has another length by then."""
        code, line = self.code, loop.line
        ends = "".join(f" and not {x}" for x in loop.exits)
        text = "a list has changed its length in a loop over it, which cannot be differentiated: go over ys.copy()"
        names = dict(zip(loop.exits, loop.exits, strict=True))

        def test() -> None:
            """Raise if the length has changed."""
            n = self.memory[heap].length(handle, line)
            code.raises(f"n != m{ends}", "RuntimeError", text, line, n=n, m=length, **names)

        return code.collect(test)

    def _statement(self, s: anf.Stmt) -> None:
        """Write what a statement becomes."""
        for heap in self.heaps:
            if heap.put(s) or heap.taken(s) or (isinstance(s, anf.Let) and s.target in heap.containers):
                self._of_container(s, heap)
                return
        if isinstance(s, anf.Let) and s.target in self.holding:
            own = self.holding[s.target]
            if own.keeps(s):
                self._kept(s, own)
            else:
                self._made(s, own)
        elif any(x in self.holding for x in names_in(s)):
            self._used(s)
        else:
            self.code.add(s)

    def _of_container(self, s: anf.Stmt, heap: Heap) -> None:
        """Lower an operation on a container; values that are no items yet get handles."""
        handles: dict[anf.Atom, str] = {x: self._new(x, heap, s.line) for x in heap.put(s) if x not in heap.items}
        if isinstance(s, anf.Store):
            s = replace(s, value=handles.get(s.value, s.value))
        elif isinstance(s, anf.OpaqueExpr):
            tree, names = s.tree, s.names
            if isinstance(tree, ast.Dict):
                atoms = [heap.refs.get(x, x) for x in values_of(tree)]
                values = [to_python.atom(handles.get(x, x)) for x in atoms]
                tree = ast.Dict(tree.keys, values)
                names = tuple(x.id for x in [*tree.keys, *values] if isinstance(x, ast.Name))
            elif isinstance(tree, ast.Call) and tree.args:
                tree = ast.Call(tree.func, [tree.args[0], to_python.name("np.int64")], [])
            s = anf.OpaqueExpr(s.target, names, tree, s.refusal, s.line)
        elif handles and isinstance(s, anf.Let):
            s = s.on(*(handles.get(x, x) for x in s.args))
        self.code.add(s)

    def _new(self, x: anf.Atom, heap: Heap, line: int) -> str:
        """The handle of a new item with these elements."""
        memory = self.memory[heap]
        return memory.new_list(str(x), line) if memory.is_list else memory.new_array(x, line)

    def _kept(self, s: anf.Let, heap: Heap) -> None:
        """v = u; v += x."""
        if isinstance(s, anf.Copy):
            self.code.add(s)
        elif is_list(heap.item):
            self.memory[heap].extend(s.target, self._value(s.args[1], s.line), s.line)
        else:
            window = self.memory[heap].array(s.target, s.line)
            self.code.add(s.on(window, self._value(s.args[1], s.line), target=window))

    def _made(self, s: anf.Let, heap: Heap) -> None:
        """A new item."""
        code, memory = self.code, self.memory[heap]
        if memory.is_list and isinstance(s, anf.MakeList):
            handle = memory.new_display(s.items, s.line)
        elif memory.is_list and isinstance(s, anf.AllocList):
            handle = memory.new_room(s.length, s.line)
        elif isinstance(s, anf.Copy):
            handle = self._new(s.args[0], heap, s.line)
        else:
            made = code.temp(self.kinds[s.target])
            self._written(s, made)
            handle = self._new(made, heap, s.line)
        code.emit(anf.Copy(s.target, handle, s.line))

    def _value(self, x: anf.Atom, line: int) -> anf.Atom:
        """An atom; of an item, the array that shares its memory, or a list of its elements."""
        heap = self.holding.get(x) if isinstance(x, str) else None
        if heap is None:
            return x
        memory = self.memory[heap]
        return memory.list_of_now(x, line) if memory.is_list else memory.array(x, line)

    def _copied(self, x: str, line: int) -> str:
        """A new array with the elements of an item."""
        kind = self.kinds[x]
        return self.code.emit(
            anf.CallKnown(
                self.code.temp(types.Array(kind.dtype, kind.ndim, "C")), "np.copy", (self._value(x, line),), line
            )
        )

    def _written(self, s: anf.Stmt, target: str = "") -> None:
        """A statement with arrays or lists in place of handles."""
        values = {
            x: self._value(x, s.line) for x in dict.fromkeys(anf.reads(s)) if isinstance(x, str) and x in self.holding
        }

        made = with_reads(s, lambda x: values.get(x, x) if isinstance(x, str) else x)
        self.code.add(made.to(target) if target and isinstance(made, anf.Let) else made)

    def _used(self, s: anf.Stmt) -> None:
        """A statement that reads items, or writes to one."""
        x = s.array if isinstance(s, anf.Store) else s.args[0] if isinstance(s, anf.Let) and s.args else None
        heap = self.holding.get(str(x))
        if isinstance(s, anf.Let) and s.target == self.lowered.result and isinstance(s, (anf.Copy, anf.MakeTuple)):
            args = [self._copied(y, s.line) if self._is_array(y) else y for y in s.args]
            self._written(s.on(*args))
        elif heap is not None and is_list(heap.item) and self._of_list(s, str(x), self.memory[heap]):
            pass
        elif isinstance(s, anf.Discrete):
            self._written(self._with_lengths(s))
        else:
            self._written(s)

    def _is_array(self, x: anf.Atom) -> bool:
        return isinstance(x, str) and x in self.holding and is_array(self.holding[x].item)

    def _with_lengths(self, s: anf.Discrete) -> anf.Discrete:
        """A condition, with numbers for the lengths of lists."""
        made = _HeapLengths(self, s.line).visit(to_python.copied(s.tree))
        names = (n.id for n in ast.walk(made) if isinstance(n, ast.Name) and n.id in self.of)
        return anf.Discrete(s.target, tuple(dict.fromkeys(names)), made, s.line)

    def length(self, x: str, line: int) -> str | None:
        """The length of a variable that is a list in a heap."""
        heap = self.holding.get(x)
        return self.memory[heap].length(x, line) if heap is not None and is_list(heap.item) else None

    # Lists

    def _of_list(self, s: anf.Stmt, x: str, memory: HeapMemory) -> bool:
        """Whether it was an operation that needs no list of all elements; then it has been written."""
        code = self.code
        if isinstance(s, anf.Store):
            place = memory.place(x, anf.atom_of(s.index[0]), "setitem", s.line)
            code.add(anf.Store(memory.elements, (place,), s.value, s.line, s.op))
        elif isinstance(s, anf.CallKnown) and s.function == "len":
            memory.length(x, s.line, s.target)
        elif isinstance(s, anf.GetItem) and not isinstance(s.index[0], anf.Slice):
            self._item(s, x, memory)
        elif isinstance(s, anf.CallMethod) and s.method not in ("copy", "count", "index"):
            self._method(s, x, memory)
        else:
            return False
        return True

    def _item(self, s: anf.GetItem, x: str, memory: HeapMemory) -> None:
        """target = ys[k], or the first of the names in `u, v = ys`."""
        if s.unpacked is not None and s.index == (anf.Const(0),):
            n = memory.length(x, s.line)
            self.code.raises(f"n != {s.unpacked}", "ValueError", "", s.line, n=n)
        place = memory.place(x, anf.atom_of(s.index[0]), "getitem", s.line)
        self.code.emit(anf.GetItem(s.target, memory.elements, (place,), s.line))

    def _method(self, s: anf.CallMethod, x: str, memory: HeapMemory) -> None:
        """A method that changes a list; what is not done to its end, is done to a list of now, which replaces it."""
        code, name = self.code, s.method
        if name == "append":
            memory.append(x, s.args[1], s.line)
        elif name == "pop" and len(s.args) == 1:
            memory.pop(x, s.target, s.line)
        elif name == "extend":
            memory.extend(x, self._value(s.args[1], s.line), s.line)
        else:
            now = memory.list_of_now(x, s.line)
            args = tuple(self._value(y, s.line) for y in s.args[1:])
            code.emit(s.on(now, *args))
            memory.replaced(x, now, s.line)


class _HeapLengths(ast.NodeTransformer):
    """len(ys) in a condition -> the variable for it."""

    def __init__(self, statements: HeapStatements, line: int) -> None:
        self.statements, self.line = statements, line

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace `len` of a container by the variable for it."""
        first = node.args[0] if node.args else None
        if isinstance(node.func, ast.Name) and node.func.id == "len" and isinstance(first, ast.Name):
            n = self.statements.length(first.id, self.line)
            if n is not None:
                return ast.Name(n, ast.Load())
        self.generic_visit(node)
        return node
