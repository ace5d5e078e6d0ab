"""Adjoint (core -> core): the reverse sweep, as if every value of the forward sweep were available.

The statements from the last to the first. With d_x the cotangent of the variable x at this place:

    y = op(a, b)        d_a += (partial by a) * d_y ; d_b += ... ; d_y = 0
    y = x * x           d_x += 2 * (x * d_y) ; d_y = 0: one sum that the next one waits for
    y = a               d_a += d_y ; d_y = 0
    y = a[i]            d_a[i] += d_y ; d_y = 0
    a[i] = x            d_x += d_a[i] ; d_a[i] = 0 ; a[i] = its old value
    b = a[1:]           nothing: d_b = d_a[1:], a view of the same shadow, since the forward sweep
    if c: s else: t     if c: reverse of t ...
    for i in range(n)   for i in range(n), from its end: reverse of the body
    y = g(x)            d_x += g_reverse(x, d_y)
    barrier a           barrier a, d_a

There is one cotangent per variable, as there is one memory cell: so branches and loops need no rule of their own.
Within straight-line code the order, the zeros and the first contributions are known, so `d_x = ...` stands in place of
`d_x += ...` where d_x is known to be 0 (the paper's staging, done by the compiler).

What is read of the forward sweep are versions of variables (analysis/ssa.py), each a variable of its own. How the
reverse sweep gets them is decided from what it reads (mincut_plan.py), and written into it (forward_sweep.py,
reverse_sweep.py). A partial is taken from the forward sweep, too, if that has computed it: in a rotation, the cosine
for the sine.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import overload

from numba.core import types

from dualrev.compiler.ad.reverse.gradient_context import Facts, Fused
from dualrev.compiler.analysis.memory.alias import Representative, given
from dualrev.compiler.analysis.ssa import Reading, Region, Value, Versions
from dualrev.compiler.ir.core.atom_types import is_array, is_real
from dualrev.compiler.ir.core.atoms import SCALED, Atom, Constant, Global, Index, Node, Tree, Var
from dualrev.compiler.ir.core.builder import CoreBuilder, partial
from dualrev.compiler.ir.core.known_zeros import ALONG, PRODUCTS, times
from dualrev.compiler.ir.core.nodes import (
    Accumulate,
    Barrier,
    Block,
    Call,
    Copy,
    For,
    If,
    Load,
    Make,
    Real,
    Statement,
    Store,
    View,
    While,
    Whole,
)
from dualrev.compiler.ir.core.traverse import reads, replaced, statements, writes
from dualrev.rules.primitives import PRIMITIVES, Primitive

__all__ = ["Adjoint", "shadow_of", "zeros_like"]

_TWO = Constant(2.0, types.float64)
_MUL = PRIMITIVES["mul"]


class Adjoint(CoreBuilder):
    """Adjoint statements of a function: its reverse sweep, over SSA versions of its variables.

    body           the statements
    value_of       the versions that stand for values, and ...
    shadow_of      ... those that stand for the shadows of arrays
    source         the statement of the function that a statement belongs to
    undone         the stores that bring back an old element, and the stores that they undo; the value is not there yet
    touched        where elements of arrays are read: by classes, positions with the version that is read there
    """

    def __init__(self, facts: Facts, seeds: dict[int, Atom], joint: bool) -> None:
        super().__init__(facts.f.marked)
        self._joint = joint  # both sweeps are one function
        self.facts, self.versions = facts, facts.versions
        self.value_of: dict[Var, Value] = {}
        self.shadow_of: dict[Var, Value] = {}
        self.source: dict[Statement, Statement] = {}
        self.undone: dict[Statement, Store] = {}
        self.touched: dict[Representative, set[Reading]] = {}
        self._refs: dict[tuple[Value, bool], Var] = {}
        self._current: Statement | None = None
        self._read: set[Value] = set()
        self._known = _functions_of_one(facts.f.body, self.versions)
        self._zero = {x for x in [*facts.occurs, *facts.parameters] if facts.is_scalar(x)}
        self._seeds = seeds
        self.body: Block = ()

    def made(self) -> Adjoint:
        """Emit the adjoint."""
        facts = self.facts
        for k, x in enumerate(facts.results):
            if k in facts.wanted and facts.is_scalar(x):
                self._contribute(x, self._seeds[k], 0)
        self._block(facts.f.body)
        for x in facts.parameters:
            if x in self._zero:
                self._assign(facts.cotangent(x), self.zero, 0)
        self.body = tuple(self.out)
        return self

    # What the forward sweep had

    def _ref(self, v: Value, shadow: bool = False) -> Var:
        """The variable that stands for an SSA value, or for the shadow of an array."""
        if v.kind == "counter":
            return v.variable
        if (v, shadow) not in self._refs:
            name = "d_{}" if shadow else "{}_{k}"
            made = self._refs[v, shadow] = Var(name, v.variable.type, v.variable)
            (self.shadow_of if shadow else self.value_of)[made] = v
        return self._refs[v, shadow]

    @overload
    def _at(self, s: Statement, x: Var) -> Var: ...
    @overload
    def _at(self, s: Statement, x: Atom) -> Atom: ...
    def _at(self, s: Statement, x: Atom) -> Atom:
        """An atom in the version that a statement reads."""
        v = self.versions.reads[s].get(x) if isinstance(x, Var) else None
        return x if v is None else self._ref(v)

    def _shadow(self, s: Statement, x: Var) -> Var:
        """The shadow of an array in the version that a statement reads."""
        return self._ref(self.versions.at(s, x), shadow=True)

    def _index(self, s: Load | Store) -> tuple[Index, ...]:
        return tuple(replaced(i, lambda x: self._at(s, x)) for i in s.index)

    def _touch(self, x: Atom, s: Statement) -> None:
        """Note that the adjoint reads elements of an array as they were at a statement."""
        self.touched.setdefault(self.facts.classes.find(x), set()).add(self.versions.reading(s, x))

    # Writing

    def value(self, e: ast.expr, names: Mapping[str, Atom], line: int) -> Atom:
        """Emit an expression of a partial; a value that the forward sweep has is reused if it is available anyway."""
        match e:
            case ast.Call(ast.Name(f), [ast.Name(name)]) if (made := self._found(f, names[name])) is not None:
                return made
        return super().value(e, names, line)

    def _found(self, f: str, x: Atom) -> Var | None:
        """An available forward value of the unary primitive `f` at `x`, which need not be recorded for this."""
        argument = self.value_of.get(x) if isinstance(x, Var) else None
        for v in self._known.get((f, argument), ()) if argument is not None else ():
            there = v in self._read or (self._joint and v.domain is None)
            if there and v.variable.type == types.float64 and self._is_within(v.region):
                return self._ref(v)
        return None

    def _is_within(self, region: Region) -> bool:
        """Whether the statement that is being reversed is in a region, or in one nested in it."""
        here: Region | None = self.versions.region_of[self._current] if self._current is not None else None
        while here is not None and here is not region:
            here = here.parent
        return here is not None

    def write(self, s: Statement) -> None:
        """Add a statement, with the forward statement that it reverses as its source."""
        self._read |= {self.value_of[x] for x in reads(s) if isinstance(x, Var) and x in self.value_of}
        if isinstance(s, Store) and s.op == "+=" and s.array in self.shadow_of:
            s = self._instead_of_zero(s)
        if self._current is not None:
            self.source[s] = self._current
        super().write(s)

    def _instead_of_zero(self, s: Store) -> Store:
        """Dead store elimination: `d_a[i] = 0`, then `d_a[i] += x`, is `d_a[i] = x` if nothing between may read it."""

        def memory(x: Var | Global) -> Representative | None:
            """The alias class of the array that has the shadow `x`."""
            return self.facts.classes.find(self.shadow_of[x].variable) if x in self.shadow_of else None

        for k in range(len(self.out) - 1, -1, -1):
            t = self.out[k]
            if isinstance(t, Store) and (t.array, t.index, t.op) == (s.array, s.index, "=") and t.value is self.zero:
                del self.out[k]
                return replace(s, op="=")
            apart = isinstance(t, (Load, Store)) and memory(t.array) != memory(s.array)
            if not (apart or isinstance(t, (Copy, Real))):
                return s
        return s

    def _assign(self, x: Var, value: Atom, line: int) -> None:
        """Assign `x = value`; a temporary that was just computed is computed into `x` instead."""
        last = self.out[-1] if self.out else None
        if isinstance(last, (Real, Load)) and last.target is value and value in self.temporaries:
            self.out.pop()
            if isinstance(last, Real):
                self.write(Real(x, last.rule, last.spelling, last.args, last.line))
            else:
                self.write(Load(x, last.array, last.index, last.line))
        else:
            self.write(Copy(x, value, line))

    def _contribute(self, x: Var, value: Atom, line: int) -> None:
        """Accumulate `d_x += value`; the first contribution is an assignment."""
        target = self.facts.cotangent(x)
        if x in self._zero:
            self._zero.discard(x)
            self._assign(target, value, line)
            return
        rule, last = "add", self.out[-1] if self.out else None
        if isinstance(last, Real) and last.rule.name == "neg" and last.target is value and value in self.temporaries:
            self.out.pop()
            rule, value = "sub", last.args[0]
        self.write(Real(target, PRIMITIVES[rule], "+" if rule == "add" else "-", (target, value), line))

    def _clear(self, names: Iterable[Var], line: int) -> None:
        for x in self.facts.sorted(names):
            self.write(Copy(self.facts.cotangent(x), self.zero, line))

    # Statements

    def _block(self, body: Block) -> None:
        for s in reversed(body):
            self._statement(s)

    def _statement(self, s: Statement) -> None:
        outer, self._current = self._current, s
        match s:
            case Real():
                self._real(s)
            case Copy() if self._has_cotangent(s.target):
                if s.source is not s.target:
                    if self.facts.is_scalar(s.source):
                        assert isinstance(s.source, Var)
                        self._contribute(s.source, self.facts.cotangent(s.target), s.line)
                    self._zero.add(s.target)
            case Load() if self._has_cotangent(s.target):
                if self.facts.has_shadow(s.array):
                    ct = self.facts.cotangent(s.target)
                    self.write(Store(self._shadow(s, s.array), self._index(s), ct, s.line, "+="))
                self._zero.add(s.target)
            case Whole():
                self._whole(s)
            case Store():
                self._store(s)
            case If():
                self._if(s)
            case For() | While():
                self._loop(s)
            case Call():
                self._call(s)
            case Barrier():
                shadows = [self._shadow(s, x) for x in s.arrays if self.facts.has_shadow(x)]
                self.write(Barrier((*(self._at(s, x) for x in s.arrays), *shadows), s.line))
            case _:
                self._zero |= {x for x in writes(s) if self.facts.is_scalar(x)}
        self._current = outer

    def _has_cotangent(self, x: Atom) -> bool:
        return self.facts.is_scalar(x) and x not in self._zero

    def _real(self, s: Real) -> None:
        t, facts = s.target, self.facts
        if not self._has_cotangent(t):
            return
        ct = facts.cotangent(t)
        names: dict[str, Atom] = {p: self._at(s, x) for p, x in zip(s.rule.parameters, s.args, strict=True)}
        names["y"] = self._ref(self.versions.made[s][t])
        own: list[tuple[ast.expr, Primitive]] = []
        square = s.rule.name == "mul" and s.args[0] is s.args[1] is not t
        for k, x in enumerate(s.args[:1] if square else s.args):
            factor = partial(s, k) if facts.is_scalar(x) else ast.Constant(0.0)
            if isinstance(factor, ast.Constant) and factor.value == 0.0:
                continue
            rule = self._rule(s, k)
            if x is t:
                own.append((factor, rule))
            else:
                assert isinstance(x, Var)
                self._contribute(x, self._part(s, k, factor, names, square), s.line)
        if not own:
            self._zero.add(t)
            return
        whole = own[0][0]
        for factor, _ in own[1:]:
            whole = ast.BinOp(whole, ast.Add(), factor)
        rule = next((rule for _, rule in own if rule is not _MUL), _MUL)
        value = self.product(whole, names, ct, s.line, rule)
        if value is not ct:
            self._assign(ct, value, s.line)

    def _rule(self, s: Real, k: int) -> Primitive:
        """The multiplication primitive for the k-th partial times the cotangent, by how known zeros behave."""
        reached = self.facts.reached.has(s, s.target)
        if self.marks and s.target not in self.facts.f.apart:
            return ALONG
        return SCALED if not reached and self.facts.wild.partial(s, k) else _MUL

    def _part(self, s: Real, k: int, factor: ast.expr, names: Mapping[str, Atom], square: bool) -> Atom:
        """The contribution to the cotangent of the k-th operand; for a square, of both operands."""
        ct, rule = self.facts.cotangent(s.target), self._rule(s, k)
        if s.rule in PRODUCTS:
            return self.times(times(s.rule, k), self._at(s, s.args[1 - k]), ct, s.line)
        value = self.product(factor, names, ct, s.line, rule)
        return self.times(rule if rule is ALONG else _MUL, _TWO, value, s.line) if square else value

    def _whole(self, s: Whole) -> None:
        """Reverse `np.dot`, `np.min` or `np.max` of whole arrays."""
        t, facts = s.target, self.facts
        if not facts.activity.has(t) or t in self._zero:
            return
        made = self.versions.made[s][t]
        if s.function == "np.dot":
            a, b = s.args
            ct = facts.cotangent(t) if is_real(t) else self._ref(made, shadow=True)
            ndims = "".join(str(x.type.ndim) for x in s.args if not isinstance(x, Constant))
            for x, other, side in ((a, b, "left"), (b, a, "right")):
                if facts.has_shadow(x):
                    self._touch(other, s)
                    args = (self._at(s, other), ct)
                    apart = facts.wild.has(other) and not (is_real(t) and facts.reached.has(s, t))
                    function = f"runtime.dot_{side}_{ndims}{'_apart' if apart else ''}"
                    self.write(Accumulate(self._shadow(s, x), function, args, s.line))
                    self._unmark(self._shadow(s, x), s.line)
        else:
            (x,) = s.args
            if facts.has_shadow(x):
                self._touch(x, s)
                found = (self._at(s, x), self._ref(made), facts.cotangent(t))
                self.write(Accumulate(self._shadow(s, x), "runtime.share", found, s.line))
                self._unmark(self._shadow(s, x), s.line)
        if is_real(t):
            self._zero.add(t)

    def _unmark(self, shadow: Var, line: int) -> None:
        """Clear the marks of known zeros in a shadow that a library function has added to."""
        if self.marks:
            self.write(Accumulate(shadow, "runtime.unmark", (), line))

    def _store(self, s: Store) -> None:
        facts = self.facts
        value = s.value if isinstance(s.value, Var) and facts.is_scalar(s.value) else None
        if facts.has_shadow(s.array) and (value is not None or s.op == "="):
            shadow, index = self._shadow(s, s.array), self._index(s)
            if value is not None:
                element: Var = self.temporary()
                self.write(Load(element, shadow, index, s.line))
                if s.op == "-=":
                    element = self.minus(element, s.line)
                self._contribute(value, element, s.line)
            if s.op == "=" and s not in facts.firsts:
                self.write(Store(shadow, index, self.zero, s.line))
        old = Var("_", s.array.type.dtype)
        undo = Store(self._at(s, s.array), self._index(s), old, s.line)
        self.undone[undo] = s
        self.write(undo)

    def _if(self, s: If) -> None:
        before = set(self._zero)
        sides: list[tuple[list[Statement], set[Var]]] = []
        for block in (s.then, s.orelse):
            code: list[Statement] = []
            self._zero = set(before)
            with self.into(code):
                self._block(block)
            sides.append((code, self._zero))
        self._zero = sides[0][1] & sides[1][1]
        for code, zero in sides:
            with self.into(code):
                self._clear(zero - self._zero, s.line)
        if sides[0][0] or sides[1][0]:
            self.write(If(self._at(s, s.test), tuple(sides[0][0]), tuple(sides[1][0]), s.line))

    def _loop(self, s: For | While) -> None:
        crossing = self.facts.crossing(s)
        before = set(self._zero)
        self._zero = before - crossing
        code: list[Statement] = []
        with self.into(code):
            self._block(s.body)
            self._clear(self._zero & crossing, s.line)
        self._zero = before
        if not code:
            return
        if not self.only_undoes(code):
            self._clear(crossing & before, s.line)
            self._zero = before - crossing
        trips = self._ref(self.versions.trips[s]) if isinstance(s, While) or s.exits else None
        zero, one = Constant(0, types.int64), Constant(1, types.int64)
        if isinstance(s, While):
            assert trips is not None
            self.write(For(Var("_k{k}", types.int64), zero, trips, one, tuple(code), (), s.line))
        else:
            stop = trips if trips is not None else self._at(s, s.stop)
            start, step = self._at(s, s.start), self._at(s, s.step)
            self.write(For(s.target, start, stop, step, tuple(code), (), s.line, elements=s.elements))

    def only_undoes(self, code: Iterable[Statement]) -> bool:
        """Whether the statements do nothing but undo stores."""
        return all(isinstance(t, (If, For)) or t in self.undone for t in statements(tuple(code)))

    def _call(self, s: Call) -> None:
        facts, unit = self.facts, self.facts.callee(s, self.facts)
        if unit is None:  # such as a draw, whose result may have the name of what is differentiated
            self._zero |= {t for t in s.targets if facts.is_scalar(t)}
            return
        if isinstance(unit, Fused):  # the shadows have it all; a sum goes on from what it was before
            for of, total in unit.totals.items():
                self._contribute(of, total, s.line)
            return
        inputs = given(s)
        args: list[Atom] = []
        for k, x in enumerate(inputs):
            if unit.needs(k):
                args.append(self._at(s, x))
            if is_array(x) and unit.reads_content(k):
                self._touch(x, s)
        for x in inputs:
            if facts.shares(x):
                args.append(zeros_like(self, x, s.line) if isinstance(x, Global) else self._shadow(s, x))
        for k, t in enumerate(s.targets):
            if is_array(t) and unit.reads_result(k):
                self._touch(t, s)
            if facts.has_shadow(t):
                made = self.versions.made[s][t]
                args += [self._ref(made)] if unit.needs_result(k) else []
                args.append(self._ref(made, shadow=True))
        results = [t for t in s.targets if facts.is_scalar(t)]
        args += [self.zero if t in self._zero else facts.cotangent(t) for t in results]
        moving = [x for x in inputs if facts.is_scalar(x)]
        back = tuple(Var("_d{k}", types.float64) for _ in moving)
        result: Tree = back[0] if len(back) == 1 else Node(back)
        self.write(Call(back, unit.reverse, tuple(args), result, s.line, unit.uses_tape, s))
        self._zero |= set(results)
        marked = facts.memory.marks(s)
        for x in () if marked else inputs:
            if facts.has_shadow(x):
                self._unmark(self._shadow(s, x), s.line)
        for x, ct in zip(moving, back, strict=True):
            self._contribute(x, ct if marked or not self.marks else self.computed(ct, s.line), s.line)


def _functions_of_one(body: Block, versions: Versions) -> dict[tuple[str, Value], list[Value]]:
    """The values of unary primitives, and copies of them, by primitive and argument."""
    key_of: dict[Value, tuple[str, Value]] = {}
    found: dict[tuple[str, Value], list[Value]] = {}
    for s in statements(body):
        match s:
            case Real(args=(Var() as x,)):
                key = (s.rule.name, versions.at(s, x))
            case Copy(source=Var() as x) if versions.at(s, x) in key_of:
                key = key_of[versions.at(s, x)]
            case _:
                continue
        made = versions.made[s][s.target]
        key_of[made] = key
        found.setdefault(key, []).append(made)
    return found


def zeros_like(writer: CoreBuilder, x: Atom, line: int) -> Var:
    """Emit a new array of zeros in the shape of another one."""
    target = Var("_", x.type)
    writer.write(Make(target, writer.zeros_like(x), line))
    return target


def shadow_of(
    writer: CoreBuilder, s: Statement, target: Var, shadow: Callable[[Var], Var], read: Callable[[Atom], Atom]
) -> Copy | View | Make:
    """The statement that makes the shadow of the array that `s` makes; `target` is its variable.

    `shadow` tells the shadows of other arrays, `read` what the statement's atoms are called.
    """
    match s:
        case Copy(_, Var() as source):
            return Copy(target, shadow(source), s.line)
        case View(_, Var() as base):
            value = replaced(s.value, lambda x: shadow(base) if x is base else read(x))
            return View(target, shadow(base), value, s.line, s.repeated)
    (made,) = writes(s)
    return Make(target, writer.zeros_like(read(made)), s.line)
