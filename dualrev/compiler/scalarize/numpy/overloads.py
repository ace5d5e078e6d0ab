"""Calls with a `numba.extending.overload` implementation, which numba selects by types: calls of that implementation.

    f(x, k)    impl(x, k), the numba function that numba has chosen for these types
    x.f(k)     the same, of overload_method

Takes the writer, and `expand`, which writes an operation. What has no float among its arguments or its results stays as
it is written (opaque_statements.py), and so does what has an implementation that cannot be read.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType

from numba import njit
from numba.core import types
from numba.core.registry import cpu_target

from dualrev.compiler.frontend.reading.callables import frozen_in
from dualrev.compiler.frontend.reading.source import describe, is_readable, name_of
from dualrev.compiler.ir import anf
from dualrev.compiler.scalarize.builder import ScalarBuilder
from dualrev.compiler.types.aliases import AccessPath, Dispatcher, NumbaType, UserValue
from dualrev.compiler.types.complex_parts import joined
from dualrev.compiler.types.opaque_types import holds_floats

__all__ = ["Overloads"]

_NOT_THE_USERS = {"numpy", "numba", "dualrev", "scipy", *sys.stdlib_module_names}


class Overloads:
    """Lowering of calls that numba's overloads implement."""

    def __init__(self, code: ScalarBuilder, expand: Callable[[anf.Let], None]) -> None:
        self.code, self.expand = code, expand

    def lowered(self, s: anf.Let) -> anf.Let | None:
        """Lower a call of an overload with floats to a call of the implementation; return any other operation.

        One that stays as it is says why, if a derivative would have to pass through it.
        """
        if isinstance(s, anf.CallMethod):
            return None if self._method(s) else s
        if (
            not isinstance(s, anf.OpaqueExpr)
            or not isinstance(s.tree, ast.Call)
            or not isinstance(s.tree.func, ast.Name)
        ):
            return s
        call, name, code = s.tree, s.tree.func.id, self.code
        ref = code.lowered.refs.get(name)
        if ref is None or not _is_users(ref.value) or not holds_floats(code.kind(s.target)):
            return s
        given = [*call.args, *(k.value for k in call.keywords)]
        values = [x for x in (_atom(code, x) for x in given) if x is not None]
        if len(values) < len(given) or not any(holds_floats(code.kind(x)) for x in values):
            return s
        keywords = [str(k.arg) for k in call.keywords]
        chosen = _implementation(ref.value, [self._kind(x) for x in values], keywords)
        if chosen is None:
            return s
        what, (why, instead) = f"the call of {describe(ref.value)}", _unknown(chosen)
        if why:  # it stays as it is, if its arguments are not active
            return replace(s, refusal=(what, why, instead))
        args = _ordered(chosen, values, keywords)
        taken = args is not None and self._call(s, chosen, args, (*ref.path, ("overload", chosen)))
        return None if taken else s

    def _method(self, s: anf.CallMethod) -> bool:
        """Lower a method of numbers or arrays from `overload_method`; False for any other method."""
        name, keywords = s.method, s.keywords
        kinds = [self._kind(x) for x in s.args]
        if not isinstance(kinds[0], (types.Number, types.Array)):
            return False
        bound = cpu_target.typing_context.resolve_getattr(kinds[0], name)
        f = getattr(getattr(bound, "template", None), "_overload_func", None)
        if f is None or not _is_users(f):
            return False
        try:
            chosen = _method_for(f, kinds, keywords)
        except Exception as error:
            why = f"what implements it, by `overload_method`, raises {type(error).__name__} for these types"
            self.code.refuse(s.line, f"the method .{name}", why, "types that it is for")
        why, instead = _unknown(chosen)
        args = None if why else _ordered(chosen, list(s.args), list(keywords))
        if args is None:
            why = why or "its implementation has *args, or a default that is no number"
            self.code.refuse(s.line, f"the method .{name}", why, instead or "a numba function of its arguments")
        assert args is not None
        return self._call(s, chosen, args, (("overload", chosen),))

    def _kind(self, x: anf.Atom) -> NumbaType:
        """Type that numba infers for an atom."""
        return types.unliteral(joined(self.code.kind(x)))

    def _call(self, s: anf.Let, chosen: UserValue, args: tuple[anf.Atom, ...], path: AccessPath) -> bool:
        refs = self.code.lowered.refs
        found = next((r for r in refs.values() if r.value is chosen), None)
        if found is None:
            name = self.code.names.fresh(f"_{name_of(chosen)}")
            found = refs[name] = anf.Ref(name, chosen, path)
        self.expand(anf.CallUser(s.target, found, args, s.line))
        return True


