"""The two sweeps of the call of a function that has a rule.

    custom_vjp      forward: y, residuals = fwd(x), and the residuals go to the tape
                    reverse: d_x += bwd(residuals, d_y)
    custom_jvp      forward: y = f(x)
                    reverse: d_x += the gradient of <d_y, rule(x, t)[1]> by t

A cotangent of 0 to which nothing may have been contributed takes no part: the rule is not asked.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numba.core import types

from dualrev.compiler import syntax
from dualrev.compiler.code import Assign, Code, Pop, Push, Suite
from dualrev.compiler.core import Call, Const, Node, leaves
from dualrev.compiler.expand import Expanded, is_array, is_real, is_real_array
from dualrev.compiler.paths import find
from dualrev.compiler.rule_tangents import Tangents, tangent_types
from dualrev.compiler.rules import name_of, same_type

if TYPE_CHECKING:
    from dualrev.compiler.pipeline import Unit
    from dualrev.compiler.reverse import Reverse

__all__ = ["rule_sweeps"]


def rule_sweeps(
    rules: Tangents, unit: Unit, s: Call, flags: tuple[bool, ...], wanted: tuple[bool, ...], caller: Reverse
) -> None:
    """Write the functions for both sweeps of a call of a function with a rule."""
    kind = _OfVjp if s.function.value.kind == "vjp" else _OfJvp
    sweeps = kind(rules, unit, s, rules.stub(s, caller.e)[1], flags, wanted, caller)
    sweeps.write()


@dataclass
class _Sweeps:
    """What both kinds of rules have in common."""

    rules: Tangents
    unit: Unit
    s: Call
    e: Expanded  # what is known of the function
    flags: tuple[bool, ...]
    wanted: tuple[bool, ...]
    caller: Reverse

    def __post_init__(self) -> None:
        self.module, e = self.rules.module, self.e
        names = self.module.names
        self.f = self.s.function.value
        self.inputs = [x for p in e.parameters for x in leaves(p)]
        flagged = [x for x, flag in zip(self.inputs, self.flags, strict=True) if flag]
        self.shadows = {x: names.fresh("d_{}", x) for x in flagged if is_array(e.types[x])}
        self.back = {x: names.fresh("d_{}", x) for x in flagged if is_real(e.types[x])}
        self.outputs = [x for x in leaves(e.result) if isinstance(x, str)]
        asked = [x for x, want in zip(self.outputs, self.wanted, strict=True) if want]
        self.arrays = {x: names.fresh("d_{}", x) for x in asked if is_array(e.types[x])}
        self.scalars = {x: names.fresh("d_{}", x) for x in asked if not is_array(e.types[x])}
        self.asked = {**self.arrays, **self.scalars}
        known = self.caller.known_zeros.known_of(self.s).reached
        self.sure = any(want and reached for want, reached in zip(self.wanted, known, strict=True))

    def write(self) -> None:
        """Write both sweeps."""
        raise NotImplementedError

    def text(self, tree: Any, leaf: Any) -> str:
        """A tuple's text from its parts."""
        if isinstance(tree, Node):
            parts = [self.text(x, leaf) for x in tree.parts]
            return (
                f"({''.join(x + ', ' for x in parts)})" if tree.cls is None else f"{tree.cls.name}({', '.join(parts)})"
            )
        return str(leaf(tree)) if isinstance(tree, str) else syntax.text(syntax.atom(tree))

    def unless_zero(self, work: list[Any]) -> list[Any]:
        """What is done unless all cotangents are 0."""
        tests = [f"{ct} != 0.0" for ct in self.scalars.values()]
        tests += [f"np.any({ct} != 0.0)" for ct in self.arrays.values()]
        zeros = [Code(f"{d} = 0.0", 0) for d in self.back.values()]
        return [*zeros, *(work if self.sure else [Suite(f"if {' or '.join(tests)}:", work, 0)])]

    def function(self, name: str, parameters: list[str], doc: str, body: list[Any]) -> None:
        self.module.function(name, parameters, doc, body, self.e, self.f)

    @property
    def called(self) -> str:
        """What people call the function."""
        return name_of(self.f)

    @property
    def returned(self) -> Code:
        """The last line of the reverse sweep."""
        return Code(f"return {', '.join(self.back.values())}" if self.back else "return", 0)


