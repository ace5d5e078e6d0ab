"""Builder of core statements, and of the partial derivatives in the table of primitives."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from numba.core import types

from dualrev.compiler.ir.anf.to_python import SYMBOLS
from dualrev.compiler.ir.core.atoms import (
    Applied,
    Atom,
    Choice,
    Comparison,
    Constant,
    Expr,
    Field,
    Item,
    Operator,
    Var,
)
from dualrev.compiler.ir.core.known_zeros import ALONG
from dualrev.compiler.ir.core.nodes import Copy, Discrete, For, If, Real, Statement
from dualrev.compiler.ir.core.partials import NAMES, slope_of, spelled, text_of
from dualrev.rules.derived import Derived
from dualrev.rules.emitted_names import line_of
from dualrev.rules.primitives import PRIMITIVES, Primitive

__all__ = ["ZERO", "CoreBuilder", "partial"]

ZERO = Constant(0.0, types.float64)
#: A zero that is known, where those are marked.
NOTHING = Constant(-0.0, types.float64)
_MINUS = Constant(-1.0, types.float64)
_I64 = types.int64


@functools.cache
def _tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def partial(s: Real, k: int) -> ast.expr:
    """The k-th partial derivative of an operation: a syntax tree in the table's names `x`, `a`, `b`, `y`."""
    slope = slope_of(s, k)
    return _tree(text_of(s, k)) if slope is None else _with_slope(text_of(s, k), slope)


@functools.cache
def _with_slope(text: str, slope: Derived) -> ast.expr:
    """Syntax tree of a partial; its operation (the operand of a negation) has the Derived as an attribute."""
    tree = ast.parse(text, mode="eval").body
    operation: Any = tree.operand if isinstance(tree, ast.UnaryOp) else tree
    operation.slope = slope
    return tree


