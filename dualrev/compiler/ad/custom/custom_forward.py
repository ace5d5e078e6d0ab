"""Forward mode of custom rules: calls become core that can be differentiated again. See custom_rules.py."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NoReturn, TypeAlias

from numba.core import types

from dualrev.compiler.ad.custom.custom_rules import OPAQUE, CustomRules, Role, has_rule, name_of, rule_kind, same_type
from dualrev.compiler.ad.function_table import FunctionTable
from dualrev.compiler.ir.core.atom_types import is_array, is_real, is_real_array, type_of
from dualrev.compiler.ir.core.atoms import Applied, Atom, Comparison, Constant, Field, Global, Node, Symbol, Tree, Var
from dualrev.compiler.ir.core.builder import ZERO, CoreBuilder
from dualrev.compiler.ir.core.nodes import Call, Copy, Discrete, Effect, Function, If, Load, Make, Real, Store
from dualrev.compiler.ir.core.program import Gradient
from dualrev.compiler.ir.core.traverse import leaves, renewed
from dualrev.compiler.types.aliases import NumbaType, NumbaTypes
from dualrev.diagnostics.quoting import raising
from dualrev.rules.primitives import PRIMITIVES

_NUMBERS = (types.Float, types.Integer, types.Boolean)

__all__ = ["CustomPushforwards", "tangent_types"]

NONE = Constant(None, types.none)
#: Of each leaf of the arguments or of the result: whether it is active.
Flags: TypeAlias = tuple[bool, ...]


class CustomPushforwards(CustomRules):
    """Pushforwards of calls of functions with custom rules."""

    def __init__(self, front: FunctionTable) -> None:
        super().__init__(front)
        self.pairings: dict[Hashable, Symbol] = {}

    def __call__(self, s: Call, active: Flags, wanted: Flags) -> Symbol | None:
        """The symbol of the pushforward for a call of a function with a custom rule; None for other calls."""
        if isinstance(s.function, Symbol) or not has_rule(s.function.value):
            return None
        self.check_constants(s, active)
        f = self.front.program.function(s)
        inputs = [x for p in f.parameters for x in leaves(p)]
        w = _PushforwardBuilder(self)
        tangents = {x: Var("t_{}", _of_tangent(x), x) for x, flag in zip(inputs, active, strict=True) if flag}
        made = {"vjp": w.by_vjp, "jvp": w.by_jvp, OPAQUE: w.by_push}[rule_kind(s.function.value)]
        values, results = made(s, f, tangents, wanted)
        symbol = Symbol(f"{name_of(s.function.value)}_tangent")
        given = (*inputs, *tangents.values())
        self.front.program.define(
            symbol, w.function(f, name=symbol.name, parameters=given, result=Node((*values, *results)))
        )
        return symbol

    def pull_of_jvp(self, s: Call, active: Flags, wanted: Flags) -> Symbol:
        """Transpose a JVP rule: the gradient of <ct, rule(x, t)[1]> with respect to the tangents `t`.

        It takes x, t and ct; `t` are the tangents of the active arguments.
        """
        key = self.front.program.key(s), active, wanted
        if key in self.pairings:
            return self.pairings[key]
        f = self.front.program.function(s)
        inputs = [x for p in f.parameters for x in leaves(p)]
        t = {x: Var("t_{}", _of_tangent(x), x) for x, flag in zip(inputs, active, strict=True) if flag}
        w = _PushforwardBuilder(self)
        dy = w.slopes(s, f, t)
        cts = [
            Var("ct", _of_tangent(y))
            for y, want in zip(_variables(f.result), _of_variables(f.result, wanted), strict=True)
            if want
        ]
        pairs = [
            x
            for x, y, want in zip(dy, _variables(f.result), _of_variables(f.result, wanted), strict=True)
            if want and y is not None
        ]
        total = w.pairing(zip(cts, pairs, strict=True))
        given = (*inputs, *t.values(), *cts)
        whole = w.function(f, name=f"slope_{f.name}", parameters=given, result=total)
        numbers = tuple(range(len(inputs), len(inputs) + len(t)))
        symbol = self.pairings[key] = Symbol(f"grad_{whole.name}")
        self.front.program.define(symbol, Gradient(whole, numbers, True))
        return symbol


class _PushforwardBuilder(CoreBuilder):
    """Writer of the statements of a pushforward, or of a rule's transpose."""

    def __init__(self, rules: CustomPushforwards) -> None:
        super().__init__()
        self.rules, self.front = rules, rules.front

    def function(self, like: Function, name: str, parameters: tuple[Tree, ...], result: Tree) -> Function:
        """A copy of the function `like` whose body is the statements written so far."""
        body = tuple(self.out)
        return replace(like, name=name, parameters=parameters, body=body, result=result, opaque=False)

    def by_jvp(self, s: Call, f: Function, t: dict[Var, Var], wanted: Flags) -> tuple[list[Atom], list[Atom]]:
        """Emit `y = f(x)` and `rule(x, t)[1]`; return the leaves of `y` and the wanted tangents."""
        y = renewed(f.result)
        again = Call(tuple(_variables(y)), s.function, f.parameters, y, 0)
        self.write(again)
        dy = self.slopes(s, f, t)
        chosen = [(a, b) for a, b, want in zip(_variables(y), dy, _of_variables(y, wanted), strict=True) if want]
        return leaves(y), [self.tangent_of(a, b) for a, b in chosen]

    def by_push(self, s: Call, f: Function, t: dict[Var, Var], wanted: Flags) -> tuple[list[Atom], list[Atom]]:
        """Emit `y = f(x)` and `push(x, y, t)`; return the leaves of `y` and the wanted tangents."""
        y = renewed(f.result)
        self.write(Call(tuple(_variables(y)), s.function, f.parameters, y, 0))
        push, kinds = self.rules.functions(s)[-1], self.kinds_of(s)
        made = self.called(push, (kinds[0], type_of(y), kinds[1]), [*self.inputs(f), *leaves(y), *self.moved(f, t)], s)
        dy: list[Atom | None] = []
        self.match(f.result, made, dy, s)
        chosen = [(a, b) for a, b, want in zip(_variables(y), dy, _of_variables(y, wanted), strict=True) if want]
        return leaves(y), [self.tangent_of(a, b) for a, b in chosen]

    def slopes(self, s: Call, f: Function, t: dict[Var, Var]) -> list[Atom | None]:
        """Call a JVP rule; return the tangent of each variable of the result, None where it has none."""
        (rule,) = self.rules.functions(s)
        made = self.called(rule, self.kinds_of(s), [*self.inputs(f), *self.moved(f, t)], s)
        if not isinstance(made, Node) or len(made.parts) != 2:
            self.rules.refuse(s, "its rule does not return a pair (y, dy)", "a rule that does")
        assert isinstance(made, Node)
        found: list[Atom | None] = []
        self.match(f.result, made.parts[1], found, s)
        return found

    def kinds_of(self, s: Call) -> tuple[NumbaType, NumbaType]:
        """The tuple types of the arguments and of their tangents."""
        kinds = list(map(type_of, s.args))
        return types.BaseTuple.from_types(kinds), types.BaseTuple.from_types([tangent_types(k) for k in kinds])

    def inputs(self, f: Function) -> list[Var]:
        """The leaves of the parameters."""
        return [x for p in f.parameters for x in leaves(p)]

    def moved(self, f: Function, t: dict[Var, Var]) -> list[Atom]:
        """The tangents of the parameters' leaves, as a rule takes them."""
        return [self.given_tangent(x, t.get(x)) for x in self.inputs(f)]

    def called(self, rule: Role, kinds: NumbaTypes, given: Sequence[Atom], s: Call) -> Tree:
        """Emit the call of a function of the rule on these leaves; return its result."""
        symbol, core = self.rules.core(rule, kinds, s)
        made = renewed(core.result)
        self.write(Call(tuple(_variables(made)), symbol, tuple(given), made, 0))
        return made

    def given_tangent(self, x: Atom, t: Var | None) -> Atom:
        """The tangent of a leaf as a rule takes it: 0 for an inactive leaf, None for a discrete one."""
        if is_real_array(x):
            if t is not None:
                return t
            zeros = Var("_", x.type)
            self.write(Make(zeros, Applied("np.zeros_like", (x,)), 0))
            return zeros
        if not is_real(x):
            return NONE
        if t is None:
            return ZERO
        target = Var("_", types.float64)
        self.write(Real(target, PRIMITIVES["pos"], "float", (t,), 0))  # that of a float32 may come as one
        return target

    def match(self, y: Tree, dy: Tree, found: list[Atom | None], s: Call) -> None:
        """Collect the tangent (or cotangent) of every variable of `y` into `found`; None for a variable without one."""
        if isinstance(y, Node):
            parts = dy.parts if isinstance(dy, Node) else (dy,) * len(y.parts) if _is_none(dy) else ()
            if len(parts) != len(y.parts):
                self.differs(s)
            for a, b in zip(y.parts, parts, strict=True):
                self.match(a, b, found, s)
        elif isinstance(y, Var):
            if _is_none(dy) or not (is_real(y) or is_real_array(y)):
                found.append(None)
                return
            if isinstance(dy, Node) or not _fits(type_of(dy), y.type):
                self.differs(s)
            found.append(dy)

    def differs(self, s: Call) -> NoReturn:
        """Refuse a rule that returns a tangent of another type than the value."""
        self.rules.refuse(s, "its rule returns a tangent of another type than the value", "one like the value")

    def by_vjp(self, s: Call, f: Function, t: dict[Var, Var], wanted: Flags) -> tuple[list[Atom], list[Atom]]:
        """Emit `y, residuals = fwd(x)` and the transpose of `bwd`; return the leaves of `y` and the wanted tangents."""
        self.rules.check_reverse_only(s)
        fwd, bwd = self.rules.functions(s)
        argtypes = tuple(map(type_of, s.args))
        self.rules.check(fwd, argtypes, s, aliases=True)
        symbol, core = self.rules.core(fwd, argtypes, s)
        made = renewed(core.result)
        if not isinstance(made, Node) or len(made.parts) != 2:
            self.rules.refuse(s, "its fwd does not return a pair (y, residuals)", "a fwd that does")
        assert isinstance(made, Node)
        inputs = [x for p in f.parameters for x in leaves(p)]
        self.write(Call(tuple(_variables(made)), symbol, tuple(inputs), made, 0))
        y, residuals = self.settled(made.parts[0], f.result, s), made.parts[1]
        gradient, cts, pairs = self.pull_of_vjp(bwd, residuals, y, f, t, s)
        zeros: list[Atom] = []
        for c, like in zip(cts, (x for x in leaves(y) if is_real(x) or is_real_array(x)), strict=True):
            if is_real(c):
                zeros.append(ZERO)
                continue
            array = Var("_", c.type)
            zeros.append(array)
            self.write(Make(array, Applied("np.zeros_like", (like,)), 0))
        # functions are known types: a residual that is one of the arguments needs no place on a tape
        same = {x.type: x for x in inputs if isinstance(x.type, types.Dispatcher)}
        held = [same.get(x.type, x) for x in _variables(residuals) if not _is_none(x)]
        results = tuple(Var("_", c.type) for c in cts)
        self.write(Call(results, gradient, (*held, *zeros, *(t[x] for x in pairs)), Node(results), 0))
        by = dict(zip((x for x in leaves(y) if is_real(x) or is_real_array(x)), results, strict=True))
        chosen = [x for x, want in zip(_variables(y), _of_variables(y, wanted), strict=True) if want]
        return leaves(y), [self.tangent_of(x, by.get(x)) for x in chosen]

    def settled(self, y: Tree, like: Tree, s: Call) -> Tree:
        """The value that `fwd` returns, checked against the type of the primal; constants become variables."""
        if isinstance(like, Node):
            if not isinstance(y, Node) or len(y.parts) != len(like.parts):
                self.rules.value_differs(s)
            assert isinstance(y, Node)
            parts = tuple(self.settled(a, b, s) for a, b in zip(y.parts, like.parts, strict=True))
            return Node(parts, like.cls)
        if isinstance(y, Node) or not same_type(type_of(y), type_of(like)):
            self.rules.value_differs(s)
        assert not isinstance(y, Node)
        if isinstance(y, Var) or not isinstance(like, Var):
            return y
        made = Var("_", like.type)
        self.write(Copy(made, y, 0))
        return made

    def pull_of_vjp(
        self, bwd: Role, residuals: Tree, y: Tree, f: Function, t: dict[Var, Var], s: Call
    ) -> tuple[Symbol, list[Var], list[Var]]:
        """Transpose `bwd`: the gradient of <t, bwd(residuals, ct)> with respect to `ct`.

        Returns its symbol, the cotangents, and the arguments that have a `t` there.
        """
        held = {x: Var("_", x.type) for x in _variables(residuals) if not _is_none(x)}
        inner = _PushforwardBuilder(self.rules)
        cts = {x: Var("ct", _of_tangent(x)) for x in leaves(y) if is_real(x) or is_real_array(x)}
        given = [NONE if _is_none(x) else held.get(x, x) for x in leaves(residuals)]
        kinds = type_of(residuals), tangent_types(type_of(y))
        symbol, core = self.rules.core(bwd, kinds, s)
        made = renewed(core.result)
        if not isinstance(made, Node) or len(made.parts) != len(f.parameters):
            why = f"its bwd does not return a tuple of {len(f.parameters)}, one cotangent for each argument"
            self.rules.refuse(s, why, "a bwd that does")
        assert isinstance(made, Node)
        inner.write(Call(tuple(_variables(made)), symbol, (*given, *(cts.get(x, NONE) for x in leaves(y))), made, 0))
        found: list[Atom | None] = []
        for p, part in zip(f.parameters, made.parts, strict=True):
            inner.match(p, part, found, s)
        inputs = [x for p in f.parameters for x in leaves(p)]
        pairs = {x: c for x, c in zip(inputs, found, strict=True) if x in t and c is not None}
        moved = {x: Var("t", _of_tangent(x)) for x in pairs}
        total = inner.pairing((moved[x], c) for x, c in pairs.items())
        parameters = (*held.values(), *cts.values(), *moved.values())
        whole = inner.function(f, name=f"pull_{f.name}", parameters=parameters, result=total)
        numbers = tuple(range(len(held), len(held) + len(cts)))
        gradient = Symbol(f"grad_{whole.name}")
        self.front.program.define(gradient, Gradient(whole, numbers, True))
        return gradient, list(cts.values()), list(pairs)

    # Numbers

    def tangent_of(self, y: Var, dy: Atom | None) -> Atom:
        """The tangent `dy` in the type of `y`, in memory of its own; zeros if `dy` is None."""
        if is_real_array(y):
            made = Var("_", y.type)
            self.write(Make(made, Applied("np.zeros_like", (y,)), 0))
            if isinstance(dy, (Var, Global)):
                self.alike(y, dy)

                def put(index: tuple[Var, ...]) -> None:
                    """Copy one element."""
                    value = Var("_", dy.type.dtype)
                    self.write(Load(value, dy, index, 0))
                    self.write(Store(made, index, value, 0))

                self.loop(made, put, 0)
            return made
        if not is_real(y) or dy is None:
            return ZERO if is_real(y) else NONE
        target = Var("_", types.float32 if y.type == types.float32 else types.float64)
        self.write(Real(target, PRIMITIVES["pos"], "np.float32" if y.type == types.float32 else "float", (dy,), 0))
        return target

    def alike(self, a: Var, b: Var | Global) -> None:
        """Emit a shape check: ValueError if two arrays differ in shape."""
        differ = Var("_", types.boolean)
        self.write(Discrete(differ, Comparison(("!=",), (Field(a, "shape"), Field(b, "shape"))), 0))
        text = raising("ValueError", "a rule gives a derivative of another shape than the array that it belongs to")
        self.write(If(differ, (Effect(text, (), True, 0),), (), 0))

    def pairing(self, pairs: Iterable[tuple[Var, Atom | None]]) -> Var:
        """Emit the inner product of two lists of scalars and arrays."""
        total = Var("_", types.float64)
        self.write(Copy(total, ZERO, 0))

        def add(a: Atom, b: Atom) -> None:
            """Accumulate one product into the sum."""
            product = self.real("mul", "*", a, b, line=0)
            self.write(Real(total, PRIMITIVES["add"], "+", (total, product), 0))

        for a, b in pairs:
            if not is_array(a):
                if b is not None:
                    add(a, b)
                continue
            if not isinstance(b, (Var, Global)):
                continue
            self.alike(a, b)

            def one(index: tuple[Var, ...], a: Var = a, b: Var | Global = b) -> None:
                """Accumulate the product of two elements at an index."""
                x, y = Var("_", a.type.dtype), Var("_", b.type.dtype)
                self.write(Load(x, a, index, 0))
                self.write(Load(y, b, index, 0))
                add(x, y)

            self.loop(a, one, 0)
        return total


