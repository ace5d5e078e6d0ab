r"""The places where linear(t) may occur: where a rule of the paper makes it, and nowhere else.

    linear(\(z : s). b + e)         b is a linear body in z, and e a 0 with the structure of the input (note 8): it is
                                    made of 0.0, 0, (), pairs, constructors, case, let and functions that return such
    linear(\(z : s). R[d z])        d : s -o u gives delayed calls, and R passes them to the functions that resolve them
    f : s -o c = linear(t)          a definition that takes delayed calls: SResolve itself

The first form is proved linear here. In the other two, the checker trusts that the function which resolves delayed
calls is linear (sections 4, 5 and 7): types do not show it. The accumulators of Efficient CHAD count as delayed calls:
`take` empties one, and passes its content on. R consists of applications, \ and \R, and freeze.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from stages.calculus.checker.formation import Environment, Formation, Hidden
from stages.calculus.checker.linear import Bodies
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Declarations, Definition
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.terms import Term
from stages.calculus.language.types import Type

__all__ = ["is_claim", "resolves"]

WHY = (
    "linear(..) stands only where a rule needs it: around the addition of a 0 to a linear body, and around what"
    r" resolves delayed calls; write \_(z : t). b, which the checker can see to be linear"
)


def resolves(definition: Definition, known: Declarations) -> bool:
    """Whether a definition is f : s -o c = linear(t) with delayed calls in s."""
    kind = known.expose(definition.type)
    return (
        isinstance(definition.term, t.Claim) and isinstance(kind, ty.Linear) and has_delayed_calls(kind.argument, known)
    )


def is_claim(checker: Formation, term: t.Claim, env: Environment) -> None:
    """Refuse a claim that no rule makes."""
    functions = {name: d.term for name, d in checker.definitions.items() if env.get(name) is d.type}
    match term.function:
        case t.Lambda(z, type_, t.Plus(body, zero)) if not _has(zero, z) and is_zero(zero, functions):
            Bodies(checker).rule(body, env, {z: type_})
        case t.Lambda(z, type_, body) if (found := _hole(body, z)) is not None:
            kind = checker.declarations.expose(checker.infer(found, {**env, z: Hidden("it is linear")}))
            if not (isinstance(kind, ty.Linear) and has_delayed_calls(kind.result, checker.declarations)):
                raise IllTyped(term, WHY)
        case _:
            raise IllTyped(term, WHY)


def has_delayed_calls(type_: Type, known: Declarations, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a type contains a collection of delayed calls, or of their arguments."""
    if isinstance(type_, ty.Named):
        if type_.name in seen:
            return False
        seen |= {type_.name}
        type_ = known.expose(type_)
    if isinstance(type_, (ty.Map, ty.Array)):
        return True
    return any(has_delayed_calls(part, known, seen) for part in ty.parts(type_))


def _hole(body: Term, z: str) -> Term | None:
    """The function d of a body R[d z] without other uses of z; None for other bodies."""
    match body:
        case t.Apply(d, t.Var(name)) if name == z and not _has(d, z):
            return d
        case t.Apply(left, right):
            outer, inner = (left, right) if _has(right, z) else (right, left)
            return None if _has(outer, z) else _hole(inner, z)
        case t.ResourceLambda(name, _, inner) | t.Lambda(name, _, inner) if name != z and _has(inner, name):
            return _hole(inner, z)
        case t.Primitive("freeze", (inner,)):
            return _hole(inner, z)
    return None


def _has(term: Term, x: str) -> bool:
    """Whether a name occurs in a term."""
    return (isinstance(term, t.Var) and term.name == x) or any(_has(part, x) for part in t.subterms(term))


def is_zero(e: Term, functions: Mapping[str, Term], trusted: frozenset[str] = frozenset()) -> bool:
    """Whether a term is a 0 of any structure; a function is trusted while its own body is checked."""
    match e:
        case t.Literal(value) | t.Integer(value):
            return value == 0
        case t.Star() | t.Zero():
            return True
        case t.Tuple() | t.Con():
            return all(is_zero(part, functions, trusted) for part in t.subterms(e))
        case t.Case(_, branches):
            inner = [(b.body, _without(functions, b.variables)) for b in branches]
            return all(is_zero(body, known, trusted) for body, known in inner)
        case t.Let(x, _, body):
            return is_zero(body, _without(functions, (x,)), trusted)
        case t.Apply(t.Var(name), _) if name in functions:
            made = functions[name]
            return name in trusted or (
                isinstance(made, t.Lambda) and is_zero(made.body, _without(functions, (made.name,)), trusted | {name})
            )
    return False


def _without(functions: Mapping[str, Term], names: Iterable[str]) -> Mapping[str, Term]:
    return {name: made for name, made in functions.items() if name not in names}
