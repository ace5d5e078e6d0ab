r"""Readable form of a transformed program: the same meaning with fewer names.

    let x = y in t, let x = fst(y) in t          t with y, fst(y) in place of x; the name x is remembered
    let x = (y, z) in t                          the same, if t has x only in fst(x) and snd(x)
    let x = (let y = s in t) in u                let y = s in let x = t in u; so with letR
    letR (!x, w) = (!s, v) in t                  let x = s in t with v in place of w
    do {x <- pure s; t}                          let x = s in t                             the monad laws
    do {x <- do {y <- s; t}; u}                  do {y <- s; x <- t; u}; likewise for an inner let
    \(x : (s, t)). u, let x = s in u             \(x : s, dx : t). u, let (x, dx) = s in u, letrec likewise,
                                                 if u has x only in fst(x) and snd(x); and so on for their parts

D[t] consists of such lets, since its rules work on one construct at a time (Fig. 6). With these steps, the derivative
of Fig. 1 reads as printed there. Nothing else changes: no function is called, no operation moved.
"""

from __future__ import annotations

import dataclasses

from stages.calculus.deltas.terms import Do, Pure
from stages.calculus.language import terms as t
from stages.calculus.language.declarations import Declarations, Definition, Program
from stages.calculus.language.sugar import Pattern, bind, hidden, lambda_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Pair, Type
from stages.calculus.occurrences import Occurrences, Path, mapped, part

__all__ = ["readable"]


class _Names(Occurrences):
    """The variables of terms, and the names that lets gave to parts of variables."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[tuple[str, Path], str] = {}


def readable(program: Program) -> Program:
    """Rewrite a program's term and definitions in readable form."""
    known = program.declarations
    definitions = tuple([Definition(d.name, d.type, _rewrite(d.term, known)) for d in program.definitions])
    return Program(_rewrite(program.term, known), known, definitions)


def _rewrite(term: Term, known: Declarations) -> Term:
    names = _Names()
    try:
        return _patterns(_without_aliases(term, {}, names), names, known)
    except RecursionError:  # nested so deeply that nobody will read it
        return term


# Lets of variables and their parts


def _without_aliases(term: Term, known: dict[str, Term], names: _Names) -> Term:
    """The term without lets of variables and projections; `names.given` collects the names of parts of variables."""
    if isinstance(term, Var):
        return known.get(term.name, term)
    if isinstance(term, t.ResourceLet):
        return _without_returns(term, known, names)
    if isinstance(term, Do):
        return _without_units(term, known, names)
    if isinstance(term, t.Let):
        return _let(term.name, _without_aliases(term.value, known, names), term.body, known, names)
    made = mapped(term, lambda s, bound: _without_aliases(s, _outside(known, bound), names))
    match made:
        case t.Fst(t.Tuple(first, _)):
            return first
        case t.Snd(t.Tuple(_, second)):
            return second
    return made


def _outside(known: dict[str, Term], bound: frozenset[str]) -> dict[str, Term]:
    """The substitution without the names that are bound."""
    return {x: v for x, v in known.items() if x not in bound} if bound & known.keys() else known


def _let(name: str, value: Term, body: Term, known: dict[str, Term], names: _Names) -> Term:
    """let name = value in body, for a value that has been rewritten: `known` must not be applied to it again."""
    floated = []
    while isinstance(value, t.Let) and value.name not in _needed(body, known, names):
        floated.append((value.name, value.value))
        value = value.body
    if _is_alias(value, name, body, names):
        if (found := part(value)) is not None and found[1] and not name.startswith("_"):
            names.given.setdefault(found, name)
        made = _without_aliases(body, {**known, name: value}, names)
    else:
        inner = _outside(known, frozenset({name}))
        made = t.Let(name, value, _without_aliases(body, inner, names))
    for x, bound in reversed(floated):
        made = t.Let(x, bound, made)
    return made


def _without_returns(term: t.ResourceLet, known: dict[str, Term], names: _Names) -> Term:
    """letR (!x, w) = (!s, v) in t as let x = s in t, with v in place of w; bindings of the value go first."""
    value = _without_aliases(term.value, known, names)
    floated: list[t.Let | t.ResourceLet] = []
    while isinstance(value, (t.Let, t.ResourceLet)) and not _bound(value) & _needed(term.body, known, names):
        floated.append(value)
        value = value.body
    inner = _outside(known, _bound(term))
    made: Term
    match term.names, value:
        case (x, w), t.Tuple(t.Of(s), Var(v)) if x.startswith("!") and v not in names.binders(term.body):
            made = _let(x[1:], s, term.body, {**inner, w: value.second}, names)
        case _:
            made = t.ResourceLet(term.names, value, _without_aliases(term.body, inner, names))
    for outer in reversed(floated):
        made = dataclasses.replace(outer, body=made)
    return made


