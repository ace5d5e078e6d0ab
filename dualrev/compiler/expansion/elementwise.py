"""Arithmetic of whole arrays, and assignment to parts of them -> loops over elements, one for a whole expression."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numba.core import types

from dualrev.compiler.core import syntax
from dualrev.compiler.core.lowered import (
    Atom,
    Const,
    Effect,
    For,
    If,
    Let,
    Node,
    OfElements,
    Slice,
    Store,
    index_atoms,
    leaves,
    reads,
    walk,
)
from dualrev.compiler.expansion.statements import Expansion, dtype_name, is_array, is_real
from dualrev.compiler.frontend.inference import Typed
from dualrev.compiler.frontend.lower import Lowered
from dualrev.rules.functions import known
from dualrev.rules.names import line_of

__all__ = ["Elementwise"]


@dataclass(frozen=True)
class _Lazy:
    """An elementwise expression: a scalar operation on the elements of arrays and lazy expressions."""

    let: Let
    dtype: Any
    ndim: int


class Elementwise(Expansion):
    """Arithmetic of whole arrays: it is put off until its elements are wanted, and then done in one loop."""

    def __init__(self, lowered: Lowered, typed: Typed, argtypes: tuple[Any, ...], apart: bool) -> None:
        super().__init__(lowered, typed, argtypes, apart)
        self.lazy: dict[str, _Lazy] = {}

    def elementwise(self, s: Let, kind: Any) -> bool:
        """Whether it was elementwise arithmetic; then it has become lazy, or happened in place."""
        if s.op == "iop" and is_array(self.kind(s.args[0])):
            array, value = s.args
            self.flush(keep=value)
            self.assign(array, value, s.line, s.info)
            if s.target != array:
                self.let("copy", (array,), None, s.line, target=s.target)
            return True
        if s.op == "method" or s.info == "@":
            return False
        if s.op == "func":
            text, keywords = s.info
            line = line_of(text)
            has_rule = known(text).product or (line is not None and len(line.partials) == len(s.args))
            if keywords or not (has_rule or (text == "np.where" and len(s.args) == 3)):
                return False
        elif not any(is_array(self.kind(x)) for x in s.args):
            return False
        if not is_array(kind):
            return self.number(s, kind)
        if s.op == "iop":
            s = Let(s.target, "binop", s.args, s.info, s.line)
        if (
            isinstance(kind.dtype, types.Float)
            and s.op != "func"
            and line_of(s.info if s.op == "binop" else f"{s.info}x") is None
        ):
            return False
        lazy = _Lazy(s, kind.dtype, kind.ndim)
        if self.uses[s.target] == 1 and self.names.is_temporary(s.target):
            self.lazy[s.target] = lazy
            return True
        read = [y for x in s.args for y in self.array_leaves(x)]
        made = s.target if s.target not in read else self.temp(kind)  # x = 2 * x reads the old x
        self.lazy[made] = lazy
        self.materialise(made)
        if made != s.target:
            self.let("copy", (made,), None, s.line, target=s.target)
        return True

    def number(self, s: Let, kind: Any) -> bool:
        """Whether it was arithmetic of arrays without axes, of which numba makes a number: that of their elements."""
        arrays = [x for x in s.args if is_array(self.kind(x)) and self.kind(x).ndim == 0]
        if not arrays or not isinstance(kind, types.Float):
            return False
        args = []
        for x in s.args:
            self.materialise(x)
            args.append(self.pick(x, (), s.line) if x in arrays else x)
        self.operation(Let(s.target, s.op, tuple(args), s.info, s.line))
        return True

    def flush(self, keep: Any = None) -> None:
        """Make arrays of all lazy expressions, in their order."""
        inside = set(self.lazy_names(keep))
        for x in list(self.lazy):
            if x in self.lazy and x not in inside and not self.consumed_later(x):
                self.materialise(x)

    def settle(self, s: Let) -> None:
        """Make arrays of what still reads the variable that an operation is about to assign."""
        mine = {y for x in reads(s) for y in self.lazy_names(x)}
        for x in list(self.lazy):
            if x in self.lazy and x not in mine and s.target in self.lazy[x].let.args:
                self.materialise(x)

    def consumed_later(self, x: str) -> bool:
        """Whether another lazy expression reads x."""
        return any(x in lazy.let.args for lazy in self.lazy.values())

    def lazy_names(self, x: Any) -> list[str]:
        """The lazy expressions in x, with x."""
        if not isinstance(x, str) or x not in self.lazy:
            return []
        return [x, *(y for a in self.lazy[x].let.args for y in self.lazy_names(a))]

    def materialise(self, x: Any) -> None:
        """Make an array of a lazy expression."""
        if not isinstance(x, str) or x not in self.lazy:
            return
        lazy = self.lazy[x]
        arrays = self.array_leaves(x)
        line = lazy.let.line
        target = x
        if len(arrays) == 1 and self.kind(arrays[0]).ndim == lazy.ndim:
            self.empty_like(x, self.named(arrays[0], line), line)
        else:
            shapes = ", ".join(f"{self.named(a, line)}.shape" for a in arrays)
            self.empty(target, f"np.broadcast_shapes({shapes})", tuple(self.named(a, line) for a in arrays), line)
        self.fill_with(target, x, line)

    def named(self, a: Any, line: int) -> str:
        """The name of an array."""
        return a if isinstance(a, str) else a.name

    def array_leaves(self, x: Any) -> list[Any]:
        """The arrays that an expression reads."""
        if isinstance(x, str) and x in self.lazy:
            found = [y for a in self.lazy[x].let.args for y in self.array_leaves(a)]
            return list(dict.fromkeys(found))
        return [x] if not isinstance(x, Const) and is_array(self.kind(x)) else []

    def fill_with(self, array: str, x: Any, line: int) -> None:
        """array[...] = the lazy expression x, which is consumed."""
        ndim = self.kind(array).ndim
        element = self.element_maker(x, array, ndim, line)
        self.over(array, ndim, line, lambda i: self.put(array, i, element(i), line))

    def element_maker(self, x: Any, shape_of: str, ndim: int, line: int) -> Callable[[tuple[str, ...]], Atom]:
        """A function that writes how to compute the element of x at an index of the array `shape_of`."""
        arrays = self.array_leaves(x)
        spread: dict[Any, Any] = {}
        for a in arrays:
            alone = len(arrays) == 1 and self.kind(a).ndim == ndim and isinstance(x, str) and x == shape_of
            if alone or a == shape_of:
                spread[a] = a
            else:
                kind = self.kind(a)
                view = self.temp(types.Array(kind.dtype, ndim, "A"))
                spread[a] = view
                tree = syntax.name(f"runtime.spread(BASE, {shape_of}.shape)")
                self.let("view", (a, shape_of), tree, line, target=view)
        lazies = {y: self.lazy[y] for y in self.lazy_names(x)}

        def element(i: tuple[str, ...], y: Any = x) -> Atom:
            if isinstance(y, str) and y in lazies:
                return self.scalar(lazies[y], [functools.partial(element, i, a) for a in lazies[y].let.args])
            if y in spread:
                return self.pick(spread[y], i, line)
            return y

        for y in lazies:
            self.lazy.pop(y, None)
        return element

    def scalar(self, lazy: _Lazy, args: list[Callable[[], Atom]]) -> Atom:
        """The operation of a lazy expression on scalars."""
        s, kind = lazy.let, lazy.dtype
        if s.op == "func" and known(s.info[0]).product:
            return self.rewritten(s.info[0], args[0](), kind, s.line)
        target = self.temp(kind)
        if s.op == "func" and s.info[0] == "np.where":
            test = args[0]()

            def chosen(a: Callable[[], Atom]) -> list[Any]:
                return self.collect(lambda: self.let("copy", (a(),), None, s.line, target=target))

            self.out.append(If(test, chosen(args[1]), chosen(args[2]), s.line))
            return target
        atoms = tuple(a() for a in args)
        made = Let(target, s.op, atoms, OfElements(s.info) if s.op == "binop" else s.info, s.line)
        line = line_of(s.info[0] if s.op == "func" else s.info if s.op == "binop" else f"{s.info}x")
        if is_real(kind) and line is not None:
            self.let("prim", atoms, (line, made), s.line, target=target)
        else:
            self.as_written(made)
        return target

    def rewritten(self, text: str, x: Any, kind: Any, line: int, target: str = "") -> str:
        """A function of a scalar that is a product or a quotient."""
        product = known(text).product
        assert product is not None
        symbol, factor = product
        other: Any = x
        if factor is not None:
            other = Const(factor)
            if kind == types.float32:
                other = self.let("plain", (), syntax.name(f"np.float32({factor})"), line, kind)
        args = (other, x) if symbol == "/" else (x, other)
        target = target or self.temp(kind)
        made = Let(target, "binop", args, OfElements(symbol), line)  # these are numpy's, but for two of math's products
        if is_real(kind):
            return self.let("prim", args, (line_of(symbol), made), line, target=target)
        self.as_written(made)
        return target

    # Loops over elements

    def over(self, array: str, ndim: int, line: int, body: Callable[[tuple[str, ...]], Any]) -> None:
        """Loops over all indices of an array."""
        sizes = [self.plain(f"a.shape[{k}]", line, a=array) for k in range(ndim)]
        index = tuple(self.temp(types.int64) for _ in range(ndim))

        def nest(k: int) -> None:
            if k == ndim:
                body(index)
            else:
                inner = self.collect(lambda: nest(k + 1))
                self.out.append(For(index[k], Const(0), sizes[k], Const(1), inner, [], line))

        nest(0)

    def count(self, n: Atom, line: int, body: Callable[[str], Any]) -> None:
        """A loop over range(n)."""
        k = self.temp(types.int64)
        self.out.append(For(k, Const(0), n, Const(1), self.collect(lambda: body(k)), [], line))

    def pick(self, array: Any, index: tuple[str, ...], line: int) -> str:
        """An element."""
        return self.let("load", (array,), index, line, self.kind(array).dtype)

    def put(self, array: str, index: tuple[str, ...], value: Atom, line: int) -> None:
        """Write an element."""
        self.out.append(Store(array, index, value, line))

    def fill(self, array: str, value: Atom, line: int) -> None:
        """Write the same value everywhere."""
        self.over(array, self.kind(array).ndim, line, lambda i: self.put(array, i, value, line))

    def empty_like(self, target: str, shape_of: str, line: int) -> None:
        """Target = a new array of the same shape."""
        self.empty(target, f"{shape_of}.shape", (shape_of,), line)

    def empty(self, target: str, shape: str, names: tuple[str, ...], line: int) -> None:
        """Target = a new array of this shape, in the layout that numba has found."""
        kind = self.of[target]
        backwards = kind.layout == "F" and kind.ndim > 1
        text = (
            f"np.empty({shape}[::-1], {dtype_name(kind.dtype)}).T"
            if backwards
            else f"np.empty({shape}, {dtype_name(kind.dtype)})"
        )
        self.let("alloc", names, syntax.name(text), line, target=target)

    # Changes of arrays

    def store(self, s: Store) -> None:
        """array[index] = value."""
        of = self.kind(s.array)
        if s.array in self.flats or isinstance(of, types.NumpyFlatType):
            self.refuse(s.line, "an assignment to a.flat", "only reading it is known", "a.ravel()[k] = x")
        if not is_array(of):
            self.refuse(
                s.line, "an assignment to an element of something that is no array", "it cannot change", "an array"
            )
        index = self.index(s.index, of.ndim, s.line)
        sliced = [isinstance(x, Slice) or x is Ellipsis or x is None for x in index]
        kind = self.kind(s.value)
        if isinstance(s.value, str) and self.in_place.get(s.value) == s.array and is_array(kind):
            return
        if len([x for x in index if x is not None]) == of.ndim and not any(sliced):
            self.materialise(s.value)
            self.flush()
            value = s.value
            if is_array(kind):
                if kind.ndim:
                    self.refuse(s.line, "an array as an element", "an element is a number", "a loop")
                value = self.let("load", (value,), (), s.line, kind.dtype)
            elif isinstance(kind, types.BaseTuple):
                self.refuse(s.line, "a tuple as an element", "an element is a number", "its parts")
            self.out.append(Store(s.array, index, value, s.line))
            return
        self.flush(keep=s.value)
        ndim = of.ndim - sum(not x for x in sliced)
        view = self.temp(types.Array(of.dtype, ndim + sum(x is None for x in index), "A"))
        if index == (Ellipsis,):
            view = s.array
        else:
            self.let("view", (s.array,), index, s.line, target=view)
            self.alias.join(view, s.array)
        if isinstance(kind, types.BaseTuple) or isinstance(self.tree(s.value), Node):
            self.assign_parts(view, leaves(self.tree(s.value)), s.line)
        else:
            self.assign(view, s.value, s.line, None)

    def assign_parts(self, view: str, parts: list[Any], line: int) -> None:
        """view[...] = a tuple of numbers."""
        if self.kind(view).ndim != 1 or any(is_array(self.kind(x)) for x in parts):
            self.refuse(
                line, "this assignment of a tuple", "only numbers to a vector are known", "its parts, one by one"
            )
        wrong = self.plain(f"a.shape[0] != {len(parts)}", line, types.boolean, a=view)
        text = 'raise ValueError("cannot assign slice from input of different size")'
        self.out.append(If(wrong, [Effect(text, (), line, True)], [], line))
        for k, x in enumerate(parts):
            self.out.append(Store(view, (Const(k),), x, line))

    @functools.cached_property
    def in_place(self) -> dict[str, str]:
        """Temporaries that are views changed in place by `a[i:j] += ...`: the assignment back changes nothing."""
        found: dict[str, str] = {}
        made: dict[str, Let] = {}
        for s in walk(self.lowered.body):
            if isinstance(s, Let) and s.op == "getitem" and self.names.is_temporary(s.target):
                chosen = [x for x in index_atoms(s.info) if not isinstance(x, str) or x in self.of]
                if not any(is_array(self.kind(x)) for x in chosen):  # what an array chooses is a copy
                    made[s.target] = s
            if isinstance(s, Let) and s.op == "iop" and s.args[0] in made and is_array(self.of.get(s.target)):
                found[s.target] = made[s.args[0]].args[0]
        return found

    def assign(self, array: str, value: Any, line: int, symbol: str | None) -> None:
        """array[...] = value, or array[...] (symbol)= value."""
        ndim = self.kind(array).ndim
        arrays = self.array_leaves(value)
        shared = [a for a in arrays if self.alias.same(array, self.named(a, line))]
        if symbol is not None and isinstance(value, str) and value in self.lazy and set(shared) - {array}:
            self.materialise(value)
        if symbol is None and shared:
            if isinstance(value, str) and value in self.lazy:
                self.materialise(value)
            else:
                copied = self.temp(types.Array(self.kind(value).dtype, self.kind(value).ndim, "C"))
                base = value if isinstance(value, str) else self.let("copy", (value,), None, line, self.kind(value))
                self.empty_like(copied, base, line)
                self.over(
                    copied, self.kind(value).ndim, line, lambda i: self.put(copied, i, self.pick(base, i, line), line)
                )
                value = copied
        if not self.array_leaves(value):
            element: Callable[[tuple[str, ...]], Atom] = lambda i: value  # noqa: E731
            if isinstance(value, str) and value in self.lazy:
                element = self.element_maker(value, array, ndim, line)
        else:
            element = self.element_maker(value, array, ndim, line)
        kind = self.kind(array).dtype

        def one(i: tuple[str, ...]) -> None:
            new = element(i)
            if symbol is not None:
                old = self.pick(array, i, line)
                made = Let(self.temp(kind), "binop", (old, new), OfElements(symbol), line)
                if is_real(kind):
                    self.let("prim", made.args, (line_of(symbol), made), line, target=made.target)
                else:
                    self.as_written(made)
                new = made.target
            self.put(array, i, new, line)

        self.over(array, ndim, line, one)
