"""What crosses from the forward to the reverse sweep: words on the tape, and arrays.

A block pushes its values at its end, all together, and the reverse of the block takes them first: so whatever happens
in between, inner blocks and called functions included, has been taken from the tape before. Bools share a word.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from numba.core import types

from dualrev.compiler import syntax
from dualrev.compiler.code import Code, Pop, Push, Suite
from dualrev.compiler.core import Effect, For, walk
from dualrev.compiler.expand import is_array
from dualrev.compiler.flow import Value
from dualrev.compiler.sweep import Sweep, flat, rounds

__all__ = ["Recording"]


class Recording(Sweep):
    """The sweeps' use of the tape."""

    refs: set[Value]  # arrays that the reverse sweep itself needs, ...
    shadows: set[Value]  # ... and those whose shadows it needs
    plan: Any  # plan.Plan
    available: list[set[Value]]  # values that are there, by the blocks of the reverse sweep

    def kept_names(self, v: Value) -> list[str]:
        name = self.names[v]
        found = [name] if v in self.refs or not self.has_shadow(v.variable) else []
        return [*found, self.cotangent(name)] if v in self.shadows and self.has_shadow(v.variable) else found

    def keep(self, v: Value, line: int) -> None:
        """Record an array."""
        for name in self.kept_names(v):
            self.emit(Code(f"runtime.keep(tape, {name})", line))

    def held(self, v: Value, value: ast.expr) -> ast.expr:
        """A new array; one that lives as long as the call goes to the tape, from which no exception loses it."""
        if not self.joint or v.domain is not None or v not in self.plan.alive:
            return value
        self.holds += 1
        self.held_classes.add(self.classes.find(v.variable))
        return syntax.call("runtime.hold", ast.Name("tape"), ast.Constant(self.holds - 1), value)

    def take_kept(self, v: Value, line: int) -> None:
        """Take an array from the tape again, and its shadow: that is at least as contiguous."""
        kind = self.kind(v.variable)
        described = map(ast.Constant, (str(kind.dtype), kind.ndim, kind.layout))
        made = syntax.call("runtime.kept", ast.Name("tape"), *described)
        for name in reversed(self.kept_names(v)):
            self.assign(name, made, line)

    def words(self, v: Value) -> bool:
        """Whether a value goes to the tape's words (not to its arrays)."""
        return not is_array(self.kind(v.variable))

    def flags(self, recorded: list[Value]) -> list[list[Value]]:
        """The bools among recorded values, by the word that they share."""
        found = [v for v in recorded if isinstance(self.kind(v.variable), types.Boolean)]
        return [found[k : k + 32] for k in range(0, len(found), 32)]

    def to_words(self, recorded: list[Value]) -> list[ast.expr]:
        """What is recorded of values: a word for each number, and one for all bools together."""
        words: list[ast.expr] = []
        for v in recorded:
            kind = types.int64 if v.kind == "trips" else self.kind(v.variable)
            name = ast.Name(self.names[v])
            if isinstance(kind, types.Integer):
                words.append(syntax.call("runtime.bits", name))
            elif not isinstance(kind, types.Boolean):
                words.append(name)
        for some in self.flags(recorded):
            total: ast.expr = ast.Name(self.names[some[0]])
            for k, v in enumerate(some[1:], 1):
                total = syntax.binary("+", total, syntax.binary("*", ast.Constant(2**k), ast.Name(self.names[v])))
            words.append(total)
        return words

    def pop_words(self, recorded: list[Value], line: int) -> None:
        """Take values from the tape again."""
        flags = self.flags(recorded)
        bools = {v for some in flags for v in some}
        targets: list[tuple[ast.expr, Callable[[ast.expr], ast.expr]]] = [
            (ast.Name(self.names[v]), self.from_word(v)) for v in recorded if v not in bools
        ]
        bits: list[tuple[str, list[Value]]] = []
        for some in flags:
            if len(some) == 1:
                targets.append((ast.Name(self.names[some[0]]), self.from_word(some[0])))
            else:
                name = self.fresh("flags")
                targets.append((ast.Name(name), lambda word: syntax.call("int", word)))
                bits.append((name, some))
        self.emit(Pop(targets, line))
        for name, some in bits:
            for k, v in enumerate(some):
                bit = ast.BinOp(ast.Name(name), ast.BitAnd(), ast.Constant(2**k))
                self.assign(self.names[v], ast.Compare(bit, [ast.NotEq()], [ast.Constant(0)]), line)

    def from_word(self, v: Value) -> Callable[[ast.expr], ast.expr]:
        kind = types.int64 if v.kind == "trips" else self.kind(v.variable)
        if isinstance(kind, types.Boolean):
            return lambda word: ast.Compare(word, [ast.NotEq()], [ast.Constant(0.0)])
        if isinstance(kind, types.Integer):
            whole = lambda word: syntax.call("runtime.whole", word)  # noqa: E731
            return whole if kind == types.int64 else lambda word: syntax.call(f"np.{kind}", whole(word))
        if kind == types.float32:
            return lambda word: syntax.call("np.float32", word)
        return lambda word: word

    def take(self, block: list[Any]) -> None:
        """Take from the tape what the block has recorded."""
        recorded = self.recorded_in.get(id(block), [])
        line = block[-1].line if block else 0
        for v in reversed(recorded):
            if is_array(self.kind(v.variable)):
                self.take_kept(v, line)
        words = [v for v in recorded if self.words(v)]
        if words:
            self.pop_words(words, line)
        self.available[-1] |= set(recorded)

    def reserve(self, s: For, body: list[Any]) -> None:
        """Make room before a loop for all that it records, so that it need not look. One that may end before looks."""
        if s.exits or any(isinstance(x, Effect) and x.raises for x in walk(s.body)):
            return
        pushes: list[Push] = []

        def collect(code: list[Any]) -> bool:
            for c in code:
                if isinstance(c, Push):
                    pushes.append(c)
                elif isinstance(c, Suite):
                    if c.loop and any(isinstance(x, Push) for x in flat(c.body)):
                        return False
                    if not (collect(c.body) and collect(c.orelse)):
                        return False
                elif isinstance(c, Code) and c.text.startswith("tape[1]"):
                    return False
            return True

        if not collect(body) or not pushes:
            return
        for p in pushes:
            p.room = False
        each = ast.Constant(sum(len(p.words) for p in pushes))
        need = syntax.text(syntax.call("runtime.room", ast.Name("top"), each, rounds(s)))
        self.emit(Suite(f"if {need} > words.size:", [Code(f"words = runtime.grow(tape, {need})", s.line)], s.line))
