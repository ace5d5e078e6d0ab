"""Emission of core: the statements of Python text, which numba compiles.

A variable gets one name per function (ir/names.py chooses what is printed). Intermediate values are statements
of their own here; fold_temporaries.py puts them where they are read.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from numba.core import types

from dualrev.compiler.analysis.values.index_ranges import Natural
from dualrev.compiler.codegen.lines import Assign, Code, CodeStatement, Pop, Suite
from dualrev.compiler.codegen.tape_access import TapeCode, from_word, held
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.core import atoms, nodes, traverse
from dualrev.compiler.ir.core.atom_types import is_array, is_real
from dualrev.compiler.ir.core.atoms import SCALED, Applied, Atom, Constant, Expr, Global, Index, Symbol, Var
from dualrev.compiler.ir.core.known_zeros import MARKING
from dualrev.compiler.ir.core.nodes import Block
from dualrev.compiler.ir.names import Names

__all__ = ["Emission", "Lending"]

_OPERATORS = {"+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "@"}
_UNARY = {"-": ast.USub(), "+": ast.UAdd(), "~": ast.Invert(), "not": ast.Not()}

#: Functions of numpy that the runtime has, too: numba compiles those in no time.
_RUNTIMES = {"np.zeros_like", "np.empty_like"}


T = TypeVar("T")


class Lending(NamedTuple):
    """Recursive function under another name, which passes its arrays at these indices on by address."""

    symbol: Symbol
    name: str
    places: list[int]
    address: str

    def call(self, args: list[ast.expr]) -> ast.Call:
        """Call with these arguments, the arrays by address."""
        return to_python.call(self.name, ast.Name(self.address), *self.others(args))

    def others(self, args: list[T]) -> list[T]:
        """Arguments that are not passed by address."""
        return [x for k, x in enumerate(args) if k not in self.places]


class Emission:
    """Emitter of the text of a function, or of several blocks of one.

    `refer` tells the name of a function that a transformation has made, and of a call of the user's function the name
    of what stands for that one; an empty one where it is called itself. `own_tape` says that the function's own words
    are on the tape, so that it has `words` and `top`. LLVM is told of what is `natural` that it is not below 0.
    """

    def __init__(
        self,
        names: Names,
        refer: Callable[[Symbol | nodes.Call], str],
        checked: bool,
        own_tape: bool = False,
        natural: Natural | None = None,
    ) -> None:
        self.names, self.refer, self.checked, self.own_tape = names, refer, checked, own_tape
        self.natural = natural or Natural()
        self.tape = TapeCode(names, self.atom, self.var)
        self.lending: Lending | None = None
        self._text: dict[Var, str] = {}
        self._taken: set[str] = set()

    # Names

    def introduce(self, some: Iterable[Var]) -> None:
        """Name the user's variables, which keep their names if they come first."""
        for x in some:
            if x.of is None and x.name != "_" and "{" not in x.name:
                self.var(x)

    def var(self, x: Var) -> str:
        """Name of a variable in the text."""
        if x not in self._text:
            self._text[x] = made = self._name(x)
            self._taken.add(made)
        return self._text[x]

    def call_it(self, x: Var, name: str) -> None:
        """Bind a variable to a name."""
        self._text[x] = name
        self._taken.add(name)

    def _name(self, x: Var) -> str:
        if x.name == "_":
            return self.names.temporary()
        if x.of is not None:
            of = self.var(x.of)
            return self.names.fresh(x.name, of, self.names.is_temporary(of))
        if "{" in x.name:
            return self.names.fresh(x.name, temporary=x.name.startswith("_d"))
        return x.name if x.name not in self._taken else self.names.fresh("{}", x.name)

    # Expressions

    def atom(self, x: Atom) -> ast.expr:
        """Syntax of an atom."""
        if isinstance(x, Var):
            return ast.Name(self.var(x))
        if isinstance(x, Global):
            return to_python.name(x.name)
        return to_python.number(x.value)

    def tree(self, x: atoms.Tree) -> ast.expr:
        """Syntax of a tree of atoms."""
        if not isinstance(x, atoms.Node):
            return self.atom(x)
        parts = [self.tree(part) for part in x.parts]
        return ast.Tuple(parts, ast.Load()) if x.cls is None else to_python.call(x.cls.name, *parts)

    def returned(self, x: atoms.Tree) -> str:
        """Text of a returned tree; several values stand without parentheses."""
        if not isinstance(x, atoms.Node) or x.cls is not None:
            return to_python.text(self.tree(x))
        return ", ".join(to_python.text(self.tree(part)) for part in x.parts) + "," * (len(x.parts) == 1)

    def target(self, x: atoms.Tree) -> str:
        """Text of an assignment target; a leaf that is no variable becomes `_`."""
        if isinstance(x, atoms.Node):
            return "(" + "".join(f"{self.target(part)}, " for part in x.parts).strip() + ")"
        return self.var(x) if isinstance(x, Var) else "_"

    def parts(self, name: str, tree: atoms.Node) -> list[CodeStatement]:
        """Code that unpacks a nested argument into its leaves."""
        code: list[CodeStatement] = []
        for k, x in enumerate(tree.parts):
            if isinstance(x, atoms.Node):
                inner = self.names.fresh(f"{{}}_{k}", name)
                code += [Code(f"{inner} = {name}[{k}]", 0), *self.parts(inner, x)]
            else:
                code.append(Code(f"{self.target(x)} = {name}[{k}]", 0))
        return code

    def expr(self, e: Expr) -> ast.expr:
        """Syntax of an expression."""
        match e:
            case atoms.Operator(symbol, (x,)):
                return ast.UnaryOp(_UNARY[symbol], self.expr(x))
            case atoms.Operator(symbol, (x, y)):
                return to_python.binary(symbol, self.expr(x), self.expr(y))
            case atoms.Comparison(symbols, args):
                made = ast.parse("x " + " x ".join(symbols) + " x", mode="eval").body
                assert isinstance(made, ast.Compare)
                first, *rest = map(self.expr, args)
                return ast.Compare(first, made.ops, rest)
            case atoms.Logical(symbol, args):
                return ast.BoolOp(ast.And() if symbol == "and" else ast.Or(), [self.expr(x) for x in args])
            case atoms.Choice(test, then, orelse):
                return ast.IfExp(self.expr(test), self.expr(then), self.expr(orelse))
            case atoms.Applied(function, args, keywords):
                name = function if isinstance(function, str) else function.name
                if name in _RUNTIMES and len(args) == 1 and not keywords and is_array(args[0]):
                    name = name.replace("np.", "runtime.")
                return self._call(to_python.name(name), args, keywords)
            case atoms.Method(of, name, args, keywords):
                return self._call(ast.Attribute(self.expr(of), name, ast.Load()), args, keywords)
            case atoms.Field(of, name):
                return ast.Attribute(self.expr(of), name, ast.Load())
            case atoms.Item(of, index):
                return self.element(self.expr(of), index)
            case atoms.Pack(args, listed):
                parts = [self.expr(x) for x in args]
                return ast.List(parts, ast.Load()) if listed else ast.Tuple(parts, ast.Load())
            case Var() | Constant() | Global():
                return self.atom(e)
        raise AssertionError(e)

    def _call(self, f: ast.expr, args: tuple[Expr, ...], keywords: tuple[tuple[str, Expr], ...]) -> ast.expr:
        return ast.Call(f, [self.expr(x) for x in args], [ast.keyword(k, self.expr(x)) for k, x in keywords])

    def element(self, base: ast.expr, index: tuple[Index, ...]) -> ast.expr:
        """Syntax of `base[index]`."""
        return _subscript(base, [self._entry(i) for i in index])

    def _place(self, s: nodes.Load | nodes.Store) -> ast.expr:
        """Syntax of the element that is loaded or stored; indices known to be natural are marked for LLVM."""
        base, parts = self.atom(s.array), [self._entry(i) for i in s.index]
        for k in range(len(parts)):
            if (s, k) in self.natural.indices:
                parts[k] = to_python.call("runtime.natural", parts[k])
        return _subscript(base, parts)

    def _entry(self, i: Index) -> ast.expr:
        if isinstance(i, atoms.Span):
            return ast.Slice(*(None if x is None else self.expr(x) for x in (i.lower, i.upper, i.step)))
        return ast.Constant(i) if i is None or i is Ellipsis else self.expr(i)

    def _real(self, s: nodes.Real) -> ast.expr:
        args = [self.atom(x) for x in s.args]
        if s.rule is SCALED or s.rule in MARKING:
            return to_python.call(f"runtime.{s.rule.name}", *args)
        if s.spelling not in _OPERATORS:
            if s.spelling.replace(".", "").isidentifier():
                return to_python.call(s.spelling, *args)
            known = dict(zip(s.rule.parameters, args, strict=True))  # a whole expression: ir/core/partials.py
            return to_python.substitute(ast.parse(s.spelling, mode="eval").body, known.get)
        if len(args) == 1:
            return ast.UnaryOp(_UNARY[s.spelling], args[0])
        made = to_python.binary(s.spelling, *args)
        return _Checked(powers=not is_real(s.args[1])).visit(made) if s.checked else made

    def _checked(self, e: Expr, repeated: bool = False) -> ast.expr:
        """Syntax of an expression, whose divisions by zero raise if they do in the function."""
        made = self.expr(e)
        return _Checked(powers=True).visit(made) if self.checked and not repeated else made

    # Statements

    def block(self, body: Block) -> list[Any]:
        """Code of a block; some adjacent statements become one: a pop and a store, an array and its shadows."""
        code: list[CodeStatement] = []
        k = 0
        while k < len(body):
            s, after = body[k], body[k + 1] if k + 1 < len(body) else None
            match s, after:
                case nodes.Pop((x,)), nodes.Store(op="=") if after.value is x:
                    code.append(Pop([(self._place(after), from_word(x.type))], s.line))
                    k += 1
                case _, nodes.Hold(target, source, slot) if traverse.writes(s) == (source,) and source.name == "_":
                    (assigned,) = self._statement(s)
                    assert isinstance(assigned, Assign)
                    assigned.target, assigned.value = ast.Name(self.var(target)), held(slot, assigned.value)
                    code.append(assigned)
                    k += 1
                case nodes.Make(x, atoms.Applied("np.empty", (shape, *_))), _ if _is_shadow(after, x):
                    shadows = list(itertools.takewhile(lambda t: _is_shadow(t, x), body[k + 1 :]))
                    code.append(self._with_shadows(s, shape, shadows))
                    k += len(shadows)
                case _:
                    code += self._statement(s)
            k += 1
        return code

    def _with_shadows(self, s: nodes.Make, shape: Expr, shadows: list[nodes.Statement]) -> Assign:
        """Allocate a new array together with its shadows: runtime/arrays/with_shadow.py."""
        more = [to_python.name(str(lane)) for lane in range(2, len(shadows) + 1)]
        dtype = to_python.name(f"np.{s.target.type.dtype}")
        made = to_python.call("runtime.empty_with_shadow", self.expr(shape), dtype, *more)
        names = ", ".join(self.var(x) for t in (s, *shadows) for x in traverse.writes(t))
        return Assign(ast.Name(names), made, s.line)

    def _statement(self, s: nodes.Statement) -> list[CodeStatement]:
        match s:
            case nodes.Copy():
                return [self._assign(s.target, self.atom(s.source), s.line)]
            case nodes.Discrete() | nodes.View():
                return [self._assign(s.target, self._checked(s.value, s.repeated), s.line)]
            case nodes.Make(x, Applied("np.empty" | "np.zeros" as function, (shape, *_))) if _is_plain(x):
                dtype = Global(to_python.dtype_name(x.type.dtype), None, ())
                made = Applied(function.replace("np.", "runtime."), (shape, dtype))
                return [self._assign(x, self._checked(made), s.line)]
            case nodes.Make():
                return [self._assign(s.target, self._checked(s.value), s.line)]
            case nodes.Real():
                return [self._assign(s.target, self._real(s), s.line)]
            case nodes.Load():
                return [self._assign(s.target, self._place(s), s.line)]
            case nodes.Whole():
                name = "runtime.dot" if s.function == "np.dot" else s.function
                return [self._assign(s.target, to_python.call(name, *map(self.atom, s.args)), s.line)]
            case nodes.Store(index=(place,)) if place is ... and is_array(s.value):
                return [
                    Code(
                        to_python.text(to_python.call("runtime.store", self.atom(s.array), self.atom(s.value))), s.line
                    )
                ]
            case nodes.Store():
                return [Assign(self._place(s), self.atom(s.value), s.line, s.op)]
            case nodes.Call():
                return self._calling(s)
            case nodes.If():
                then, orelse = self.block(s.then), self.block(s.orelse)
                return [_if(self.atom(s.test), then, orelse, s.line)] if then or orelse else []
            case nodes.For() | nodes.While():
                return [self._loop(s)]
            case nodes.Effect():
                return [Code(s.text.format(*(to_python.text(self.atom(x)) for x in s.args)), s.line)]
            case nodes.Opaque():
                names = {name: self.atom(x) for name, x in (*s.inputs, *s.outputs)}
                return [Code(to_python.opaque(s.code, names), s.line)]
            case nodes.Accumulate():
                call = to_python.call(s.function, self.atom(s.array), *map(self.atom, s.args))
                return [Code(to_python.text(call), s.line)]
        return self.tape.statement(s)

    def _assign(self, x: Var, value: ast.expr, line: int) -> Assign:
        return Assign(ast.Name(self.var(x)), value, line)

    def _calling(self, s: nodes.Call) -> list[CodeStatement]:
        args = [self.tree(x) for x in s.args] + [ast.Name("tape")] * s.tape
        if isinstance(s.function, Symbol):
            name, args = self.refer(s.function), [*map(_without_literal, args)]
            lending = self.lending if self.lending and self.lending.symbol is s.function else None
            call = lending.call(args) if lending else to_python.call(name, *args)
        else:
            name = self.refer(s)
            call = to_python.call(name, *args) if name else to_python.applied(s.function, args)
        flat = isinstance(s.result, atoms.Node) and s.result.cls is None and len(s.result.parts) > 1
        if not s.targets:
            code: CodeStatement = Code(to_python.text(call), s.line)
        elif flat and all(isinstance(x, Var) for x in s.result.parts):  # type: ignore[union-attr]
            code = Assign(ast.Name(", ".join(map(self.var, s.targets))), call, s.line)
        else:
            code = Assign(ast.Name(self.target(s.result)), call, s.line)
        if not (s.tape and self.own_tape):
            return [code]
        after = [Code("words = runtime.words(tape)", s.line), Code("top = tape[1]", s.line)]
        return [Code("tape[1] = top", s.line), code, *after]

    def _loop(self, s: nodes.For | nodes.While) -> Suite:
        body: list[CodeStatement] = []
        if isinstance(s, nodes.For):
            header = f"for {self.var(s.target)} in range({self._bounds(s.start, s.stop, s.step)}):"
            if s in self.natural.counters:
                body.append(Code(f"runtime.natural({self.var(s.target)})", s.line))
        else:
            header = "while True:"
            body += self.block(s.before)
            if s.test != Constant(True):
                body.append(Suite(f"if not {to_python.text(self.atom(s.test))}:", [Code("break", s.line)], s.line))
        body += self.block(s.body)
        body += [Suite(f"if {self.var(x)}:", [Code("break", s.line)], s.line) for x in s.exits]
        return Suite(header, body, s.line, loop=True)

    def _bounds(self, start: Atom, stop: Atom, step: Atom) -> str:
        """Text of the arguments of `range`, as short as possible."""
        texts = [to_python.text(self.atom(x)) for x in (start, stop, step)]
        if step == Constant(1):
            texts = texts[1:2] if start == Constant(0) else texts[:2]
        return ", ".join(texts)


