"""Pretty-printer for ANF: Python, an operation a line, with the type of a variable where it first occurs.

Tuples, named tuples and whole arrays are still there; lower.py takes them apart. A loop says which flags end it.
"""

from __future__ import annotations

from collections.abc import Callable

from numba.core import types

from dualrev.compiler.ir import anf
from dualrev.compiler.ir.anf import to_python
from dualrev.compiler.ir.names import Names, renamed, words_of
from dualrev.compiler.types.aliases import NumbaType

__all__ = ["show_lowered"]


def show_lowered(
    name: str,
    parameters: list[str],
    body: list[anf.Stmt],
    results: list[anf.Atom],
    kind: Callable[[str], NumbaType | None],
    names: Names,
) -> str:
    """Print a function in ANF; `kind` gives the type of a variable, None if it is not inferred yet.

    `names` tells how generated variables are called.
    """
    shown = _AnfPrinter(kind)
    head = f"def {name}({', '.join(map(shown.declared, parameters))}):"
    returned = ", ".join(to_python.text(to_python.atom(x)) for x in results)
    lines = [head, *shown.block(body, 1), f"    return {returned}", ""]
    words = list(dict.fromkeys(word for line in lines for word in words_of(line)))
    printed = names.chosen(words, words)
    return "\n".join(renamed(line, lambda x: printed.get(x, x)) for line in lines)


class _AnfPrinter:
    def __init__(self, kind: Callable[[str], NumbaType | None]) -> None:
        self.kind = kind
        self.seen: set[str] = set()

    def declared(self, x: str) -> str:
        """Print a variable, with its type at the first occurrence; a function's name says enough."""
        kind = self.kind(x)
        if x in self.seen or isinstance(kind, types.Dispatcher) or kind is None:
            return x
        self.seen.add(x)
        return f"{x}: {kind}"

    def block(self, body: list[anf.Stmt], depth: int) -> list[str]:
        """Print the lines of a block."""
        return [line for s in body for line in self.statement(s, depth)] or ["    " * depth + "pass"]

    def statement(self, s: anf.Stmt, depth: int) -> list[str]:
        """Print the lines of a statement, with its blocks."""
        margin = "    " * depth
        if isinstance(s, anf.If):
            lines = [f"{margin}if {self.atom(s.test)}:", *self.block(s.then, depth + 1)]
            return lines + ([f"{margin}else:", *self.block(s.orelse, depth + 1)] if s.orelse else [])
        if isinstance(s, anf.For):
            bounds = ", ".join(map(self.atom, (s.start, s.stop, s.step)))
            head = f"{margin}for {self.declared(s.target)} in range({bounds}){self.exits(s)}:"
            return [head, *self.block(s.body, depth + 1)]
        if isinstance(s, anf.While):
            before = [f"{margin}before:", *self.block(s.test_block, depth + 1)] if s.test_block else []
            return [*before, f"{margin}while {self.atom(s.test)}{self.exits(s)}:", *self.block(s.body, depth + 1)]
        if isinstance(s, anf.Opaque):
            return [margin + line for line in to_python.opaque(s.code, {}).split("\n")]
        return [margin + self.simple(s)]

    def atom(self, x: anf.Atom) -> str:
        """Print an atom."""
        return to_python.text(to_python.atom(x))

    def exits(self, s: anf.For | anf.While) -> str:
        """Print the exit flags of a loop, as ` until a or b`."""
        return f" until {' or '.join(s.exits)}" if s.exits else ""

    def simple(self, s: anf.Let | anf.Store | anf.Call | anf.Effect) -> str:
        """Print a statement without blocks."""
        if isinstance(s, anf.Let):
            if isinstance(s, anf.InplaceOp):
                return f"{s.target} {s.symbol}= {self.atom(s.args[1])}"
            return f"{self.declared(s.target)} = {self.value(s)}"
        if isinstance(s, anf.Store):
            array = to_python.text(to_python.subscript(to_python.atom(s.array), s.index, to_python.atom))
            return f"{array} = {self.atom(s.value)}"
        if isinstance(s, anf.Call):
            targets = ", ".join(map(self.declared, s.targets))
            args = ", ".join(self.atom(x) for arg in s.args for x in anf.leaves(arg))
            return f"{f'{targets} = ' * bool(targets)}{s.function.name}({args})"
        return to_python.effect(s, to_python.atom)

    def value(self, s: anf.Let) -> str:
        """Print the right-hand side of an operation, operations of scalarize/lower.py included."""
        match s:
            case anf.Prim(rule=rule):
                return f"{rule.name}({', '.join(map(self.atom, s.args))})"
            case anf.WholeArray(function=function):
                return f"{function}({', '.join(map(self.atom, s.args))})"
            case anf.Alloc(tree=tree) | anf.ViewExpr(tree=tree):
                return to_python.text(tree)
        return to_python.text(to_python.expression(s, to_python.atom))
