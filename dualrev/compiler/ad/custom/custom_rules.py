"""Custom derivative rules of numba functions: custom_vjp, custom_jvp, and definitions (rule_definitions.py).

Of the function itself only its types are known: it may do what the compiler could not differentiate. It stands for a
function that makes new results, and changes nothing: whether that is so its source tells, or numba.

    reverse mode    the functions of the rule are called (custom_reverse.py)
    forward mode    core, in which they are differentiated (custom_forward.py)

A definition has a rule for each mode. A rule of a user's goes one way, and the other way is its transpose, a gradient:
with <a, b> the sum of products,

    custom_vjp      t_y = gradient of <t_x, bwd(residuals, ct)> by ct, at ct = 0
    custom_jvp      d_x = gradient of <d_y, rule(x, t)[1]> by t, at t = 0

For this, and for derivatives of higher order, the compiler has to know what bwd and rule are made of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, NoReturn

from numba.core import types
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher

from dualrev.compiler.ad.function_table import FunctionTable, Origin
from dualrev.compiler.analysis.memory.alias import Classes
from dualrev.compiler.frontend.messages import about_function
from dualrev.compiler.frontend.reading.global_paths import called
from dualrev.compiler.frontend.reading.njit_options import declared, inherited, is_checked
from dualrev.compiler.frontend.reading.source import Source, Static, describe, is_numba_function, unlifted
from dualrev.compiler.ir import anf
from dualrev.compiler.ir.core.atom_types import is_array, type_of
from dualrev.compiler.ir.core.atoms import Applied, Constant, Global, Node, Pack, Symbol, Var
from dualrev.compiler.ir.core.nodes import Call, Copy, Function, Make, Statement
from dualrev.compiler.ir.core.traverse import leaves, mapped
from dualrev.compiler.types.aliases import Dispatcher, NumbaType, NumbaTypes
from dualrev.diagnostics.quoting import identifier
from dualrev.eager.numba_rules import Ruled
from dualrev.errors import CustomRuleError, UnsupportedError
from dualrev.rules.library.random.drawing import is_draw
from dualrev.rules.library.rule_definitions import constants_of, rule_of

__all__ = ["OPAQUE", "CustomRules", "Role", "has_rule", "is_checkpoint", "name_of", "rule_kind", "same_type"]

_NEEDS = {"vjp": "defvjp(fwd, bwd)", "jvp": "defjvp(rule)"}
_NAMES = {"vjp": ("fwd", "bwd"), "jvp": ("rule",)}
OPAQUE = "opaque"


def has_rule(f: Dispatcher) -> bool:
    """Whether a numba function has a custom derivative rule, or is a random draw, with or without one."""
    return is_draw(f) or rule_kind(f) in (*_NEEDS, OPAQUE)


def rule_kind(f: Dispatcher) -> str:
    """The kind of a numba function's rule: "vjp", "jvp", "checkpoint" or `OPAQUE`; an empty text if it has none."""
    return OPAQUE if rule_of(f) is not None else f.kind if isinstance(f, Ruled) else ""


def is_own(f: Dispatcher) -> bool:
    """Whether a numba function with a rule is one of dualrev's own, of which the tests check what they write to."""
    return str(f.py_func.__module__).startswith("dualrev.")


def is_checkpoint(f: Dispatcher) -> bool:
    """Whether a numba function is a checkpoint: the reverse sweep recomputes it."""
    return isinstance(f, Ruled) and f.kind == "checkpoint"


class Role(NamedTuple):
    """A function of a rule: its name in the rule, and its access path."""

    name: str
    static: Static


