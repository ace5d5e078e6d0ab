"""Pretty-printer for typed core: Python, with the type of a variable where it first occurs."""

from __future__ import annotations

import ast

from dualrev.compiler.ir.anf.to_python import opaque
from dualrev.compiler.ir.core import atoms, nodes, traverse
from dualrev.compiler.ir.core.atoms import Var
from dualrev.compiler.ir.core.nodes import Function, Statement
from dualrev.compiler.ir.names import readable

__all__ = ["show", "show_expr"]


def show(f: Function, types: bool = True) -> str:
    """Print a function, a statement a line.

    Variables that would have one name get different ones: `x`, `x_1`.
    """
    shown = _CorePrinter(f, types)
    head = f"def {f.name}({', '.join(map(shown.declared, f.parameters))}):"
    return "\n".join([head, *shown.block(f.body, 1), f"    return {shown.tree(f.result)}", ""])


def show_expr(e: atoms.Index) -> str:
    """Print an expression, an index or an atom."""
    return _CorePrinter(None, False).index(e)


class _CorePrinter:
    def __init__(self, f: Function | None, types: bool) -> None:
        self.types = types
        self.seen: set[Var] = set()
        self.names: dict[Var, str] = {}
        self.taken: set[str] = set()
        for x in traverse.variables(f) if f is not None else []:
            self.name(x)

    def name(self, x: Var) -> str:
        """Choose a unique name for a variable."""
        if x not in self.names:
            own = x.name.format(self.name(x.of).lstrip("_") if x.of is not None else "", k="")
            base = readable(own).rstrip("_") or "_"
            base = f"_{base}" if base[0].isdigit() else base  # an earlier value of a temporary
            k, made = 0, "_1" if base == "_" else base
            while made in self.taken:
                k += 1
                made = f"{'' if base == '_' else base}_{k}"
            self.taken.add(made)
            self.names[x] = made
        return self.names[x]

    # Atoms and expressions

    def atom(self, x: atoms.Atom | atoms.Symbol) -> str:
        """Print an atom, or a callee."""
        if isinstance(x, Var):
            return self.names.get(x, readable(repr(x)))
        return repr(x.value) if isinstance(x, atoms.Constant) else readable(x.name)

    def declared(self, x: atoms.Tree) -> str:
        """Print a tree of variables, each with its type at the first occurrence."""
        if isinstance(x, atoms.Node):
            return tuple_text([self.declared(part) for part in x.parts])
        if isinstance(x, Var) and self.types and x not in self.seen:
            self.seen.add(x)
            return f"{self.atom(x)}: {x.type}"
        return self.atom(x)

    def tree(self, x: atoms.Tree) -> str:
        """Print a tree."""
        if not isinstance(x, atoms.Node):
            return self.atom(x)
        parts = [self.tree(part) for part in x.parts]
        return tuple_text(parts) if x.cls is None else f"{self.atom(x.cls)}({', '.join(parts)})"

    def expr(self, e: atoms.Expr) -> str:
        """Print an expression."""
        match e:
            case atoms.Operator(symbol, (x,)):
                return f"({symbol} {self.expr(x)})" if symbol == "not" else f"{symbol}{self.expr(x)}"
            case atoms.Operator(symbol, (x, y)):
                return f"({self.expr(x)} {symbol} {self.expr(y)})"
            case atoms.Comparison(symbols, (first, *rest)):
                pairs = zip(symbols, rest, strict=True)
                return f"({self.expr(first)}" + "".join(f" {s} {self.expr(x)}" for s, x in pairs) + ")"
            case atoms.Logical(symbol, args):
                return "(" + f" {symbol} ".join(map(self.expr, args)) + ")"
            case atoms.Choice(test, then, orelse):
                return f"({self.expr(then)} if {self.expr(test)} else {self.expr(orelse)})"
            case atoms.Applied(function, args, keywords):
                name = function if isinstance(function, str) else self.atom(function)
                return f"{name}({self.arguments(args, keywords)})"
            case atoms.Method(base, name, args, keywords):
                return f"{self.expr(base)}.{name}({self.arguments(args, keywords)})"
            case atoms.Field(base, name):
                return f"{self.expr(base)}.{name}"
            case atoms.Item(base, index):
                return f"{self.expr(base)}[{self.indices(index)}]"
            case atoms.Pack(args, listed):
                texts = [self.expr(x) for x in args]
                return f"[{', '.join(texts)}]" if listed else tuple_text(texts)
        return self.atom(e)  # type: ignore[arg-type]

    def arguments(self, args: tuple[atoms.Expr, ...], keywords: tuple[tuple[str, atoms.Expr], ...]) -> str:
        """Print the arguments of a call."""
        return ", ".join([*map(self.expr, args), *(f"{k}={self.expr(x)}" for k, x in keywords)])

    def index(self, i: atoms.Index) -> str:
        """Print one entry of an index."""
        if isinstance(i, atoms.Span):
            lower, upper, step = ("" if x is None else self.expr(x) for x in (i.lower, i.upper, i.step))
            return f"{lower}:{upper}" + (f":{step}" if step else "")
        if i is None or i is Ellipsis:
            return "..." if i is Ellipsis else "None"
        return self.expr(i)

    def indices(self, index: tuple[atoms.Index, ...]) -> str:
        """Print an index, without the brackets."""
        return ", ".join(map(self.index, index)) if index else "()"

    # Statements

    def block(self, body: tuple[Statement, ...], depth: int) -> list[str]:
        """Print the lines of a block."""
        lines = [line for s in body for line in self.statement(s, depth)]
        return lines or ["    " * depth + "pass"]

    def statement(self, s: Statement, depth: int) -> list[str]:
        """Print the lines of a statement, with its blocks."""
        margin = "    " * depth
        match s:
            case nodes.If():
                lines = [f"{margin}if {self.atom(s.test)}:", *self.block(s.then, depth + 1)]
                return lines + ([f"{margin}else:", *self.block(s.orelse, depth + 1)] if s.orelse else [])
            case nodes.For():
                bounds = ", ".join(map(self.atom, (s.start, s.stop, s.step)))
                over = "prange" if s.parallel else "range"
                head = f"{margin}for {self.declared(s.target)} in {over}({bounds}){self.exits(s)}:"
                return [head, *self.block(s.body, depth + 1)]
            case nodes.While():
                before = [line for t in s.before for line in self.statement(t, depth + 1)]
                head = f"{margin}while {self.atom(s.test)}{self.exits(s)}:"
                return [*([f"{margin}before:", *before] if before else []), head, *self.block(s.body, depth + 1)]
            case nodes.Opaque():
                names = {name: ast.Name(self.atom(x)) for name, x in (*s.inputs, *s.outputs)}
                return [margin + line for line in opaque(s.code, names).split("\n")]
        return [margin + self.simple(s)]

    def exits(self, s: nodes.For | nodes.While) -> str:
        """Print the exit flags of a loop, as ` until a or b`."""
        return f" until {' or '.join(map(self.atom, s.exits))}" if s.exits else ""

    def simple(self, s: Statement) -> str:
        """Print a statement without blocks."""
        match s:
            case nodes.Copy():
                right = self.atom(s.source)
            case nodes.Discrete() | nodes.View() | nodes.Make():
                right = self.expr(s.value)
            case nodes.Real():
                right = f"{s.rule.name}({', '.join(map(self.atom, s.args))})"
            case nodes.Load():
                right = f"{self.atom(s.array)}[{self.indices(s.index)}]"
            case nodes.Whole():
                right = f"{s.function}({', '.join(map(self.atom, s.args))})"
            case nodes.Store():
                return f"{self.atom(s.array)}[{self.indices(s.index)}] {s.op} {self.atom(s.value)}"
            case nodes.Call():
                call = f"{self.atom(s.function)}({', '.join(map(self.tree, s.args))})"
                return f"{self.declared(s.result)} = {call}" if s.targets else call
            case nodes.Effect():
                return s.text.format(*map(self.atom, s.args))
            case nodes.Barrier():
                return f"barrier {', '.join(map(self.atom, s.arrays))}".rstrip()
            case nodes.Hold():
                right = f"hold {self.atom(s.source)} in slot {s.slot}"
            case nodes.Kept():
                right = "kept"
            case nodes.Push() | nodes.Pop() | nodes.Keep() | nodes.Reserve() | nodes.Columns() | nodes.Accumulate():
                return self.memory(s)
            case _:
                raise AssertionError(s)
        return f"{self.declared(s.target)} = {right}"

    def memory(self, s: Statement) -> str:
        """Print a statement that uses the tape, or an accumulation."""
        match s:
            case nodes.Push():
                return f"push {', '.join(map(self.atom, s.values))}"
            case nodes.Pop():
                return f"pop {', '.join(map(self.declared, s.targets))}"
            case nodes.Keep():
                return f"keep {self.atom(s.array)}"
            case nodes.Reserve():
                bounds = ", ".join(map(self.atom, (s.start, s.stop, s.step)))
                return f"room for {sum(map(len, s.pushes))} numbers a round of range({bounds})"
            case nodes.Columns():
                bounds = ", ".join(map(self.atom, (s.start, s.stop, s.step)))
                names = ", ".join(map(self.declared, s.targets))
                return f"{'take' if s.taken else 'columns'} {names} for range({bounds})"
            case nodes.Accumulate():
                return f"{s.function}({', '.join(map(self.atom, (s.array, *s.args)))})"
        raise AssertionError(s)


def tuple_text(parts: list[str]) -> str:
    """Print a tuple of texts; a single part gets a comma."""
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
