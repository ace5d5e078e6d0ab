"""Expanded core -> the code of its derivative in reverse mode.

    forward sweep     the function as it is, which also records on the tape what plan.py has chosen
    reverse sweep     the statements from the last to the first. With d_x the cotangent of the variable x at this place:

        y = op(a, b)        d_a += (partial by a) * d_y ; d_b += ... ; d_y = 0
        y = a               d_a += d_y ; d_y = 0
        y = a[i]            d_a[i] += d_y ; d_y = 0
        a[i] = x            d_x += d_a[i] ; d_a[i] = 0 ; a[i] = its old value, if something needs it
        b = a[1:]           nothing: d_b = d_a[1:], a view of the same shadow, since the forward sweep
        if c: s else: t     if c: reverse of t ...                      with c recorded or computed again
        for i in range(n)   for i from n - 1 down to 0: reverse of the body
        y = g(x)            d_x += g_reverse(x, d_y)

There is one cotangent per variable, as there is one memory cell: so branches and loops need no rule of their own.
Within straight-line code the order, the zeros and the first contributions are known, so `d_x = ...` stands in place of
`d_x += ...` where d_x is known to be 0 (the paper's staging, done by the compiler).

A function that another one calls becomes two: `f_forward`, which records, and `f_reverse`, which takes from the tape in
the opposite order. So recursion needs nothing special. The outermost function has both sweeps in one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import types

from dualrev.compiler import syntax
from dualrev.compiler.activity import Activity, Classes, atom_name
from dualrev.compiler.code import Assign, Code, Pop, Push, Suite
from dualrev.compiler.core import Call, Const, Effect, For, If, Let, Node, Ref, Store, While, leaves, reads, walk, writes
from dualrev.compiler.expand import Expanded, is_array, is_real, is_real_array
from dualrev.compiler.flow import Flow, Region, Value
from dualrev.compiler.partials import partial, scaled
from dualrev.compiler.plan import Plan, changed, reads_memory

__all__ = ["Reverse"]


class Reverse:
    """The two sweeps of one function, at given types and activity.

    `joint` functions have both sweeps in one; in others the values cross on the tape. `callee(s)` is the derivative of
    the function that a Call calls, `effects(s)` what it does to its arguments.
    """

    def __init__(
        self,
        e: Expanded,
        effects: Callable[[Call], Any],
        callee: Callable[[Call, Reverse], Any],
        varied: set[str],
        pattern: dict[str, int],
        shadowless: set[str],
        joint: bool,
        checked_division: bool,
        wanted: set[int] | None = None,
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
        self.taken = set(e.types) | set(self.leaves) | set(e.lowered.refs)
        self.parameter_classes = {self.classes.find(x) for x in arrays}
        self.content: dict[str, set[int]] = {}  # class -> where the reverse sweep needs its elements as they were
        self.names: dict[Value, str] = {}
        self.cotangents: dict[str, str] = {}
        self.locals_of: dict[int, set[str]] = {}
        self.occurs = self._occurrences()
        self.needed_parameters: set[str] = set()
        self.given = self._given_results()
        self.needed_results: set[Value] = set()
        self.kept: set[Any] = set()
        self.seeds: list[ast.expr] = [ast.Name(f"d_result_{k}") for k in range(len(self.result_leaves))]
        self._plan()

    def _given_results(self) -> set[Value]:
        """Arrays that the function returns: its caller has them, and gives them to the reverse sweep."""
        if self.joint:
            return set()
        found = {self.flow.result[x] for k, x in enumerate(self.result_leaves) if k in self.wanted and self.has_shadow(x)}
        return {v for v in found if v.kind != "param"}

    # Planning: the reverse sweep is written once without a tape, to see what it asks for

    def _plan(self) -> None:
        forbidden: set[str] = set()  # classes whose elements are not read again, so that stores need not be undone
        best = self._solve(forbidden)
        for key in sorted(self.content):
            if any(isinstance(s, Store) and self.same(s.array, key) and self.must_restore(s) for s in walk(self.e.body)):
                cost = self._solve(forbidden | {key})
                if cost <= best:
                    best, forbidden = cost, forbidden | {key}
        self._solve(forbidden)
        self._name_values()
        self.restored = {
            self.classes.find(s.array) for s in walk(self.e.body) if isinstance(s, Store) and self.must_restore(s)
        } | {
            self.classes.find(x)
            for s in walk(self.e.body)
            if isinstance(s, Call)
            for x in changed(s, self.effects)
        }
        self.recorded_in: dict[int, list[Value]] = {}
        for v in sorted(self.plan.recorded, key=lambda v: (v.position, v.variable)):
            block = v.region.block
            if isinstance(v.region.owner, While) and v.region.owner.test_block is block:
                block = v.region.owner.body
            self.recorded_in.setdefault(id(block), []).append(v)
        self.own_tape = any(self.words(v) for v in self.plan.recorded) or any(
            isinstance(s, Store) and self.must_restore(s) for s in walk(self.e.body)
        )
        self.calls_tape = any(isinstance(s, Call) and self.callee_tape(s) for s in walk(self.e.body))
        self.uses_tape = self.own_tape or self.calls_tape or bool(self.plan.recorded)

    def _solve(self, forbidden: set[str]) -> float:
        """Plan, and tell what it costs: words on the tape, those in inner loops more."""
        self.content = {}
        while True:
            self.needs: dict[Value, int] = {}
            self.planning = True
            self.touched: dict[str, set[int]] = {}
            self.refs: set[Value] = set()  # arrays that the reverse sweep itself needs, ...
            self.shadows: set[Value] = set()  # ... and those whose shadows it needs
            self.plan = Plan(self.e, self.flow, self.activity, self.effects, self.joint, forbidden, self.given)
            self.reverse()
            self.planning = False
            self.plan.make(self.needs)
            self._spread_wants()
            for v in self.plan.again:
                for x in reads_memory(v.statement, self.e):
                    self.touch(x, v.statement)
            if all(places <= self.content.get(key, set()) for key, places in self.touched.items()):
                break
            for key, places in self.touched.items():
                self.content.setdefault(key, set()).update(places)
        cost = sum(self.plan.cost(v) * 30.0**v.region.depth for v in self.plan.recorded)
        for s in walk(self.e.body):
            if isinstance(s, Store) and self.must_restore(s):
                cost += 10.0 * 30.0 ** self.flow.region_of[s].depth
        return cost

    def _spread_wants(self) -> None:
        """What is computed again needs the arrays that it is computed from, or their shadows."""
        for v in sorted(self.plan.again, key=lambda v: -v.position):
            of_array = is_array(self.kind(v.variable))
            s = v.statement
            if of_array and v in self.shadows and isinstance(s, Let) and not isinstance(s.args[0], str):
                self.refs.add(v)  # the shadow of a frozen array is made like the array
            for x, u in self.flow.reads[s].items():
                if not is_array(self.kind(x)):
                    continue
                if not of_array or v in self.refs or x != s.args[0]:
                    self.refs.add(u)
                if of_array and v in self.shadows and x == s.args[0]:
                    self.shadows.add(u)

    def callee_tape(self, s: Call) -> bool:
        unit = self.callee(s, self)
        return unit is not None and unit.uses_tape

    def touch(self, array: Any, s: Any) -> None:
        """The reverse sweep reads elements of an array as they were at a statement."""
        name = atom_name(array)
        if name is not None:
            self.touched.setdefault(self.classes.find(name), set()).add(self.flow.extent[s][0])

    def must_restore(self, s: Store) -> bool:
        """Whether the old value of an element has to come back on the way back."""
        key = self.classes.find(s.array)
        if key in self.parameter_classes and not self.joint:
            return True
        if key not in self.content:
            return False
        place = self.flow.extent[s][0]
        if any(p < place for p in self.content[key]):
            return True
        # a read that follows may precede in the next round of a common loop, unless the array is made anew there
        made = [
            self.flow.extent[t]
            for t in walk(self.e.body)
            if (isinstance(t, Let) and t.op in ("alloc", "array") and self.same(t.target, key))
            or (isinstance(t, Call) and any(self.same(x, key) for x in t.targets))
        ]
        for loop in self.flow.enclosing_loops(self.flow.region_of[s]):
            first, last = self.flow.extent[loop]
            carried = any(v.used and self.same(x, key) for x, v in self.flow.headers[loop].items())
            if any(first <= p <= last for p in self.content[key]) and (
                key in self.parameter_classes or carried or not made or any(not first <= a <= last for a, _ in made)
            ):
                return True
        return False

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

    def _name_values(self) -> None:
        """A name for each value that the reverse sweep uses: that of the variable, unless it is assigned again."""
        assigned: dict[str, list[int]] = {}
        for v in self.flow.values:
            if v.kind in ("op", "counter"):
                assigned.setdefault(v.variable, []).append(v.position)
        self.hold: set[Value] = set()
        count: dict[str, int] = {}
        parameters = {v for v in self.needs if v.kind == "param" or v in self.given}
        parameters |= {
            u for v in self.plan.again for u in self.plan.dependencies(v) if u.kind == "param" or u in self.given
        }
        used = self.plan.recorded | self.plan.again | self.plan.alive | parameters
        for v in sorted(used, key=lambda v: (v.position, v.variable)):
            base = v.variable
            if v.kind == "trips":
                base = "trips"
            extent = (0, self.flow.clock) if v.domain is None else self.flow.extent[v.domain]
            again = v.kind != "trips" and any(
                p > v.position and extent[0] <= p <= extent[1] for p in assigned.get(v.variable, [])
            )
            if not again and v.kind != "trips":
                self.names[v] = base
                continue
            while True:
                count[base] = count.get(base, 0) + 1
                name = f"{base}_{count[base]}"
                if name not in self.taken:
                    break
            self.taken.add(name)
            self.names[v] = name
            if again and (self.joint or (v.kind != "param" and v not in self.given)):
                self.hold.add(v)

    def cotangent(self, x: str) -> str:
        """The name of the cotangent of a variable, or of the shadow of an array."""
        if x not in self.cotangents:
            name = f"d_{x.lstrip('_')}"
            while name in self.e.types or name in self.cotangents.values():
                name += "_"
            self.cotangents[x] = name
        return self.cotangents[x]

    def d(self, x: str) -> ast.expr:
        return ast.Name(self.cotangent(x))

    def is_active(self, x: Any) -> bool:
        return self.activity.is_active(x)

    def kind(self, x: Any) -> Any:
        return self.e.types.get(x) if isinstance(x, str) else None

    # The forward sweep

    def forward(self) -> list[Any]:
        """The code of the forward sweep."""
        self.out: list[Any] = []
        for x in self.leaves:
            self.hold_value(self.flow.parameters[x], self.e.lowered.source.tree.lineno)
        self.forward_block(self.e.body)
        return self.out

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
                for name in self.kept_names(v):
                    self.emit(Code(f"{self.kept_list(v.variable)}.append({name})", line))

    def kept_names(self, v: Value) -> list[str]:
        name = self.names[v]
        found = [name] if v in self.refs or not self.has_shadow(v.variable) else []
        return [*found, self.cotangent(name)] if v in self.shadows and self.has_shadow(v.variable) else found

    def kept_list(self, x: str) -> str:
        """The list that keeps arrays of the type of x, and shadows: they are at least as contiguous."""
        kind = self.kind(x)
        layout = kind.layout
        self.kept.add((str(kind.dtype), kind.ndim, layout))
        return f"kept_{kind.dtype}_{kind.ndim}{layout.lower()}"

    def words(self, v: Value) -> bool:
        """Whether a value goes to the tape's words (not to a list of arrays)."""
        return not is_array(self.kind(v.variable))

    def flags(self, recorded: list[Value]) -> list[list[Value]]:
        """The bools among recorded values, by the word that they share."""
        found = [v for v in recorded if isinstance(self.kind(v.variable), types.Boolean)]
        return [found[k : k + 32] for k in range(0, len(found), 32)]

    def to_words(self, recorded: list[Value]) -> list[ast.expr]:
        """What is recorded of values: a word for each number, and one for all bools together."""
        words = []
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
        targets = [(ast.Name(self.names[v]), self.from_word(v)) for v in recorded if v not in bools]
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
                self.hold_value(v, s.line)
        elif isinstance(s, (For, While)):
            self.forward_loop(s)
        elif isinstance(s, Effect):
            if s.raises and self.uses_tape:
                self.emit(Code("runtime.free_tape(tape)", s.line))
            self.emit(Code(syntax.effect(s, syntax.atom), s.line))
        else:
            self.forward_call(s)

    def forward_let(self, s: Let) -> None:
        self.assign(s.target, self.primal(s), s.line)
        if self.has_shadow(s.target):
            self.assign(self.cotangent(s.target), self.shadow(s, syntax.atom, self.cotangent), s.line)

    def primal(self, s: Let, sub: Callable[[Any], ast.expr] = syntax.atom, repeat: bool = False) -> ast.expr:
        """The expression of an operation; a division that f would refuse is refused, unless it is repeated."""
        if s.op == "prim":
            inner = s.info[1]
            tree = syntax.expression(Let(s.target, inner.op if inner.op != "iop" else "binop", s.args, inner.info, s.line), sub)
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
        if self.checked_division and not repeat:
            tree = _Checked().visit(tree)
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
            self.hold_value(v, s.line)

    def reserve(self, s: For, body: list[Any]) -> None:
        """Make room before a loop for all that it records, so that it need not look."""
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
        words = sum(len(p.words) for p in pushes)
        for p in pushes:
            p.room = False
        size = length_text(s)
        need = f"top + {words} * {size}" if words > 1 else f"top + {size}"
        self.emit(Suite(f"if {need} > words.size:", [Code(f"words = runtime.grow(tape, {need})", s.line)], s.line))

    def forward_call(self, s: Call) -> None:
        unit = self.callee(s, self)
        args = [self.tree(a, syntax.atom) for a in s.args]
        if unit is None or unit.primal_suffices:
            self.assign_results(s, syntax.call(s.function.name, *args))
            return
        flat_args = [syntax.atom(x) for a in s.args for x in leaves(a)]
        shadows = [self.shadow_argument(x, self.d) for x in self.call_leaves(s) if self.shares(x)]
        self.with_tape(unit, s.line, lambda extra: self.assign_results(
            s, syntax.call(unit.forward_name, *flat_args, *shadows, *extra), [t for t in s.targets if self.has_shadow(t)]
        ))

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
            extra = [ast.Name("tape"), ast.Name("KEPT")]
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

    # The reverse sweep

    def reverse(self) -> list[Any]:
        """The code of the reverse sweep."""
        self.out = []
        self.frames: list[_Frame] = []
        self.available: list[set[Value]] = [set()]
        self.zero = set(self.occurs) | {x for x in self.leaves if self.is_scalar(x)}
        for k, x in enumerate(self.result_leaves):
            if k in self.wanted and self.is_scalar(x):
                self.contribute(x, self.seeds[k], 0)
        self.reverse_block(self.e.body)
        for x in self.leaves:
            if self.is_scalar(x) and x in self.zero:
                self.assign(self.cotangent(x), ast.Constant(0.0), 0)
        return self.out

    def shadow_classes(self) -> dict[str, str]:
        """The class of every shadow, by its name."""
        held = {name: v.variable for v, name in self.names.items()}
        found = {}
        for x, name in self.cotangents.items():
            variable = x if x in self.e.types else held.get(x, x)
            if is_array(self.kind(variable)):
                found[name] = self.classes.find(variable)
        return found

    def is_scalar(self, x: Any) -> bool:
        return isinstance(x, str) and is_real(self.kind(x)) and self.is_active(x)

    def contribute(self, x: str, value: ast.expr, line: int) -> None:
        """d_x += value."""
        if x in self.zero:
            self.zero.discard(x)
            self.assign(self.cotangent(x), value, line)
        elif isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
            self.assign(self.cotangent(x), value.operand, line, "-=")
        else:
            self.assign(self.cotangent(x), value, line, "+=")

    def clear(self, x: str) -> None:
        self.zero.add(x)

    # Values in the reverse sweep

    def get(self, x: Any, s: Any) -> ast.expr:
        """The syntax for an atom as it was at a statement."""
        v = self.flow.at(s, x)
        return self.fetch(v, s) if isinstance(v, Value) else syntax.atom(x)

    def get_shadow(self, x: str, s: Any) -> ast.expr:
        """The shadow of an array as it was at a statement."""
        v = self.flow.at(s, x)
        assert isinstance(v, Value)
        return self.fetch_shadow(v, s)

    def fetch_shadow(self, v: Value, s: Any) -> ast.expr:
        """The shadow of an array value."""
        self.shadows.add(v)
        self.fetch(v, s, shadow=True)
        return ast.Name(self.cotangent(self.names.get(v, v.variable)))

    def fetch(self, v: Value, s: Any, shadow: bool = False) -> ast.expr:
        """The name of a value; what is not there yet is computed before. `shadow` asks for its shadow only."""
        if v.kind == "counter":
            return ast.Name(v.variable)
        if self.planning and not shadow and is_array(self.kind(v.variable)):
            self.refs.add(v)
        if self.planning:
            moment = self.plan.moment(v, s)
            self.needs[v] = max(self.needs.get(v, -1), moment)
            return ast.Name(v.variable or "trips")
        if v.kind == "param" and not shadow:
            self.needed_parameters.add(v.variable)
        if v in self.given and not shadow:
            self.needed_results.add(v)
        name = self.names[v] if v in self.names else v.variable
        if v.kind == "param" or v in self.given or v in self.plan.alive or any(v in some for some in self.available):
            return ast.Name(name)
        assert v in self.plan.again, f"{v} is neither recorded nor computed again"
        self.compute_again(v)
        return ast.Name(name)

    def compute_again(self, v: Value) -> None:
        """Compute v here, or before the loops that do not change it."""
        s = v.statement
        depth = 0
        for frame in self.frames:
            if v.domain is None or not self.inside(v.region, frame.loop):
                break
            depth += 1
        if depth < len(self.frames):
            frame = self.frames[depth]
            outer = (self.frames, self.available)
            self.frames, self.available = self.frames[:depth], self.available[: frame.scopes]
            with self.into(frame.before):
                self.compute(v, s)
            self.frames, self.available = outer
        else:
            self.compute(v, s)

    def inside(self, region: Region, loop: Any) -> bool:
        r: Region | None = region
        while r is not None:
            if r.owner is loop:
                return True
            r = r.parent
        return False

    def compute(self, v: Value, s: Any) -> None:
        def sub(x: Any) -> ast.expr:
            return self.get(x, s)

        if v.kind == "header":
            self.compute_header(v)
            return
        if isinstance(s, Call):
            made = self.flow.made[s]
            args = [self.tree(a, sub) for a in s.args]
            names = {t: self.names[made[t]] if made[t] in self.plan.again else "_" for t in s.targets}
            target = target_tree(renamed(s.result, names))
            self.assign(target, syntax.call(s.function.name, *args), s.line)
            self.available[-1] |= {u for u in made.values() if u in self.plan.again}
            return
        wanted = not is_array(self.kind(v.variable)) or v in self.refs
        if wanted:
            self.assign(self.names[v], self.primal(s, sub, repeat=True), s.line)
        if self.has_shadow(s.target) and v in self.shadows:

            def shadow_of(x: str) -> str:
                u = self.flow.at(s, x)
                self.fetch(u, s, shadow=True)
                return self.cotangent(self.names.get(u, u.variable))

            self.assign(self.cotangent(self.names[v]), self.shadow(s, sub, shadow_of), s.line)
        self.available[-1].add(v)

    def compute_header(self, v: Value) -> None:
        """A whole number that every iteration of a For changes by the same amount."""
        loop, (symbol, step) = v.statement, self.plan.linear[v]
        first = self.fetch(v.parts[0], loop)
        rounds: ast.expr = ast.Name(loop.target)
        if loop.start != Const(0):
            rounds = syntax.binary("-", rounds, self.get(loop.start, loop))
        value = syntax.binary(symbol, first, rounds if step == 1 else syntax.binary("*", ast.Constant(step), rounds))
        self.assign(self.names[v], value, loop.line)
        self.available[-1].add(v)

    # Blocks

    def reverse_block(self, block: list[Any]) -> None:
        """The reverse of a block, into self.out."""
        self.available.append(set())
        if not self.planning:
            self.take(block)
        for s in reversed(block):
            self.reverse_statement(s)
        self.available.pop()

    def take(self, block: list[Any]) -> None:
        """Take from the tape what the block has recorded."""
        recorded = self.recorded_in.get(id(block), [])
        line = block[-1].line if block else 0
        for v in reversed(recorded):
            if is_array(self.kind(v.variable)):
                for name in reversed(self.kept_names(v)):
                    self.assign(name, syntax.call(f"{self.kept_list(v.variable)}.pop"), line)
        words = [v for v in recorded if self.words(v)]
        if words:
            self.pop_words(words, line)
        self.available[-1] |= set(recorded)

    def reverse_statement(self, s: Any) -> None:
        if isinstance(s, Let):
            self.reverse_let(s)
        elif isinstance(s, Store):
            self.reverse_store(s)
        elif isinstance(s, If):
            self.reverse_if(s)
        elif isinstance(s, (For, While)):
            self.reverse_loop(s)
        elif isinstance(s, Call):
            self.reverse_call(s)

    def reverse_let(self, s: Let) -> None:
        t = s.target
        if s.op == "array":
            self.reverse_array(s)
        if not self.is_scalar(t) or t in self.zero:
            return
        ct = self.d(t)
        if s.op == "prim":
            own = None
            line = s.info[0]
            names = dict(zip(line.parameters, s.args, strict=True))

            def get(name: str) -> ast.expr:
                if name == "y":
                    return self.fetch(self.flow.made[s][t], s)
                return self.get(names[name], s)

            for k, x in enumerate(s.args):
                if not self.is_scalar(x) or line.partials[k] == "0.0":
                    continue
                factor = partial(line, k, s.args, get)
                if isinstance(factor, ast.Constant) and factor.value == 0.0:
                    continue
                if x == t:
                    own = factor if own is None else syntax.binary("+", own, factor)
                else:
                    self.contribute(x, scaled(factor, ct), s.line)
            if own is None:
                self.clear(t)
            elif not (isinstance(own, ast.Constant) and own.value == 1.0):
                self.assign(ct, scaled(own, ct), s.line)
        elif s.op == "copy":
            if s.args[0] != t:
                if self.is_scalar(s.args[0]):
                    self.contribute(s.args[0], ct, s.line)
                self.clear(t)
        elif s.op == "load":
            if self.has_shadow(s.args[0]):
                target = syntax.subscript(self.get_shadow(s.args[0], s), s.info, lambda x: self.get(x, s))
                self.assign(target, ct, s.line, "+=")
            self.clear(t)
        elif s.op == "array":
            pass
        else:
            self.clear(t)

    def reverse_array(self, s: Let) -> None:
        """Products of arrays, and their smallest and largest elements."""
        t = s.target
        if not self.is_active(t) or t in self.zero:
            return
        if s.info[0] in ("np.min", "np.max"):
            (x,) = s.args
            if self.has_shadow(x):
                self.touch(x, s)
                y = self.fetch(self.flow.made[s][t], s)
                call = syntax.call("runtime.share", self.get(x, s), y, self.get_shadow(x, s), self.d(t))
                self.emit(Code(syntax.text(call), s.line))
            self.clear(t)
            return
        a, b = s.args
        ct = self.d(t) if self.is_scalar(t) else self.fetch_shadow(self.flow.made[s][t], s)
        ndims = f"{self.kind_of(a).ndim}{self.kind_of(b).ndim}"
        for x, other, side in ((a, b, "left"), (b, a, "right")):
            if self.has_shadow(x):
                self.touch(other, s)
                call = syntax.call(f"runtime.dot_{side}_{ndims}", self.get_shadow(x, s), self.get(other, s), ct)
                self.emit(Code(syntax.text(call), s.line))
        if self.is_scalar(t):
            self.clear(t)

    def kind_of(self, x: Any) -> Any:
        if isinstance(x, str):
            return self.kind(x)
        import numba

        return numba.typeof(x.value)

    def value_name(self, s: Any, t: str) -> str:
        v = self.flow.made[s][t]
        return self.names.get(v, v.variable)

    def reverse_store(self, s: Store) -> None:
        place: ast.expr | None = None
        if self.has_shadow(s.array):
            place = syntax.subscript(self.get_shadow(s.array, s), s.index, lambda x: self.get(x, s))
            if self.is_scalar(s.value):
                self.contribute(s.value, ast.UnaryOp(ast.USub(), place) if s.op == "-=" else place, s.line)
            if s.op == "=":
                self.assign(place, ast.Constant(0.0), s.line)
        if self.must_restore(s):
            target = syntax.subscript(self.get(s.array, s), s.index, lambda x: self.get(x, s))
            made: Callable[[ast.expr], ast.expr] = lambda word: word  # noqa: E731
            kind = self.kind(s.array).dtype
            if isinstance(kind, types.Integer):
                made = lambda word: syntax.call("runtime.whole", word)  # noqa: E731
            elif isinstance(kind, types.Boolean):
                made = lambda word: ast.Compare(word, [ast.NotEq()], [ast.Constant(0.0)])  # noqa: E731
            self.emit(Pop([(target, made)], s.line))

    def crossing(self, s: Any) -> set[str]:
        """The active scalars that occur in a statement's blocks and outside of them."""
        found = set()
        for x, regions in self.occurs.items():
            inner = [r for r in regions if self.inside(r, s)]
            if inner and not self.is_local(x, s, regions, inner):
                found.add(x)
        return found

    def is_local(self, x: str, s: Any, regions: list[Region], inner: list[Region]) -> bool:
        if len(inner) < len(regions) or x in self.leaves or x in self.result_leaves:
            return False
        header = self.flow.headers[s].get(x)
        return header is None or not header.used

    def settle(self, names: set[str], line: int) -> None:
        """Write the zeros that are known so far only to the compiler."""
        for x in sorted(names & self.zero):
            self.assign(self.cotangent(x), ast.Constant(0.0), line)
            self.zero.discard(x)

    def reverse_if(self, s: If) -> None:
        before = set(self.zero)
        branches: list[tuple[list[Any], set[str]]] = []
        for block in (s.then, s.orelse):
            code: list[Any] = []
            self.zero = set(before)
            with self.into(code):
                self.reverse_block(block)
            branches.append((code, self.zero))
        self.zero = branches[0][1] & branches[1][1]
        for code, zero in branches:
            for x in sorted(zero - self.zero):
                code.append(Assign(self.d(x), ast.Constant(0.0), s.line))
        if branches[0][0] or branches[1][0]:
            test = self.get(s.test, s)
            self.emit(if_suite(test, branches[0][0], branches[1][0], s.line))

    def reverse_loop(self, s: For | While) -> None:
        crossing = self.crossing(s)
        before = set(self.zero)
        self.zero = before - crossing
        frame = _Frame(s, [], len(self.available))
        self.frames.append(frame)
        code: list[Any] = []
        with self.into(code):
            self.reverse_block(s.body)
            for x in sorted(self.zero & crossing):
                self.assign(self.cotangent(x), ast.Constant(0.0), s.line)
        self.frames.pop()
        self.zero = before
        if not code:
            return
        self.settle(crossing, s.line)
        self.out.extend(frame.before)
        header, first = self.backwards(s, order_free(self, s, code, crossing))
        self.emit(Suite(header, [*first, *code], s.line, loop=True))

    def backwards(self, s: For | While, any_order: bool) -> tuple[str, list[Any]]:
        """The header of the reversed loop, and how to get the counter."""
        if isinstance(s, For):
            start, stop, step = s.start, s.stop, s.step
            counter = ast.Name(s.target)
            if not s.exits and step == Const(1):
                low, high = syntax.text(self.get(start, s)), syntax.text(self.get(stop, s))
                if any_order:
                    return f"for {s.target} in range({high if low == '0' else f'{low}, {high}'}):", []
                low = "-1" if low == "0" else f"{low} - 1"
                return f"for {s.target} in range({high} - 1, {low}, -1):", []
            count = self.count(s)
            name = self.fresh("k")
            value: ast.expr = ast.Name(name)
            if step != Const(1):
                value = syntax.binary("*", value, self.get(step, s))
            if start != Const(0):
                value = syntax.binary("+", self.get(start, s), value)
            if start == Const(0) and step == Const(1):
                return f"for {s.target} in range({count} - 1, -1, -1):", []
            return f"for {name} in range({count} - 1, -1, -1):", [Assign(counter, value, s.line)]
        return f"for {self.fresh('k')} in range({self.count(s)} - 1, -1, -1):", []

    def count(self, s: For | While) -> str:
        if isinstance(s, For) and not s.exits:
            bounds = ", ".join(syntax.text(self.get(x, s)) for x in (s.start, s.stop, s.step))
            return f"runtime.range_length({bounds})"
        return syntax.text(self.fetch(self.flow.trips[s], s))

    def fresh(self, base: str) -> str:
        if self.planning:
            return base
        name, k = f"_{base}", 1
        while name in self.taken:
            k += 1
            name = f"_{base}{k}"
        self.taken.add(name)
        return name

    def reverse_call(self, s: Call) -> None:
        unit = self.callee(s, self)
        if unit is None:
            return
        results = [t for t in s.targets if self.is_scalar(t)]
        inputs = self.call_leaves(s)
        args: list[ast.expr] = []
        for k, x in enumerate(inputs):
            if unit.needs(k):
                args.append(self.get(x, s))
            if is_array(self.kind_of(x) if not isinstance(x, Const) else None) and unit.reads_content(k):
                self.touch(x, s)
        args += [self.shadow_argument(x, lambda y: self.get_shadow(y, s)) for x in inputs if self.shares(x)]
        for k, t in enumerate(s.targets):
            if is_array(self.kind(t)) and unit.reads_result(k):
                self.touch(t, s)
            if self.has_shadow(t):
                made_array = self.flow.made[s][t]
                if unit.needs_result(k):
                    args.append(self.fetch(made_array, s))
                args.append(self.fetch_shadow(made_array, s))
        for t in results:
            args.append(ast.Constant(0.0) if t in self.zero else self.d(t))
        targets = [x for x in inputs if self.is_scalar(x)]
        made = [self.fresh("d") for _ in targets]
        target = ", ".join(made)

        def work(extra: list[ast.expr]) -> None:
            call = syntax.call(unit.reverse_name, *args, *extra)
            if made:
                self.assign(ast.Name(target), call, s.line)
            else:
                self.emit(Code(syntax.text(call), s.line))

        self.with_tape(unit, s.line, work) if not self.planning else work([])
        for t in results:
            self.clear(t)
        for x, name in zip(targets, made, strict=True):
            self.contribute(x, ast.Name(name), s.line)