def _unknown(chosen: UserValue) -> tuple[str, str]:
    """Reason and remedy, if an implementation cannot be read or has a frozen global; empty texts otherwise."""
    if not is_readable(chosen):
        return "the source of its implementation, by `overload`, cannot be read", "it with `def`, in a file"
    if name := frozen_in(chosen.py_func, chosen.py_func.__code__.co_freevars):
        why = f"numba has frozen the global {name} in its implementation, and does not tell when"
        return why, f"{name} as an argument, or a numba function"
    return "", ""


def _is_users(f: UserValue) -> bool:
    return isinstance(f, FunctionType) and f.__module__.partition(".")[0] not in _NOT_THE_USERS


def _atom(code: ScalarBuilder, x: ast.expr) -> anf.Atom | None:
    """Argument as an atom, if it is a variable, a constant or a captured value."""
    if isinstance(x, ast.Constant):
        return anf.Const(x.value)
    if isinstance(x, ast.UnaryOp) and isinstance(x.op, ast.USub) and isinstance(x.operand, ast.Constant):
        return anf.Const(-x.operand.value)  # type: ignore[operator]
    if not isinstance(x, ast.Name):
        return None
    return x.id if x.id in code.of else code.lowered.refs.get(x.id)


def _implementation(f: UserValue, kinds: list[NumbaType], keywords: list[str]) -> UserValue:
    """Implementation that numba selects for arguments of these types; None if it is no overload's."""
    context = cpu_target.typing_context
    known: NumbaType = context.resolve_value_type(f)
    count = len(kinds) - len(keywords)
    args, kws = tuple(kinds[:count]), dict(zip(keywords, kinds[count:], strict=True))
    for template in getattr(known, "templates", ()):
        if not hasattr(template, "_overload_func"):
            return None
        try:
            chosen, _ = template(context)._get_impl(args, kws)
        except Exception:  # what the user's function raises for types that it is not for
            continue
        if chosen is not None:
            return chosen
    return None


def _method_for(f: UserValue, kinds: list[NumbaType], keywords: tuple[str, ...]) -> UserValue:
    """Memoised numba function of the implementation that an overload returns for these types."""
    count = len(kinds) - len(keywords)
    known = f.__dict__.setdefault("_dualrev_implementations", {})
    key = tuple(kinds), keywords
    if key not in known:
        known[key] = njit(f(*kinds[:count], **dict(zip(keywords, kinds[count:], strict=True))))
    return known[key]


def _ordered(f: Dispatcher, values: list[anf.Atom], keywords: list[str]) -> tuple[anf.Atom, ...] | None:
    """Arguments in the order of the parameters, with constant defaults; None if they do not fit."""
    signature = inspect.signature(f.py_func)
    count = len(values) - len(keywords)
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()):
        return None
    given = signature.bind(*values[:count], **dict(zip(keywords, values[count:], strict=True)))
    made: list[anf.Atom] = []
    for name, p in signature.parameters.items():
        if name not in given.arguments and not isinstance(p.default, (bool, int, float, type(None))):
            return None
        made.append(given.arguments.get(name, anf.Const(p.default)))
    return tuple(made)
