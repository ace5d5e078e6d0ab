"""Reference interpreter of typed core, in plain Python and numpy.

It defines what a term means, statement by statement:

    run(f, args)  the value of a function, whose arrays are changed in place as the statements say

It is slow and has no cleverness, so that a pass can be held against it: run(pass(f)) = run(f). Numbers have the types
of their variables; math functions give NaN and infinities where numba's do, and a division by zero raises if the
function says so.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numba.core import types

from dualrev.compiler import runtime
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.core import atoms, nodes
from dualrev.compiler.ir.core.atoms import Global, Var
from dualrev.compiler.ir.core.known_zeros import MARKING, marked
from dualrev.compiler.ir.core.nodes import Function, Statement
from dualrev.compiler.types.aliases import NumbaType, UserValue
from dualrev.diagnostics.quoting import execute

__all__ = ["Tape", "run"]

#: What a call does: the function, and the values of its arguments.
Caller = Callable[[nodes.Call, tuple[UserValue, ...]], UserValue]

_OPERATORS: dict[str, Callable[..., UserValue]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_UNARY: dict[str, Callable[[UserValue], UserValue]] = {
    "-": operator.neg,
    "+": operator.pos,
    "not": operator.not_,
    "~": lambda x: not x if isinstance(x, (bool, np.bool_)) else ~x,
}
_COMPARE: dict[str, Callable[[UserValue, UserValue], UserValue]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda x, y: x in y,  # of strings
    "not in": lambda x, y: x not in y,
}


@dataclass
class Tape:
    """Stacks of numbers and arrays between a forward and a reverse sweep."""

    numbers: list[tuple[UserValue, ...]] = field(default_factory=list)
    arrays: list[np.ndarray] = field(default_factory=list)


def run(f: Function, args: tuple[UserValue, ...], call: Caller | None = None, tape: Tape | None = None) -> UserValue:
    """Interpret `f`; `call` evaluates its calls (by the numba function itself, if not given)."""
    return _Run(f, call or _itself, tape or Tape()).value(args)


def _itself(s: nodes.Call, args: tuple[UserValue, ...]) -> UserValue:
    if isinstance(s.function, atoms.Symbol):
        raise ValueError(f"only a program knows {s.function}")
    if to_python.takes_rest(s.function.value):
        args = (*args[:-1], *args[-1])
    return s.function.value(*args)


class _Run:
    def __init__(self, f: Function, call: Caller, tape: Tape) -> None:
        self.f, self.call, self.tape = f, call, tape
        self.env: dict[Var, UserValue] = {}

    def value(self, args: tuple[UserValue, ...]) -> UserValue:
        """Run the function on these arguments, and return its result."""
        for p, x in zip(self.f.parameters, args, strict=True):
            self.bind(p, x)
        with np.errstate(all="ignore"):
            self.block(self.f.body)
            return boxed(self.tree(self.f.result))

    def bind(self, tree: atoms.Tree, x: UserValue) -> None:
        """Bind the variables of a tree to values."""
        if isinstance(tree, atoms.Node):
            for part, value in zip(tree.parts, x, strict=True):
                self.bind(part, value)
        elif isinstance(tree, Var):
            self.env[tree] = cast(x, tree.type)

    def tree(self, tree: atoms.Tree) -> UserValue:
        """Evaluate a tree."""
        if not isinstance(tree, atoms.Node):
            return self.atom(tree)
        parts = [self.tree(part) for part in tree.parts]
        return tuple(parts) if tree.cls is None else tree.cls.value(*parts)

    # Expressions

    def atom(self, x: atoms.Atom) -> UserValue:
        """Evaluate an atom."""
        if isinstance(x, Var):
            return self.env[x]
        if isinstance(x, Global) and x.value is None:
            return named(x.name)
        return np.float64(x.value) if type(x.value) is float else x.value

    def expr(self, e: atoms.Expr) -> UserValue:
        """Evaluate an expression."""
        match e:
            case atoms.Operator(symbol, (x,)):
                return _UNARY[symbol](self.expr(x))
            case atoms.Operator(symbol, (x, y)):
                return self.operate(symbol, self.expr(x), self.expr(y), self.f.checked)
            case atoms.Comparison(symbols, (first, *rest)):
                return self.compare(first, symbols, rest)
            case atoms.Logical(symbol, args):
                value: UserValue = None
                for x in args:
                    value = self.expr(x)
                    if bool(value) is (symbol == "or"):
                        break
                return value
            case atoms.Choice(test, then, orelse):
                return self.expr(then if self.expr(test) else orelse)
            case atoms.Applied(function, args, keywords):
                f = named(function) if isinstance(function, str) else function.value
                return f(*map(self.expr, args), **{k: self.expr(x) for k, x in keywords})
            case atoms.Method(base, name, args, keywords):
                return getattr(self.expr(base), name)(*map(self.expr, args), **{k: self.expr(x) for k, x in keywords})
            case atoms.Field(base, name):
                return getattr(self.expr(base), name)
            case atoms.Item(base, index):
                return self.expr(base)[self.index(index)]
            case atoms.Pack(args, listed):
                return [*map(self.expr, args)] if listed else tuple(map(self.expr, args))
        return self.atom(e)  # type: ignore[arg-type]

    def operate(self, symbol: str, x: UserValue, y: UserValue, checked: bool) -> UserValue:
        """Apply a binary operator."""
        if symbol in ("/", "//", "%"):
            return divide(symbol, x, y, checked)
        if symbol == "**" and isinstance(x, int) and isinstance(y, int) and y < 0:
            x = np.float64(x)
        return _OPERATORS[symbol](x, y)

    def compare(self, first: atoms.Expr, symbols: tuple[str, ...], rest: list[atoms.Expr]) -> UserValue:
        """Evaluate a chained comparison."""
        left = self.expr(first)
        result: UserValue = True
        for k, (symbol, e) in enumerate(zip(symbols, rest, strict=True)):
            right = self.expr(e)
            result = _COMPARE[symbol](left, right)
            if k + 1 < len(rest) and not result:
                return False
            left = right
        return result

    def index(self, index: tuple[atoms.Index, ...]) -> UserValue:
        """Evaluate an index."""

        def entry(i: atoms.Index) -> UserValue:
            """Evaluate one entry of an index."""
            if isinstance(i, atoms.Span):
                return slice(*(None if x is None else self.expr(x) for x in (i.lower, i.upper, i.step)))
            return i if i is None or i is Ellipsis else self.expr(i)

        made = tuple(map(entry, index))
        return made[0] if len(made) == 1 else made

    # Statements

    def block(self, body: tuple[Statement, ...]) -> None:
        """Execute a block."""
        for s in body:
            self.statement(s)

    def statement(self, s: Statement) -> None:
        """Execute a statement."""
        match s:
            case nodes.Copy():
                self.bind(s.target, self.atom(s.source))
            case nodes.Discrete() | nodes.View() | nodes.Make():
                self.bind(s.target, self.expr(s.value))
            case nodes.Real():
                self.bind(s.target, self.real(s))
            case nodes.Load():
                self.bind(s.target, self.atom(s.array)[self.index(s.index)])
            case nodes.Whole():
                self.bind(s.target, named(s.function)(*map(self.atom, s.args)))
            case nodes.Store():
                self.store(s)
            case nodes.Call():
                self.bind(s.result, self.call(s, tuple(map(self.tree, s.args))))
            case nodes.If():
                self.block(s.then if self.atom(s.test) else s.orelse)
            case nodes.For():
                for k in range(*map(self.atom, (s.start, s.stop, s.step))):
                    self.bind(s.target, k)
                    self.block(s.body)
                    if any(self.env[x] for x in s.exits):
                        break
            case nodes.While():
                self.loop(s)
            case nodes.Effect():
                self.effect(s)
            case nodes.Barrier():
                pass  # there is one thread
            case nodes.Opaque():
                self.opaque(s)
            case nodes.Hold():
                self.bind(s.target, self.atom(s.source))
            case nodes.Accumulate():
                named(s.function)(self.atom(s.array), *map(self.atom, s.args))
            case nodes.Push() | nodes.Pop() | nodes.Keep() | nodes.Kept() | nodes.Columns():
                self.memory(s)

    def memory(self, s: Statement) -> None:
        """Execute a statement that uses the tape."""
        match s:
            case nodes.Push():
                self.tape.numbers.append(tuple(map(self.atom, s.values)))
            case nodes.Pop():
                for x, value in zip(s.targets, self.tape.numbers.pop(), strict=True):
                    self.bind(x, value)
            case nodes.Columns(taken=True):
                for x, value in zip(s.targets, self.tape.numbers.pop(), strict=True):
                    self.bind(x, value)
            case nodes.Columns():
                rounds = len(range(*map(self.atom, (s.start, s.stop, s.step))))
                self.tape.numbers.append(tuple(np.empty(rounds, str(x.type.dtype)) for x in s.targets))
                for x, value in zip(s.targets, self.tape.numbers[-1], strict=True):
                    self.bind(x, value)
            case nodes.Keep():
                self.tape.arrays.append(self.atom(s.array))
            case nodes.Kept():
                self.bind(s.target, self.tape.arrays.pop())

    def loop(self, s: nodes.While) -> None:
        """Execute a `while` loop."""
        self.block(s.before)
        while self.atom(s.test):
            self.block(s.body)
            if any(self.env[x] for x in s.exits):
                break
            self.block(s.before)

    def real(self, s: nodes.Real) -> UserValue:
        """Evaluate an operation of real numbers."""
        args = [self.atom(x) for x in s.args]
        if s.rule in MARKING:
            return marked(s.rule, args)
        if s.rule is atoms.SCALED:
            return args[0] * args[1] if args[1] != 0.0 else 0.0
        if not any(c.isalnum() for c in s.spelling):
            return (
                _UNARY[s.spelling](args[0]) if len(args) == 1 else self.operate(s.spelling, args[0], args[1], s.checked)
            )
        if not s.spelling.replace(".", "").isidentifier():  # a whole expression: ir/core/partials.py
            names = {"math": math, "np": np, "runtime": runtime, "abs": abs}
            of = [np.float64(x) for x in args]
            return total(lambda: eval(s.spelling, names, dict(zip(s.rule.parameters, of, strict=True))), [])
        return total(getattr(np, s.rule.ufunc) if s.rule.ufunc else named(s.spelling), args)

    def store(self, s: nodes.Store) -> None:
        """Execute a store."""
        array, index, value = self.atom(s.array), self.index(s.index), self.atom(s.value)
        if s.op == "=":
            array[index] = value
        else:
            array[index] = _OPERATORS[s.op[0]](array[index], value)

    def effect(self, s: nodes.Effect) -> None:
        """Execute a `raise` or a `print`."""
        given = {f"_{k}": self.atom(x) for k, x in enumerate(s.args)}
        names = [x.name if isinstance(x, Global) else name for x, name in zip(s.args, given, strict=True)]
        execute(s.text.format(*names), {**given, **{x.name: x.value for x in s.args if isinstance(x, Global)}})

    def opaque(self, s: nodes.Opaque) -> None:
        """Execute opaque statements, and bind their outputs."""
        space = {"np": np, "math": math, "runtime": runtime}
        space |= {name: self.atom(x) for name, x in s.inputs if not isinstance(x, Var) or x in self.env}
        execute(ast.unparse(ast.Module([*s.code], [])), space)
        for name, x in s.outputs:
            if name in space:
                self.bind(x, space[name])


def named(name: str) -> UserValue:
    """Resolve a dotted name of emitted code to its object."""
    first, _, rest = name.partition(".")
    spaces: dict[str, UserValue] = {"math": math, "np": np, "runtime": runtime}
    return operator.attrgetter(rest)(spaces[first]) if rest else getattr(builtins, first)


def divide(symbol: str, x: UserValue, y: UserValue, checked: bool) -> UserValue:
    """Compute `x / y`, `x // y` or `x % y` by numba's error model."""
    if not isinstance(y, np.ndarray) and y == 0 and checked:
        raise ZeroDivisionError("division by zero")
    whole = isinstance(x, (int, np.integer)) and isinstance(y, (int, np.integer))
    if symbol == "/" or not whole or y == 0:
        x, y = (x if isinstance(x, (np.floating, np.ndarray)) else np.float64(x) for x in (x, y))
    return {"/": operator.truediv, "//": operator.floordiv, "%": operator.mod}[symbol](x, y)


def total(f: Callable[..., UserValue], args: list[UserValue]) -> UserValue:
    """Compute `f(*args)`, with NaN or infinity where Python's math raises and machine code does not."""
    try:
        return f(*args)
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf
    except ZeroDivisionError:
        return math.inf


def cast(x: UserValue, kind: NumbaType) -> UserValue:
    """Convert a number to its variable's type; leave any other value unchanged."""
    if isinstance(kind, types.Boolean):
        return bool(x)
    if isinstance(kind, types.Float):
        return np.dtype(str(kind)).type(x)
    if isinstance(kind, types.Integer):
        return int(x) if kind == types.int64 else np.dtype(str(kind)).type(x)
    return x


def boxed(x: UserValue) -> UserValue:
    """Convert numpy scalars to Python's numbers, as numba returns them."""
    if isinstance(x, tuple):
        return x._make(map(boxed, x)) if hasattr(x, "_make") else tuple(map(boxed, x))
    return x.item() if isinstance(x, np.generic) else x
