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
from collections.abc import Callable
from typing import Any

from numba.core import types

from dualrev.compiler import syntax
from dualrev.compiler.code import Assign, Code, Pop, Suite
from dualrev.compiler.core import (
    Call,
    Const,
    For,
    If,
    Let,
    Store,
    While,
)
from dualrev.compiler.expand import is_array
from dualrev.compiler.flow import Region, Value
from dualrev.compiler.order import order_free
from dualrev.compiler.partials import kept_apart, partial, scaled
from dualrev.compiler.planning import Planning
from dualrev.compiler.sweep import if_suite, renamed, target_tree

__all__ = ["Reverse"]


class Reverse(Planning):
    """The two sweeps of one function, at given types and activity.

    `joint` functions have both sweeps in one; in others the values cross on the tape. `callee(s)` is the derivative of
    the function that a Call calls, `effects(s)` what it does to its arguments.
    """

    def reverse(self) -> list[Any]:
        """The code of the reverse sweep."""
        self.out = []
        self.frames: list[_Frame] = []
        self.available = [set()]
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
        name = self.names.get(v, v.variable)
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

    def reverse_block(self, block: list[Any]) -> None:
        """The reverse of a block, into self.out."""
        self.available.append(set())
        if not self.planning:
            self.take(block)
        for s in reversed(block):
            self.reverse_statement(s)
        self.available.pop()

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
            own, own_apart = None, False
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
                apart = self.known_zeros.hide(s, k)
                if x == t:
                    own = factor if own is None else syntax.binary("+", own, factor)
                    own_apart = own_apart or apart
                else:
                    term = scaled(factor, ct)
                    self.contribute(x, kept_apart(ct, term) if apart else term, s.line)
            if own is None:
                self.clear(t)
            elif not (isinstance(own, ast.Constant) and own.value == 1.0):
                term = scaled(own, ct)
                self.assign(ct, kept_apart(ct, term) if own_apart else term, s.line)
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

    def reverse_store(self, s: Store) -> None:
        value = s.value if isinstance(s.value, str) and self.is_scalar(s.value) else None
        if self.has_shadow(s.array) and (value is not None or s.op == "="):
            place = syntax.subscript(self.get_shadow(s.array, s), s.index, lambda x: self.get(x, s))
            if value is not None:
                self.contribute(value, ast.UnaryOp(ast.USub(), place) if s.op == "-=" else place, s.line)
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
        chained = [] if self.planning else [v for v in self.plan.chained if v in self.plan.again]
        chained = sorted((v for v in chained if v.region.block is s.body), key=lambda v: v.variable)
        self.available.append(set(chained))
        with self.into(code):
            self.reverse_block(s.body)
            for x in sorted(self.zero & crossing):
                self.assign(self.cotangent(x), ast.Constant(0.0), s.line)
            for v in chained:  # the start of this round is the end of the one before
                self.assign(self.names[v], ast.Name(self.names[self.plan.chained[v]]), s.line)
        self.available.pop()
        self.frames.pop()
        self.zero = before
        if not code:
            return
        self.settle(crossing, s.line)
        for v in chained:
            last = self.fetch(self.flow.afters[s][v.variable], s)
            if ast.unparse(last) != self.names[v]:
                self.assign(self.names[v], last, s.line)
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


class _Frame:
    """A loop that is being reversed, and what goes before it."""

    def __init__(self, loop: Any, before: list[Any], scopes: int) -> None:
        self.loop, self.before, self.scopes = loop, before, scopes
