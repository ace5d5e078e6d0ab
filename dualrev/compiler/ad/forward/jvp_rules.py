"""JVP rules (core -> core): each statement of a function, with a tangent for each active value.

With t_x the tangent of the variable x at this place:

    y = op(a, b)        t_y = (partial by a) * t_a + (partial by b) * t_b
    x = op(x, b)        the same, with the partials of the old x
    y = a               t_y = t_a                             y = an int, a constant, ...    t_y = 0
    y = a[i]            t_y = t_a[i]                          a[i] = x                       t_a[i] = t_x
    b = a[1:]           t_b = t_a[1:], a view of the tangents of a
    a = np.empty(n)     t_a = zeros of the same shape
    c = dot(a, b)       t_c = dot(t_a, b) + dot(a, t_b)
    m = max(a)          t_m = the mean of t_a where a is m
    y = g(x, n)         y, t_y = g_tangent(x, n, t_x), if y may depend on x
    if, for, while, raise: as they are

A variable has a tangent if it is active (analysis/activity.py). The tangent of an array is an array of the same shape,
and arrays that share memory have tangents that share memory in the same way, so writing needs no rule of its own.

forward_driver.py makes functions of this, and those for calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol, TypeGuard

from numba.core import types

from dualrev.compiler.analysis.activity import Activity
from dualrev.compiler.analysis.memory.alias import Classes, Memory, Representative, given
from dualrev.compiler.analysis.values.finiteness import Wild
from dualrev.compiler.analysis.values.infinite_partials import Steep
from dualrev.compiler.ir.core.atom_types import is_array, is_real, is_real_array
from dualrev.compiler.ir.core.atoms import SCALED, Applied, Atom, Constant, Node, Operator, Symbol, Tree, Var
from dualrev.compiler.ir.core.builder import CoreBuilder, partial
from dualrev.compiler.ir.core.known_zeros import ALONG, KNOWN, PRODUCTS, times
from dualrev.compiler.ir.core.nodes import (
    Accumulate,
    Barrier,
    Call,
    Columns,
    Copy,
    Discrete,
    Effect,
    For,
    Function,
    Hold,
    If,
    Keep,
    Kept,
    Load,
    Make,
    Opaque,
    Pop,
    Push,
    Real,
    Reserve,
    Statement,
    Store,
    View,
    While,
    Whole,
)
from dualrev.compiler.ir.core.traverse import leaves, replaced
from dualrev.rules.primitives import PRIMITIVES, Primitive

__all__ = ["WithTangents"]

_I64 = types.int64


class CallPushforwards(Protocol):
    """Pushforwards for calls: the protocol of forward_driver.py."""

    memory: Memory
    marking: set[Symbol]

    def called(
        self,
        s: Call,
        active: tuple[bool, ...],
        wanted: tuple[bool, ...],
        pattern: tuple[int | None, ...],
        wild: tuple[bool, ...] = (),
        marks: bool = False,
    ) -> Symbol:
        """The pushforward for a call."""


class WithTangents(CoreBuilder):
    """Writer of a pushforward: the statements of a function with their tangents."""

    def __init__(
        self,
        forward: CallPushforwards,
        f: Function,
        varied: list[Var],
        useful: Iterable[Var],
        together: tuple[tuple[Var, ...], ...],
        wild: Iterable[Var] = (),
        marks: bool = False,
        called: bool = False,
    ) -> None:
        """`wild`: parameters that may be infinite or NaN; `called`: a function that gets tangents calls `f`."""
        super().__init__(marks)
        self.forward, self.f = forward, f
        self.classes = Classes(f, forward.memory, together)
        self.activity = Activity(f, forward.memory, self.classes, varied, useful)
        self.wild = Wild(f, forward.memory, self.classes, wild)
        self.steep = Steep(f, forward.memory, self.classes, called) if marks else None
        self.tangents: dict[Var, Var] = {}
        for x in (x for p in f.parameters for x in leaves(p)):
            if self.is_active(x) and x not in varied:  # it becomes active in the function
                self.clear(x, 0)

    # Tangents

    def is_active(self, x: Atom) -> TypeGuard[Var]:
        """Whether an atom is active: it has a tangent."""
        return self.activity.has(x)

    def tangent(self, x: Var) -> Var:
        """The tangent variable of a variable."""
        if x not in self.tangents:
            kind = types.float64 if is_real(x) else x.type
            self.tangents[x] = Var("t_{}", kind, x)
        return self.tangents[x]

    def of(self, x: Atom) -> Atom:
        """The tangent of a scalar atom; zero if it is inactive."""
        return self.tangent(x) if isinstance(x, Var) and self.is_active(x) else self.zero

    def given(self, x: Var) -> Var:
        """The parameter for the tangent of `x`; with marks, its zeros are marked as known in a copy."""
        t = self.tangent(x)
        if not self.marks:
            return t
        given = Var("t_{}", t.type, x)
        if is_array(x):
            self.write(Make(t, Applied("np.zeros_like", (given,)), 0))
            self.loop(t, lambda index: self.mark(given, t, index), 0)
        else:
            self.write(Real(t, KNOWN, KNOWN.name, (given,), 0))
        return given

    def mark(self, given: Var, t: Var, index: tuple[Var, ...]) -> None:
        """Copy one element of a given tangent, with a zero marked as known."""
        value, known = Var("_", t.type.dtype), Var("_", t.type.dtype)
        self.write(Load(value, given, index, 0))
        self.write(Real(known, KNOWN, KNOWN.name, (value,), 0))
        self.write(Store(t, index, known, 0))

    def unmark(self, t: Var, line: int) -> None:
        """Clear the marks of known zeros in an array tangent, which code without marks has computed."""

        def element(index: tuple[Var, ...]) -> None:
            """Clear the mark of one element."""
            value = Var("_", t.type.dtype)
            self.write(Load(value, t, index, line))
            self.write(Store(t, index, self.computed(value, line), line))

        self.loop(t, element, line)

    def clear(self, x: Var, line: int) -> None:
        """Assign a zero tangent to a variable."""
        if is_array(x):
            self.write(Make(self.tangent(x), self.zeros_like(x), line))
        else:
            self.write(Copy(self.tangent(x), self.zero, line))

    def result_tangent(self, tree: Tree) -> Tree:
        """The tangent of a result or of a part of it: zeros if inactive, None if discrete."""
        if isinstance(tree, Node):
            return Node(tuple(map(self.result_tangent, tree.parts)), tree.cls)
        if isinstance(tree, Constant):
            return self.zero if isinstance(tree.value, float) else Constant(None)
        if is_real(tree):
            return self.in_type(tree, self.of(tree))
        if is_real_array(tree):
            if isinstance(tree, Var) and self.is_active(tree):
                return self.tangent(tree)
            target = Var("_", tree.type)
            self.write(Make(target, Applied("np.zeros_like", (tree,)), 0))
            return target
        return Constant(None)

    def in_type(self, x: Atom, t: Atom) -> Atom:
        """Cast the tangent of a scalar to its type: the tangent of a float32 is a float64 while it is computed."""
        if x.type != types.float32:
            return t
        target = Var("_", types.float32)
        self.write(Real(target, PRIMITIVES["pos"], "np.float32", (t,), 0))
        return target

    # Statements

    def block(self, body: tuple[Statement, ...]) -> None:
        """Emit the statements of a block, with tangents."""
        for s in body:
            self.statement(s)

    def inner(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """The statements of an inner block, with tangents."""
        out: list[Statement] = []
        with self.into(out):
            self.block(body)
        return tuple(out)

    def statement(self, s: Statement) -> None:
        """Emit a statement with its tangent."""
        match s:
            case If():
                self.write(replace(s, then=self.inner(s.then), orelse=self.inner(s.orelse)))
            case For():
                self.write(replace(s, body=self.inner(s.body)))
            case While():
                self.write(replace(s, before=self.inner(s.before), body=self.inner(s.body)))
            case Store():
                self.write(s)
                t = self.of(s.value)
                if self.is_active(s.array) and not (t is self.zero and s.op != "="):
                    subtracts = self.marks and s.op == "-="  # -0.0 - 0.0 would be -0.0, a known zero
                    op, t = ("+=", self.minus(t, s.line)) if subtracts else (s.op, t)
                    self.write(replace(s, array=self.tangent(s.array), op=op, value=t))
            case Call():
                self.call(s)
            case Effect() | Opaque():
                self.write(s)
            case Push() | Pop() | Keep() | Kept() | Hold() | Reserve() | Columns() | Accumulate():
                raise AssertionError(f"{s}: reverse mode comes last, of what forward mode has made")
            case Barrier():
                raise AssertionError(f"{s}: kernels have no forward mode")
            case _ if not self.is_active(s.target):
                self.write(s)
            case Real():
                self.real_tangent(s)
            case Whole():
                self.whole(s)
            case Copy() if is_array(s.target):
                self.write(s)
                if isinstance(s.source, Var):
                    self.write(Copy(self.tangent(s.target), self.tangent(s.source), s.line))
                else:
                    self.clear(s.target, s.line)
            case Copy():
                self.write(s)
                self.assign(s.target, self.of(s.source), s.line)
            case Load() if self.is_active(s.array):
                assert isinstance(s.array, Var)
                self.write(s)
                self.write(replace(s, target=self.tangent(s.target), array=self.tangent(s.array)))
            case View() if isinstance(s.base, Var):
                base, t = s.base, self.tangent(s.base)
                value = replaced(s.value, lambda x: t if x is base else x)
                self.write(s)
                self.write(replace(s, target=self.tangent(s.target), base=t, value=value))
            case _:
                self.write(s)
                self.clear(s.target, s.line)

    def assign(self, x: Var, t: Atom, line: int) -> None:
        """Assign `t_x = t`; a temporary that was just computed is computed into `t_x` instead."""
        target = self.tangent(x)
        last = self.out[-1] if self.out else None
        if isinstance(last, Real) and last.target is t and t in self.temporaries:
            self.out[-1] = replace(last, target=target)
        elif t is not target:
            self.write(Copy(target, t, line))

    def real_tangent(self, s: Real) -> None:
        """Emit a scalar operation with its tangent, which comes after the value: the partials may read it."""
        factors = [(k, x, partial(s, k)) for k, x in enumerate(s.args) if self.is_active(x)]
        factors = [(k, x, e) for k, x, e in factors if not (isinstance(e, ast.Constant) and e.value == 0.0)]
        y = s.target
        names: dict[str, Atom] = dict(zip(s.rule.parameters, s.args, strict=True))
        speaks = any(isinstance(n, ast.Name) and n.id == "y" for _, _, e in factors for n in ast.walk(e))
        update = s.target in s.args  # the partials are those at the old value
        if update and speaks:
            y = Var("_", s.target.type)
            self.write(replace(s, target=y))
        elif not update:
            self.write(s)
        names["y"] = y
        total: Atom | None = None
        for k, x, e in factors:
            if s.rule in PRODUCTS:
                term: Atom = self.times(times(s.rule, k), s.args[1 - k], self.of(x), s.line)
            elif s.rule is SCALED and k == 0:  # t_a * b: it is b that may be a known zero
                term = self.times(SCALED, self.of(x), s.args[1], s.line)
            else:
                term = self.product(e, names, self.of(x), s.line, self.rule(s, k))
            total = self.added(total, term, s.line)
        if update:
            self.assign(s.target, self.zero if total is None else total, s.line)
            self.write(Copy(s.target, y, s.line) if speaks else s)
        else:
            self.assign(s.target, self.zero if total is None else total, s.line)

    def rule(self, s: Real, k: int) -> Primitive:
        """The multiplication primitive for the k-th partial times the tangent, by how known zeros behave."""
        if self.steep is not None and (self.steep.before(s.target) or self.steep.factor(s, k)):
            return ALONG
        return SCALED if s.rule is SCALED or self.wild.partial(s, k) else PRIMITIVES["mul"]

    def whole(self, s: Whole) -> None:
        """Emit `np.dot`, `np.min` or `np.max` of whole arrays, with its tangent."""
        if s.function != "np.dot":
            self.write(s)
            self.assign(s.target, self.at_extreme(s), s.line)
            return
        terms = []
        for k, x in enumerate(s.args):
            if self.is_active(x):
                assert isinstance(x, Var)
                factors = tuple(self.tangent(x) if j == k else y for j, y in enumerate(s.args))
                terms.append(Var("_", s.target.type))
                self.write(replace(s, target=terms[-1], args=factors))
        self.write(s)  # last: the target may be one of the factors
        if is_real(s.target):
            total: Atom | None = None
            for x in terms:
                total = self.added(total, self.computed(x, s.line) if self.marks else x, s.line)
            self.assign(s.target, self.zero if total is None else total, s.line)
            return
        for x in terms[1:]:
            self.loop(x, lambda index, x=x: self.sum_into(terms[0], x, index, s.line), s.line)  # type: ignore[misc]
        if terms:
            self.write(Copy(self.tangent(s.target), terms[0], s.line))
            if self.marks:
                self.unmark(terms[0], s.line)
        else:
            self.clear(s.target, s.line)

    def sum_into(self, a: Var, b: Var, index: tuple[Var, ...], line: int) -> None:
        """Emit `a[index] += b[index]`."""
        value = Var("_", a.type.dtype)
        self.write(Load(value, b, index, line))
        self.write(Store(a, index, value, line, "+="))

    def at_extreme(self, s: Whole) -> Atom:
        """The tangent of `np.min` or `np.max`: the mean of the tangents of all elements that attain it."""
        (x,) = s.args
        if not (isinstance(x, Var) and self.is_active(x)):
            return self.zero
        count, total = Var("_", _I64), self.temporary()
        self.write(Copy(count, Constant(0, _I64), s.line))
        self.write(Copy(total, self.zero, s.line))

        def add(index: tuple[Var, ...]) -> None:
            """Count an element that attains the extreme, and add its tangent."""
            value, found, t = Var("_", x.type.dtype), Var("_", types.boolean), Var("_", x.type.dtype)
            self.write(Load(value, x, index, s.line))
            self.write(Discrete(found, Applied("runtime.is_extreme", (value, s.target)), s.line))
            then: list[Statement] = []
            with self.into(then):
                self.write(Discrete(count, Operator("+", (count, Constant(1, _I64))), s.line))
                self.write(Load(t, self.tangent(x), index, s.line))
                self.write(Real(total, PRIMITIVES["add"], "+", (total, t), s.line))
            self.write(If(found, tuple(then), (), s.line))

        self.loop(x, add, s.line)
        return self.real("div", "/", total, count, line=s.line)

    def call(self, s: Call) -> None:
        """Emit a call; with active arguments, and active results or written arrays, a call of the pushforward."""
        inputs, targets = given(s), s.targets
        active = tuple(map(self.is_active, inputs))
        wanted = tuple(map(self.is_active, leaves(s.result)))
        wrote = any(map(self.is_active, self.forward.memory.changed(s)))
        if not any(active) or not (wrote or any(wanted)):
            self.write(s)
            for x in targets:
                if self.is_active(x):
                    self.clear(x, s.line)
            return
        numbers: dict[Representative, int] = {}
        pattern = tuple(numbers.setdefault(self.classes.find(x), len(numbers)) if is_array(x) else None for x in inputs)
        symbol = self.forward.called(s, active, wanted, pattern, tuple(map(self.wild.has, inputs)), self.marks)
        tangents = [
            self.tangent(x) if is_array(x) else self.in_type(x, self.of(x)) for x in inputs if self.is_active(x)
        ]
        made = [Var("_", x.type) if x.type == types.float32 else self.tangent(x) for x in targets if self.is_active(x)]
        result = Node((*leaves(s.result), *made))
        self.write(Call((*targets, *made), symbol, (*inputs, *tangents), result, s.line))
        unmarked = self.marks and symbol not in self.forward.marking
        for x, t in zip((x for x in targets if self.is_active(x)), made, strict=True):
            if unmarked and is_array(x):
                self.unmark(t, s.line)
            self.assign(x, self.computed(t, s.line) if unmarked and not is_array(x) else t, s.line)
