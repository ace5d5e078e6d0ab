"""May-be-non-finite analysis: variables that may be infinite or NaN though all arguments are finite.

Everything else is looked at: literals, frozen arrays with the numbers that they hold, defaults, what a call returns,
and what Python's statements or a random draw leave. Numbers beyond 1e100, or divisors below its reciprocal, count as
infinite, so that products with them need no bounds. What is taken for finite: the arguments that are given, what
overflows by way of them, and elements of np.empty that nobody has written.

A tangent of 0 is kept apart from a partial derivative that may be infinite or NaN: docs/conventions.md, rules 3 and 4.
Of a call, what its function gives for arguments of which these may be: for functions that call one another in a circle,
the least that agrees with their calls.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable

import numpy as np
from numba.core import types

from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative, given
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import (
    Applied,
    Atom,
    Choice,
    Constant,
    Expr,
    Field,
    Global,
    Index,
    Item,
    Method,
    Operator,
    Pack,
    Var,
)
from dualrev.compiler.ir.core.nodes import (
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
from dualrev.compiler.ir.core.traverse import leaves, parts, reads, statements
from dualrev.compiler.types.aliases import UserValue

__all__ = ["Wild", "holds_wild", "names_in"]

#: Lines whose partials are finite wherever their arguments are, and whose values are (overflow aside).
_TAME = {"add", "sub", "mul", "neg", "pos", "abs", "sin", "cos", "tanh", "atan", "asinh", "erf", "erfc", "logaddexp"}
_TAME |= {"floor", "ceil", "trunc", "round", "sign", "maximum", "minimum", "copysign"}
#: Functions in expressions of which that is so; and those whose arrays are finite whatever their arguments are.
_TAME_APPLIED = {"float", "abs", "min", "max", "np.float64", "np.float32", "np.copy", "np.array", "np.arange"}
_NEW = {f"np.{f}{like}" for f in ("empty", "zeros", "ones") for like in ("", "_like")}
#: The largest number that is taken for one of ordinary size, in double and in single precision.
_LARGE, _LARGE_SINGLE = 1e100, 1e12
#: The largest exponent whose powers of ordinary numbers are.
_LARGE_EXPONENT = 32


class Wild:
    """Variables of a function that may be infinite or NaN; `wild` are the arguments that may be."""

    def __init__(self, f: Function, memory: Memory, classes: Classes, wild: Iterable[Atom] = ()) -> None:
        self._memory, self._classes = memory, classes
        self._found: set[Representative] = set()
        for x in (*wild, *f.wild):
            self._add(x)
        count = -1
        while count < len(self._found):
            count = len(self._found)
            for s in statements(f.body):
                self._statement(s)

    def has(self, x: Atom) -> bool:
        """Whether an atom may be infinite or NaN."""
        if isinstance(x, Constant) and holds_wild(x.value):
            return True
        if isinstance(x, Global) and self._memory.asked(holds_wild, x.value):
            return True
        return self._key(x) in self._found

    def partial(self, s: Real, k: int) -> bool:
        """Whether the k-th partial of an operation may be infinite or NaN."""
        if s.rule.partials[k] in ("1.0", "-1.0", "0.0"):
            return False
        names = names_in(s.rule.partials[k])
        return not _is_tame(s) or any(
            self.has(x) for p, x in zip(s.rule.parameters, s.args, strict=True) if p in names or "y" in names
        )

    def _key(self, x: Atom) -> Representative:
        return self._classes.find(x) if is_array(x) else x

    def _add(self, x: Atom) -> None:
        if not _is_whole(x):
            self._found.add(self._key(x))

    def _statement(self, s: Statement) -> None:
        match s:
            case Store():
                if self.has(s.value):
                    self._add(s.array)
            case Call():
                self._call(s)
            case Opaque():
                for x in (*s.targets, *(x for _, x in s.inputs if s.changes and is_array(x))):
                    self._add(x)
            case Discrete() | Make():
                if self._expression(s.value):
                    self._add(s.target)
            case Copy() | Load() | Real() | View() | Whole():
                tame = not isinstance(s, Real) or _is_tame(s)
                if not tame or any(map(self.has, reads(s))):
                    self._add(s.target)

    def _expression(self, e: Index) -> bool:
        """Whether the value of a float expression, or an element of its array, may be infinite or NaN."""
        match e:
            case Operator("+" | "-" | "*") | Pack() | Choice() | Item() | Field():
                return any(map(self._expression, _chosen(e)))
            case Applied(str() as f) if f in _NEW:  # whatever gives the shape
                return False
            case Applied(str() as f, args) if f in _TAME_APPLIED:
                return any(map(self._expression, args))
            case Method(base, "copy"):
                return self._expression(base)
            case Var() | Constant() | Global():
                return self.has(e)
        return True

    def _call(self, s: Call) -> None:
        """Mark the results, and the arrays written, that a call may make infinite or NaN."""
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

    def _first(self, x: Atom, inputs: list[Atom]) -> Atom:
        """The first argument in the alias class of `x`."""
        return next(y for y in inputs if is_array(y) and self._key(y) == self._key(x))


def _of_function(
    f: Function, memory: Memory, wild: tuple[bool, ...], pattern: tuple[int | None, ...]
) -> tuple[bool, ...]:
    """Non-finite flags of the parameters, and then the results, at a function's end; `pattern`: first of each class."""
    inputs = [x for p in f.parameters for x in leaves(p)]
    together = [(x, inputs[k]) for x, k in zip(inputs, pattern, strict=True) if k is not None]
    classes = Classes(f, memory, together)
    inner = Wild(f, memory, classes, [x for x, is_so in zip(inputs, wild, strict=True) if is_so])
    return tuple(map(inner.has, [*inputs, *leaves(f.result)]))


@functools.cache
def names_in(text: str) -> frozenset[str]:
    """Names in an expression of the table of rules."""
    return frozenset(n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name))


def holds_wild(x: UserValue) -> bool:
    """Whether a number, or one in an array or a tuple, is infinite, NaN or huge; also true of any text."""
    if isinstance(x, tuple):
        return any(map(holds_wild, x))
    if isinstance(x, str):  # float("inf")
        return True
    if isinstance(x, (float, complex, np.floating, np.complexfloating, np.ndarray)):
        found = np.asarray(x)
        if found.dtype.kind in "fc":
            return not np.all(np.abs(found) <= (_LARGE if found.dtype.itemsize > 4 else _LARGE_SINGLE))
        return found.dtype.kind == "V"
    return False


def _is_whole(x: Atom) -> bool:
    """Whether an atom is an integer, or an array of integers: these are finite."""
    kind = x.type.dtype if is_array(x) else x.type
    return isinstance(kind, (types.Integer, types.Boolean, types.NoneType))


def _chosen(e: Expr) -> tuple[Index, ...]:
    """The operands that an expression takes its value from."""
    match e:
        case Choice():
            return e.then, e.orelse
        case Item() | Field():
            return (e.base,)
    return parts(e)


def _is_tame(s: Real) -> bool:
    """Whether an operation and its partials are finite wherever its arguments are."""
    name, numbers = s.rule.name, [x.value for x in s.args if isinstance(x, Constant)]
    if s.target.type == types.float32 and not all(abs(x) <= _LARGE_SINGLE for x in numbers):
        return False
    if name == "pow" and isinstance(s.args[1], Constant) and isinstance(s.args[1].value, int):
        return 0 <= s.args[1].value <= _LARGE_EXPONENT
    if name == "div":  # where it is checked, an error comes first
        return abs(s.args[1].value) >= 1.0 / _LARGE if isinstance(s.args[1], Constant) else s.checked
    return name in _TAME
