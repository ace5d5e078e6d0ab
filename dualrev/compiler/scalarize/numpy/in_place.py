"""In-place functions and methods: output arguments, `fill`, `fill_diagonal` and `sort`.

Takes the writer, what has been put off, assignments, and `expand`, which writes an operation. All that has been put off
is written first, as it may read the array.
"""

from __future__ import annotations

from collections.abc import Callable

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.arrays.assign import Assignments
from dualrev.compiler.scalarize.arrays.deferred import Expression, Lazy
from dualrev.compiler.scalarize.builder import ScalarBuilder, named
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import NUMBERS, is_array, is_real, is_real_array
from dualrev.diagnostics.quoting import raising
from dualrev.rules.emitted_names import line_of
from dualrev.rules.functions import known

__all__ = ["InPlace"]


class InPlace:
    """Lowering of functions that mutate an array."""

    def __init__(
        self, code: ScalarBuilder, lazy: Lazy, assignments: Assignments, expand: Callable[[anf.Let], None]
    ) -> None:
        self.code, self.lazy, self.assignments, self.expand = code, lazy, assignments, expand

    def takes(self, s: anf.CallKnown, kind: NumbaType) -> bool:
        """Lower an elementwise function, or `np.dot`, with an output array; False for any other call."""
        code = self.code
        text, keywords = s.function, s.keywords
        line = line_of(text)
        count = 2 if text == "np.dot" else 1 if known(text).product else len(line.partials) if line is not None else 0
        if keywords or not is_real_array(kind) or not count or len(s.args) != count + 1:
            return False
        array = s.args[count]
        if not isinstance(array, str) or not is_real_array(code.kind(array)):
            return False
        if text == "np.dot" and all(code.kind(x).ndim == 1 for x in s.args[:count] if is_array(code.kind(x))):
            return False
        if not any(is_array(code.kind(x)) for x in s.args[:count]):
            number = code.temp(kind.dtype)
            self.expand(s.on(*s.args[:count], target=number))
            self.lazy.flush()
            code.fill(array, number, s.line)
            code.copy(s.target, array, s.line)
            return True
        made = code.temp(types.Array(kind.dtype, kind.ndim, "C"))
        if text == "np.dot":
            self._raise_for_overlap(s.args[:count], array, s.line)
        if text != "np.dot" and self._overlaps(s.args[:count], array):
            self._element_by_element(s.on(*s.args[:count], target=made), array, kind)
            code.copy(s.target, array, s.line)
            return True
        self.expand(anf.CallKnown(made, text, s.args[:count], s.line))
        self.lazy.materialise(made)
        self.lazy.flush()
        for k in range(kind.ndim):
            wrong = code.plain(f"x.shape[{k}] != y.shape[{k}]", s.line, types.boolean, x=made, y=array)
            error = anf.Effect(raising("ValueError", "incompatible output array size"), (), s.line, True)
            code.add(anf.If(wrong, [error], [], s.line))
        self.assignments.assign(array, made, s.line, None)
        code.copy(s.target, array, s.line)
        return True

    def _overlaps(self, args: tuple[anf.Atom, ...], array: str) -> bool:
        """Whether an operand may be another view of the output array's memory."""
        views = {y for x in args for y in self.lazy.arrays_in(x)} - {array}
        return any(self.code.alias.same(array, named(y)) for y in views)

    def _raise_for_overlap(self, args: tuple[anf.Atom, ...], array: str, line: int) -> None:
        """Emit a ValueError for `np.dot` whose output array shares memory with an operand: BLAS decides the result."""
        source = self.code.lowered.source
        text = (
            f"{source.function.__name__}: `{source.line(line)}`: np.dot writes into an array that it reads, and numba's"
            " result is left to chance. Let it make a new array: a[:] = np.dot(b, c)."
        )
        for x in args:
            self.lazy.materialise(x)
            if self.code.alias.same(array, named(x)):
                test = self.code.plain("runtime.may_overlap(a, b)", line, types.boolean, a=array, b=x)
                self.code.add(anf.If(test, [anf.Effect(raising("ValueError", text), (), line, True)], [], line))

    def _element_by_element(self, s: anf.CallKnown, array: str, kind: NumbaType) -> None:
        """Elementwise loop without a copy, as in numba: an iteration may read what an earlier one wrote."""
        for x in s.args:
            self.lazy.materialise(x)
        self.lazy.flush()
        self.lazy.put_off(s.target, Expression(s, kind.dtype, kind.ndim))
        element = self.lazy.element_of(s.target, array, kind.ndim, s.line)
        self.code.over(array, kind.ndim, s.line, lambda i: self.code.put(array, i, element(i), s.line))

    def fill(self, s: anf.CallMethod) -> None:
        """Lower `a.fill(x)`."""
        self.lazy.flush()
        self.code.fill(s.args[0], s.args[1], s.line)

    def fill_diagonal(self, s: anf.CallKnown, kind: NumbaType) -> None:
        """Lower `np.fill_diagonal` of a matrix by a number."""
        code, (array, value) = self.code, s.args[:2]
        of = code.kind(array)
        if len(s.args) > 2 or not is_array(of) or of.ndim != 2 or not isinstance(code.kind(value), NUMBERS):
            what, why = "np.fill_diagonal of these arguments", "only that of a matrix by a number is known"
            code.refuse(s.line, what, why, "a loop")
        self.lazy.flush()
        n = code.plain("min(a.shape[0], a.shape[1])", s.line, a=array)
        code.count(n, s.line, lambda k: code.put(named(array), (k, k), value, s.line))

    def sort(self, s: anf.CallMethod) -> None:
        """Lower `a.sort()` of a vector."""
        code, array = self.code, s.args[0]
        of = code.kind(array)
        if len(s.args) > 1 or of.ndim != 1:
            code.refuse(s.line, "this sort", "only that of a vector is known", "np.sort of its rows")
        self.lazy.flush()
        made = code.temp(types.Array(of.dtype, 1, "C"))
        sort = anf.CallKnown(made, "np.sort", (array,), s.line)
        self.expand(sort) if is_real(of.dtype) else code.as_written(sort)
        code.over(made, 1, s.line, lambda i: code.put(named(array), i, code.pick(made, i, s.line), s.line))
