"""Elementwise operators and functions: defer them for loop fusion, or materialise them at once.

Takes the writer, what has been put off, assignments, and `expand`, which writes an operation of numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.alias_anf import has_output
from dualrev.compiler.scalarize.arrays.assign import Assignments
from dualrev.compiler.scalarize.arrays.deferred import Expression, Lazy
from dualrev.compiler.scalarize.arrays.race_test import raise_for_race
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.types.aliases import NumbaType
from dualrev.compiler.types.predicates import is_array
from dualrev.rules.emitted_names import line_of
from dualrev.rules.functions import known

__all__ = ["Elementwise"]


class Elementwise:
    """Lowering of elementwise arithmetic on arrays."""

    def __init__(
        self, code: ScalarBuilder, lazy: Lazy, assignments: Assignments, expand: Callable[[anf.Let], None]
    ) -> None:
        self.code, self.lazy, self.assignments, self.expand = code, lazy, assignments, expand
        body = code.lowered.body
        self._uses = Counter(x for s in anf.walk(body) for x in anf.reads(s) if isinstance(x, str))
        self._readers = Counter(x for s in anf.walk(body) for x in _operands(s) if isinstance(x, str))
        for uses in self._uses, self._readers:
            uses[code.lowered.result] += 1  # type: ignore[index]
        self._short: dict[anf.Atom, tuple[bool, ...]] = {
            s.target: axes for s in anf.walk(body) if isinstance(s, anf.Let) and any(axes := _short_axes(s))
        }

    def takes(self, s: anf.Let, kind: NumbaType) -> bool:
        """Lower or defer elementwise arithmetic; False for any other operation."""
        if isinstance(s, anf.InplaceOp) and is_array(self.code.kind(s.args[0])):
            array, value = s.args
            self.lazy.flush(keep=value)
            if value not in self.lazy:
                raise_for_race(self.code, array, value, s.line)
            self.assignments.assign(array, value, s.line, s.symbol)
            self.code.copy(s.target, array, s.line)
            return True
        if not self._is_of_elements(s):
            return False
        if not is_array(kind):
            return self._number(s, kind)
        if isinstance(s, anf.InplaceOp):
            s = s.binop()
        operator = s.symbol if isinstance(s, anf.BinOp) else f"{s.symbol}x" if isinstance(s, anf.UnaryOp) else ""
        if operator and isinstance(kind.dtype, types.Float) and line_of(operator) is None:
            return False
        if isinstance(s, anf.CallKnown) and s.function == "np.where":
            for x in s.args[1:]:
                self.lazy.raise_for_all(x)
        for x in s.args:
            if self._is_repeated(x, s):
                self.lazy.materialise(x)
        expression = Expression(s, kind.dtype, kind.ndim)
        again = any(s.target in self.lazy.arrays_in(x) or self.lazy.is_read_for(s.target, x) for x in s.args)
        if self._readers[s.target] == 1 and not again:
            self.lazy.put_off(s.target, expression)
            return True
        made = self.code.temp(kind) if again else s.target  # x = 2 * x reads the old x
        self.lazy.put_off(made, expression)
        self.lazy.materialise(made)
        self.code.copy(s.target, made, s.line)
        return True

    def _is_repeated(self, x: anf.Atom, s: anf.Let) -> bool:
        """Whether broadcasting would recompute costly elements of deferred `x`, which has fewer or shorter axes."""
        if x not in self.lazy or not self.lazy.is_costly(x):
            return False
        inside = self.lazy.arrays_in(x)
        others = [y for z in s.args for y in self.lazy.arrays_in(z) if y not in inside]
        axes = {self._short.get(y) for y in inside}
        longer = len(axes) == 1 and axes != {None} and any(self._short.get(y) not in axes for y in others)
        return longer or any(self.code.kind(y).ndim > self.lazy.ndim(x) for y in others)

    def is_read_once(self, x: str) -> bool:
        """Whether a variable is a temporary with a single use."""
        return self._uses[x] == 1 and self.code.names.is_temporary(x)

    def _is_of_elements(self, s: anf.Let) -> bool:
        """Whether an operation is elementwise: an operator with an array operand, or a scalar function."""
        if isinstance(s, anf.CallKnown):
            text, keywords = s.function, s.keywords
            line = line_of(text)
            count = 3 if text == "np.where" else 1 if known(text).product else len(line.partials) if line else 0
            return not keywords and len(s.args) == count > 0  # one more is an array for the result
        operator = isinstance(s, (anf.BinOp, anf.UnaryOp, anf.InplaceOp)) and s.symbol != "@"
        return operator and any(is_array(self.code.kind(x)) for x in s.args)

    def _number(self, s: anf.Let, kind: NumbaType) -> bool:
        """Lower arithmetic of 0-d arrays, whose result in numba is a scalar; False for anything else."""
        arrays = [x for x in s.args if is_array(self.code.kind(x)) and self.code.kind(x).ndim == 0]
        if not arrays or not isinstance(kind, types.Float):
            return False
        args = []
        for x in s.args:
            self.lazy.materialise(x)
            args.append(self.code.pick(x, (), s.line) if x in arrays else x)
        self.expand(s.on(*args))
        return True


def _short_axes(s: anf.Let) -> tuple[bool, ...]:
    """Axes of length 1 that the syntax shows, as in `x[:, None]` or `x.reshape(-1, 1)`: a flag for each axis."""
    if isinstance(s, anf.GetItem) and Ellipsis not in s.index:
        return tuple(x is None for x in s.index if x is None or isinstance(x, anf.Slice))
    if isinstance(s, anf.CallMethod) and s.method == "reshape":
        return tuple(x == anf.Const(1) for x in s.args[1:])
    return ()


def _operands(s: anf.Stmt) -> Iterable[anf.Atom]:
    """Atoms that a statement reads: each once, as `y * y` reads y once, unless it writes to one: `y += y`."""
    stores = isinstance(s, (anf.Store, anf.InplaceOp))
    output = isinstance(s, anf.CallKnown) and has_output(s.function, len(s.args))
    return anf.reads(s) if stores or output else {*anf.reads(s)}
