"""The rules that move a let: out of operations and loops, to its only use, and around an invariant term of a loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stages.relatives.bulk.binding import free, rewritten
from stages.relatives.bulk.terms import Build, Let, Op, Sum, Term, Var
from stages.relatives.distributive.linear import is_linear, is_simple, names, plugged, primed, uses

__all__ = ["invariant", "let_out", "named", "once"]


def named(c: Term, taken: frozenset[str], body: Callable[[Term], Term]) -> Let:
    """let c1 = c in body(c1), for a new name."""
    k = 1
    while f"c{k}" in taken | free(c):
        k += 1
    return Let(f"c{k}", c, body(Var(f"c{k}")))


def let_out(t: Term, sizes: Mapping[str, int]) -> Term | None:
    """A let in an operand, in a sum, in a build or in the bound term of a tangent."""
    match t:
        case Op(name, args):
            for k, u in enumerate(args):
                if isinstance(u, Let):
                    others = frozenset[str]().union(*(free(v) for m, v in enumerate(args) if m != k))
                    x, body = _renamed(u, others)
                    return Let(x, u.bound, Op(name, (*args[:k], body, *args[k + 1 :])))
        case Sum(Build(n, j, Let(x, bound, body))) if j not in free(bound) and is_linear(body):
            return Let(x, bound, Sum(Build(n, j, body)))
        case Sum(Build(n, j, Let(x, bound, body) as u)) if is_linear(body) and not (is_linear(bound) or once(u, sizes)):
            return Let(x, Build(n, j, bound), Sum(Build(n, j, plugged(body, x, Var(x)[Var(j)]))))
        case Build(n, j, Let(x, bound, body)) if j not in free(bound) and not is_linear(bound):
            return Let(x, bound, Build(n, j, body))
        case Let(x, Let() as u, body) if x.startswith("d"):
            y, inner = _renamed(u, free(body))
            return Let(y, u.bound, Let(x, inner, body))
    return None


def _renamed(u: Let, taken: frozenset[str]) -> tuple[str, Term]:
    """The variable and the body of a let, under a name that is not taken."""
    if u.name not in taken:
        return u.name, u.body
    name = primed(u.name, taken | free(u.body))
    return name, plugged(u.body, u.name, Var(name))


def once(t: Term, sizes: Mapping[str, int]) -> Term | None:
    """A term in place of a name that is used once, outside of loops, or that costs nothing."""
    match t:
        case Let(x, bound, body) if is_simple(bound) or (uses(body, x) <= 1 and not _in_a_loop(body, x)):
            return plugged(body, x, bound)
    return None


def _in_a_loop(t: Term, x: str) -> bool:
    if isinstance(t, Build):
        return x in free(t)
    found: list[bool] = []
    rewritten(lambda u: (found.append(_in_a_loop(u, x)), u)[1], t)  # type: ignore[func-returns-value]
    return any(found)


def invariant(t: Term, sizes: Mapping[str, int]) -> Term | None:
    """A term in a build that does not depend on its index."""
    if isinstance(t, Build):
        found = _invariant(t.body, frozenset((t.index,)))
        if found is not None:
            return named(found, names(t.body), lambda c: Build(t.size, t.index, _replaced(t.body, found, c)))
    return None


def _invariant(t: Term, bound: frozenset[str]) -> Term | None:
    if not is_simple(t) and isinstance(t, (Op, Sum)) and not free(t) & bound:
        return t
    found: list[Term] = []
    inner = bound | frozenset(t.binds())

    def search(u: Term) -> Term:
        made = None if found else _invariant(u, inner)
        if made is not None:
            found.append(made)
        return u

    rewritten(search, t)
    return found[0] if found else None


def _replaced(t: Term, old: Term, new: Term) -> Term:
    return new if t == old else rewritten(lambda u: _replaced(u, old, new), t)
