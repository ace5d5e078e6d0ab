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
from collections.abc import Callable, Iterator

from stages.calculus.continuations.terms import Shift
from stages.calculus.deltas.terms import Do, Pure
from stages.calculus.language import terms as t
from stages.calculus.language.declarations import Declarations, Definition, Program
from stages.calculus.language.sugar import Pattern, bind, hidden, lambda_, let
from stages.calculus.language.terms import Term, Var, subterms
from stages.calculus.language.types import Pair, Type

__all__ = ["free", "readable"]

#: fst and snd, from the variable outwards.
Path = tuple[str, ...]


def readable(program: Program) -> Program:
    """Rewrite a program's term and definitions in readable form."""
    known = program.declarations
    definitions = tuple([Definition(d.name, d.type, _rewrite(d.term, known)) for d in program.definitions])
    return Program(_rewrite(program.term, known), known, definitions)


def _rewrite(term: Term, known: Declarations) -> Term:
    names: dict[tuple[str, Path], str] = {}
    try:
        return _patterns(_without_aliases(term, {}, names), names, known)
    except RecursionError:  # nested so deeply that nobody will read it
        return term


# Lets of variables and their parts


def _without_aliases(term: Term, known: dict[str, Term], names: dict[tuple[str, Path], str]) -> Term:
    """The term without lets of variables and projections; `names` collects the names of parts of variables."""
    if isinstance(term, Var):
        return known.get(term.name, term)
    if isinstance(term, t.ResourceLet):
        return _without_returns(term, known, names)
    if isinstance(term, Do):
        return _without_units(term, known, names)
    if isinstance(term, t.Let):
        return _let(term.name, _without_aliases(term.value, known, names), term.body, known, names)
    made = _map(term, lambda s, bound: _without_aliases(s, {x: v for x, v in known.items() if x not in bound}, names))
    match made:
        case t.Fst(t.Tuple(first, _)):
            return first
        case t.Snd(t.Tuple(_, second)):
            return second
    return made


def _let(name: str, value: Term, body: Term, known: dict[str, Term], names: dict[tuple[str, Path], str]) -> Term:
    """let name = value in body, for a value that has been rewritten: `known` must not be applied to it again."""
    floated = []
    while isinstance(value, t.Let) and value.name not in _needed(body, known):
        floated.append((value.name, value.value))
        value = value.body
    part = _part(value)
    if _is_alias(value, name, body):
        if part is not None and part[1] and not name.startswith("_"):
            names.setdefault(part, name)
        made = _without_aliases(body, {**known, name: value}, names)
    else:
        inner = {x: v for x, v in known.items() if x != name}
        made = t.Let(name, value, _without_aliases(body, inner, names))
    for x, bound in reversed(floated):
        made = t.Let(x, bound, made)
    return made


def _without_returns(term: t.ResourceLet, known: dict[str, Term], names: dict[tuple[str, Path], str]) -> Term:
    """letR (!x, w) = (!s, v) in t as let x = s in t, with v in place of w; bindings of the value go first."""
    value = _without_aliases(term.value, known, names)
    floated: list[t.Let | t.ResourceLet] = []
    while isinstance(value, (t.Let, t.ResourceLet)) and not _bound(value) & _needed(term.body, known):
        floated.append(value)
        value = value.body
    inner = {x: v for x, v in known.items() if x not in _bound(term)}
    made: Term
    match term.names, value:
        case (x, w), t.Tuple(t.Of(s), Var(v)) if x.startswith("!") and not _rebinds(term.body, v):
            made = _let(x[1:], s, term.body, {**inner, w: value.second}, names)
        case _:
            made = t.ResourceLet(term.names, value, _without_aliases(term.body, inner, names))
    for outer in reversed(floated):
        made = dataclasses.replace(outer, body=made)
    return made


def _without_units(term: Do, known: dict[str, Term], names: dict[tuple[str, Path], str]) -> Term:
    """do {x <- pure s; t} as let x = s in t; the statements of an inner do go before the outer ones."""
    value = _without_aliases(term.value, known, names)
    floated: list[t.Let | Do] = []
    while isinstance(value, (t.Let, Do)) and value.name not in _needed(term.body, known):
        floated.append(value)
        value = value.body
    inner = {x: v for x, v in known.items() if x != term.name}
    made: Term
    if isinstance(value, Pure):
        made = _let(term.name, value.content, term.body, inner, names)
    else:
        made = Do(term.name, value, _without_aliases(term.body, inner, names))
    for outer in reversed(floated):
        made = dataclasses.replace(outer, body=made)
    return made


def _needed(body: Term, known: dict[str, Term]) -> set[str]:
    """The free variables of a term after the substitution `known`."""
    own = free(body)
    return own | {y for x, value in known.items() if x in own for y in free(value)}


