"""Loop fusion of elementwise expressions: deferred array arithmetic becomes one loop, without temporary arrays.

`y = a * b` of arrays is not written where it stands, if one operation reads y: it waits here until its elements are
wanted, and no array is made of it. Guarantees that what waits is computed before anything that it reads changes:
`settle` is called before a variable is assigned, `flush` before memory changes or a block ends. So an array that may
wait is either consumed by `element_of`, or made by `materialise`, before it is read.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.builder import ScalarBuilder, Sizes, named
from dualrev.compiler.scalarize.scalar_ops import arithmetic, product
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array
from dualrev.rules.functions import known

__all__ = ["Expression", "Lazy"]

_COSTLY = ("/", "//", "%", "**")


@dataclass(frozen=True)
class Expression:
    """Deferred elementwise operation on arrays and other deferred expressions.

    That of complex numbers (lower_complex.py) is a formula of pairs, and knows itself how to `make` its arrays.
    """

    let: anf.Let
    dtype: NumbaType
    ndim: int
    formula: Callable[..., Any] | None = None
    make: Callable[[], None] | None = None


class Lazy:
    """Deferred elementwise expressions, by the variables that hold their values."""

    def __init__(self, code: ScalarBuilder) -> None:
        self.code = code
        self._waiting: dict[str, Expression] = {}

    def __contains__(self, x: anf.Atom) -> bool:
        return self._of(x) is not None

    def _of(self, x: anf.Atom | None) -> Expression | None:
        return self._waiting.get(x) if isinstance(x, str) else None

    def put_off(self, x: str, expression: Expression) -> None:
        """Defer an elementwise expression until its elements are needed."""
        self._waiting[x] = expression

    def taken(self, x: anf.Atom) -> dict[str, Expression]:
        """Remove and return the deferred expressions that `x` is computed from, `x` included."""
        return {y: self._waiting.pop(y) for y in dict.fromkeys(self._names_in(x))}

    def is_read_for(self, y: str, x: anf.Atom) -> bool:
        """Whether computing `x`, which may be deferred, reads `y`."""
        mine = self._of(x)
        return x == y or (mine is not None and any(self.is_read_for(y, a) for a in mine.let.args))

    def ndim(self, x: anf.Atom) -> int:
        """Number of axes of a deferred expression."""
        assert isinstance(x, str), x
        return self._waiting[x].ndim

    def is_costly(self, x: anf.Atom) -> bool:
        """Whether a deferred expression takes more than sums and products: a function, a division or a power."""
        inside = [self._waiting[y].let for y in self._names_in(x)]
        return any(isinstance(s, anf.CallKnown) or (isinstance(s, anf.BinOp) and s.symbol in _COSTLY) for s in inside)

    # When it is written

    def flush(self, keep: anf.Atom | None = None) -> None:
        """Materialise all deferred expressions, in their order, except those that `keep` is computed from."""
        inside = set(self._names_in(keep))
        for x in list(self._waiting):
            if x in self._waiting and x not in inside and not self._is_read_by_another(x):
                self.materialise(x)

    def settle(self, s: anf.Let) -> None:
        """Materialise deferred expressions that read the target of `s`, or are its old value; not those `s` reads."""
        mine = {y for x in anf.reads(s) for y in self._names_in(x)}
        for x in list(self._waiting):
            if x in self._waiting and x not in mine and s.target in (x, *self._waiting[x].let.args):
                self.materialise(x)

    def flush_variables(self, s: anf.Let | anf.Store) -> None:
        """Materialise deferred user variables that `s` does not read, before it may change memory.

        It may read some of them. What waits otherwise are parts of the same expression, of which it is one.
        """
        mine = {y for x in anf.reads(s) for y in self._names_in(x)}
        for x in list(self._waiting):
            if x in self._waiting and x not in mine and not self.code.names.is_temporary(x):
                self.materialise(x)

    def _is_read_by_another(self, x: str) -> bool:
        return any(x in other.let.args for other in self._waiting.values())

    def _names_in(self, x: anf.Atom | None) -> list[str]:
        """Names of the deferred expressions that `x` is computed from, `x` included."""
        if not isinstance(x, str) or x not in self._waiting:
            return []
        return [x, *(y for a in self._waiting[x].let.args for y in self._names_in(a))]

    def raise_for_all(self, x: anf.Atom) -> None:
        """Materialise the parts of `x` that may raise, because a branch would evaluate them for some elements only."""
        for y in self._names_in(x):
            if y in self._waiting and self._may_raise(self._waiting[y].let):
                self.materialise(y)

    def _may_raise(self, s: anf.Let) -> bool:
        """Whether an operation may raise for a zero base: a power whose integer exponent may be negative."""
        if not isinstance(s, anf.BinOp) or s.symbol != "**":
            return False
        exponent = s.right
        if isinstance(exponent, anf.Const):
            return isinstance(exponent.value, int) and exponent.value < 0
        kind = self.code.kind(exponent)
        return isinstance(kind.dtype if is_array(kind) else kind, types.Integer)

    # How it is written

    def materialise(self, x: anf.Atom) -> None:
        """Allocate the array of `x` and compute its elements, if `x` is deferred."""
        if not isinstance(x, str) or x not in self._waiting:
            return
        if (make := self._waiting[x].make) is not None:
            make()
            return
        arrays, ndim, line = self.arrays_in(x), self._waiting[x].ndim, self._waiting[x].let.line
        if len(arrays) == 1 and self.code.kind(arrays[0]).ndim == ndim:
            self.code.empty_like(x, named(arrays[0]), line)
        else:
            names = tuple(map(named, arrays))
            self.code.empty_for(x, names, line)
        ndim = self.code.kind(x).ndim
        element = self.element_of(x, x, ndim, line)
        self.code.over(x, ndim, line, lambda i: self.code.put(x, i, element(i), line))

    def arrays_in(self, x: anf.Atom) -> list[anf.Atom]:
        """Array operands of an expression, nested deferred ones included."""
        if (mine := self._of(x)) is not None:
            found = [y for a in mine.let.args for y in self.arrays_in(a)]
            return list(dict.fromkeys(found))
        return [x] if not isinstance(x, anf.Const) and is_array(self.code.kind(x)) else []

    def over(self, x: anf.Atom, line: int) -> tuple[Sizes, Callable[[tuple[str, ...]], anf.Atom]]:
        """Axis lengths of `x`, and an emitter of its element at an index; `x` is not materialised."""
        code, ndim = self.code, self.code.kind(x).ndim
        if x not in self:
            return code.sizes(named(x), ndim, line), lambda i: code.pick(x, i, line)
        arrays = self.arrays_in(x)
        if len(arrays) == 1 and code.kind(arrays[0]).ndim == ndim:
            like = named(arrays[0])
            return code.sizes(like, ndim, line), self.element_of(x, like, ndim, line)
        sizes = code.common_sizes(tuple(map(named, arrays)), ndim, line)
        return sizes, self.element_of(x, sizes, ndim, line)

    def element_of(
        self, x: anf.Atom, shape_of: str | Sizes, ndim: int, line: int
    ) -> Callable[[tuple[str, ...]], anf.Atom]:
        """Return an emitter of the element of `x` at an index, broadcast to `shape_of` (an array or lengths).

        What waits in x does so no longer.
        """
        arrays = self.arrays_in(x)
        spread: dict[anf.Atom, anf.Atom] = {}
        for a in arrays:
            alone = len(arrays) == 1 and self.code.kind(a).ndim == ndim and isinstance(x, str) and x == shape_of
            spread[a] = a if alone or a == shape_of else self.code.spread(a, shape_of, ndim, line)
        inside = {y: self._waiting[y] for y in self._names_in(x)}

        def element(i: tuple[str, ...], y: anf.Atom = x) -> anf.Atom:
            """Emit the element of `y` at index `i`."""
            if isinstance(y, str) and y in inside:
                return self._scalar(inside[y], [functools.partial(element, i, a) for a in inside[y].let.args])
            if y in spread:
                return self.code.pick(spread[y], i, line)
            return y

        for y in inside:
            self._waiting.pop(y, None)
        return element

    def _scalar(self, expression: Expression, args: list[Callable[[], anf.Atom]]) -> anf.Atom:
        """Emit the operation of a deferred expression on scalar operands."""
        s, kind, code = expression.let, expression.dtype, self.code
        if isinstance(s, anf.CallKnown) and known(s.function).product:
            return product(code, s.function, args[0](), kind, s.line)
        target = code.temp(kind)
        if isinstance(s, anf.CallKnown) and s.function == "np.where":
            test = args[0]()

            def chosen(a: Callable[[], anf.Atom]) -> list[anf.Stmt]:
                """Statements of one branch of `np.where`."""
                return code.collect(lambda: code.emit(anf.Copy(target, a(), s.line)))

            code.add(anf.If(test, chosen(args[1]), chosen(args[2]), s.line))
            return target
        written: dict[str, anf.Atom] = {}
        atoms: list[anf.Atom] = []
        for x, a in zip(s.args, args, strict=True):
            atom = written[x] if x in written else a()  # `y * y`: what waits in y is written once
            if isinstance(x, str):  # constants that are equal may differ in type, or in the sign of 0
                written[x] = atom
            atoms.append(atom)
        if isinstance(s, anf.BinOp):
            return arithmetic(code, anf.BinOp(target, s.symbol, atoms[0], atoms[1], s.line, True), kind)
        assert isinstance(s, (anf.UnaryOp, anf.CallKnown)), s
        return arithmetic(code, s.on(*atoms, target=target), kind)