def order_free(r: Reverse, s: Any, code: list[Any], crossing: set[str]) -> bool:
    """Whether the rounds of a reversed loop may come in any order; then they run upwards, as compilers like it.

    So it is if they only add to cotangents that others see, or read and clear elements of a shadow that belong to one
    round alone: those with the counter as an index.
    """
    if not isinstance(s, For) or s.exits or s.step != Const(1) or not isinstance(s.start, Const):
        return False
    wrote = {c.target.id for c in flat(code) if isinstance(c, Assign) and isinstance(c.target, ast.Name)}
    shared = {r.cotangent(x) for x in crossing} & wrote
    of_shadow = r.shadow_classes()
    added: set[str] = set()
    cleared: set[str] = set()
    taken: dict[str, set[str]] = {}
    for c in flat(code):
        if isinstance(c, Suite):
            mentioned = {n.id for n in ast.walk(ast.parse(c.header + " pass")) if isinstance(n, ast.Name)}
            if mentioned & shared:
                return False
            continue
        if not isinstance(c, Assign):
            return False
        target = c.target
        base = target.value if isinstance(target, ast.Subscript) else target
        if not isinstance(base, ast.Name) or (isinstance(target, ast.Subscript) and base.id not in of_shadow):
            return False
        if isinstance(target, ast.Subscript):
            if c.op == "=":
                taken.setdefault(of_shadow[base.id], set()).add(index_text(target, s.target))
                cleared.add(of_shadow[base.id])
            else:
                added.add(of_shadow[base.id])
        elif base.id in shared and c.op == "=":
            return False
        view = isinstance(target, ast.Name) and base.id in of_shadow
        bases = {id(node.value) for node in ast.walk(c.value) if isinstance(node, ast.Subscript)}
        for node in ast.walk(c.value):
            if isinstance(node, ast.Name) and node.id in {*shared, "tape", "words", "top", "KEPT"}:
                return False
            if isinstance(node, ast.Name) and node.id in of_shadow and not view and id(node) not in bases:
                return False  # a call that may do anything with it
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in of_shadow:
                if view:
                    continue
                taken.setdefault(of_shadow[node.value.id], set()).add(index_text(node, s.target))
    return not added & set(taken) and all(len(taken[key]) == 1 and "" not in taken[key] for key in cleared)