def _is_alias(value: Term, x: str, body: Term) -> bool:
    """Whether to replace x by its value: a part of a variable, or a pair of such parts that the body takes apart."""
    parts = [_part(value)] if not isinstance(value, t.Tuple) else [_part(value.first), _part(value.second)]
    if any(part is None or _rebinds(body, part[0]) for part in parts):
        return False
    return len(parts) == 1 or () not in set(_raw_uses(x, body))


def _part(term: Term) -> tuple[str, Path] | None:
    """The variable and the path that a projection of a variable is."""
    path: Path = ()
    while isinstance(term, (t.Fst, t.Snd)):
        path = ("fst" if isinstance(term, t.Fst) else "snd", *path)
        term = term.pair
    return (term.name, path) if isinstance(term, Var) else None


# Patterns


def _patterns(term: Term, names: dict[tuple[str, Path], str], known: Declarations) -> Term:
    """The term with patterns for variables that are used by parts."""
    term = _map(term, lambda s, _: _patterns(s, names, known))
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


def _parameter(f: t.Function, names: dict[tuple[str, Path], str], known: Declarations) -> t.Function:
    """One of letrec's functions, with a pattern for its parameter."""
    if (found := _pattern(f.parameter, f.body, names)) and _fits(found[0], f.type.argument, known):
        return t.Function(f.name, f.type, hidden(found[0]), bind(*found), f.parameters)
    return f


def _pattern(x: str, body: Term, names: dict[tuple[str, Path], str]) -> tuple[Pattern, Term] | None:
    """The pattern for a variable, and the body with its names; None if the variable is used as a whole.

    The parts of x are named x and dx; the parts of a variable that a pattern hid, _x_y, keep their names.
    """
    paths = set(_uses(x, body))
    if not paths or () in paths:
        return None
    taken = (free(body) - {x}) | {v for s in _all(body) for v in _bound(s)}
    called: dict[Path, str] = {}

    def pattern(path: Path, base: str | None) -> Pattern:
        """The pattern for the part at a path: a name, `_` for an unused part, or a pair of patterns."""
        base = base or names.get((x, path))
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
    return made, _replace(body, x, called)


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


def _uses(x: str, term: Term) -> Iterator[Path]:
    """The paths of all uses of a variable; if one path leads to another, only the shorter one."""
    found = set(_raw_uses(x, term))
    for path in found:
        if not any(path[:k] in found for k in range(len(path))):
            yield path


def _raw_uses(x: str, term: Term) -> Iterator[Path]:
    part = _part(term)
    if part is not None:
        if part[0] == x:
            yield part[1]
        return
    for s, bound in _inside(term):
        if x not in bound:
            yield from _raw_uses(x, s)


def _replace(term: Term, x: str, called: dict[Path, str]) -> Term:
    part = _part(term)
    if part is not None and part[0] == x:
        for k in range(len(part[1]) + 1):
            if part[1][:k] in called:
                made: Term = Var(called[part[1][:k]])
                for step in part[1][k:]:
                    made = t.Fst(made) if step == "fst" else t.Snd(made)
                return made
    return _map(term, lambda s, bound: s if x in bound else _replace(s, x, called))


# Terms with their binders


def _bound(term: Term) -> set[str]:
    """The names that a term binds in some of its parts."""
    return {name for _, bound in _inside(term) for name in bound}


def _inside(term: Term) -> Iterator[tuple[Term, frozenset[str]]]:
    """The parts of a term, each with the names that are bound there."""
    match term:
        case t.Lambda(x, _, body) | t.LinearLambda(x, _, body) | t.ResourceLambda(x, _, body):
            yield body, frozenset({x})
        case Shift(x, _, body):
            yield body, frozenset({x})
        case Do(x, value, body):
            yield value, frozenset()
            yield body, frozenset({x})
        case t.Let(x, value, body):
            yield value, frozenset()
            yield body, frozenset({x})
        case t.ResourceLet(xs, value, body):
            yield value, frozenset()
            yield body, frozenset(x.removeprefix("!") for x in xs)
        case t.Letrec(functions, body):
            own = frozenset(f.name for f in functions)
            yield from ((f.body, own | {f.parameter}) for f in functions)
            yield body, own
        case t.Case(scrutinee, branches):
            yield scrutinee, frozenset()
            yield from ((b.body, frozenset(b.variables)) for b in branches)
        case _:
            yield from ((s, frozenset()) for s in subterms(term))


def _map(term: Term, change: Callable[[Term, frozenset[str]], Term]) -> Term:
    """Apply `change` to all parts of a term: change(part, names that are bound there)."""
    parts = iter([change(s, bound) for s, bound in _inside(term)])
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
    return dataclasses.replace(term, **fields) if fields else term


def _all(term: Term) -> Iterator[Term]:
    yield term
    for s in subterms(term):
        yield from _all(s)


def free(term: Term) -> set[str]:
    """The free variables of a term."""
    if isinstance(term, Var):
        return {term.name}
    return {x for s, bound in _inside(term) for x in free(s) - bound}


def _rebinds(term: Term, x: str) -> bool:
    return any(x in _bound(s) for s in _all(term))
