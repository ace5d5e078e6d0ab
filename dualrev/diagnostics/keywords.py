"""Answers to a keyword argument that a function of this library does not have: what to write in its place."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from dualrev.diagnostics.signatures import signature

__all__ = ["answered", "in_place_of"]

F = TypeVar("F", bound=Callable[..., Any])

#: Options of other libraries, and what to write here.
_ELSEWHERE = {
    "allow_int": "leave it out: ints are constants",
    "create_graph": "leave it out: a derivative can be differentiated again, as in dr.grad(dr.grad(f))",
    "holomorphic": "dr.jacobian(f, holomorphic=True)",
    "in_dims": "in_axes",
    "out_dims": "out_axes",
    "retain_graph": "leave it out: a pullback can be called any number of times",
    "vectorize": "leave it out",
}
_AT_A_POINT = ("check", "check_grads", "jvp", "linearize", "vjp")  # they run f; the others return a function


def answered(f: F) -> F:
    """Decorate a public function: its TypeError for a keyword argument that it does not have names the right one."""
    known = {p.name for p in inspect.signature(f).parameters.values() if p.kind is not p.VAR_POSITIONAL}

    @functools.wraps(f)
    def call(*args: Any, **options: Any) -> Any:
        if options and not options.keys() <= known:
            unknown = next(name for name in options if name not in known)
            raise TypeError(_answer(f.__name__, unknown, known, args[0] if args else None))
        return f(*args, **options)

    return call  # type: ignore[return-value]


def in_place_of(said: str, instead: str) -> str:
    """A message with what to write for a name of another library."""
    return f"{said}. L{instead[1:]}" if instead.startswith("leave it out") else f"{said}. In its place: {instead}"


def _answer(name: str, unknown: str, known: set[str], function: Any) -> str:
    said = f"{name}() got an unexpected keyword argument {unknown!r}"
    if _has_parameter(function, unknown):
        cure = f"dr.{name}(lambda x: f(x, {unknown}={unknown}), ...)" if name in _AT_A_POINT else ""
        return f"{said}, a parameter of f. Write {cure or f'dr.{name}(f)(x, {unknown}={unknown})'}"
    if unknown in _ELSEWHERE:
        return in_place_of(said, _ELSEWHERE[unknown])
    near = difflib.get_close_matches(unknown, sorted(known), 1)
    return f"{said}. Did you mean {near[0]!r}?" if near else f"{said}. It takes {', '.join(sorted(known - {'f'}))}"


def _has_parameter(function: Any, name: str) -> bool:
    try:
        return callable(function) and name in signature(function).parameters
    except (TypeError, ValueError):
        return False