class CustomRules:
    """Custom rules that a module calls: their stubs, checks and cores."""

    def __init__(self, front: FunctionTable) -> None:
        self.front = front
        self.sites: dict[Call, Source] = {}  # where functions with rules are called
        self.quiet: set[tuple[int, NumbaTypes, bool]] = set()  # the functions that change nothing, with their types
        self.cores: dict[tuple[int, NumbaTypes], tuple[Symbol, Function]] = {}

    # The function itself

    def stub(self, s: Call) -> Function:
        """An opaque stub for a function with a rule: typed parameters and results, no body to differentiate."""
        assert isinstance(s.function, Global)
        f, argtypes = s.function.value, tuple(map(type_of, s.args))
        parameters = tuple(mapped(a, lambda x: Var("_", type_of(x))) for a in s.args)
        result = mapped(s.result, lambda x: x if x == Constant(None) else Var("_", type_of(x)))
        spare = Var("_", types.Array(types.float64, 1, "C"))  # so that nobody takes it for a cheap function
        body = tuple(_made(x) for x in [spare, *leaves(result)] if isinstance(x, Var))
        made = Function(name_of(f), parameters, body, result, is_checked(f), opaque=True)
        made = replace(made, origin=Origin.of_opaque(f, self.source(s)))
        self.check(Role("it", Static(f, s.function.path)), argtypes, s, aliases=True)
        return made

    def source(self, s: Call) -> Source:
        """The source of a function with a rule; if it has none, the source of a caller."""
        assert isinstance(s.function, Global)
        try:
            return self.front.source(s.function.value)
        except UnsupportedError:
            return self.sites.get(s.of or s) or self.front.source(self.front.f)

    # Its rule

    def functions(self, s: Call) -> list[Role]:
        """The functions of a call's custom rule, with their access paths."""
        assert isinstance(s.function, Global)
        f = s.function.value
        if (defined := rule_of(f)) is not None:
            paths = ((*s.function.path, ("rule", role)) for role in defined._fields)
            return [Role(p[-1][1], Static(g, p)) for g, p in zip(defined, paths, strict=True)]
        given = f.rules
        if not given:
            raise CustomRuleError(f, _NEEDS[f.kind])
        found = []
        for k, role in enumerate(_NAMES[f.kind]):
            static = unlifted(Static(given[k], (*s.function.path, ("attr", "rules"), ("item", k))))
            if not is_numba_function(static.value):
                self.refuse(s, f"its {role} is no numba function", "@njit above it")
            found.append(Role(role, static))
        return found

    def refuse(self, s: Call, why: str, instead: str) -> NoReturn:
        """Refuse a call of a function with a rule: UnsupportedError."""
        assert isinstance(s.function, Global)
        f = s.function.value
        what = f"the call of {describe(f.py_func)}"
        what += f", which has a custom_{f.kind}," if isinstance(f, Ruled) else ""
        source = self.sites.get(s.of or s) or self.source(s)
        source.refuse(s.line or source.tree.lineno, what, why, instead)

    def check_constants(self, s: Call, active: tuple[bool, ...]) -> None:
        """Refuse an active argument that has no derivative: the order of a Bessel function, or of nondiff_argnums."""
        assert isinstance(s.function, Global)
        f = s.function.value
        if isinstance(f, Ruled):
            self._check_nondiff(s, f, active)
        for k in constants_of(f):
            if active[k]:
                what = f"scipy.special.{f.py_func.__name__} by its {('first', 'second')[k]} argument"
                source = self.sites.get(s.of or s) or self.source(s)
                why, instead = "no formula for this derivative is known", "dualrev.stop_gradient(...) for that argument"
                source.refuse(s.line, what, why, f"{instead}, if it is a constant")

    def _check_nondiff(self, s: Call, f: Ruled, active: tuple[bool, ...]) -> None:
        start = 0
        for k, p in enumerate(self.front.program.function(s).parameters):
            end = start + len(leaves(p))
            moves, start = any(active[start:end]), end
            if moves and k in f.owner.nondiff:
                name = f.py_func.__code__.co_varnames[k]
                why = f"its argument {name!r}, which nondiff_argnums names, is differentiated"
                self.refuse(
                    s, why, f"dualrev.stop_gradient({name}) for a constant, or leave {k} out of nondiff_argnums"
                )

    def check_reverse_only(self, s: Call) -> None:
        """Refuse forward mode of a solver with the continuous adjoint, before its rule is compiled."""
        assert isinstance(s.function, Global)
        f = s.function.value
        if is_own(f) and (known := about_function(f"{f.py_func.__module__}.{f.py_func.__name__}")) is not None:
            self.refuse(s, *known)

    def refuse_draw(self, s: Call) -> NoReturn:
        """Refuse a sample with active parameters that is no known smooth function of them: UnsupportedError."""
        assert isinstance(s.function, Global)
        what = f"a sample of np.random.{s.function.value.py_func.__name__.removeprefix('np_').removesuffix('_of')}"
        why = "its parameters are differentiated, and the compiler knows no smooth function of them that gives it"
        source = self.sites.get(s.of or s) or self.source(s)
        source.refuse(s.line, what, why, "dualrev.stop_gradient(parameter), or a sample that is drawn outside")

    def value_differs(self, s: Call) -> None:
        """Refuse a `fwd` whose value has another type than the function's."""
        self.refuse(s, "the value that its fwd returns has another type than that of the function", "the same type")

    def named(self, static: Static) -> Global:
        """A function of a rule, as a global of the emitted code."""
        refs = self.front.refs
        found = next((ref for ref in refs.values() if ref.value is static.value), None)
        if found is None:
            name = self.front.names.fresh(f"_{name_of(static.value)}")
            found = refs[name] = anf.Ref(name, static.value, static.path)
        return Global(found.name, static.value, found.path, None)

    def named_class(self, cls: type, static: Static) -> Global:
        """The class of a named tuple, as a global of the emitted code."""
        name = self.front.names.fresh(f"_{cls.__name__}")
        self.front.refs[name] = anf.Ref(name, cls, static.path)
        return Global(name, cls, static.path)

    def compiled(self, g: Role, kinds: NumbaTypes, s: Call) -> NumbaType:
        """The return type that numba infers for a function of a rule, at these argument types."""
        f = g.static.value
        try:
            signature = declared(f, kinds)
            if signature is None:
                with inherited(self.front.f, [f]):
                    f.compile(kinds)
                signature = f.overloads[kinds].signature
        except NumbaError as error:
            why = f"numba does not compile its {g.name} for {', '.join(map(str, kinds))}: {_first_line(error)}"
            return self.refuse(s, why, f"{g.name} for these types")
        return types.unliteral(signature.return_type)

    # What they do to memory

    def check(self, g: Role, kinds: NumbaTypes, s: Call, aliases: bool) -> None:
        """Refuse a function that may write to its arguments; with `aliases`, one whose (first) result may alias."""
        f, path = g.static.value, g.static.path
        assert isinstance(s.function, Global)
        if path and path[0][0] == "library":  # what is defined there changes nothing
            return
        if is_own(s.function.value):  # nor does what dualrev defines, but it may call functions of the user
            self.check_passed(s)
            return
        if (id(f), kinds, aliases) in self.quiet or not any(map(_has_arrays, kinds)):
            return
        writes, shares = self.effects(g.static, kinds, g.name)
        if writes:
            self.refuse(s, f"{g.name} changes an array among its arguments, or may do so", "a function of a copy")
        if shares and aliases:
            why = f"an array that {g.name} returns may share memory with an argument or another result"
            self.refuse(s, why, "x.copy() where it returns x or a view of x")
        self.quiet.add((id(f), kinds, aliases))

    def check_passed(self, s: Call) -> None:
        """Refuse a function among the arguments of a call that may write to its own arguments."""
        for x in (leaf for tree in s.args for leaf in leaves(tree)):
            f = x.value if isinstance(x, Global) else None
            if f is None or not is_numba_function(f):
                continue
            for kinds in f.overloads:  # numba has compiled the rule
                if (id(f), kinds, False) in self.quiet or not any(map(_has_arrays, kinds)):
                    continue
                if self.effects(Static(f, x.path), kinds, name_of(f))[0]:
                    why = f"{name_of(f)}, which it is given, changes an array among its arguments, or may do so"
                    self.refuse(s, why, f"x = x.copy() in {name_of(f)}, for an array x that it changes")
                self.quiet.add((id(f), kinds, False))

    def effects(self, static: Static, kinds: NumbaTypes, role: str) -> tuple[bool, bool]:
        """Whether a function may write to its arguments, and whether its result may alias memory."""
        try:
            return self.seen(static, kinds, role)
        except UnsupportedError:
            return self.asked(static.value, kinds, role)

    def seen(self, static: Static, kinds: NumbaTypes, role: str) -> tuple[bool, bool]:
        """Effects by the core: whether the function writes to its arguments, and whether its result aliases memory."""
        core, memory = self.front.core(static.value, kinds, static.path, {}, apart=False), self.front.memory
        writes, classes = bool(memory.written(core)), Classes(core, memory)
        given = {classes.find(x) for p in core.parameters for x in leaves(p) if is_array(x)}
        result = core.result
        if role == "fwd" and isinstance(result, Node) and len(result.parts) == 2:
            result = result.parts[0]
        found = [classes.find(x) for x in leaves(result) if is_array(x)]
        frozen = any(isinstance(x, Global) for x in leaves(result))
        return writes, frozen or len(set(found)) < len(found) or bool(given & set(found))

    def asked(self, f: Dispatcher, kinds: NumbaTypes, role: str) -> tuple[bool, bool]:
        """The same effects without a core: whether numba compiles the function for read-only arrays."""
        if not f._can_compile or any({"flat", "nditer"} & set(g.py_func.__code__.co_names) for g in called(f)):
            return True, True
        made: Dispatcher = CPUDispatcher(f.py_func, dict(f.locals), dict(f.targetoptions), f._compiler.pipeline_class)
        fixed = tuple(map(_read_only, kinds))
        try:
            made.compile(fixed)
        except Exception:  # what numba says depends on how the array is changed
            return True, True
        result = made.overloads[fixed].signature.return_type
        if role == "fwd" and isinstance(result, types.BaseTuple) and len(result) == 2:
            result = result[0]
        arrays = list(_arrays(result))
        return False, len(arrays) > 1 or any(not a.mutable for a in arrays)

    # Core

    def core(self, g: Role, kinds: NumbaTypes, s: Call) -> tuple[Symbol, Function]:
        """Lower a function of a rule to core for these types: its symbol, which takes leaves, and the function."""
        f = g.static.value
        self.check(g, kinds, s, aliases=False)
        if (id(f), kinds) not in self.cores:
            made = self.front.core(f, kinds, g.static.path, {}, apart=False)
            flat = replace(made, parameters=tuple(x for p in made.parameters for x in leaves(p)))
            symbol = Symbol(made.name)
            self.front.program.define(symbol, flat)
            self.cores[id(f), kinds] = symbol, made
        return self.cores[id(f), kinds]


