"""Occurrences of variables in terms: the free variables of a term, in which projections each occurs, what it binds.

Terms never change, so that `Occurrences` looks at each once, however often a pass asks: a pass that asks at every
binder takes time in proportion to the size of the term, and not to its square.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from stages.calculus.continuations.terms import Shift
from stages.calculus.deltas.terms import Do
from stages.calculus.language import terms as t
from stages.calculus.language.terms import Term, Var, subterms

__all__ = ["Occurrences", "Path", "free", "mapped", "part"]

#: fst and snd, from the variable outwards.
Path = tuple[str, ...]


def part(term: Term) -> tuple[str, Path] | None:
    """Return the variable and the path that a projection of a variable is; None for other terms."""
    path: Path = ()
    while isinstance(term, (t.Fst, t.Snd)):
        path = ("fst" if isinstance(term, t.Fst) else "snd", *path)
        term = term.pair
    return (term.name, path) if isinstance(term, Var) else None


class _Found(NamedTuple):
    term: Term  # kept, so that no other term has its id
    uses: Mapping[str, frozenset[Path]]
    binders: frozenset[str]


class Occurrences:
    """The variables of terms."""

    def __init__(self) -> None:
        self._found: dict[int, _Found] = {}

    def uses(self, term: Term) -> Mapping[str, frozenset[Path]]:
        """Return the free variables of a term, each with the paths by which it occurs."""
        return self._of(term).uses

    def binders(self, term: Term) -> frozenset[str]:
        """Return the names that a term binds, anywhere in it."""
        return self._of(term).binders

    def _of(self, term: Term) -> _Found:
        found = self._found.get(id(term))
        if found is None:
            found = self._found[id(term)] = self._look(term)
        return found

    def _look(self, term: Term) -> _Found:
        if (alone := part(term)) is not None:
            return _Found(term, {alone[0]: frozenset({alone[1]})}, frozenset())
        inside = [(self._of(inner), bound) for inner, bound in _inside(term)]
        if len(inside) == 1 and not inside[0][1]:
            return inside[0][0]._replace(term=term)
        uses: dict[str, frozenset[Path]] = {}
        for of, bound in inside:
            for x, paths in of.uses.items():
                if x not in bound:
                    uses[x] = uses[x] | paths if x in uses else paths
        return _Found(term, uses, frozenset().union(*(names for of, bound in inside for names in (bound, of.binders))))


def free(term: Term) -> set[str]:
    """Return the free variables of a term.

    >>> from stages.calculus import parse_term
    >>> sorted(free(parse_term(r"let x = y in f (x, z)")))
    ['f', 'y', 'z']
    """
    return {*Occurrences().uses(term)}


def mapped(term: Term, change: Callable[[Term, frozenset[str]], Term]) -> Term:
    """Return the term with `change` applied to its parts: change(part, names that are bound there)."""
    before = [*_inside(term)]
    made = [change(s, bound) for s, bound in before]
    if all(new is old for new, (old, _) in zip(made, before, strict=True)):
        return term
    parts = iter(made)
    match term:
        case t.Letrec(functions, _):
            changed = tuple([dataclasses.replace(f, body=next(parts)) for f in functions])
            return t.Letrec(changed, next(parts))
        case t.Case(_, branches):
            scrutinee = next(parts)
            return t.Case(scrutinee, tuple([dataclasses.replace(b, body=next(parts)) for b in branches]))
    fields: dict[str, object] = {}
    slots: tuple[str, ...] = term.__slots__
    for name in slots:
        value = getattr(term, name)
        if isinstance(value, Term):
            fields[name] = next(parts)
        elif isinstance(value, tuple) and value and isinstance(value[0], Term):
            fields[name] = tuple([next(parts) for _ in value])
    return dataclasses.replace(term, **fields)


NOTHING: frozenset[str] = frozenset()


def _inside(term: Term) -> Iterator[tuple[Term, frozenset[str]]]:
    """The parts of a term, each with the names that are bound there."""
    match term:
        case t.Lambda(x, _, body) | t.LinearLambda(x, _, body) | t.ResourceLambda(x, _, body):
            yield body, frozenset({x})
        case Shift(x, _, body):
            yield body, frozenset({x})
        case Do(x, value, body):
            yield value, NOTHING
            yield body, frozenset({x})
        case t.Let(x, value, body):
            yield value, NOTHING
            yield body, frozenset({x})
        case t.ResourceLet(xs, value, body):
            yield value, NOTHING
            yield body, frozenset(x.removeprefix("!") for x in xs)
        case t.Letrec(functions, body):
            own = frozenset(f.name for f in functions)
            yield from ((f.body, own | {f.parameter}) for f in functions)
            yield body, own
        case t.Case(scrutinee, branches):
            yield scrutinee, NOTHING
            yield from ((b.body, frozenset(b.variables)) for b in branches)
        case _:
            yield from ((s, NOTHING) for s in subterms(term))
