"""The expression that a frame is at, from its source text: what it calls, and the array to whose elements it stores.

Functions in C have no frame. The user's line names them, and Python knows which expression of the line is running.
Names and attributes of modules and classes are looked up; nothing is called.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import linecache
import sys
from collections.abc import Iterable
from itertools import islice
from types import FrameType, ModuleType
from typing import Any, NamedTuple

__all__ = ["CallSite", "called_at", "stored_at"]


class CallSite(NamedTuple):
    """A call in the user's code: `Rotation.from_rotvec` of the class Rotation is called by the name `from_rotvec`."""

    owner: Any  # the module, the class or the object before the last dot; None for a bare name
    name: str
    function: Any  # None for a method of an object


def called_at(frame: FrameType) -> CallSite | None:
    """Return the call that a frame is at; None if it is at none, or at one of an expression that has no name."""
    node = _expression(frame)
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    if isinstance(function, ast.Name):
        found = _value(function, frame)
        return None if found is None else CallSite(None, function.id, found)
    if not isinstance(function, ast.Attribute):
        return None
    owner = _value(function.value, frame)
    return None if owner is None else CallSite(owner, function.attr, _value(function, frame))


def stored_at(frame: FrameType) -> str:
    """Return what to write for the array where a frame is at `u[i] = x`, `u += x` or `u.fill(x)`; "" if it is unknown.

    The array has to hold floats or complex numbers.
    """
    node = _expression(frame)
    if isinstance(node, ast.AugAssign):
        node = node.target
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    while isinstance(node, ast.Subscript) or (
        isinstance(node, ast.Attribute) and node.attr in ("real", "imag", "flat")
    ):
        node = node.value
    array: Any = _value(node, frame) if isinstance(node, ast.Name) else None
    if not isinstance(node, ast.Name) or getattr(getattr(array, "dtype", None), "kind", "") not in ("f", "c"):
        return ""
    name, code, module = node.id, frame.f_code, _maker(frame)
    if name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return ""  # it is made by whoever calls this function
    base: Any = getattr(array, "base", None)
    if base is not None and (base.size > array.size or any(x is base for x in frame.f_locals.values())):
        return f"`{name}` is a view. Write `a = {module}.array(a)` for its whole array a, before the view is made."
    if name in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
        return f"Write `{name} = {module}.array({name})` below the line that makes {name}."
    local = "v" if name == "u" else "u"
    return f"Write `{local} = {module}.array({name})` in the function, and {local} for {name} below it."


def _maker(frame: FrameType) -> str:
    """The name of dualrev.numpy in a frame; `np` in the Python function of a numba function, where numpy means it."""
    ours = sys.modules.get("dualrev.numpy")
    by_name = (name for name, x in frame.f_globals.items() if x is ours is not None)
    module = sys.modules.get(frame.f_globals.get("__name__", ""))
    is_copy = module is not None and vars(module) is not frame.f_globals
    is_copy = (
        is_copy and type(frame.f_globals.get("np")).__name__ != "_Module"
    )  # of dr.check, which copies globals, too
    return next(by_name, "np" if is_copy else "dualrev.numpy")


def _expression(frame: FrameType) -> ast.AST | None:
    """The syntax tree of the expression, or of the statement, that a frame is at."""
    places = frame.f_code.co_positions()
    line, last, start, end = next(islice(places, frame.f_lasti // 2, None), (None,) * 4)
    if line is None or last is None or start is None or end is None:
        return None
    lines = [linecache.getline(frame.f_code.co_filename, k).encode() for k in range(line, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    text = b"".join(lines).decode(errors="replace")
    for source in (f"({text})", text):
        with contextlib.suppress(SyntaxError, ValueError):
            (statement,) = ast.parse(source).body
            return statement.value if isinstance(statement, ast.Expr) else statement
    return None


def _value(node: ast.AST, frame: FrameType) -> Any:
    """The value of a name, or of an attribute of one; None if it would have to be computed."""
    if isinstance(node, ast.Name):
        scopes: Iterable[Any] = (frame.f_locals, frame.f_globals, vars(builtins))
        return next((scope[node.id] for scope in scopes if node.id in scope), None)
    if not isinstance(node, ast.Attribute):
        return None
    owner = _value(node.value, frame)
    if isinstance(owner, (ModuleType, type)):
        return getattr(owner, node.attr, None)
    return getattr(owner, "__dict__", {}).get(node.attr)