def tangent_types(kind: NumbaType) -> NumbaType:
    """The tangent (or cotangent) type of a primal type: float64 for a float, None for a discrete value."""
    if isinstance(kind, types.BaseTuple):
        return types.BaseTuple.from_types(list(map(tangent_types, kind.types)), getattr(kind, "instance_class", None))
    if isinstance(kind, types.Float):
        return types.float64
    if isinstance(kind, types.Array) and isinstance(kind.dtype, types.Float):
        return types.Array(kind.dtype, kind.ndim, kind.layout)
    return types.none


def _of_tangent(x: Atom) -> NumbaType:
    return types.float64 if is_real(x) else x.type


def _is_none(x: Tree) -> bool:
    return (isinstance(x, Constant) and x.value is None) or isinstance(getattr(x, "type", None), types.NoneType)


def _variables(tree: Tree) -> list[Var]:
    return [x for x in leaves(tree) if isinstance(x, Var)]


def _of_variables(tree: Tree, flags: Flags) -> list[bool]:
    """The flags of the leaves that are variables."""
    return [flag for x, flag in zip(leaves(tree), flags, strict=True) if isinstance(x, Var)]


def _fits(kind: NumbaType, of: NumbaType) -> bool:
    """Whether a tangent type fits a primal type: a scalar for a scalar, an array with as many axes for an array."""
    if isinstance(of, types.Array):
        return isinstance(kind, types.Array) and kind.ndim == of.ndim and isinstance(kind.dtype, _NUMBERS)
    return isinstance(kind, _NUMBERS)
