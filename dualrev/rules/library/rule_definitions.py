"""Definitions with rules: of the function the compiler knows the types alone, of its derivatives the numba code.

The rules are definitions, too, and are differentiated themselves where a derivative of higher order is asked for:

    fwd(*args)                   (y, residuals), in reverse mode
    bwd(residuals, ct)           a cotangent for every argument; None where it has none
    push(primals, y, tangents)   the tangent of y, in forward mode
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["RuleOf", "constants_of", "define", "rule_of"]


class RuleOf(NamedTuple):
    """The rules of a definition."""

    fwd: Any
    bwd: Any
    push: Any


_RULES: dict[int, tuple[Any, RuleOf, tuple[int, ...]]] = {}


def define(f: Any, fwd: Any, bwd: Any, push: Any, constant: tuple[int, ...] = ()) -> None:
    """Set the rules of a definition. By the arguments in `constant`, counted from 0, it has no derivative."""
    _RULES[id(f)] = f, RuleOf(fwd, bwd, push), constant


def rule_of(f: Any) -> RuleOf | None:
    """The rules of a definition; None for any other function."""
    return _RULES[id(f)][1] if id(f) in _RULES else None


def constants_of(f: Any) -> tuple[int, ...]:
    """The arguments of a definition by which it has no derivative: numbers."""
    return _RULES[id(f)][2] if id(f) in _RULES else ()
