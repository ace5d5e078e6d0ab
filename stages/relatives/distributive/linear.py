r"""Tangents as sums of products u * c: u a tangent, its element or a one-hot, c a coefficient without tangents.

plugged(t, x, s)        t with s in place of x; a bound variable that s uses is renamed
atom                    the u of a product, or of a tangent alone
"""

from __future__ import annotations

from stages.relatives.bulk.binding import free, rewritten
from stages.relatives.bulk.terms import Build, Index, Let, Num, Op, Term, Var
from stages.relatives.distributive.forward import Same, terms

__all__ = ["ONE", "is_linear", "is_simple", "monomial", "names", "plugged", "primed", "times", "uses"]

ONE = Num(1.0)


def is_linear(t: Term) -> bool:
    """Whether a tangent variable or a one-hot is in it."""
    return any(isinstance(u, Same) for u in terms(t)) or any(x.startswith("d") for x in free(t))


def is_simple(t: Term) -> bool:
    """Whether a copy costs nothing: a number, a variable, an element of one."""
    return isinstance(t, (Var, Num)) or (isinstance(t, Index) and isinstance(t.array, Var))


def monomial(t: Term) -> tuple[Term, Term] | None:
    """(u, c) of u * c or of u alone, for a tangent variable, an element of one, or a one-hot u."""
    u, c = t.args if isinstance(t, Op) and t.name == "mul" else (t, ONE)
    return (u, c) if is_linear(u) and (is_simple(u) or isinstance(u, Same)) else None


def times(u: Term, c: Term) -> Term:
    """u * c, and u for a c of 1."""
    return u if c == ONE else u * c


def names(t: Term) -> frozenset[str]:
    """The names of all variables, free and bound."""
    return free(t).union(*(u.binds() for u in terms(t)))


def primed(name: str, taken: frozenset[str]) -> str:
    """The name with as many primes as make it a new one."""
    while name in taken:
        name += "'"
    return name


def uses(t: Term, x: str) -> int:
    """How often a free variable occurs."""
    if isinstance(t, Var):
        return int(t.name == x)
    counts: list[int] = []
    if x not in t.binds():
        rewritten(lambda u: (counts.append(uses(u, x)), u)[1], t)  # type: ignore[func-returns-value]
    return sum(counts) if not isinstance(t, Let) or t.name != x else uses(t.bound, x)


def plugged(t: Term, x: str, s: Term) -> Term:
    """t with s in place of the free variable x, without capture."""
    if isinstance(t, Var):
        return s if t.name == x else t
    if x not in free(t):
        return t
    if isinstance(t, (Let, Build)):
        name = t.binds()[0]
        if name in free(s):
            new = primed(name, free(s) | free(t.body))
            renamed = plugged(t.body, name, Var(new))
            t = Let(new, t.bound, renamed) if isinstance(t, Let) else Build(t.size, new, renamed)
        if isinstance(t, Let):
            return Let(t.name, plugged(t.bound, x, s), t.body if t.name == x else plugged(t.body, x, s))
    return rewritten(lambda u: plugged(u, x, s), t)