def index_text(node: ast.Subscript, counter: str) -> str:
    """The text of an element's place, if the counter is one of its indices; else nothing."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return ast.unparse(node) if any(isinstance(x, ast.Name) and x.id == counter for x in parts) else ""


class _Frame:
    """A loop that is being reversed, and what goes before it."""

    def __init__(self, loop: Any, before: list[Any], scopes: int) -> None:
        self.loop, self.before, self.scopes = loop, before, scopes


class _Checked(ast.NodeTransformer):
    """Divisions that raise ZeroDivisionError, as the function does; emitted code itself follows IEEE."""

    _NAMES = {ast.Div: "divide", ast.FloorDiv: "floor_divide", ast.Mod: "remainder"}  # noqa: RUF012

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:  # noqa: N802
        left, right = self.visit(node.left), self.visit(node.right)
        name = self._NAMES.get(type(node.op))
        constant = isinstance(right, ast.Constant) and bool(right.value)
        if name is None or constant:
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


def length_text(s: For) -> str:
    """How many iterations a loop may have."""
    start, stop, step = (syntax.text(syntax.atom(x)) for x in (s.start, s.stop, s.step))
    if s.start == Const(0) and s.step == Const(1):
        return f"max({stop}, 0)"
    return f"runtime.range_length({start}, {stop}, {step})"


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

