"""Reverse mode of custom rules: the forward and reverse sweep for a call of a function with a rule, in core.

    custom_vjp,     forward: y, residuals = fwd(x), and the residuals go to the tape
    definitions                    reverse: d_x += bwd(residuals, d_y)
    custom_jvp      forward: y = f(x)
                    reverse: d_x += the gradient of <d_y, rule(x, t)[1]> by t

A cotangent of 0 to which nothing may have been contributed takes no part: the rule is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace

from numba.core import types

from dualrev.compiler.ad.custom.custom_forward import CustomPushforwards, tangent_types
from dualrev.compiler.ad.custom.custom_rules import has_rule, name_of, rule_kind, same_type
from dualrev.compiler.ad.reverse.adjoint import zeros_like
from dualrev.compiler.ad.reverse.call_pair import SweepPair
from dualrev.compiler.ad.reverse.gradient_context import Facts
from dualrev.compiler.frontend.reading.global_paths import find
from dualrev.compiler.ir.core.atom_types import is_array, is_real, is_real_array, type_of
from dualrev.compiler.ir.core.atoms import (
    Applied,
    Atom,
    Comparison,
    Constant,
    Expr,
    Field,
    Global,
    Item,
    Logical,
    Node,
    Pack,
    Symbol,
    Tree,
    Var,
)
from dualrev.compiler.ir.core.builder import ZERO, CoreBuilder
from dualrev.compiler.ir.core.nodes import (
    Accumulate,
    Block,
    Call,
    Copy,
    Discrete,
    If,
    Keep,
    Kept,
    Make,
    Pop,
    Push,
    Real,
    Statement,
)
from dualrev.compiler.ir.core.traverse import leaves, mapped, renewed, several
from dualrev.compiler.types.aliases import NumbaType
from dualrev.rules.primitives import PRIMITIVES

__all__ = ["RuleSweeps"]

_I64 = types.int64


class RuleSweeps:
    """Forward/reverse pairs for calls of functions with custom rules, memoised; None for other calls."""

    def __init__(self, rules: CustomPushforwards) -> None:
        self._rules = rules
        self._units: dict[Hashable, SweepPair] = {}

    def __call__(self, s: Call, caller: Facts, flags: tuple[bool, ...], wanted: tuple[bool, ...]) -> SweepPair | None:
        """The forward/reverse pair for a call with these active arguments and wanted results; None without a rule."""
        if isinstance(s.function, Symbol) or not has_rule(s.function.value):
            return None
        self._rules.check_constants(s, flags)
        reached = caller.known_of(s).reached
        key = self._rules.front.program.key(s), flags, wanted, reached
        if key not in self._units:
            unit = self._units[key] = SweepPair(name_of(s.function.value), len(flags))
            kind = _OfJvp if rule_kind(s.function.value) == "jvp" else _OfVjp
            kind(self._rules, unit, s, flags, wanted, reached).define()
        return self._units[key]


class _Sweeps:
    """Shared base for both kinds of rules: shadows, cotangents, and the definition of the forward/reverse pair."""

    def __init__(
        self,
        rules: CustomPushforwards,
        unit: SweepPair,
        s: Call,
        flags: tuple[bool, ...],
        wanted: tuple[bool, ...],
        reached: tuple[bool, ...],
    ) -> None:
        self.rules, self.unit, self.s, self.flags, self.wanted = rules, unit, s, flags, wanted
        self.program = rules.front.program
        self.f = self.program.function(s)
        self.inputs = [x for p in self.f.parameters for x in leaves(p)]
        self.moving = [x for x, flag in zip(self.inputs, flags, strict=True) if flag]
        self.shadows = {x: Var("d_{}", x.type, x) for x in self.moving if is_array(x)}
        self.back = {x: Var("d_{}", types.float64, x) for x in self.moving if not is_array(x)}
        outputs = leaves(self.f.result)
        self.arrays = {k: Var(f"d_result_{k}", x.type) for k, x in enumerate(outputs) if wanted[k] and is_array(x)}
        numbers = [k for k, x in enumerate(outputs) if wanted[k] and not is_array(x)]
        self.numbers = {k: Var(f"d_result_{k}", types.float64) for k in numbers}
        self.asked = {**self.arrays, **self.numbers}
        self.sure = any(want and is_so for want, is_so in zip(wanted, reached, strict=True))

    def define(self) -> None:
        """Define both functions and set the unit's calling convention."""
        raise NotImplementedError

    def unless_zero(self, work: list[Statement]) -> Block:
        """Skip the reverse sweep at run time if all cotangents are 0; no test if one certainly has a contribution."""
        writing = CoreBuilder()
        for d in self.back.values():
            writing.write(Copy(d, ZERO, 0))
        if self.sure:
            return (*writing.out, *work)
        tests: list[Expr] = [Comparison(("!=",), (ct, ZERO)) for ct in self.numbers.values()]
        tests += [Applied("np.any", (Comparison(("!=",), (ct, ZERO)),)) for ct in self.arrays.values()]
        test = Var("_", types.boolean)
        writing.write(Discrete(test, Logical("or", tuple(tests)) if len(tests) > 1 else tests[0], 0))
        writing.write(If(test, tuple(work), (), 0))
        return tuple(writing.out)

    def put(self, symbol: Symbol, given: tuple[Tree, ...], body: Block, result: Tree, doc: str) -> None:
        """Define one function of the pair under its symbol."""
        made = replace(self.f, name=symbol.name, parameters=given, body=body, result=result, doc=doc)
        self.program.define(symbol, replace(made, tape=self.unit.uses_tape, opaque=False))

    def put_reverse(self, inputs: tuple[Tree, ...], body: Block, doc: str) -> None:
        """Define the reverse function; `inputs` are the leaves of the arguments that it takes."""
        given = (*inputs, *self.shadows.values(), *self.arrays.values(), *self.numbers.values())
        self.put(self.unit.reverse, given, body, several(list(self.back.values())), doc)


