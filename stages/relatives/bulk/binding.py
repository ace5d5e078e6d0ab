"""Free variables, bound variables and substitution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from stages.relatives.bulk.terms import Term, Var

__all__ = ["check", "free", "rewritten", "substituted"]


def rewritten(f: Callable[[Term], Term], t: Term) -> Term:
    """The term with f applied to each of its direct subterms."""
    changes: dict[str, Any] = {}
    for name in (field.name for field in fields(t)):  # type: ignore[arg-type]
        part = getattr(t, name)
        if isinstance(part, Term):
            changes[name] = f(part)
        elif isinstance(part, tuple):
            changes[name] = tuple(f(u) if isinstance(u, Term) else u for u in part)
    return replace(t, **changes)  # type: ignore[type-var]


def _parts(t: Term) -> list[Term]:
    found: list[Term] = []
    rewritten(lambda u: (found.append(u), u)[1], t)  # type: ignore[func-returns-value]
    return found


def free(t: Term) -> frozenset[str]:
    """The names of the free variables."""
    if isinstance(t, Var):
        return frozenset((t.name,))
    found = frozenset().union(*map(free, _parts(t))) if _parts(t) else frozenset()
    return found - frozenset(t.binds())


def substituted(t: Term, values: Mapping[str, Term]) -> Term:
    """The term with terms in place of free variables; no variable of these may be bound in it."""
    if isinstance(t, Var):
        return values.get(t.name, t)
    return rewritten(lambda u: substituted(u, values), t)


def check(t: Term, scope: frozenset[str]) -> None:
    """ValueError for a name that is bound again in its scope: substitution would have to rename."""
    again = scope & frozenset(t.binds())
    if again:
        raise ValueError(f"{min(again)} is bound again in its scope; use another name: {t}")
    missing = {t.name} - scope if isinstance(t, Var) else ()
    if missing:
        raise ValueError(f"{min(missing)} is not bound; the variables in scope are {', '.join(sorted(scope))}")
    for u in _parts(t):
        check(u, scope | frozenset(t.binds()))
