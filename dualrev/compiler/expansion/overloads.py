"""Calls of Python functions of which `numba.extending.overload` has given numba an implementation, by types.

    f(x, k)    impl(x, k), the numba function that numba has chosen for these types

Takes the writer, and `expand`, which writes an operation. What has no float among its arguments or its results stays as
it is written (opaque.py), and so does what has an implementation that cannot be read.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType
from typing import Any

from numba.core import types
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target

from dualrev.compiler.core.lowered import Atom, Const, Let, Ref, Written
from dualrev.compiler.core.opaque import holds_floats
from dualrev.compiler.expansion.writing import Writer
from dualrev.compiler.frontend.jitted import frozen_in
from dualrev.compiler.frontend.source import describe, text_of

__all__ = ["Overloads"]

_NOT_THE_USERS = {"numpy", "numba", "dualrev", "scipy", *sys.stdlib_module_names}


class Overloads:
    """Calls of such functions."""

    def __init__(self, code: Writer, expand: Callable[[Let], None]) -> None:
        self.code, self.expand = code, expand

    def takes(self, s: Let) -> bool:
        """Whether it was one, of floats; then the call of the implementation has been written."""
        if s.op != "written" or not isinstance(s.info.tree, ast.Call) or not isinstance(s.info.tree.func, ast.Name):
            return False
        call, code = s.info.tree, self.code
        ref = code.lowered.refs.get(call.func.id)
        if ref is None or not _is_users(ref.value) or not holds_floats(code.kind(s.target)):
            return False
        values = [_atom(code, x) for x in [*call.args, *(k.value for k in call.keywords)]]
        if None in values or not any(holds_floats(code.kind(x)) for x in values):
            return False
        keywords = [str(k.arg) for k in call.keywords]
        chosen = _implementation(ref.value, [types.unliteral(code.kind(x)) for x in values], keywords)
        if chosen is None or not self._is_known(s, ref, chosen):
            return False
        args = _ordered(chosen, values, keywords)
        if args is None:
            return False
        refs, path = code.lowered.refs, (*ref.path, ("overload", chosen))
        found = next((r for r in refs.values() if r.value is chosen), None)
        if found is None:
            name = code.names.fresh(ref.name)
            found = refs[name] = Ref(name, chosen, path)
        self.expand(Let(s.target, "call", args, found, s.line))
        return True

    def _is_known(self, s: Let, ref: Ref, chosen: Any) -> bool:
        """Whether an implementation can be read; else the refusal says why not, for active arguments."""
        why, instead = "", ""
        what = f"the call of {describe(ref.value)}"
        if chosen.py_func.__name__ == "<lambda>" or not text_of(chosen.py_func):
            why = "its implementation, by `overload`, is a lambda expression, or its source cannot be found"
            instead = "the implementation with `def`, in a file"
        elif name := frozen_in(chosen.py_func, chosen.py_func.__code__.co_freevars):
            why = f"numba has frozen the global {name} in its implementation, and does not tell when"
            instead = f"{name} as an argument, or a numba function"
        written: Written = s.info
        s.info = replace(written, refusal=(what, why, instead)) if why else written
        return not why


def _is_users(f: Any) -> bool:
    return isinstance(f, FunctionType) and f.__module__.partition(".")[0] not in _NOT_THE_USERS


def _atom(code: Writer, x: ast.expr) -> Atom | None:
    """An argument as an atom, if it is a variable, a constant or something frozen."""
    if isinstance(x, ast.Constant):
        return Const(x.value)
    if isinstance(x, ast.UnaryOp) and isinstance(x.op, ast.USub) and isinstance(x.operand, ast.Constant):
        return Const(-x.operand.value)  # type: ignore[operator]
    if not isinstance(x, ast.Name):
        return None
    return x.id if x.id in code.of else code.lowered.refs.get(x.id)


def _implementation(f: Any, kinds: list[Any], keywords: list[str]) -> Any:
    """The numba function that numba calls for arguments of these types; None if it has another way."""
    context = cpu_target.typing_context
    known: Any = context.resolve_value_type(f)
    count = len(kinds) - len(keywords)
    args, kws = tuple(kinds[:count]), dict(zip(keywords, kinds[count:], strict=True))
    for template in getattr(known, "templates", ()):
        if not hasattr(template, "_overload_func"):
            return None
        try:
            chosen, _ = template(context)._get_impl(args, kws)
        except NumbaError:
            continue
        if chosen is not None:
            return chosen
    return None


def _ordered(f: Any, values: list[Any], keywords: list[str]) -> tuple[Atom, ...] | None:
    """The arguments in the order of the parameters, with constant defaults; None if they do not fit."""
    signature = inspect.signature(f.py_func)
    count = len(values) - len(keywords)
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()):
        return None
    given = signature.bind(*values[:count], **dict(zip(keywords, values[count:], strict=True)))
    made: list[Atom] = []
    for name, p in signature.parameters.items():
        if name not in given.arguments and not isinstance(p.default, (bool, int, float, type(None))):
            return None
        made.append(given.arguments.get(name, Const(p.default)))
    return tuple(made)