class _OfVjp(_Sweeps):
    def write(self) -> None:
        call, e = self.s, self.caller.e
        self.fwd, self.bwd = self.rules.functions(call, e)
        kinds = self.e.argtypes
        made = self.rules.compiled(self.fwd, kinds, call, e)
        if not isinstance(made, types.BaseTuple) or len(made) != 2:
            self.rules.refuse(call, e, "its fwd does not return a pair (y, residuals)", "a fwd that does")
        self.rules.check(self.fwd, kinds, call, e, aliases=True)
        value, self.residuals = made.types
        of_result = self.module.type_of(self.e.result, self.e)
        if not same_type(value, of_result):
            self.rules.value_differs(call, e)
        given = self.residuals, tangent_types(of_result)
        self.cts = self.rules.compiled(self.bwd, given, call, e)
        if not isinstance(self.cts, types.BaseTuple) or len(self.cts) != len(kinds):
            why = f"its bwd does not return a tuple of {len(kinds)}, one cotangent for each argument"
            self.rules.refuse(call, e, why, "a bwd that does")
        self.rules.check(self.bwd, given, call, e, aliases=False)
        self.split(self.residuals)
        self.shapes = [x for x in self.outputs if is_real_array(self.e.types[x]) and x not in self.arrays]
        content = set(range(len(self.inputs)))  # a residual may be an argument, or a result
        tape = bool(self.kept or self.words or self.shapes)
        self.unit.finish(tape, False, set(), content, set(), set(range(len(self.outputs))))
        self.forward()
        self.reverse()

    def split(self, kind: Any) -> None:
        """What is kept of the residuals: places, with names and types."""
        self.kept: list[tuple[str, str, Any]] = []
        self.words: list[tuple[str, str, Any]] = []
        fresh = self.module.names.fresh

        def visit(kind: Any, path: str) -> None:
            kind = types.unliteral(kind)
            if isinstance(kind, types.BaseTuple):
                for k, part in enumerate(kind.types):
                    visit(part, f"{path}[{k}]")
            elif isinstance(kind, types.Array) and isinstance(kind.dtype, (types.Float, types.Integer, types.Boolean)):
                self.kept.append((path, fresh("kept_{k}"), kind))
            elif isinstance(kind, (types.Float, types.Integer, types.Boolean)):
                self.words.append((path, fresh("word_{k}"), kind))
            elif not isinstance(kind, types.NoneType):
                why = f"a residual of its fwd is of numba type {kind}"
                self.rules.refuse(self.s, self.caller.e, why, "numbers, arrays of numbers, and tuples of these")

        visit(kind, "[1]")

    def forward(self) -> None:
        module, e = self.module, self.e
        made = module.names.fresh("made")
        args = ", ".join(self.text(p, lambda x: x) for p in e.parameters)
        body: list[Any] = [Code(f"{made} = {self.rules.ref(self.fwd.static).name}({args})", 0)]
        places = dict(zip(self.outputs, _paths(e.result, f"{made}[0]"), strict=True))
        pushed = [_to_word(f"{made}{path}", kind) for path, _, kind in self.words]
        pushed += [f"runtime.bits({places[x]}.shape[{k}])" for x in self.shapes for k in range(e.types[x].ndim)]
        if pushed:
            body += [Code("words = runtime.words(tape)", 0), Code("top = tape[1]", 0)]
            body += [Push([ast.parse(x, mode="eval").body for x in pushed], 0), Code("tape[1] = top", 0)]
        body += [Code(f"runtime.keep(tape, {made}{path})", 0) for path, _, _ in self.kept]
        results = [*places.values(), *(f"np.zeros_like({places[x]})" for x in self.arrays)]
        body.append(Code(f"return {', '.join(results)}" if results else "return", 0))
        tape = ["tape"] if self.unit.uses_tape else []
        doc = f"{self.called} by its rule, and on the tape the residuals."
        self.function(self.unit.forward_name, [*self.inputs, *self.shadows.values(), *tape], doc, body)

    def reverse(self) -> None:
        e, fresh = self.e, self.module.names.fresh
        body: list[Any] = []
        targets: list[Any] = [(ast.Name(name), _from_word(kind)) for _, name, kind in self.words]
        sizes = {x: [fresh("size_{k}") for _ in range(e.types[x].ndim)] for x in self.shapes}
        targets += [(ast.Name(n), _from_word(types.int64)) for x in self.shapes for n in sizes[x]]
        if targets:
            body += [Code("words = runtime.words(tape)", 0), Code("top = tape[1]", 0)]
            body += [Pop(targets, 0), Code("tape[1] = top", 0)]
        for _, name, kind in reversed(self.kept):
            described = f"{str(kind.dtype)!r}, {kind.ndim}, {kind.layout!r}"
            body.append(Code(f"{name} = runtime.kept(tape, {described})", 0))
        named = {path: name for path, name, _ in [*self.kept, *self.words]}
        residuals = self.rebuilt(self.residuals, "[1]", named)

        def ct(x: str) -> str:
            kind = e.types[x]
            if x in self.asked:
                return self.asked[x]
            if is_real_array(kind):
                return f"np.zeros(({''.join(n + ', ' for n in sizes[x])}), np.{kind.dtype})"
            return "0.0" if is_real(kind) else "None"

        cts = fresh("cts")
        name = self.rules.ref(self.bwd.static).name
        work: list[Any] = [Code(f"{cts} = {name}({residuals}, {self.text(e.result, ct)})", 0)]
        for k, (p, kind) in enumerate(zip(e.parameters, self.cts.types, strict=True)):
            self.add(p, kind, f"{cts}[{k}]", work)
        body += [*self.unless_zero(work), self.returned]
        tape = ["tape"] if self.unit.uses_tape else []
        given = [*self.shadows.values(), *self.arrays.values(), *self.scalars.values(), *tape]
        doc = f"Add what the arguments of {self.called} contribute to its results, by its rule."
        self.function(self.unit.reverse_name, given, doc, body)

    def rebuilt(self, kind: Any, path: str, named: dict[str, str]) -> str:
        """The residuals as they were."""
        if isinstance(kind, types.BaseTuple):
            parts = [self.rebuilt(t, f"{path}[{k}]", named) for k, t in enumerate(kind.types)]
            cls = getattr(kind, "instance_class", None)
            return f"({''.join(x + ', ' for x in parts)})" if cls is None else f"{self.cls(cls)}({', '.join(parts)})"
        return named.get(path, "None")

    def cls(self, cls: Any) -> str:
        """The name of a named tuple's class."""
        for ref in self.module.refs.values():
            if ref.value is cls:
                return ref.name
        static = find(cls, [self.fwd.static, self.bwd.static])
        if static is None:
            why = f"a residual is a named tuple whose class, {cls.__name__}, no function of the rule names"
            self.rules.refuse(self.s, self.caller.e, why, "a tuple")
        assert static is not None
        name = self.module.names.fresh(f"_{cls.__name__}")
        self.module.refs[name] = type(self.s.function)(name, cls, static.path)
        return name

    def add(self, tree: Any, kind: Any, text: str, work: list[Any]) -> None:
        """Add a cotangent that bwd has returned to that of an argument."""
        kind = types.unliteral(kind)
        if isinstance(kind, types.NoneType):
            return
        if isinstance(tree, Node):
            if not isinstance(kind, types.BaseTuple) or len(kind) != len(tree.parts):
                self.differs(kind)
            for k, (part, of) in enumerate(zip(tree.parts, kind.types, strict=True)):
                self.add(part, of, f"{text}[{k}]", work)
        elif tree in self.back:
            if not isinstance(kind, (types.Float, types.Integer)):
                self.differs(kind)
            work.append(Assign(ast.Name(self.back[tree]), ast.parse(f"float({text})", mode="eval").body, 0))
        elif tree in self.shadows:
            real = isinstance(kind, types.Array) and isinstance(kind.dtype, (types.Float, types.Integer))
            if not real or kind.ndim != self.e.types[tree].ndim:
                self.differs(kind)
            work.append(Code(f"runtime.contribute({self.shadows[tree]}, {text})", 0))

    def differs(self, kind: Any) -> None:
        why = f"its bwd returns a cotangent of numba type {kind}, which is not that of its argument"
        self.rules.refuse(self.s, self.caller.e, why, "one like the argument, or None")