def _subscript(base: ast.expr, parts: list[ast.expr]) -> ast.expr:
    place = parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())
    return ast.Subscript(base, place, ast.Load())


def _without_literal(x: ast.expr) -> ast.expr:
    """Argument without its literal int type, for which numba would specialise the callee."""
    known = isinstance(x, ast.Constant) and type(x.value) is int
    return to_python.call("np.int64", x) if known else x


def _is_plain(x: Var) -> bool:
    """Whether a variable is an array of floats, ints or bools in C order, which the runtime allocates."""
    numbers = isinstance(x.type.dtype, types.Float | types.Integer | types.Boolean)
    return numbers and x.type.layout == "C" and x.type.ndim > 0


def _is_shadow(s: nodes.Statement | None, array: Var) -> bool:
    """Whether a statement allocates a zeroed shadow of an array, with the same memory layout."""
    match s:
        case nodes.Make(target, atoms.Applied("np.zeros_like", (base,))) if base is array:
            return bool(array.type.layout == target.type.layout == "C")
    return False


def _if(test: ast.expr, then: list[CodeStatement], orelse: list[CodeStatement], line: int) -> Suite:
    """Build an `if` statement; without a then-branch, the test is negated."""
    if not then:
        return Suite(f"if {to_python.text(ast.UnaryOp(ast.Not(), test))}:", orelse, line)
    return Suite(f"if {to_python.text(test)}:", then, line, orelse)


class _Checked(ast.NodeTransformer):
    """Rewrite divisions so that they raise ZeroDivisionError, as in the function; emitted code itself follows IEEE.

    `powers` says that exponents may be whole numbers: with these, 0 has no negative powers.
    """

    _NAMES = {ast.Div: "divide", ast.FloorDiv: "floor_divide", ast.Mod: "remainder", ast.Pow: "power"}  # noqa: RUF012

    def __init__(self, powers: bool) -> None:
        self.powers = powers

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Call the runtime's checked operator, unless the divisor or the exponent is known to be safe."""
        left, right = self.visit(node.left), self.visit(node.right)
        name = self._NAMES.get(type(node.op))
        if isinstance(node.op, ast.Pow):
            safe = not self.powers or isinstance(right, ast.Constant)  # a negative constant is no Constant: -(1)
        else:
            safe = isinstance(right, ast.Constant) and bool(right.value)
        if name is None or safe:
            return ast.BinOp(left, node.op, right)
        return to_python.call(f"runtime.{name}", left, right)
