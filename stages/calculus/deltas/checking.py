r"""The types of monadic operations.

    G |- e : t           G |- e : s -> (t, s)    G, x : t |- e' : s -> (u, s)    G |- v : Vector (s -> (t, s))
    -----------------    -----------------------------------------------------   -------------------------------------
    G |- pure e : M t    G |- do {x <- e; e'} : s -> (u, s)                      G |- sequence(v) : s -> (Vector t, s)

and likewise for s ->R (!t, s). If the argument's type was written M t, so is the result's. A computation holds no
resources, so it may run at any time, or never.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stages.calculus.checker.formation import Environment, Formation, Hidden
from stages.calculus.deltas.terms import Do, InSequence, Pure
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Declarations, Synonym
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.kinds import same
from stages.calculus.language.terms import Term
from stages.calculus.language.types import Type
from stages.calculus.text.printer import show_type

__all__ = ["RULES"]


def computed(kind: Type, known: Declarations) -> tuple[Type, Type] | None:
    """The types of a computation's state and result; None for other types."""
    match known.expose(kind):
        case ty.Arrow(state, result):
            pair = known.expose(result)
            if isinstance(pair, ty.Pair) and same(pair.second, state, known):
                return state, pair.first
        case ty.Resource(state, result):
            pair = known.expose(result)
            if isinstance(pair, ty.Pair) and isinstance(pair.first, ty.Bang) and same(pair.second, state, known):
                return state, pair.first.content
    return None


def _run(checker: Formation, term: Term, env: Environment) -> tuple[Type, Type, Type]:
    """The type of a computation, and of its state and result."""
    kind = checker.infer(term, env)
    found = computed(kind, checker.declarations)
    if found is None:
        raise IllTyped(
            term, f"this is {show_type(kind)}, and no computation s → (t, s): write pure in front of a value"
        )
    return kind, *found


def _pure(checker: Formation, term: Pure, env: Environment) -> Type:
    found = checker.infer(term.content, env)
    checker.unrestricted(term.content, "the value of pure", found)
    declared = checker.declarations.types.get(term.monad)
    if not isinstance(declared, Synonym) or len(declared.parameters) != 1:
        raise IllTyped(term, f"pure e has type {term.monad} t, and no type {term.monad} a = s → (a, s) is declared")
    kind = checker.form(term, ty.Named(term.monad, (found,)))
    if computed(kind, checker.declarations) is None:
        raise IllTyped(term, f"{show_type(kind)} is no type of computations, s → (t, s)")
    return kind


def _do(checker: Formation, term: Do, env: Environment) -> Type:
    """The type of a do, in a loop, since chains of statements are as long as the program."""
    body: Term = term
    states: list[tuple[Term, Type, Type]] = []
    while isinstance(body, Do):
        kind, state, result = _run(checker, body.value, env)
        checker.unrestricted(body.value, body.name, result)
        states.append((body.value, state, kind))
        env, body = {**env, body.name: result}, body.body
    found, state, _ = _run(checker, body, env)
    arrow = type(checker.declarations.expose(found))
    for value, other, kind in states:
        if not same(other, state, checker.declarations) or type(checker.declarations.expose(kind)) is not arrow:
            raise IllTyped(
                value, f"this is {show_type(kind)}, and the last statement is {show_type(found)}: another monad"
            )
    return found


def _sequence(checker: Formation, term: InSequence, env: Environment) -> Type:
    kind = checker.declarations.expose(checker.infer(term.computations, env))
    found = computed(kind.element, checker.declarations) if isinstance(kind, ty.Vector) else None
    if found is None or not isinstance(kind, ty.Vector):
        raise IllTyped(term.computations, f"sequence takes a Vector of computations, and this is {show_type(kind)}")
    state, result = found
    vector = checker.form(term, ty.Vector(result))
    match kind.element:
        case ty.Named(name, (content,)) if same(content, result, checker.declarations):
            return ty.Named(name, (vector,))
    if isinstance(checker.declarations.expose(kind.element), ty.Resource):
        return ty.Resource(state, ty.Pair(ty.Bang(vector), state))
    return ty.Arrow(state, ty.Pair(vector, state))


_WHY = "a computation, which may run at any time, holds no resource"


def _rule(kind: Callable[..., Type]) -> Callable[..., Type]:
    """The rule, with all resources in scope hidden."""

    def rule(checker: Formation, term: Any, env: Environment, held: Environment) -> Type:
        """Apply the rule where resources must not be used."""
        return kind(checker, term, {**env, **{x: Hidden(_WHY) for x in held}})

    return rule


#: The rules by class of terms, for check.py: of checker, term, variables, and resources.
RULES: Mapping[type, Callable[..., Type]] = {Pure: _rule(_pure), Do: _rule(_do), InSequence: _rule(_sequence)}
