"""Reductions of arrays (sum, mean, product, min, max) to loops, in numba's order of the elements.

Takes the writer, what has been put off, and tuples. The sum of an expression that has been put off makes no array.
"""

from __future__ import annotations

import functools
import inspect

from numba.core import types
from numba.np import arraymath

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.anf.to_python import dtype_name
from dualrev.compiler.scalarize.arrays.deferred import Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.scalarize.scalar_ops import arithmetic
from dualrev.compiler.scalarize.tuples import Tuples
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_real, is_real_array

__all__ = ["Reductions"]


@functools.cache
def _is_nan_of_no_elements() -> bool:
    """Whether numba's mean of no elements is NaN, as numpy's; an older numba divides by zero."""
    return "a.size == 0" in inspect.getsource(arraymath.array_mean)


class Reductions:
    """Reductions of all elements, and sums along an axis."""

    def __init__(self, code: ScalarBuilder, lazy: Lazy, tuples: Tuples) -> None:
        self.code, self.lazy, self.tuples = code, lazy, tuples

    def sum(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower sum, mean and product."""
        x, name = s.args[0], _short(s)
        if self.code.is_tuple(x) or (isinstance(x, anf.Ref) and isinstance(x.value, tuple)):
            self.tuples.reduce(s, kind)
        elif is_real_array(kind) and name == "sum":
            self._along_axis(s, kind)
        elif is_real(kind):
            self._of_all(s, kind, name)
        else:
            self.lazy.materialise(x)
            self.code.as_written(s)

    def extreme(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.min` and `np.max`."""
        if self.code.is_tuple(s.args[0]):
            self.tuples.reduce(s, kind)
            return
        self.lazy.materialise(s.args[0])
        assert len(s.args) == 1, "numba has no axis"
        if is_real(kind):
            self.code.emit(anf.WholeArray(s.target, f"np.{_short(s).removeprefix('a')}", (s.args[0],), s.line))
        else:
            self.code.as_written(s)

    def spread(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.var` and `np.std` to library calls."""
        self.lazy.materialise(s.args[0])
        if len(s.args) > 1 or not is_real_array(self.code.kind(s.args[0])):
            self.code.refuse(s.line, f"{s.function} of these arguments", "it has no derivative here", "a loop")
        self.code.library(s.target, _short(s), s.args, s.line)

    def _of_all(self, s: anf.CallKnown, kind: NumbaType, name: str) -> None:
        """Reduce all elements by sum, mean or product, in numba's order."""
        code, x = self.code, s.args[0]
        axis = s.args[1] if len(s.args) > 1 else anf.Const(None)
        if len(s.args) > 2 or (axis != anf.Const(None) and (name != "sum" or code.kind(x).ndim > 1)):
            code.refuse(s.line, f"{name} with these arguments", "only that of all elements is known", "a loop")
        total = self._started(1.0 if name == "prod" else 0.0, kind, s.line)
        sizes, element = self.lazy.over(x, s.line)
        symbol = "*" if name == "prod" else "+"

        def one(i: tuple[str, ...]) -> None:
            """Accumulate the element at index `i`."""
            arithmetic(code, anf.BinOp(total, symbol, total, element(i), s.line), kind)

        code.nest(sizes, s.line, one)
        if name == "mean":
            n = code.emit(anf.Discrete(code.temp(types.int64), sizes, to_python.name(" * ".join(sizes) or "1"), s.line))
            arithmetic(code, anf.BinOp(s.target, "/", total, n, s.line, _is_nan_of_no_elements()), kind)
        else:
            code.emit(anf.Copy(s.target, total, s.line))

    def _started(self, unit: float, kind: NumbaType, line: int) -> str:
        """Initialise the accumulator of a sum or a product."""
        code, total = self.code, self.code.temp(kind)
        start: anf.Atom = anf.Const(unit)
        if kind == types.float32:
            start = code.emit(anf.Discrete(code.temp(kind), (), to_python.name(f"np.float32({unit})"), line))
        code.emit(anf.Copy(total, start, line))
        return total

    def _along_axis(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.sum(a, axis)`."""
        code, (x, axis) = self.code, s.args[:2]
        ndim = code.kind(x).ndim
        known = isinstance(axis, anf.Const) and type(axis.value) is int and -ndim <= axis.value < ndim
        if len(s.args) > 2 or not known:
            code.refuse(s.line, "np.sum with this axis or dtype", "only an int that is a constant is known", "a loop")
        skipped = axis.value % ndim
        made = s.target if s.target not in self.lazy.arrays_in(x) else code.temp(kind)  # v = np.sum(m * v, 1)
        sizes, element = self.lazy.over(x, s.line)
        rest = tuple(n for k, n in enumerate(sizes) if k != skipped)
        shape = f"(({', '.join(rest)},), {dtype_name(kind.dtype)})"

        def add(total: anf.Atom, i: tuple[str, ...], target: str) -> anf.Atom:
            """Emit `target = total + element`."""
            return arithmetic(code, anf.BinOp(target, "+", total, element(i), s.line), kind.dtype)

        def row(i: tuple[str, ...]) -> None:
            """Reduce one row along the last axis, in a scalar accumulator."""
            total = self._started(0.0, kind.dtype, s.line)
            code.count(sizes[-1], s.line, lambda k: add(total, (*i, k), total))
            code.put(made, i, total, s.line)

        def one(i: tuple[str, ...]) -> None:
            """Accumulate the element at index `i` in the result array."""
            place = tuple(k for n, k in enumerate(i) if n != skipped)
            code.put(made, place, add(code.pick(made, place, s.line), i, code.temp(kind.dtype)), s.line)

        if skipped == ndim - 1 > 0:
            code.emit(anf.Alloc(made, rest, to_python.name(f"np.empty{shape}"), s.line))
            code.nest(rest, s.line, row)
        else:
            code.emit(anf.Alloc(made, rest, to_python.name(f"np.zeros{shape}"), s.line))
            code.nest(sizes, s.line, one)
        code.copy(s.target, made, s.line)


def _short(s: anf.CallKnown) -> str:
    """Name of a function without its module."""
    return str(s.function.split(".")[-1])