class _OfVjp(_Sweeps):
    def define(self) -> None:
        """Check the types of `fwd` and `bwd`, then define both functions."""
        s, rules, kinds = self.s, self.rules, tuple(map(type_of, self.s.args))
        self.fwd, self.bwd = rules.functions(s)[:2]
        made = rules.compiled(self.fwd, kinds, s)
        if not isinstance(made, types.BaseTuple) or len(made) != 2:
            rules.refuse(s, "its fwd does not return a pair (y, residuals)", "a fwd that does")
        rules.check(self.fwd, kinds, s, aliases=True)
        value, residuals = made.types
        of_result = type_of(self.f.result)
        if not same_type(value, of_result):
            rules.value_differs(s)
        given = residuals, tangent_types(of_result)
        self.cts = rules.compiled(self.bwd, given, s)
        if not isinstance(self.cts, types.BaseTuple) or len(self.cts) != len(kinds):
            why = f"its bwd does not return a tuple of {len(kinds)}, one cotangent for each argument"
            rules.refuse(s, why, "a bwd that does")
        rules.check(self.bwd, given, s, aliases=False)
        self.residuals = self.variables(residuals, self.of_residual)
        held = [x for x in leaves(self.residuals) if isinstance(x, Var)]
        self.kept, self.words = [x for x in held if is_array(x)], [x for x in held if not is_array(x)]
        outputs = enumerate(leaves(self.f.result))
        self.sizes = {
            k: tuple(Var("size_{k}", _I64) for _ in range(x.type.ndim))
            for k, x in outputs
            if is_real_array(x) and k not in self.arrays
        }
        content = range(len(self.inputs))  # a residual may be an argument, or a result
        tape = bool(self.kept or self.words or self.sizes)
        self.unit.finish(tape, False, (), content, (), range(len(self.wanted)))
        self.define_forward()
        self.define_reverse()

    def variables(self, kind: NumbaType, leaf: Callable[[NumbaType], Tree]) -> Tree:
        """A tree in the structure of a type, with a variable by `leaf` for each of its leaves."""
        kind = types.unliteral(kind)
        if not isinstance(kind, types.BaseTuple):
            return leaf(kind)
        cls = getattr(kind, "instance_class", None)
        return Node(tuple(self.variables(t, leaf) for t in kind.types), self.cls(cls) if cls is not None else None)

    def of_residual(self, kind: NumbaType) -> Atom:
        """The variable for a leaf of the residuals; types that the tape does not hold are refused."""
        numbers = (types.Float, types.Integer, types.Boolean)
        if isinstance(kind, types.NoneType):
            return Constant(None)
        if isinstance(kind, types.Dispatcher):
            for x in (x for tree in self.s.args for x in leaves(tree)):
                if isinstance(x, Global) and x.value is kind.dispatcher:
                    return x
        if isinstance(kind, numbers) or (isinstance(kind, types.Array) and isinstance(kind.dtype, numbers)):
            return Var("_residual{k}", kind)
        why = f"a residual of its fwd is of numba type {kind}"
        return self.rules.refuse(self.s, why, "numbers, arrays of numbers, and tuples of these")

    def cls(self, cls: type) -> Global:
        """The class of a named tuple, as a global of the emitted code."""
        for ref in self.rules.front.refs.values():
            if ref.value is cls:
                return Global(ref.name, cls, ref.path)
        static = find(cls, [self.fwd.static, self.bwd.static])
        if static is None:
            why = f"a residual is a named tuple whose class, {cls.__name__}, no function of the rule names"
            self.rules.refuse(self.s, why, "a tuple")
        assert static is not None
        return self.rules.named_class(cls, static)

    def define_forward(self) -> None:
        """Define the augmented primal: call `fwd` and record the residuals on the tape."""
        w, y = CoreBuilder(), self.variables(type_of(self.f.result), _of_value)
        made = Node((y, self.residuals))
        targets = tuple(x for x in leaves(made) if isinstance(x, Var))
        w.write(Call(targets, self.rules.named(self.fwd.static), self.f.parameters, made, 0))
        values = leaves(y)
        pushed: list[Atom] = list(self.words)
        for k, sizes in self.sizes.items():
            for axis in range(len(sizes)):
                size = Var("_", _I64)
                w.write(Discrete(size, Item(Field(values[k], "shape"), (Constant(axis, _I64),)), 0))
                pushed.append(size)
        if pushed:
            w.write(Push(tuple(pushed), 0))
        for x in self.kept:
            w.write(Keep(x, 0))
        shadows = [zeros_like(w, values[k], 0) for k in self.arrays]
        doc = f"{self.f.name} by its rule, and on the tape the residuals."
        given = (*self.inputs, *self.shadows.values())
        self.put(self.unit.forward, given, tuple(w.out), several([*values, *shadows]), doc)

    def define_reverse(self) -> None:
        """Define the reverse function: pop the residuals, call `bwd`, and hand its cotangents to the arguments."""
        before, w = CoreBuilder(), CoreBuilder()
        for x in reversed(self.kept):
            before.write(Kept(x, 0))
        popped = [*self.words, *(n for sizes in self.sizes.values() for n in sizes)]
        if popped:
            before.write(Pop(tuple(popped), 0))
        numbers = iter(range(len(self.wanted)))
        ct = mapped(self.f.result, lambda y: self.cotangent(w, next(numbers), y))
        cts = self.variables(self.cts, lambda kind: Var("_", kind))
        assert isinstance(cts, Node)
        targets = tuple(x for x in leaves(cts) if isinstance(x, Var))
        w.write(Call(targets, self.rules.named(self.bwd.static), (self.residuals, ct), cts, 0))
        for p, part in zip(self.f.parameters, cts.parts, strict=True):
            self.add(w, p, part)
        doc = f"Add what the arguments of {self.f.name} contribute to its results, by its rule."
        self.put_reverse((), (*before.out, *self.unless_zero(w.out)), doc)

    def cotangent(self, w: CoreBuilder, k: int, y: Atom) -> Atom:
        """The cotangent of a leaf of the result, as `bwd` takes it: zeros if it is not wanted."""
        if k in self.asked:
            return self.asked[k]
        if is_real_array(y):
            made = Var("_", y.type)
            dtype = Global(f"np.{y.type.dtype}", None, ())
            w.write(Make(made, Applied("np.zeros", (Pack(self.sizes[k]), dtype)), 0))
            return made
        return ZERO if is_real(y) else Constant(None)

    def add(self, w: CoreBuilder, tree: Tree, ct: Tree) -> None:
        """Hand a cotangent from `bwd` to its argument: assign it for a scalar, accumulate it into a shadow."""
        if isinstance(ct, Var) and isinstance(ct.type, types.NoneType):
            return
        kind = type_of(ct)
        if isinstance(tree, Node):
            if not isinstance(ct, Node) or len(ct.parts) != len(tree.parts):
                self.differs(kind)
            assert isinstance(ct, Node)
            for part, of in zip(tree.parts, ct.parts, strict=True):
                self.add(w, part, of)
        elif tree in self.back:
            if not isinstance(kind, (types.Float, types.Integer)):
                self.differs(kind)
            w.write(Real(self.back[tree], PRIMITIVES["pos"], "float", (ct,), 0))  # type: ignore[arg-type]
        elif tree in self.shadows:
            real = isinstance(kind, types.Array) and isinstance(kind.dtype, (types.Float, types.Integer))
            if not real or kind.ndim != tree.type.ndim:
                self.differs(kind)
            w.write(Accumulate(self.shadows[tree], "runtime.contribute", (ct,), 0))  # type: ignore[arg-type]

    def differs(self, kind: NumbaType) -> None:
        """Refuse a `bwd` whose cotangent does not have the type of its argument."""
        why = f"its bwd returns a cotangent of numba type {kind}, which is not that of its argument"
        self.rules.refuse(self.s, why, "one like the argument, or None")