class CoreBuilder:
    """Builder of statements; with `whole_partials`, partials are operations of their own (partials.py)."""

    whole_partials = False

    def __init__(self, marks: bool = False) -> None:
        """`marks`: whether known zeros are marked (ir/core/known_zeros.py)."""
        self.out: list[Statement] = []
        self.marks = marks
        self.temporaries: set[Var] = set()

    def write(self, s: Statement) -> None:
        """Append a statement."""
        self.out.append(s)

    @contextmanager
    def into(self, out: list[Statement]) -> Iterator[None]:
        """Redirect statements to another block, in a `with` statement."""
        before, self.out = self.out, out
        try:
            yield
        finally:
            self.out = before

    def temporary(self) -> Var:
        """Create a real scalar variable."""
        made = Var("_", types.float64)
        self.temporaries.add(made)
        return made

    def real(self, name: str, spelling: str, *args: Atom, line: int) -> Var:
        """Emit an operation of the table into a new variable; divisions by zero follow IEEE."""
        target = self.temporary()
        self.write(Real(target, PRIMITIVES[name], spelling, args, line))
        return target

    def added(self, a: Atom | None, b: Atom, line: int) -> Atom:
        """Emit `a + b`: `b` if `a` is None, and `a - c` if `b` was just computed as `-c`."""
        if a is None:
            return b
        last = self.out[-1] if self.out else None
        if isinstance(last, Real) and last.rule.name == "neg" and last.target is b and b in self.temporaries:
            self.out.pop()
            return self.real("sub", "-", a, last.args[0], line=line)
        return self.real("add", "+", a, b, line=line)

    def product(self, factor: ast.expr, names: Mapping[str, Atom], t: Atom, line: int, rule: Primitive) -> Atom:
        """Emit `factor * t`, unless the factor is 1; `rule` is the primitive that treats known zeros."""
        match factor:
            case ast.Constant(1.0):
                return t
            case ast.UnaryOp(ast.USub(), operand) if rule is not ALONG:
                return self.real("neg", "-", self.product(operand, names, t, line, rule), line=line)
        return self.times(rule, self.value(factor, names, line), t, line)

    def times(self, rule: Primitive, a: Atom, t: Atom, line: int) -> Var:
        """Emit a product into a new variable."""
        target = self.temporary()
        self.write(Real(target, rule, "*" if rule is PRIMITIVES["mul"] else rule.name, (a, t), line))
        return target

    def minus(self, t: Atom, line: int) -> Var:
        """Emit the negative of a tangent or a cotangent."""
        return self.times(ALONG, _MINUS, t, line) if self.marks else self.real("neg", "-", t, line=line)

    def computed(self, t: Atom, line: int) -> Var:
        """Emit a tangent or a cotangent without its known-zero mark."""
        return self.real("add", "+", t, ZERO, line=line)

    @property
    def zero(self) -> Constant:
        """The constant for a known zero."""
        return NOTHING if self.marks else ZERO

    def zeros_like(self, x: Atom) -> Applied:
        """An expression for an array of known zeros."""
        return Applied("runtime.known_zeros_like" if self.marks else "np.zeros_like", (x,))

    def value(self, e: ast.expr, names: Mapping[str, Atom], line: int) -> Atom:
        """Emit an expression of the table."""
        if self.whole_partials and (slope := getattr(e, "slope", None)) is not None:
            return self.whole_partial(e, slope, names, line)
        return self.plain(e, names, line)

    def plain(self, e: ast.expr, names: Mapping[str, Atom], line: int) -> Atom:
        """Emit an expression of the table, one operation for each operator."""
        match e:
            case ast.Constant(value):
                return Constant(value, types.float64 if isinstance(value, float) else types.int64)
            case ast.Name(name) if name in names:
                return names[name]
            case ast.Name(name):
                return Constant({"inf": math.inf, "nan": math.nan}[name], types.float64)
            case ast.UnaryOp(ast.USub(), ast.Constant(float() | int() as value)):
                return Constant(-value, types.float64 if isinstance(value, float) else types.int64)
            case ast.UnaryOp(ast.USub(), operand):
                return self.real("neg", "-", self.value(operand, names, line), line=line)
            case ast.BinOp(left, op, right):
                a, b = self.value(left, names, line), self.value(right, names, line)
                return self.real(line_of(SYMBOLS[type(op)]).name, SYMBOLS[type(op)], a, b, line=line)
            case ast.Call(ast.Name("power"), [left, right]):
                a, b = self.value(left, names, line), self.value(right, names, line)
                return self.real("pow", "**", a, b, line=line)
            case ast.Call(ast.Name(f), args):
                return self.real(f, NAMES[f], *(self.value(x, names, line) for x in args), line=line)
            case ast.IfExp():
                return self.choice(e, names, line)
        raise AssertionError(ast.dump(e))

    def whole_partial(self, e: ast.expr, slope: Derived, names: Mapping[str, Atom], line: int) -> Atom:
        """Emit a partial as one operation."""
        of = [*names]  # the arguments, and the value
        args = tuple(names[of[j]] for j in slope.places)
        if all(isinstance(x, Constant) for x in args):
            return self.plain(e, names, line)
        target = self.temporary()
        self.write(Real(target, slope.line, spelled(slope.line.value), args, line))
        return target

    def choice(self, e: ast.IfExp, names: Mapping[str, Atom], line: int) -> Atom:
        """Emit a conditional expression: one statement if it is piecewise constant, else a branch."""
        target = self.temporary()
        if _is_constant(e):
            self.write(Discrete(target, _plain(e, names), line))
            return target
        test = self.test(e.test, names, line)
        branches: list[list[Statement]] = [[], []]
        for out, side in zip(branches, (e.body, e.orelse), strict=True):
            with self.into(out):
                self.write(Copy(target, self.value(side, names, line), line))
        self.write(If(test, tuple(branches[0]), tuple(branches[1]), line))
        return target

    def test(self, e: ast.expr, names: Mapping[str, Atom], line: int) -> Var:
        """Emit a comparison, with its operands."""
        assert isinstance(e, ast.Compare)
        atoms = tuple(self.value(x, names, line) for x in [e.left, *e.comparators])
        target = Var("_", types.boolean)
        self.write(Discrete(target, Comparison(tuple(SYMBOLS[type(op)] for op in e.ops), atoms), line))
        return target

    def loop(self, array: Var, work: Callable[[tuple[Var, ...]], None], line: int) -> None:
        """Emit a loop nest over all indices of an array; `work` emits its body."""
        counters = tuple(Var("_", _I64) for _ in range(array.type.ndim))
        counts = tuple(Var("_", _I64) for _ in counters)
        for axis, n in enumerate(counts):
            self.write(Discrete(n, Item(Field(array, "shape"), (Constant(axis, _I64),)), line))
        out: list[Statement] = []
        with self.into(out):
            work(counters)
        for i, n in zip(reversed(counters), reversed(counts), strict=True):
            out = [For(i, Constant(0, _I64), n, Constant(1, _I64), tuple(out), (), line)]
        self.out.extend(out)


def _is_constant(e: ast.expr) -> bool:
    """Whether an expression is piecewise constant: constants, chosen by comparisons without calls."""
    match e:
        case ast.IfExp(test, body, orelse):
            return (
                _is_constant(body) and _is_constant(orelse) and not any(isinstance(n, ast.Call) for n in ast.walk(test))
            )
        case ast.UnaryOp(ast.USub(), operand):
            return _is_constant(operand)
        case ast.Name(name):
            return name in ("inf", "nan")
    return isinstance(e, ast.Constant)


def _plain(e: ast.expr, names: Mapping[str, Atom]) -> Expr:
    """Translate a piecewise constant expression to one core expression."""
    match e:
        case ast.IfExp(test, body, orelse):
            return Choice(_plain(test, names), _plain(body, names), _plain(orelse, names))
        case ast.Compare(left, ops, comparators):
            symbols = tuple(SYMBOLS[type(op)] for op in ops)
            return Comparison(symbols, tuple(_plain(x, names) for x in [left, *comparators]))
        case ast.UnaryOp(ast.USub(), operand):
            return Operator("-", (_plain(operand, names),))
        case ast.Name(name) if name in names:
            return names[name]
        case ast.Name(name):
            return Constant({"inf": math.inf, "nan": math.nan}[name], types.float64)
        case ast.Constant(value):
            return Constant(value, types.float64)
    raise AssertionError(ast.dump(e))