class _OfJvp(_Sweeps):
    def write(self) -> None:
        symbol = self.rules.pull_of_jvp(self.s, self.caller.e, self.flags, self.wanted)
        every = set(range(len(self.inputs)))
        self.unit.finish(False, not self.arrays, every, every, set(), set())
        if self.arrays:
            made = self.module.names.fresh("made")
            args = ", ".join(self.text(p, lambda x: x) for p in self.e.parameters)
            places = dict(zip(self.outputs, _paths(self.e.result, made), strict=True))
            results = [*places.values(), *(f"np.zeros_like({places[x]})" for x in self.arrays)]
            body = [Code(f"{made} = {self.s.function.name}({args})", 0), Code(f"return {', '.join(results)}", 0)]
            given = [*self.inputs, *self.shadows.values()]
            self.function(self.unit.forward_name, given, f"{self.called} itself.", body)
        moved = [x for x, flag in zip(self.inputs, self.flags, strict=True) if flag]
        zeros = [f"np.zeros_like({x})" if x in self.shadows else "0.0" for x in moved]
        cts = [self.asked[x] for x in self.outputs if x in self.asked]
        made = self.module.names.fresh("made")
        call = f"{self.module.refer(symbol).name}({', '.join([*self.inputs, *zeros, *cts])})"
        work: list[Any] = [Code(f"{made} = {call}", 0)]
        for k, x in enumerate(moved):
            if x in self.shadows:
                work.append(Code(f"runtime.add_to({self.shadows[x]}, {made}[{k}])", 0))
            else:
                work.append(Code(f"{self.back[x]} = {made}[{k}]", 0))
        body = [*self.unless_zero(work), self.returned]
        given = [*self.inputs, *self.shadows.values(), *self.arrays.values(), *self.scalars.values()]
        doc = f"Add what the arguments of {self.called} contribute to its results: the transpose of its rule."
        self.function(self.unit.reverse_name, given, doc, body)


def _paths(tree: Any, text: str) -> list[str]:
    """Where the variables of a result are."""
    if isinstance(tree, Node):
        return [x for k, part in enumerate(tree.parts) for x in _paths(part, f"{text}[{k}]")]
    return [text] if tree != Const(None) else []


def _to_word(text: str, kind: Any) -> str:
    """What goes to the tape for a number."""
    return f"runtime.bits({text})" if isinstance(kind, types.Integer) else text


def _from_word(kind: Any) -> Any:
    """How a number comes back."""
    if isinstance(kind, types.Boolean):
        return lambda word: ast.Compare(word, [ast.NotEq()], [ast.Constant(0.0)])
    if isinstance(kind, types.Integer):
        whole = lambda word: syntax.call("runtime.whole", word)  # noqa: E731
        return whole if kind == types.int64 else lambda word: syntax.call(f"np.{kind}", whole(word))
    return (lambda word: syntax.call("np.float32", word)) if kind == types.float32 else (lambda word: word)
