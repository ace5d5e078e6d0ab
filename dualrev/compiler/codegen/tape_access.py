"""Tape access in emitted code: words on top of it, columns, and arrays that it keeps.

A number takes one word of the tape. Ints go there bit by bit, and the bools of one push share words; columns have the
type of what stands in them, and those of bools share words.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias, TypeVar

from numba.core import types

from dualrev.compiler.codegen.lines import Assign, Code, CodeStatement, Pop, Push, Suite
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.core import nodes
from dualrev.compiler.ir.core.atoms import Atom, Constant, Var
from dualrev.compiler.ir.names import Names
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["TapeCode", "from_word", "held"]

_FLAGS = 32  # how many bools share a word, ...
_BYTES = 8  # ... and in columns

#: The expression for a value from the word that it has become.
FromWord: TypeAlias = Callable[[ast.expr], ast.expr]

A = TypeVar("A", bound=Atom)


class TapeCode:
    """Emitter of tape statements; `atom` gives the syntax of an atom, `var` the name of a variable."""

    def __init__(self, names: Names, atom: Callable[[Atom], ast.expr], var: Callable[[Var], str]) -> None:
        self.names, self.atom, self.var = names, atom, var

    def assign(self, x: Var, value: ast.expr, line: int) -> Assign:
        """Assignment `x = value`."""
        return Assign(ast.Name(self.var(x)), value, line)

    def statement(self, s: nodes.Statement) -> list[CodeStatement]:
        """Code of a tape statement."""
        tape = ast.Name("tape")
        match s:
            case nodes.Push():
                return [Push(self._words(s.values), s.line, s.room)]
            case nodes.Pop():
                return self._pop(s)
            case nodes.Keep():
                return [Code(f"runtime.keep(tape, {self.var(s.array)})", s.line)]
            case nodes.Kept():
                kind = s.target.type
                described = map(ast.Constant, (str(kind.dtype), kind.ndim, kind.layout))
                return [self.assign(s.target, to_python.call("runtime.kept", tape, *described), s.line)]
            case nodes.Hold():
                return [self.assign(s.target, held(s.slot, self.atom(s.source)), s.line)]
            case nodes.Reserve():
                each = ast.Constant(sum(len(self._words(values)) for values in s.pushes))
                need = to_python.text(to_python.call("runtime.room", ast.Name("top"), each, self._rounds(s)))
                grow = Code(f"words = runtime.grow(tape, {need})", s.line)
                return [Suite(f"if {need} > words.size:", [grow], s.line)]
            case nodes.Columns():
                return self._columns(s)
        raise AssertionError(s)

    def _columns(self, s: nodes.Columns) -> list[CodeStatement]:
        """Columns on top of the tape: each takes a word per iteration, and up to eight of bools share one."""
        count = self.names.fresh("_n{k}")
        flags = [x for x in s.targets if x.type.dtype == types.boolean]
        others = [x for x in s.targets if x not in flags]
        each = len(others) + -(-len(flags) // _BYTES)
        total = _times(each, count)
        trips = to_python.call("runtime.rounds", *map(self.atom, (s.start, s.stop, s.step)))
        code: list[CodeStatement] = [Code(f"{count} = {to_python.text(trips)}", s.line)]
        if s.taken:
            code.append(Code(f"top -= {total}", s.line))
        else:
            need = f"runtime.room(top, {each}, {count})"
            grow = Code(f"words = runtime.grow(tape, {need})", s.line)
            code.append(Suite(f"if {need} > words.size:", [grow], s.line))
        for x in s.targets:
            k = flags.index(x) if x in flags else 0
            word = len(others) + k // _BYTES if x in flags else others.index(x)
            place = f"top + {_times(word, count)}" if word else "top"
            if k % _BYTES:
                column = f"runtime.flags(words, {place}, {count}, {k % _BYTES})"
            else:
                column = f"runtime.column(words, {place}, {count}, '{x.type.dtype}')"
            code.append(Code(f"{self.var(x)} = {column}", s.line))
        return code if s.taken else [*code, Code(f"top += {total}", s.line)]

    def _rounds(self, s: nodes.Reserve) -> ast.expr:
        """Trip count of a loop, as `runtime.room` takes it: a negative one is zero."""
        if s.start == Constant(0) and s.step == Constant(1):
            return self.atom(s.stop)
        return to_python.call("runtime.rounds", *map(self.atom, (s.start, s.stop, s.step)))

    def _words(self, values: tuple[Atom, ...]) -> list[ast.expr]:
        """Words of the tape for pushed values: one per scalar, and one for up to 32 bools."""
        words: list[ast.expr] = []
        for x in values:
            if isinstance(x.type, types.Integer):
                words.append(to_python.call("runtime.bits", self.atom(x)))
            elif not isinstance(x.type, types.Boolean):
                words.append(self.atom(x))
        for some in _flags(values):
            total = self.atom(some[0])
            for k, x in enumerate(some[1:], 1):
                total = to_python.binary("+", total, to_python.binary("*", ast.Constant(2**k), self.atom(x)))
            words.append(total)
        return words

    def _pop(self, s: nodes.Pop) -> list[CodeStatement]:
        targets: list[tuple[ast.expr, FromWord]] = [
            (self.atom(x), from_word(x.type)) for x in s.targets if not isinstance(x.type, types.Boolean)
        ]
        bits: list[CodeStatement] = []
        for some in _flags(s.targets):
            if len(some) == 1:
                targets.append((self.atom(some[0]), from_word(some[0].type)))
                continue
            name = ast.Name(self.names.fresh("_flags{k}"))
            targets.append((name, lambda word: to_python.call("int", word)))
            for k, x in enumerate(some):
                bit = ast.BinOp(name, ast.BitAnd(), ast.Constant(2**k))
                bits.append(self.assign(x, ast.Compare(bit, [ast.NotEq()], [ast.Constant(0)]), s.line))
        return [Pop(targets, s.line), *bits]


def held(slot: int, value: ast.expr) -> ast.expr:
    """Expression for an array that the tape holds in a slot."""
    return to_python.call("runtime.hold", ast.Name("tape"), ast.Constant(slot), value)


def _flags(values: tuple[A, ...]) -> list[list[A]]:
    """Groups of bools among the values that share a word."""
    found = [x for x in values if isinstance(x.type, types.Boolean)]
    return [found[k : k + _FLAGS] for k in range(0, len(found), _FLAGS)]


def from_word(kind: NumbaType) -> FromWord:
    """Decoder of a scalar of a type from its word on the tape."""
    if isinstance(kind, types.Boolean):
        return lambda word: ast.Compare(word, [ast.NotEq()], [ast.Constant(0.0)])
    if isinstance(kind, types.Integer):
        whole: FromWord = lambda word: to_python.call("runtime.whole", word)  # noqa: E731
        return whole if kind == types.int64 else lambda word: to_python.call(f"np.{kind}", whole(word))
    if kind == types.float32:
        return lambda word: to_python.call("np.float32", word)
    return lambda word: word


def _times(n: int, count: str) -> str:
    """Text of `n * count`."""
    return count if n == 1 else f"{n} * {count}"
