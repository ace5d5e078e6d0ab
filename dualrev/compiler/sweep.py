"""The forward sweep: the function as it is, which also makes shadows and records what the reverse sweep needs.

`Sweep` knows a function's core, its values and its activity, and the names that emitted code gives them. What is
recorded, and how, is left to record.py and planning.py; forward mode (forward.py) overrides the same places.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import types

from dualrev.compiler import syntax
from dualrev.compiler.activity import Activity, Classes
from dualrev.compiler.code import Assign, Code, Push, Suite
from dualrev.compiler.core import (
    Call,
    Const,
    Effect,
    For,
    If,
    Let,
    Node,
    OfElements,
    Ref,
    Store,
    While,
    leaves,
    reads,
    walk,
    writes,
)
from dualrev.compiler.expand import Expanded, is_array, is_real, is_real_array
from dualrev.compiler.flow import Flow, Region, Value
from dualrev.compiler.zeros import NOTHING, Known, Zeros

__all__ = ["Sweep", "flat", "if_suite", "range_text", "renamed", "rounds", "target_tree"]


class Sweep:
    """A function whose derivative is being written, at given types and activity."""

    out: list[Any]  # the code that is being written
    names: dict[Value, str]  # what values are called that the reverse sweep needs
    hold: set[Value]  # values whose variable changes while they are needed
    recorded_in: dict[int, list[Value]]  # block -> the values that it records
    own_tape: bool  # whether the function itself records words
    uses_tape: bool  # whether it takes a tape
    holds: int  # how many arrays the tape holds without recording them, ...
    held_classes: set[str]  # ... and their classes
    planning: bool  # whether the reverse sweep is written only to see what it asks for

    def __init__(
        self,
        e: Expanded,
        effects: Callable[[Call], Any],
        callee: Callable[[Call, Any], Any],
        varied: set[str],
        pattern: dict[str, int],
        shadowless: set[str],
        joint: bool,
        checked_division: bool,
        wanted: set[int] | None = None,
        known: Known = NOTHING,
    ) -> None:
        self.e, self.effects, self.callee, self.joint = e, effects, callee, joint
        self.checked_division = checked_division
        self.leaves = [x for p in e.parameters for x in leaves(p)]
        self.result_leaves = leaves(e.result)
        self.wanted = set(range(len(self.result_leaves))) if wanted is None else wanted  # whose cotangent is given
        self.classes = Classes(e, pattern, effects)
        arrays = {x for x in self.leaves if is_array(e.types.get(x))}
        useful = {x for k, x in enumerate(self.result_leaves) if isinstance(x, str) and k in self.wanted}
        useful |= set() if joint else arrays
        self.activity = Activity(e, self.classes, effects, varied, useful, shadowless)
        self.flow = Flow(self.leaves, e.body, self.result_leaves)
        self.known_zeros = Zeros(
            e.body, self.leaves, self.result_leaves, self.activity, effects, known, checked_division
        )
        self.fresh_name = e.lowered.names.fresh
        self.parameter_classes = {self.classes.find(x) for x in arrays}
        self.content: dict[str, set[int]] = {}  # class -> where the reverse sweep needs its elements as they were
        self.names: dict[Value, str] = {}
        self.cotangents: dict[str, str] = {}
        self.locals_of: dict[int, set[str]] = {}
        self.occurs = self._occurrences()
        self.needed_parameters: set[str] = set()
        self.given = self._given_results()
        self.needed_results: set[Value] = set()
        shared = e.lowered.names.shared
        self.seeds: list[ast.expr] = [ast.Name(shared(f"d_result_{k}")) for k in range(len(self.result_leaves))]
        self._plan()

    def same(self, x: str, key: str) -> bool:
        return is_array(self.e.types.get(x)) and self.classes.find(x) == key

    def _occurrences(self) -> dict[str, list[Region]]:
        """Where each active scalar occurs."""
        found: dict[str, list[Region]] = {}
        for s in walk(self.e.body):
            names = {x for x in [*reads(s), *writes(s)] if isinstance(x, str)}
            for x in names:
                if is_real(self.e.types.get(x)) and self.activity.is_active(x):
                    found.setdefault(x, []).append(self.flow.region_of[s])
        return found

    def cotangent(self, x: str) -> str:
        """The name of the cotangent of a variable, or of the shadow of an array."""
        if x not in self.cotangents:
            self.cotangents[x] = self.fresh_name("d_{}", x, self.e.lowered.names.is_temporary(x))
        return self.cotangents[x]

    def d(self, x: str) -> ast.expr:
        return ast.Name(self.cotangent(x))

    def is_active(self, x: Any) -> bool:
        return self.activity.is_active(x)

    def kind(self, x: Any) -> Any:
        return self.e.types.get(x) if isinstance(x, str) else None

    def emit(self, code: Any) -> None:
        self.out.append(code)

    def assign(self, target: str | ast.expr, value: ast.expr, line: int, op: str = "=") -> None:
        self.out.append(Assign(ast.Name(target) if isinstance(target, str) else target, value, line, op))

    @contextmanager
    def into(self, out: list[Any]) -> Iterator[None]:
        before, self.out = self.out, out
        try:
            yield
        finally:
            self.out = before

    # What record.py and planning.py decide

    def _plan(self) -> None:
        raise NotImplementedError

    def _given_results(self) -> set[Value]:
        raise NotImplementedError

    def must_restore(self, s: Store) -> bool:
        raise NotImplementedError

    def words(self, v: Value) -> bool:
        raise NotImplementedError

    def to_words(self, recorded: list[Value]) -> list[ast.expr]:
        raise NotImplementedError

    def keep(self, v: Value, line: int) -> None:
        raise NotImplementedError

    def held(self, v: Value, value: ast.expr) -> ast.expr:
        raise NotImplementedError

    def reserve(self, s: For, body: list[Any]) -> None:
        raise NotImplementedError

    # The forward sweep

    def forward(self) -> list[Any]:
        """The code of the forward sweep."""
        self.out, self.holds, self.held_classes = [], 0, set()
        for x in self.leaves:
            self.hold_value(self.flow.parameters[x], self.e.lowered.source.tree.lineno)
        self.forward_block(self.e.body)
        return self.out

    def hold_value(self, v: Value, line: int) -> None:
        """A copy of a variable that will change while its value is still needed."""
        if v in self.hold:
            name = self.names[v]
            self.assign(name, ast.Name(v.variable), line)
            if self.has_shadow(v.variable):
                self.assign(self.cotangent(name), self.d(v.variable), line)

    def has_shadow(self, x: Any) -> bool:
        return isinstance(x, str) and is_real_array(self.kind(x)) and self.is_active(x)

    def forward_block(self, block: list[Any]) -> None:
        for s in block:
            self.forward_statement(s)
            for v in self.flow.made.get(s, {}).values():
                if not isinstance(s, For):
                    self.hold_value(v, s.line)
        recorded = self.recorded_in.get(id(block), [])
        line = block[-1].line if block else 0
        words = self.to_words([v for v in recorded if self.words(v)])
        if words:
            self.emit(Push(words, line))
        for v in recorded:
            if is_array(self.kind(v.variable)):
                self.keep(v, line)

    def forward_statement(self, s: Any) -> None:
        if isinstance(s, Let):
            self.forward_let(s)
        elif isinstance(s, Store):
            target = syntax.subscript(syntax.atom(s.array), s.index, syntax.atom)
            if self.must_restore(s):
                old = target
                if isinstance(self.kind(s.array).dtype, types.Integer):
                    old = syntax.call("runtime.bits", old)
                self.emit(Push([old], s.line))
            self.assign(target, syntax.atom(s.value), s.line, s.op)
        elif isinstance(s, If):
            branches: list[list[Any]] = [[], []]
            for out, block in zip(branches, (s.then, s.orelse), strict=True):
                with self.into(out):
                    self.forward_block(block)
            if branches[0] or branches[1]:
                self.emit(if_suite(syntax.atom(s.test), branches[0], branches[1], s.line))
            for v in self.flow.joins[s].values():
                self.hold_array(v, s.line)
                self.hold_value(v, s.line)
        elif isinstance(s, (For, While)):
            self.forward_loop(s)
        elif isinstance(s, Effect):
            self.emit(Code(syntax.effect(s, syntax.atom), s.line))
        else:
            self.forward_call(s)

    def forward_let(self, s: Let) -> None:
        value = self.primal(s)
        lent = s.op in ("copy", "view") and self.classes.find(s.target) in self.parameter_classes
        array = is_array(self.kind(s.target)) and not lent
        v = self.flow.made[s][s.target]
        self.assign(s.target, self.held(v, value) if array else value, s.line)
        if self.has_shadow(s.target):
            value = self.shadow(s, syntax.atom, self.cotangent)
            self.assign(self.cotangent(s.target), self.held(v, value) if array else value, s.line)

    def primal(self, s: Let, sub: Callable[[Any], ast.expr] = syntax.atom, repeat: bool = False) -> ast.expr:
        """The expression of an operation; a division that f would refuse is refused, unless it is repeated."""
        refuses = self.checked_division and not repeat
        if s.op == "prim":
            inner = s.info[1]
            refuses = refuses and not isinstance(inner.info, OfElements)
            tree = syntax.expression(
                Let(s.target, inner.op if inner.op != "iop" else "binop", s.args, inner.info, s.line), sub
            )
        elif s.op == "view" and isinstance(s.info, ast.expr):
            first, *rest = s.args
            names: dict[str, Any] = {x: x for x in rest}
            names["BASE"] = first
            tree = syntax.substitute(s.info, lambda x: sub(names[x]) if x in names else None)
        elif s.op == "alloc":
            inside = set(s.args)
            tree = syntax.substitute(s.info, lambda x: sub(x) if x in inside else None)
        elif s.op == "array":
            tree = syntax.call(s.info[0], *(sub(x) for x in s.args))
        else:
            tree = syntax.expression(s, sub)
        if refuses:
            real = s.op == "prim" and len(s.args) == 2 and is_real(self.kind(s.args[1]))
            tree = _Checked(powers=not real).visit(tree)
        return tree

    def shadow(self, s: Let, sub: Callable[[Any], ast.expr], shadow_of: Callable[[str], str]) -> ast.expr:
        """The expression of the shadow of an array that an operation makes."""
        if s.op == "copy" and isinstance(s.args[0], str):
            return ast.Name(shadow_of(s.args[0]))
        if s.op == "view" and isinstance(s.args[0], str):
            base = s.args[0]

            def with_shadow(x: Any) -> ast.expr:
                return ast.Name(shadow_of(base)) if x == base else sub(x)

            return self.primal(s, with_shadow)
        return syntax.call("np.zeros_like", ast.Name(s.target))

    def forward_loop(self, s: For | While) -> None:
        trips = self.flow.trips[s]
        counted = trips in self.names
        if counted:
            self.assign(self.names[trips], ast.Constant(0), s.line)
        body: list[Any] = []
        header = "while True:"
        with self.into(body):
            if isinstance(s, For):
                bounds = range_text(s.start, s.stop, s.step)
                header = f"for {s.target} in range({bounds}):"
            else:
                for t in s.test_block:
                    self.forward_statement(t)
                if s.test != Const(True):
                    self.emit(Suite(f"if not {syntax.text(syntax.atom(s.test))}:", [Code("break", s.line)], s.line))
            for v in self.flow.headers[s].values():
                self.hold_value(v, s.line)
            if isinstance(s, While):
                for t in s.test_block:
                    for v in self.flow.made.get(t, {}).values():
                        self.hold_value(v, s.line)
            if counted:
                self.assign(self.names[trips], ast.Constant(1), s.line, "+=")
            self.forward_block(s.body)
            for flag in s.exits:
                self.emit(Suite(f"if {flag}:", [Code("break", s.line)], s.line))
        if isinstance(s, For):
            self.reserve(s, body)
        self.emit(Suite(header, body, s.line, loop=True))
        for v in self.flow.afters[s].values():
            self.hold_array(v, s.line)
            self.hold_value(v, s.line)

    def forward_call(self, s: Call) -> None:
        unit = self.callee(s, self)
        args = [self.tree(a, syntax.atom) for a in s.args]
        if unit is None or unit.primal_suffices:
            self.assign_results(s, syntax.call(s.function.name, *args))
            return
        flat_args = [syntax.atom(x) for a in s.args for x in leaves(a)]
        shadows = [self.shadow_argument(x, self.d) for x in self.call_leaves(s) if self.shares(x)]
        self.with_tape(
            unit,
            s.line,
            lambda extra: self.assign_results(
                s,
                syntax.call(unit.forward_name, *flat_args, *shadows, *extra),
                [t for t in s.targets if self.has_shadow(t)],
            ),
        )
        for v in self.flow.made[s].values():
            self.hold_array(v, s.line)

    def hold_array(self, v: Value, line: int) -> None:
        """An array that a call has made, or a branch, or the last round of a loop, and its shadow."""
        if is_array(self.kind(v.variable)):
            for name in [v.variable, self.cotangent(v.variable)][: 1 + self.has_shadow(v.variable)]:
                held = self.held(v, ast.Name(name))
                if not isinstance(held, ast.Name):
                    self.assign(name, held, line)

    def shares(self, x: Any) -> bool:
        """Whether an argument may share memory with arrays that have shadows."""
        if isinstance(x, Ref):
            return is_real_array(self.kind_of(x)) and self.classes.find(x.name) in self.activity.active
        return self.has_shadow(x)

    def shadow_argument(self, x: Any, shadow: Callable[[str], ast.expr]) -> ast.expr:
        """The shadow of an argument; a frozen array gets one that is thrown away."""
        return syntax.call("np.zeros_like", syntax.atom(x)) if isinstance(x, Ref) else shadow(x)

    def call_leaves(self, s: Call) -> list[Any]:
        return [x for a in s.args for x in leaves(a)]

    def with_tape(self, unit: Any, line: int, work: Callable[[list[ast.expr]], None]) -> None:
        extra: list[ast.expr] = []
        if unit.uses_tape:
            extra = [ast.Name("tape")]
            if self.own_tape:
                self.emit(Code("tape[1] = top", line))
        work(extra)
        if unit.uses_tape and self.own_tape:
            self.emit(Code("words = runtime.words(tape)", line))
            self.emit(Code("top = tape[1]", line))

    def assign_results(self, s: Call, value: ast.expr, shadows: list[str] | None = None) -> None:
        """The results of a call go to their variables."""
        if shadows is None:
            target = target_tree(s.result)
        else:
            names = [*s.targets, *(self.cotangent(t) for t in shadows)]
            target = ", ".join(names) if len(names) != 1 else names[0]
        if not target or not s.targets:
            self.emit(Code(syntax.text(value), s.line))
        else:
            self.assign(ast.Name(target), value, s.line)

    def tree(self, tree: Any, sub: Callable[[Any], ast.expr]) -> ast.expr:
        """A tuple's syntax from its parts."""
        if isinstance(tree, Node):
            parts = [self.tree(x, sub) for x in tree.parts]
            return ast.Tuple(parts, ast.Load()) if tree.cls is None else syntax.call(tree.cls.name, *parts)
        return sub(tree)

    def is_scalar(self, x: Any) -> bool:
        return isinstance(x, str) and is_real(self.kind(x)) and self.is_active(x)

    def kind_of(self, x: Any) -> Any:
        if isinstance(x, str):
            return self.kind(x)
        import numba

        return numba.typeof(x.value)

    def value_name(self, s: Any, t: str) -> str:
        v = self.flow.made[s][t]
        return self.names.get(v, v.variable)

    def fresh(self, base: str) -> str:
        if self.planning:
            return base
        return self.fresh_name(f"_{base}{{k}}", temporary=base == "d")

    def inside(self, region: Region, loop: Any) -> bool:
        r: Region | None = region
        while r is not None:
            if r.owner is loop:
                return True
            r = r.parent
        return False


