"""Calls of numba functions with rules of their own, custom_vjp and custom_jvp: what the compiler knows of them.

Of the function itself only its types are known: it may do what the compiler could not differentiate. It stands for a
function that makes new results, and changes nothing: whether that is so its source tells, or numba.

    reverse mode    the functions of the rule are called (rule_sweeps.py)
    forward mode    core, in which they are differentiated (rule_tangents.py)

Where a rule goes one way only, the other way is its transpose, a gradient: with <a, b> the sum of products,

    custom_vjp      t_y = gradient of <t_x, bwd(residuals, ct)> by ct, at ct = 0
    custom_jvp      d_x = gradient of <d_y, rule(x, t)[1]> by t, at t = 0

For this, and for derivatives of higher order, the compiler has to know what bwd and rule are made of.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from numba.core import types
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher

from dualrev.compiler import syntax
from dualrev.compiler.analyses.memory import Classes, is_array
from dualrev.compiler.core import Call, Const, Let, Node, Ref, leaves, terms
from dualrev.compiler.expand import Expanded
from dualrev.compiler.expansion import dtype_name, is_real
from dualrev.compiler.frozen import reachable
from dualrev.compiler.options import declared, inherited
from dualrev.compiler.source import Static, describe, is_numba_function, unlifted
from dualrev.errors import CustomRuleError, UnsupportedError
from dualrev.ruled import Ruled

if TYPE_CHECKING:
    from dualrev.compiler.pipeline import _Module

__all__ = ["Rules", "has_rule", "name_of", "same_type"]

_NEEDS = {"vjp": "defvjp(fwd, bwd)", "jvp": "defjvp(rule)"}
_NAMES = {"vjp": ("fwd", "bwd"), "jvp": ("rule",)}


def has_rule(f: Any) -> bool:
    """Whether a numba function has a rule that takes the place of its derivative."""
    return isinstance(f, Ruled) and f.kind in _NEEDS


class Function(NamedTuple):
    """A function of a rule: what it is called in the rule, and where it is."""

    role: str
    static: Static


class Rules:
    """The rules that a module meets."""

    def __init__(self, module: _Module) -> None:
        self.module = module
        self.quiet: set[Any] = set()  # the functions that change nothing, with their types
        self.cores: dict[Any, tuple[terms.Symbol, terms.Function]] = {}

    # The function itself

    def stub(self, s: Call, e: Expanded) -> tuple[Any, Expanded]:
        """What is known of a function with a rule: its key, and core with its types."""
        f, argtypes = s.function.value, tuple(self.module.type_of(a, e) for a in s.args)
        key = id(f), argtypes
        if key in self.module.expanded_of:
            return key, self.module.expanded_of[key]
        kinds: dict[str, Any] = {}

        def renewed(tree: Any, given: bool) -> Any:
            if isinstance(tree, Node):
                return Node(tuple(renewed(x, given) for x in tree.parts), tree.cls)
            if tree == Const(None) and not given:
                return tree
            name = self.module.names.temporary()
            kinds[name] = self.module.type_of(tree, e)
            return name

        parameters, result = [renewed(a, True) for a in s.args], renewed(s.result, False)
        spare = self.module.names.temporary()
        kinds[spare] = types.Array(types.float64, 1, "C")
        body: list[Any] = [_made(spare, kinds[spare])]  # so that nobody takes it for a cheap function
        body += [_made(x, kinds[x]) for x in leaves(result) if isinstance(x, str)]
        names = [p if isinstance(p, str) else self.module.names.fresh("arg_{k}") for p in parameters]
        try:
            source = self.module.source(f)
        except UnsupportedError:
            source = e.lowered.source
        lowered = replace(e.lowered, source=source, parameters=names, body=[], result=Const(None))
        made = Expanded(lowered, parameters, body, result, kinds, argtypes, e.classes, False)
        self.module.expanded_of[key] = made
        self.check(Function("it", Static(f, s.function.path)), argtypes, s, e, aliases=True)
        return key, made

    # Its rule

    def functions(self, s: Call, e: Expanded) -> list[Function]:
        """The functions of the rule of what a Call calls."""
        f = s.function.value
        given = f.rules
        if not given:
            raise CustomRuleError(f, _NEEDS[f.kind])
        found = []
        for k, role in enumerate(_NAMES[f.kind]):
            static = unlifted(Static(given[k], (*s.function.path, ("attr", "rules"), ("item", k))))
            if not is_numba_function(static.value):
                self.refuse(s, e, f"its {role} is no numba function", "@njit above it")
            found.append(Function(role, static))
        return found

    def refuse(self, s: Call, e: Expanded, why: str, instead: str) -> Any:
        """UnsupportedError for a call of a function with a rule."""
        f = s.function.value
        what = f"the call of {describe(f.py_func)}, which has a custom_{f.kind},"
        e.lowered.source.refuse(s.line, what, why, instead)

    def value_differs(self, s: Call, e: Expanded) -> None:
        """Refuse a fwd that returns something else than the function."""
        self.refuse(s, e, "the value that its fwd returns has another type than that of the function", "the same type")

    def ref(self, static: Static) -> Ref:
        """The name of a function of a rule in the emitted module."""
        found = next((ref for ref in self.module.refs.values() if ref.value is static.value), None)
        if found is None:
            name = self.module.names.fresh(f"_{name_of(static.value)}")
            found = self.module.refs[name] = Ref(name, static.value, static.path)
        return found

    def compiled(self, g: Function, kinds: tuple[Any, ...], s: Call, e: Expanded) -> Any:
        """The type of what a function of a rule returns, for arguments of these types."""
        f = g.static.value
        try:
            signature = declared(f, kinds)
            if signature is None:
                with inherited(self.module.f, [f]):
                    f.compile(kinds)
                signature = f.overloads[kinds].signature
        except NumbaError as error:
            why = f"numba does not compile its {g.role} for {', '.join(map(str, kinds))}: {_first_line(error)}"
            return self.refuse(s, e, why, f"{g.role} for these types")
        return types.unliteral(signature.return_type)

    # What they do to memory

    def check(self, g: Function, kinds: tuple[Any, ...], s: Call, e: Expanded, aliases: bool) -> None:
        """Refuse a function that changes its arguments; with `aliases`, one whose (first) result may be one of them."""
        f = g.static.value
        if (id(f), kinds, aliases) in self.quiet or not any(map(_has_arrays, kinds)):
            return
        try:
            writes, shares = self.seen(g.static, kinds, g.role)
        except UnsupportedError:
            writes, shares = self.asked(f, kinds, g.role)
        if writes:
            self.refuse(s, e, f"{g.role} changes an array among its arguments, or may do so", "a function of a copy")
        if shares and aliases:
            why = f"an array that {g.role} returns may share memory with an argument or another result"
            self.refuse(s, e, why, "x.copy() where it returns x or a view of x")
        self.quiet.add((id(f), kinds, aliases))

    def seen(self, static: Static, kinds: tuple[Any, ...], role: str) -> tuple[bool, bool]:
        """Whether a function writes to arguments, and whether its result shares memory, by its source."""
        module = self.module
        core = module.typed(static.value, module.expanded(static.value, kinds, static.path, {}, apart=False))
        memory = module.forward.memory
        writes, classes = memory.writes(core), Classes(core, memory)
        given = {classes.find(x) for p in core.parameters for x in terms.leaves(p) if is_array(x)}
        result = core.result
        if role == "fwd" and isinstance(result, terms.Node) and len(result.parts) == 2:
            result = result.parts[0]
        found = [classes.find(x) for x in terms.leaves(result) if is_array(x)]
        frozen = any(isinstance(x, terms.Global) for x in terms.leaves(result))
        return writes, frozen or len(set(found)) < len(found) or bool(given & set(found))

    def asked(self, f: Any, kinds: tuple[Any, ...], role: str) -> tuple[bool, bool]:
        """The same of a function that the compiler does not know, by numba's types of arrays that must not change."""
        if not f._can_compile or any({"flat", "nditer"} & set(g.py_func.__code__.co_names) for g in reachable(f)):
            return True, True
        made: Any = CPUDispatcher(f.py_func, dict(f.locals), dict(f.targetoptions), f._compiler.pipeline_class)
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

    def core(self, g: Function, kinds: tuple[Any, ...], s: Call, e: Expanded) -> tuple[terms.Symbol, terms.Function]:
        """A function of a rule for these types in core, under a symbol; the parameters of that one are the leaves."""
        f = g.static.value
        self.check(g, kinds, s, e, aliases=False)
        if (id(f), kinds) not in self.cores:
            module = self.module
            made = module.typed(f, module.expanded(f, kinds, g.static.path, {}, apart=False))
            flat = replace(made, parameters=tuple(x for p in made.parameters for x in terms.leaves(p)))
            symbol = terms.Symbol(made.name)
            module.program.define(symbol, flat)
            self.cores[id(f), kinds] = symbol, made
        return self.cores[id(f), kinds]


