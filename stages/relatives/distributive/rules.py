r"""The rewriting rules, in the order in which they are tried; each has the same value on both sides
(0 * t = 0 for a finite t).

    ring                    0 * t = 0;  0 + t = t;  1 * t = t;  sum (build n (\j. 0)) = 0
    loop fusion             (build n (\j. t))[k] = t with k for j
    one-hot                 sum (build n (\j. [j = g] * c)) = c with g for j        for a g below the same n
    order of a product      c * u = u * c;  (u * c) * e = u * (c * e)               u linear, c and e not
    let out                 let x = s in .. moves out of operations, sums and builds; as an array if s uses their index
    distributivity          (u + v) * c = u * c + v * c;  (sum us) * c = sum (us * c)
    sums                    sum (u + v) = sum u + sum v
                            sum (build n (\j. u * c)) = u * sum (build n (\j. c))             no j in u
    factoring               u * c + u * e = u * (c + e), and the same under two sums
    inlining                let dx = u in t = t with u for dx                       the innermost tangent first
    once                    let c = s in t = t with s for c                         c once in t, and not in a loop
    invariant               build n (\g. .. s ..) = let c = s in build n (\g. .. c ..)      no g in s

Factoring is the law v x + v y = v (x + y): with it, a tangent has one use when it is inlined, which costs nothing then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stages.relatives.bulk.binding import free
from stages.relatives.bulk.terms import Build, Index, Let, Num, Op, Sum, Term, Var
from stages.relatives.distributive.forward import ZERO, Same
from stages.relatives.distributive.linear import ONE, is_linear, is_simple, monomial, plugged, primed, times, uses
from stages.relatives.distributive.moving import invariant, let_out, named, once

__all__ = ["INNERMOST", "RULES", "Rule"]

#: A rule: the other side for a term, or None; the sizes are those of the indices of the gradient.
Rule = Callable[[Term, Mapping[str, int]], Term | None]


def ring(t: Term, sizes: Mapping[str, int]) -> Term | None:
    """0 and 1 in sums and products."""
    match t:
        case Op("mul", (u, v)) if ZERO in (u, v):
            return ZERO
        case Op("mul", (u, v)) if ONE in (u, v):
            return v if u == ONE else u
        case Op("add", (u, v)) if ZERO in (u, v):
            return v if u == ZERO else u
        case Sum(Build(_, _, u)) if u == ZERO:
            return ZERO
    return None


def fusion(t: Term, sizes: Mapping[str, int]) -> Term | None:
    """An element of a build."""
    match t:
        case Index(Build(_, j, body), (k, *rest)):
            found = plugged(body, j, k)
            return Index(found, tuple(rest)) if rest else found
    return None


def one_hot(t: Term, sizes: Mapping[str, int]) -> Term | None:
    """A sum of which one term is not 0."""
    match t:
        case Sum(Build(n, j, body)):
            found = monomial(body)
            match found:
                case Same(Var(h), Var(g)), c if h == j and sizes.get(g) == n:
                    return plugged(c, j, Var(g))
    return None


def order(t: Term, sizes: Mapping[str, int]) -> Term | None:
    """The linear factor of a product on the left."""
    match t:
        case Op("mul", (c, u)) if is_linear(u) and not is_linear(c):
            return u * c
        case Op("mul", (Op("mul", (u, c)), e)) if is_linear(u):
            return u * (c * e)
    return None


def distributivity(t: Term, sizes: Mapping[str, int]) -> Term | None:
    """A sum of tangents times a coefficient; a coefficient that would be copied gets a name."""
    match t:
        case Op("mul", (Op("add", _) | Sum(_) as u, c)) if is_linear(u) and not is_simple(c):
            return named(c, free(u), lambda c: u * c)
        case Op("mul", (Op("add", (u, v)), c)) if is_linear(u) or is_linear(v):
            return u * c + v * c
        case Op("mul", (Sum(Build(n, j, u)), c)) if is_linear(u):
            new = primed(j, free(c) | (free(u) - {j}))
            return Sum(Build(n, new, plugged(u, j, Var(new)) * c))
    return None


def sums(t: Term, sizes: Mapping[str, int]) -> Term | None:
    """A sum of sums, and a factor that does not depend on the index."""
    match t:
        case Sum(Build(n, j, Op("add", (u, v)))) if is_linear(u) or is_linear(v):
            return Sum(Build(n, j, u)) + Sum(Build(n, j, v))
        case Sum(Build(n, j, body)) if (found := monomial(body)) and j not in free(found[0]):
            return found[0] * (Num(float(n)) if found[1] == ONE else Sum(Build(n, j, found[1])))
    return None


def factoring(t: Term, sizes: Mapping[str, int]) -> Term | None:
    """Two terms of a sum with the same linear factor."""
    if not (isinstance(t, Op) and t.name == "add"):
        return None
    parts = _summands(t)
    for k, u in enumerate(parts):
        for m in range(k + 1, len(parts)):
            both = _together(u, parts[m])
            if both is not None:
                rest = [*parts[:k], both, *parts[k + 1 : m], *parts[m + 1 :]]
                made = rest[0]
                for v in rest[1:]:
                    made = made + v
                return made
    return None


def _summands(t: Term) -> list[Term]:
    return [*_summands(t.args[0]), *_summands(t.args[1])] if isinstance(t, Op) and t.name == "add" else [t]


def _together(a: Term, b: Term) -> Term | None:
    match a, b:
        case Sum(Build(n, j, u)), Sum(Build(m, k, v)) if n == m and j not in free(v) - {k}:
            both = _together(u, plugged(v, k, Var(j)))
            return None if both is None else Sum(Build(n, j, both))
    one, other = monomial(a), monomial(b)
    return times(one[0], one[1] + other[1]) if one and other and one[0] == other[0] else None


def inlining(t: Term, sizes: Mapping[str, int]) -> Term | None:
    """A tangent in place of its variable."""
    match t:
        case Let(x, bound, body) if x.startswith("d"):
            return plugged(body, x, bound) if uses(body, x) else body
    return None


RULES: Mapping[str, Rule] = {
    "ring": ring,
    "loop fusion": fusion,
    "one-hot": one_hot,
    "order of a product": order,
    "let out": let_out,
    "distributivity": distributivity,
    "sums": sums,
    "factoring": factoring,
    "inlining": inlining,
    "once": once,
    "invariant": invariant,
}
#: The rules that are tried in subterms before the term itself.
INNERMOST = frozenset(("inlining",))