class _Checked(ast.NodeTransformer):
    """Divisions that raise ZeroDivisionError, as the function does; emitted code itself follows IEEE.

    `powers` says that exponents may be whole numbers: with these, 0 has no negative powers.
    """

    _NAMES = {ast.Div: "divide", ast.FloorDiv: "floor_divide", ast.Mod: "remainder", ast.Pow: "power"}  # noqa: RUF012

    def __init__(self, powers: bool) -> None:
        self.powers = powers

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        name = self._NAMES.get(type(node.op))
        if isinstance(node.op, ast.Pow):
            safe = not self.powers or isinstance(right, ast.Constant)  # a negative constant is no Constant: -(1)
        else:
            safe = isinstance(right, ast.Constant) and bool(right.value)
        if name is None or safe:
            return ast.BinOp(left, node.op, right)
        return syntax.call(f"runtime.{name}", left, right)


def flat(code: list[Any]) -> Iterator[Any]:
    """All statements of emitted code."""
    for c in code:
        yield c
        if isinstance(c, Suite):
            yield from flat(c.body)
            yield from flat(c.orelse)


def if_suite(test: ast.expr, then: list[Any], orelse: list[Any], line: int) -> Suite:
    """An if; without a then-branch, the test is negated."""
    if not then:
        return Suite(f"if {syntax.text(ast.UnaryOp(ast.Not(), test))}:", orelse, line)
    return Suite(f"if {syntax.text(test)}:", then, line, orelse)


def range_text(start: Any, stop: Any, step: Any) -> str:
    """The arguments of range, as short as they can be."""
    texts = [syntax.text(syntax.atom(x)) for x in (start, stop, step)]
    if step == Const(1):
        texts = texts[1:2] if start == Const(0) else texts[:2]
    return ", ".join(texts)


def rounds(s: For) -> ast.expr:
    """How many iterations a loop may have; what is negative is none."""
    if s.start == Const(0) and s.step == Const(1):
        return syntax.atom(s.stop)
    return syntax.call("runtime.rounds", *map(syntax.atom, (s.start, s.stop, s.step)))


def renamed(tree: Any, names: dict[str, str]) -> Any:
    """A tree with other names for its leaves."""
    if isinstance(tree, Node):
        return Node(tuple(renamed(x, names) for x in tree.parts), tree.cls)
    return names.get(tree, tree) if isinstance(tree, str) else tree


def target_tree(tree: Any) -> str:
    """The text of the target of an assignment of a tuple."""
    if isinstance(tree, Node):
        return "(" + "".join(f"{target_tree(x)}, " for x in tree.parts).strip() + ")"
    return tree if isinstance(tree, str) else "_"