class _OfJvp(_Sweeps):
    def define(self) -> None:
        """Define both functions: the primal with zeroed shadows, and the transpose of the JVP rule."""
        symbol = self.rules.pull_of_jvp(self.s, self.flags, self.wanted)
        every = range(len(self.inputs))
        self.unit.finish(False, not self.arrays, every, every)
        if self.arrays:
            w, y = CoreBuilder(), renewed(self.f.result)
            w.write(Call(tuple(x for x in leaves(y) if isinstance(x, Var)), self.s.function, self.f.parameters, y, 0))
            shadows = [zeros_like(w, leaves(y)[k], 0) for k in self.arrays]
            given = (*self.inputs, *self.shadows.values())
            result = several([*leaves(y), *shadows])
            self.put(self.unit.forward, given, tuple(w.out), result, f"{self.f.name} itself.")
        w = CoreBuilder()
        zeros = [zeros_like(w, x, 0) if is_array(x) else ZERO for x in self.moving]
        cts = [self.asked[k] for k in sorted(self.asked)]
        made = tuple(Var("_", x.type if is_array(x) else types.float64) for x in self.moving)
        w.write(Call(made, symbol, (*self.inputs, *zeros, *cts), Node(made), 0))
        for x, d in zip(self.moving, made, strict=True):
            if x in self.shadows:
                w.write(Accumulate(self.shadows[x], "runtime.add_to", (d,), 0))
            else:
                w.write(Copy(self.back[x], d, 0))
        doc = f"Add what the arguments of {self.f.name} contribute to its results: the transpose of its rule."
        self.put_reverse(tuple(self.inputs), self.unless_zero(w.out), doc)


def _of_value(kind: NumbaType) -> Atom:
    return Constant(None) if isinstance(kind, types.NoneType) else Var("_", kind)