def name_of(f: Any) -> str:
    """The name of a numba function for emitted code: a lambda expression has none."""
    name = str(f.py_func.__name__)
    return name if name.isidentifier() else "function"


def same_type(one: Any, other: Any) -> bool:
    """Whether two types are the same, whatever is known of an array's alignment."""
    if isinstance(one, types.Array) and isinstance(other, types.Array):
        return (one.dtype, one.ndim, one.layout) == (other.dtype, other.ndim, other.layout)
    if isinstance(one, types.BaseTuple) and isinstance(other, types.BaseTuple):
        classes = getattr(one, "instance_class", None) is getattr(other, "instance_class", None)
        return classes and len(one) == len(other) and all(map(same_type, one.types, other.types))
    return bool(types.unliteral(one) == types.unliteral(other))


def _made(x: str, kind: Any) -> Let:
    """x = something of this type."""
    if isinstance(kind, types.Array):
        shape = ast.Tuple([ast.Constant(0)] * kind.ndim, ast.Load())
        return Let(x, "alloc", (), syntax.call("np.empty", shape, syntax.name(dtype_name(kind.dtype))), 0)
    return Let(x, "copy", (Const(0.0 if is_real(kind) else False if isinstance(kind, types.Boolean) else 0),), None, 0)


def _arrays(kind: Any) -> Any:
    """The arrays in a type."""
    if isinstance(kind, types.BaseTuple):
        for part in kind.types:
            yield from _arrays(part)
    elif isinstance(kind, types.Array):
        yield kind


def _has_arrays(kind: Any) -> bool:
    return any(True for _ in _arrays(kind))


def _read_only(kind: Any) -> Any:
    """The same type with arrays that must not be changed."""
    if isinstance(kind, types.BaseTuple):
        return types.BaseTuple.from_types(list(map(_read_only, kind.types)), getattr(kind, "instance_class", None))
    return kind.copy(readonly=True) if isinstance(kind, types.Array) else kind


def _first_line(error: Exception) -> str:
    """What numba says first; it ends without a full stop."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[min(1, len(lines) - 1)].rstrip(".") if lines else type(error).__name__
