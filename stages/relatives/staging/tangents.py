r"""The tangents of generated code: Fig. 4 of Wang et al. 2019 on its statements, for second derivatives.

    v = op(a1, .., an)       and v' = a1' * p1 + .. + an' * pn
    d = ref 0                and d' = ref 0
    d += p * !e              and d' += p' * !e; d' += p * !e'
    b = ref (x, d)           b = ref (x, d, x', d'), and so are !b and b :=
    f = (x, d, ..) => s      f = (x, d, .., x', d', ..) => s and its tangents

A program for first-order gradients becomes one that also computes their derivative along a direction: forward over
reverse, according to section 3.7 the practical way to second derivatives. Partial derivatives are written as
operations of the table, so that they have derivatives, too.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterable, Mapping

from dualrev.rules.primitives import PRIMITIVES
from stages.relatives.staging.code import (
    Add,
    Atom,
    Block,
    Box,
    Call,
    Called,
    Cell,
    Fun,
    If,
    Item,
    Let,
    Load,
    Name,
    Scaled,
    Store,
)

__all__ = ["Tangents", "Unwritable"]

_SYMBOLS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}


class Unwritable(Exception):  # noqa: N818 - what an expression is
    """The partial derivative of this op is a choice between expressions."""


class Tangents:
    """The transformation of one program; `moves` are its inputs, `order` counts the earlier transformations."""

    def __init__(self, moves: Iterable[Name], order: int = 0) -> None:
        self.suffix, self.letter = ("_t", "p") if order == 0 else (f"_t{order + 1}", f"p{order + 1}_")
        self.tangent: dict[Name, Atom] = {}
        self.moves = [self.twin(x).text for x in moves]
        self.numbers = itertools.count()

    def block(self, block: Block) -> Block:
        """The statements with their tangents."""
        made = Block()
        for s in block.statements:
            self.statement(s, made)
        return made

    def of(self, atom: Atom | None) -> Atom:
        """a'"""
        return self.tangent.get(atom, 0.0) if isinstance(atom, Name) else 0.0

    def twin(self, name: Name) -> Name:
        """The name of a tangent."""
        made = Name(f"{name.text}{self.suffix}", name.kind)
        self.tangent[name] = made
        return made

    def statement(self, s: object, into: Block) -> None:
        """Add a statement and its tangent."""
        match s:
            case Let(name, op, arguments):
                into.statements.append(s)
                tangent = self.total(op, arguments, name, into)
                if tangent != 0.0:
                    self.tangent[name] = tangent
            case Item():
                into.statements.append(s)
            case Called(cell, body):
                into.statements.append(Called(cell, self.block(body)))
            case Cell(name):
                into.statements += [s, Cell(self.twin(name))]
            case Scaled(cell, op, k, arguments, y, source):
                p = self.partial(op, k, arguments, y, into)
                self.add(Add(cell, p, source), into)
            case Add():
                self.add(s, into)
            case Box(name, held):
                into.statements.append(Box(name, self.with_tangents(held)))
            case Load(names, box):
                into.statements.append(Load(self.with_twins(names), box))
            case Store(box, held):
                into.statements.append(Store(box, self.with_tangents(held)))
            case Fun(name, parameters, body):
                into.statements.append(Fun(name, self.with_twins(parameters), self.block(body)))
            case Call(function, arguments):
                into.statements.append(Call(function, self.with_tangents(arguments)))
            case If(left, symbol, right, yes, no):
                into.statements.append(If(left, symbol, right, self.block(yes), self.block(no)))

    def with_tangents(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """Atoms to pass to a call, followed by their tangents."""
        return *atoms, *(self.of(a) for a in atoms if _moves(a))

    def with_twins(self, names: tuple[Name, ...]) -> tuple[Name, ...]:
        """Parameters, followed by the parameters for their tangents."""
        return *names, *(self.twin(n) for n in names if _moves(n))

    def add(self, s: Add, into: Block) -> None:
        """d += a * !e and d' += a' * !e; d' += a * !e'"""
        into.statements.append(s)
        moved = self.of(s.cell)
        assert isinstance(moved, Name)
        if s.times is not None:
            after = self.of(s.times)
            assert isinstance(after, Name)
            into.statements.append(Add(moved, s.atom, after))
        if (tangent := self.of(s.atom)) != 0.0:
            into.statements.append(Add(moved, tangent, s.times))

    # Partial derivatives as statements

    def fresh(self) -> Name:
        """A name for an intermediate number."""
        return Name(f"{self.letter}{next(self.numbers)}", "float")

    def let(self, op: str, *arguments: Atom, into: Block) -> Atom:
        """A number of a partial derivative, with its tangent; products with 0 and 1 are not written."""
        if op == "mul" and 0.0 in arguments:
            return 0.0
        if op == "mul" and 1.0 in arguments:
            return arguments[arguments[0] == 1.0]
        if op == "add" and 0.0 in arguments:
            return arguments[arguments[0] == 0.0]
        name = self.fresh()
        self.statement(Let(name, op, arguments, limit=True), into)
        return name

    def total(self, op: str, arguments: tuple[Atom, ...], y: Name, into: Block) -> Atom:
        """a1' * p1 + .. + an' * pn"""
        moving = [(k, tangent) for k, a in enumerate(arguments) if (tangent := self.of(a)) != 0.0]
        held, self.tangent = self.tangent, {}  # what is written here has no tangents: second ones are not asked for
        made: Atom = 0.0
        for k, tangent in moving:
            p = self.partial(op, k, arguments, y, into)
            made = self.let("add", made, self.let("mul", tangent, p, into=into), into=into)
        self.tangent = held
        return made

    def partial(self, op: str, k: int, arguments: tuple[Atom, ...], y: Name, into: Block) -> Atom:
        """The partial derivative of op with respect to argument k, from 0."""
        line = PRIMITIVES[op]
        at: dict[str, Atom] = {**dict(zip(line.parameters, arguments, strict=True)), "y": y}
        return self.expression(ast.parse(line.partials[k], mode="eval").body, at, op, into)

    def expression(self, node: ast.expr, at: Mapping[str, Atom], op: str, into: Block) -> Atom:
        """Write an expression of the table as statements, and return its atom."""
        part = lambda n: self.expression(n, at, op, into)  # noqa: E731
        match node:
            case ast.Constant(value):
                assert isinstance(value, (int, float))
                return float(value)
            case ast.Name("inf" | "nan" as name):
                return float(getattr(math, name))
            case ast.Name(name):
                return at[name]
            case ast.UnaryOp(ast.USub(), ast.Constant(value)):
                assert isinstance(value, (int, float))
                return -float(value)
            case ast.UnaryOp(ast.USub(), operand):
                return self.let("neg", part(operand), into=into)
            case ast.BinOp(left, symbol, right) if type(symbol) in _SYMBOLS:
                return self.let(_SYMBOLS[type(symbol)], part(left), part(right), into=into)
            case ast.Call(ast.Name(name), arguments) if name in PRIMITIVES:
                return self.let(name, *map(part, arguments), into=into)
        raise Unwritable(op)


def _moves(atom: Atom) -> bool:
    return isinstance(atom, float) or (isinstance(atom, Name) and atom.kind in ("float", "cell"))
