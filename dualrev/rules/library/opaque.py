"""Definitions with rules: of the function the compiler knows the types alone, of its derivatives the numba code.

The rules are definitions, too, and are differentiated themselves where a derivative of higher order is asked for:

    fwd(*args)                   (y, residuals), in reverse mode
    bwd(residuals, ct)           a cotangent for every argument; None where it has none
    push(primals, y, tangents)   the tangent of y, in forward mode
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["RuleOf", "define", "rule_of"]


class RuleOf(NamedTuple):
    """The rules of a definition."""

    fwd: Any
    bwd: Any
    push: Any


_RULES: dict[int, tuple[Any, RuleOf]] = {}


def define(f: Any, fwd: Any, bwd: Any, push: Any) -> None:
    """Set the rules of a definition."""
    _RULES[id(f)] = f, RuleOf(fwd, bwd, push)


def rule_of(f: Any) -> RuleOf | None:
    """The rules of a definition; None for any other function."""
    return _RULES[id(f)][1] if id(f) in _RULES else None
