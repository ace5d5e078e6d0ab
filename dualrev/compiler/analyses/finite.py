"""Which variables may be infinite or NaN although all arguments of the function are finite.

A tangent of 0 is kept apart from a partial derivative that may be infinite or NaN: docs/conventions.md, rules 3 and 4.
Of a call, what its function gives for arguments of which these may be: for functions that call one another in a circle,
the least that agrees with their calls.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Iterable
from typing import Any

from dualrev.compiler.analyses.memory import Classes, Memory, given, is_array
from dualrev.compiler.core.atoms import Constant
from dualrev.compiler.core.terms import (
    Call,
    Copy,
    Discrete,
    Function,
    Load,
    Make,
    Opaque,
    Real,
    Statement,
    Store,
    View,
    Whole,
)
from dualrev.compiler.core.walks import leaves, reads, statements

__all__ = ["Wild", "is_tame"]

#: Lines whose partials are finite wherever their arguments are, and whose values are (overflow aside).
_TAME = {"add", "sub", "mul", "neg", "pos", "abs", "sin", "cos", "tanh", "atan", "asinh", "erf", "erfc", "logaddexp"}
_TAME |= {"floor", "ceil", "trunc", "round", "sign", "maximum", "minimum", "copysign"}


class Wild:
    """The variables of a function that may be infinite or NaN; `wild` are arguments that are."""

    def __init__(self, f: Function, memory: Memory, classes: Classes, wild: Iterable[Any] = ()) -> None:
        self._memory, self._classes = memory, classes
        self._found: set[Any] = set()
        for x in wild:
            self._add(x)
        count = -1
        while count < len(self._found):
            count = len(self._found)
            for s in statements(f.body):
                self._statement(s)

    def has(self, x: Any) -> bool:
        """Whether an atom may be."""
        if isinstance(x, Constant):
            return isinstance(x.value, float) and not math.isfinite(x.value)
        return self._key(x) in self._found

    def partial(self, s: Real, k: int) -> bool:
        """Whether the k-th partial of an operation may be."""
        if s.rule.partials[k] in ("1.0", "-1.0", "0.0"):
            return False
        names = _names(s.rule.partials[k])
        return not is_tame(s) or any(
            self.has(x) for p, x in zip(s.rule.parameters, s.args, strict=True) if p in names or "y" in names
        )

    def _key(self, x: Any) -> Any:
        return self._classes.find(x) if is_array(x) else x

    def _add(self, x: Any) -> None:
        self._found.add(self._key(x))

    def _statement(self, s: Statement) -> None:
        match s:
            case Store():
                if self.has(s.value):
                    self._add(s.array)
            case Call():
                self._call(s)
            case Opaque():
                for x in s.targets:
                    self._add(x)
            case Copy() | Discrete() | Load() | Make() | Real() | View() | Whole():
                tame = not isinstance(s, Real) or is_tame(s)
                if not tame or any(map(self.has, reads(s))):
                    self._add(s.target)

    def _call(self, s: Call) -> None:
        """What is so of results, and of arrays that the function writes to."""
        memory, inputs, results = self._memory, given(s), leaves(s.result)
        if memory.program.gradient(s) is not None or memory.is_draw(s) or (f := memory.program.function(s)).opaque:
            found = (True,) * (len(inputs) + len(results))
        else:
            wild = tuple(map(self.has, inputs))
            pattern = tuple(inputs.index(self._first(x, inputs)) if is_array(x) else None for x in inputs)
            key = memory.program.key(s), wild, pattern
            least = (*wild, *(False for _ in results))
            found = memory.wild.value(key, lambda: least, lambda: _of_function(f, memory, wild, pattern))
        written = memory.changed(s)
        for x, is_so in zip([*inputs, *results], found, strict=True):
            if is_so and (x in s.targets or x in written):
                self._add(x)

    def _first(self, x: Any, inputs: list[Any]) -> Any:
        """The first of the arguments that may share memory with one of them."""
        return next(y for y in inputs if is_array(y) and self._key(y) == self._key(x))


def _of_function(
    f: Function, memory: Memory, wild: tuple[bool, ...], pattern: tuple[int | None, ...]
) -> tuple[bool, ...]:
    """Which leaves of the parameters, and then of the result, may be at the end; `pattern`: the first of each class."""
    inputs = [x for p in f.parameters for x in leaves(p)]
    together = [(x, inputs[k]) for x, k in zip(inputs, pattern, strict=True) if k is not None]
    classes = Classes(f, memory, together)
    inner = Wild(f, memory, classes, [x for x, is_so in zip(inputs, wild, strict=True) if is_so])
    return tuple(map(inner.has, [*inputs, *leaves(f.result)]))


@functools.cache
def _names(text: str) -> frozenset[str]:
    """The names in an expression of the table."""
    return frozenset(n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name))


def is_tame(s: Real) -> bool:
    """Whether an operation is finite, with its partials, wherever its arguments are."""
    name = s.rule.name
    if name == "pow" and isinstance(s.args[1], Constant) and isinstance(s.args[1].value, int):
        return s.args[1].value >= 0
    if name == "div":  # where it is checked, an error comes first
        return bool(s.args[1].value) if isinstance(s.args[1], Constant) else s.checked
    return name in _TAME
