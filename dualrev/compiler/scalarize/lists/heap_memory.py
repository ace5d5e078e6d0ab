"""The memory of a heap: lists of all elements, of where items begin, of their lengths and of the room they have.

    new item          its handle is the number of items so far; start.append(len(elements)); size.append(n)
    window            elements[start[h] : start[h] + size[h]], an array that shares memory with the list
    item.append(x)    if size[h] == room[h]: the elements move to the end, with twice as much room
                      elements[start[h] + size[h]] = x; size[h] += 1

Item 0 is empty: a variable that has no handle yet has this one. All of this is written before lists become arrays
(legalize.py); `window` and the method `lengthen` are what lists do not have: growable.py knows them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.builder import AnfBuilder
from dualrev.compiler.ir.names import Names
from dualrev.compiler.scalarize.lists.heap import Heap
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_list
from dualrev.diagnostics.quoting import raising

__all__ = ["HeapMemory", "Statements"]

_INT = types.int64


class Statements(AnfBuilder):
    """Builder of statements on lists of ints and of numbers."""

    def __init__(self, names: Names, of: dict[str, NumbaType]) -> None:
        super().__init__()
        self.names, self.of = names, of

    def temp(self, kind: NumbaType) -> str:
        """A new variable."""
        made = self.names.temporary()
        self.of[made] = kind
        return made

    def plain(self, text: str, line: int, kind: NumbaType = _INT, **names: anf.Atom) -> str:
        """A new variable = the text, with atoms for the names in it."""
        tree = to_python.substitute(to_python.name(text), lambda x: to_python.atom(names[x]) if x in names else None)
        read = tuple(x for x in names.values() if isinstance(x, str))
        return self.emit(anf.Discrete(self.temp(kind), read, tree, line))

    def when(self, test: str, line: int, work: Callable[[], object], **names: anf.Atom) -> None:
        """A branch."""
        made = self.plain(test, line, types.boolean, **names)
        self.add(anf.If(made, self.collect(work), [], line))

    def raises(self, test: str, error: str, text: str, line: int, **names: anf.Atom) -> None:
        """Raise an error, if the test holds."""
        self.when(test, line, lambda: self.add(anf.Effect(raising(error, text), (), line, True)), **names)

    def each(self, n: anf.Atom, line: int, work: Callable[[str], object]) -> None:
        """A loop over range(n)."""
        k = self.temp(_INT)
        self.add(anf.For(k, anf.Const(0), n, anf.Const(1), self.collect(lambda: work(k)), [], line))


class HeapMemory:
    """Memory of one heap, and the operations on it."""

    def __init__(self, code: Statements, heap: Heap) -> None:
        self.code, self.heap, self.kind = code, heap, heap.item
        self.is_list = is_list(heap.item)
        count = 1 if self.is_list else heap.item.ndim
        words = ["elements", "start", *(f"size{k}" if count > 1 else "size" for k in range(count)), "room"]
        self.names = [code.names.fresh(f"heap_{word}") for word in words]
        self.elements, self.start, *self.sizes, self.room = self.names
        code.of.update(dict.fromkeys(self.names, types.List(_INT)))
        code.of[self.elements] = types.List(heap.item.dtype)

    def begin(self, line: int) -> None:
        """An empty heap, with the empty item 0."""
        code = self.code
        for x in self.names if self.is_list else self.names[:-1]:
            made = code.emit(anf.AllocList(code.temp(code.of[x]), anf.Const(0), line))
            code.emit(anf.Copy(x, made, line))
        self._registered(anf.Const(0), [anf.Const(0) for _ in self.sizes], anf.Const(0), line)

    def _registered(self, start: anf.Atom, sizes: Sequence[anf.Atom], room: anf.Atom, line: int) -> str:
        """The handle of a new item."""
        code = self.code
        handle = code.emit(anf.CallKnown(code.temp(_INT), "len", (self.start,), line))
        entries = [(self.start, start), *zip(self.sizes, sizes, strict=True), (self.room, room)]
        for x, value in entries if self.is_list else entries[:-1]:
            code.emit(anf.CallMethod(code.temp(types.none), x, "append", (value,), line))
        return handle

    def _lengthened(self, n: anf.Atom, line: int) -> str:
        """The heap has n elements more; where they begin."""
        start = self.code.emit(anf.CallKnown(self.code.temp(_INT), "len", (self.elements,), line))
        self.code.emit(anf.CallMethod(self.code.temp(types.none), self.elements, "lengthen", (n,), line))
        return start

    def _at(self, table: str, handle: anf.Atom, line: int) -> str:
        return self.code.emit(anf.GetItem(self.code.temp(_INT), table, (handle,), line))

    # Arrays

    def new_array(self, a: anf.Atom, line: int) -> str:
        """The handle of an item with the elements of an array."""
        code, ndim = self.code, self.kind.ndim
        shape = code.emit(anf.GetAttr(code.temp(types.UniTuple(_INT, ndim)), a, "shape", line))
        sizes = [code.emit(anf.GetItem(code.temp(_INT), shape, (anf.Const(k),), line)) for k in range(ndim)]
        start = self._lengthened(self._product(sizes, line), line)
        handle = self._registered(start, sizes, anf.Const(0), line)
        code.add(anf.Store(self._window(start, sizes, line), (anf.Slice(None, None, None),) * ndim, a, line))
        return handle

    def array(self, handle: anf.Atom, line: int) -> str:
        """The item with this handle, as an array that shares memory with it."""
        start = self._at(self.start, handle, line)
        return self._window(start, [self._at(x, handle, line) for x in self.sizes], line)

    def _product(self, sizes: list[str], line: int) -> str:
        n = sizes[0]
        for size in sizes[1:]:
            n = self.code.emit(anf.BinOp(self.code.temp(_INT), "*", n, size, line))
        return n

    def _window(self, start: anf.Atom, sizes: list[str], line: int) -> str:
        code, dtype = self.code, self.kind.dtype
        end = code.emit(anf.BinOp(code.temp(_INT), "+", start, self._product(sizes, line), line))
        made = code.emit(anf.Window(code.temp(types.Array(dtype, 1, "C")), self.elements, start, end, line))
        if len(sizes) == 1:
            return made
        shape = code.emit(anf.MakeTuple(code.temp(types.UniTuple(_INT, len(sizes))), tuple(sizes), line))
        return code.emit(
            anf.CallKnown(code.temp(types.Array(dtype, len(sizes), "C")), "np.reshape", (made, shape), line)
        )

    # Lists

    def new_list(self, ys: str, line: int) -> str:
        """The handle of an item with the elements of a list."""
        n = self.code.emit(anf.CallKnown(self.code.temp(_INT), "len", (ys,), line))
        start = self._lengthened(n, line)
        self._copied(ys, anf.Const(0), start, n, line)
        return self._registered(start, [n], n, line)

    def new_display(self, items: tuple[anf.Atom, ...], line: int) -> str:
        """The handle of an item with these elements."""
        start = self._lengthened(anf.Const(len(items)), line)
        for k, x in enumerate(items):
            place = self.code.emit(anf.BinOp(self.code.temp(_INT), "+", start, anf.Const(k), line))
            self.code.add(anf.Store(self.elements, (place,), x, line))
        return self._registered(start, [anf.Const(len(items))], anf.Const(len(items)), line)

    def new_room(self, n: anf.Atom, line: int) -> str:
        """The handle of an item with n elements, which are written later."""
        return self._registered(self._lengthened(n, line), [n], n, line)

    def _copied(self, ys: str, first: anf.Atom, start: anf.Atom, n: anf.Atom, line: int) -> None:
        """elements[start : start + n] = ys[first : first + n]."""
        code = self.code

        def one(k: str) -> None:
            """Copy one element."""
            value = code.temp(self.kind.dtype)
            source = code.emit(anf.BinOp(code.temp(_INT), "+", first, k, line))
            code.emit(anf.GetItem(value, ys, (source,), line))
            place = code.emit(anf.BinOp(code.temp(_INT), "+", start, k, line))
            code.add(anf.Store(self.elements, (place,), value, line))

        code.each(n, line, one)

    def length(self, handle: anf.Atom, line: int, target: str = "") -> str:
        """How many elements a list has."""
        return self.code.emit(anf.GetItem(target or self.code.temp(_INT), self.sizes[0], (handle,), line))

    def list_of_now(self, handle: anf.Atom, line: int) -> str:
        """A new list with the elements of one."""
        start = self._at(self.start, handle, line)
        end = self.code.emit(anf.BinOp(self.code.temp(_INT), "+", start, self.length(handle, line), line))
        return self.code.emit(
            anf.GetItem(
                self.code.temp(types.List(self.kind.dtype)), self.elements, (anf.Slice(start, end, None),), line
            )
        )

    def place(self, handle: anf.Atom, k: anf.Atom, what: str, line: int) -> str:
        """The index of an element in the heap; what raises IndexError if there is no such element."""
        code, n = self.code, self.length(handle, line)
        text = "list index out of range" if isinstance(self.kind, types.ListType) else f"{what} out of range"
        code.raises("k >= n or k < -n", "IndexError", text, line, k=k, n=n)
        inside = k
        if not isinstance(k, anf.Const):
            inside = code.plain("k + n if k < 0 else k", line, k=k, n=n)
        elif k.value < 0:
            inside = code.plain("k + n", line, k=k, n=n)
        return code.emit(anf.BinOp(code.temp(_INT), "+", self._at(self.start, handle, line), inside, line))

    def append(self, handle: anf.Atom, x: anf.Atom, line: int) -> None:
        """ys.append(x)."""
        code, n = self.code, self.length(handle, line)
        room = self._at(self.room, handle, line)
        code.when("n == m", line, lambda: self._moved(handle, n, n, line), n=n, m=room)
        place = code.emit(anf.BinOp(code.temp(_INT), "+", self._at(self.start, handle, line), n, line))
        code.add(anf.Store(self.elements, (place,), x, line))
        self._sized(handle, code.emit(anf.BinOp(code.temp(_INT), "+", n, anf.Const(1), line)), line)

    def _sized(self, handle: anf.Atom, n: anf.Atom, line: int) -> None:
        self.code.add(anf.Store(self.sizes[0], (handle,), n, line))

    def _moved(self, handle: anf.Atom, n: anf.Atom, least: anf.Atom, line: int) -> None:
        """A list moves to the end of the heap, where it has room for twice as many elements."""
        code = self.code
        room = code.plain("2 * n + 4", line, n=least)
        old, new = self._at(self.start, handle, line), self._lengthened(room, line)
        self._copied(self.elements, old, new, n, line)
        code.add(anf.Store(self.start, (handle,), new, line))
        code.add(anf.Store(self.room, (handle,), room, line))

    def pop(self, handle: anf.Atom, target: str, line: int) -> None:
        """target = ys.pop()."""
        code, n = self.code, self.length(handle, line)
        code.raises("n == 0", "IndexError", "pop from empty list", line, n=n)
        last = code.emit(anf.BinOp(code.temp(_INT), "-", n, anf.Const(1), line))
        place = code.emit(anf.BinOp(code.temp(_INT), "+", self._at(self.start, handle, line), last, line))
        self._sized(handle, last, line)
        code.emit(anf.GetItem(target, self.elements, (place,), line))

    def extend(self, handle: anf.Atom, ys: anf.Atom, line: int) -> None:
        """ys.extend(zs)."""
        n = self.code.emit(anf.CallKnown(self.code.temp(_INT), "len", (ys,), line))

        def one(k: str) -> None:
            """Append one element."""
            self.append(
                handle, self.code.emit(anf.GetItem(self.code.temp(self.code.of[str(ys)].dtype), ys, (k,), line)), line
            )

        self.code.each(n, line, one)

    def replaced(self, handle: anf.Atom, ys: str, line: int) -> None:
        """Assign all elements of another list: `ys[:] = zs`."""
        code = self.code
        n = code.emit(anf.CallKnown(code.temp(_INT), "len", (ys,), line))
        room = self._at(self.room, handle, line)
        code.when("n > m", line, lambda: self._moved(handle, anf.Const(0), n, line), n=n, m=room)
        self._copied(ys, anf.Const(0), self._at(self.start, handle, line), n, line)
        self._sized(handle, n, line)
