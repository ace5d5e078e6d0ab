r"""The types of cells and of delimited control.

    G |- e : t               G |- e : Ref t           G |- e : Ref t   G |- e' : t
    -----------------        ---------------          -----------------------------
    G |- ref(e) : Ref t      G |- !e : t              G |- e := e' : ()

    G, k : t -> () |- e : ()                  G |- e : ()                 G |- e : R -> R   G |- e' : R
    ---------------------------------         ------------------          -----------------------------
    G |- shift k : t in e : t                 G |- reset(e) : ()          G |- grad(e, e') : R

The discipline is restricted: the only answer type is (), which suffices for reverse AD (the paper's continuations have
the type NumR => Unit). Types do not show whether a term shifts: a shift without a reset is a run-time error. A cell
holds no resources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stages.calculus.checker.formation import Environment, Formation, Hidden
from stages.calculus.continuations.terms import Assign, Gradient, Read, Ref, Reset, Shift
from stages.calculus.language import types as ty
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.types import Type
from stages.calculus.text.printer import show_type

__all__ = ["RULES"]

ANSWER = ty.UNIT
_WHY = "what is read and written later uses no resource"


def _ref(checker: Formation, term: Ref, env: Environment) -> Type:
    found = checker.infer(term.content, env)
    checker.unrestricted(term, "a cell's content", found)
    return ty.Cell(found)


def _content(checker: Formation, cell: Any, env: Environment) -> Type:
    found = checker.declarations.expose(checker.infer(cell, env))
    if not isinstance(found, ty.Cell):
        raise IllTyped(cell, f"only cells are read and written, and this is {show_type(found)}: make one by ref(..)")
    return found.content


def _read(checker: Formation, term: Read, env: Environment) -> Type:
    return _content(checker, term.cell, env)


def _assign(checker: Formation, term: Assign, env: Environment) -> Type:
    wanted = _content(checker, term.cell, env)
    checker.expect(term.content, checker.infer(term.content, env), wanted, "the content of this cell")
    return ty.UNIT


def _shift(checker: Formation, term: Shift, env: Environment) -> Type:
    kind = checker.form(term, term.type)
    found = checker.infer(term.body, {**env, term.name: ty.Arrow(kind, ANSWER)})
    checker.expect(term.body, found, ANSWER, "the body of a shift (there is one type of answers)")
    return kind


def _reset(checker: Formation, term: Reset, env: Environment) -> Type:
    checker.expect(term.body, checker.infer(term.body, env), ANSWER, "what stands in reset (its answer)")
    return ANSWER


def _gradient(checker: Formation, term: Gradient, env: Environment) -> Type:
    checker.expect(term.function, checker.infer(term.function, env), ty.Arrow(ty.REAL, ty.REAL), "grad's function")
    checker.expect(term.argument, checker.infer(term.argument, env), ty.REAL, "the place of a derivative")
    return ty.REAL


_TYPES: dict[type, Callable[..., Type]] = {
    Ref: _ref,
    Read: _read,
    Assign: _assign,
    Shift: _shift,
    Reset: _reset,
    Gradient: _gradient,
}


def _rule(kind: Callable[..., Type]) -> Callable[..., Type]:
    """The rule, with all resources in scope hidden."""

    def rule(checker: Formation, term: Any, env: Environment, held: Environment) -> Type:
        """Apply the rule where resources must not be used."""
        return kind(checker, term, {**env, **{x: Hidden(_WHY) for x in held}})

    return rule


#: The rules by class of terms, for check.py: of checker, term, variables, and resources.
RULES: Mapping[type, Callable[..., Type]] = {kind: _rule(rule) for kind, rule in _TYPES.items()}