def _without_units(term: Do, known: dict[str, Term], names: _Names) -> Term:
    """do {x <- pure s; t} as let x = s in t; the statements of an inner do go before the outer ones."""
    value = _without_aliases(term.value, known, names)
    floated: list[t.Let | Do] = []
    while isinstance(value, (t.Let, Do)) and value.name not in _needed(term.body, known, names):
        floated.append(value)
        value = value.body
    inner = _outside(known, frozenset({term.name}))
    made: Term
    if isinstance(value, Pure):
        made = _let(term.name, value.content, term.body, inner, names)
    else:
        made = Do(term.name, value, _without_aliases(term.body, inner, names))
    for outer in reversed(floated):
        made = dataclasses.replace(outer, body=made)
    return made


def _bound(term: t.Let | t.ResourceLet) -> frozenset[str]:
    """The names that a let binds in its body."""
    return frozenset({term.name} if isinstance(term, t.Let) else (x.removeprefix("!") for x in term.names))


def _needed(body: Term, known: dict[str, Term], names: _Names) -> set[str]:
    """The free variables of a term after the substitution `known`."""
    own = names.uses(body)
    return {*own, *(y for x, value in known.items() if x in own for y in names.uses(value))}


def _is_alias(value: Term, x: str, body: Term, names: _Names) -> bool:
    """Whether to replace x by its value: a part of a variable, or a pair of such parts that the body takes apart."""
    parts = [part(value)] if not isinstance(value, t.Tuple) else [part(value.first), part(value.second)]
    if any(found is None or found[0] in names.binders(body) for found in parts):
        return False
    return len(parts) == 1 or () not in names.uses(body).get(x, ())


# Patterns


def _patterns(term: Term, names: _Names, known: Declarations) -> Term:
    """The term with patterns for variables that are used by parts."""
    term = mapped(term, lambda s, _: _patterns(s, names, known))
    match term:
        case t.Lambda(x, type_, body) if (found := _pattern(x, body, names)) and _fits(found[0], type_, known):
            return lambda_(found[0], type_, found[1])
        case t.Let(x, value, body) if found := _pattern(x, body, names):
            return let(found[0], value, found[1])
        case Do(x, value, body) if found := _pattern(x, body, names):
            return Do(hidden(found[0]), value, bind(*found))
        case t.ResourceLet(xs, value, body):
            for x in (x[1:] for x in xs if x.startswith("!")):
                body = let(found[0], Var(x), found[1]) if (found := _pattern(x, body, names)) else body
            return t.ResourceLet(xs, value, body)
        case t.Letrec(functions, body):
            return t.Letrec(tuple([_parameter(f, names, known) for f in functions]), body)
    return term


def _parameter(f: t.Function, names: _Names, known: Declarations) -> t.Function:
    """One of letrec's functions, with a pattern for its parameter."""
    if (found := _pattern(f.parameter, f.body, names)) and _fits(found[0], f.type.argument, known):
        return t.Function(f.name, f.type, hidden(found[0]), bind(*found), f.parameters)
    return f


def _pattern(x: str, body: Term, names: _Names) -> tuple[Pattern, Term] | None:
    """The pattern for a variable, and the body with its names; None if the variable is used as a whole.

    The parts of x are named x and dx; the parts of a variable that a pattern hid, _x_y, keep their names.
    """
    found = names.uses(body).get(x, frozenset())
    paths = {path for path in found if not any(path[:k] in found for k in range(len(path)))}
    if not paths or () in paths:
        return None
    taken = ({*names.uses(body)} - {x}) | names.binders(body)
    called: dict[Path, str] = {}

    def pattern(path: Path, base: str | None) -> Pattern:
        """The pattern for the part at a path: a name, `_` for an unused part, or a pair of patterns."""
        base = base or names.given.get((x, path))
        if path in paths:
            name = base or "p"
            while name in taken:
                name += "'"
            taken.add(name)
            called[path] = name
            return name
        if not any(p[: len(path)] == path for p in paths):
            return "_"
        return pattern((*path, "fst"), base), pattern((*path, "snd"), base and f"d{base}")

    made = pattern((), None if x.startswith("_") else x)
    return made, _replace(body, x, called, names)


def _fits(pattern: Pattern, type_: Type, known: Declarations) -> bool:
    """Whether a type has a pair wherever the pattern has one."""
    exposed = known.expose(type_)
    if isinstance(pattern, str):
        return True
    return (
        isinstance(exposed, Pair)
        and _fits(pattern[0], exposed.first, known)
        and _fits(pattern[1], exposed.second, known)
    )


def _replace(term: Term, x: str, called: dict[Path, str], names: _Names) -> Term:
    """The term with names for the parts of x; if one path leads to another, the shorter one has the name."""
    if x not in names.uses(term):
        return term
    found = part(term)
    if found is not None:
        for k in range(len(found[1]) + 1):
            if found[1][:k] in called:
                made: Term = Var(called[found[1][:k]])
                for step in found[1][k:]:
                    made = t.Fst(made) if step == "fst" else t.Snd(made)
                return made
    return mapped(term, lambda s, bound: s if x in bound else _replace(s, x, called, names))