def name_of(f: Dispatcher) -> str:
    """The name of a numba function for emitted code; a lambda expression gets a plain one."""
    return identifier(f.py_func.__name__, "function")


def same_type(one: NumbaType, other: NumbaType) -> bool:
    """Whether two types are equal, whatever numba knows of an array's alignment and mutability."""
    if isinstance(one, types.Array) and isinstance(other, types.Array):
        return (one.dtype, one.ndim, one.layout) == (other.dtype, other.ndim, other.layout)
    if isinstance(one, types.BaseTuple) and isinstance(other, types.BaseTuple):
        classes = getattr(one, "instance_class", None) is getattr(other, "instance_class", None)
        return classes and len(one) == len(other) and all(map(same_type, one.types, other.types))
    return bool(types.unliteral(one) == types.unliteral(other))


def _made(x: Var) -> Statement:
    """A placeholder statement: assign `x` some value of its type."""
    if isinstance(x.type, types.Array):
        shape = Pack((Constant(0, types.int64),) * x.type.ndim)
        return Make(x, Applied("np.empty", (shape, Global(f"np.{x.type.dtype}", None, ()))), 0)
    value = 0.0 if isinstance(x.type, types.Float) else False if isinstance(x.type, types.Boolean) else 0
    return Copy(x, Constant(value, x.type), 0)


def _arrays(kind: NumbaType) -> Iterator[types.Array]:
    """The array types in a type."""
    if isinstance(kind, types.BaseTuple):
        for part in kind.types:
            yield from _arrays(part)
    elif isinstance(kind, types.Array):
        yield kind


def _has_arrays(kind: NumbaType) -> bool:
    return any(True for _ in _arrays(kind))


def _read_only(kind: NumbaType) -> NumbaType:
    """The same type with read-only arrays."""
    if isinstance(kind, types.BaseTuple):
        return types.BaseTuple.from_types(list(map(_read_only, kind.types)), getattr(kind, "instance_class", None))
    return kind.copy(readonly=True) if isinstance(kind, types.Array) else kind


def _first_line(error: Exception) -> str:
    """The line of a numba error that names its cause, without a full stop."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[min(1, len(lines) - 1)].rstrip(".") if lines else type(error).__name__
