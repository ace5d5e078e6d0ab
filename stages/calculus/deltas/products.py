r"""The dot product, a family of functions with one for each type. Krawiec et al. 2022, Fig. 1 and Fig. 16.

    dot_t : (t, t) -> R
    dot_R (u, v)            = u v
    dot_() = dot_Int (u, v) = 0                                       discrete types have no scalars
    dot_(s, t) (u, v)       = dot_s (fst u, fst v) + dot_t (snd u, snd v)
    dot_T (u, v)            = case u of {C(x1, .., xn) -> case v of {C(y1, .., yn) -> dot (x1, y1) + .. + dot (xn, yn);
                                                                    the other constructors -> 0}; ..}

A sum or data type T has a function of its own, which a recursive type calls. The paper's wrapper differentiates
dot_t (f s, dt): its derivative by s, at the cotangent 1, is the derivative of f at the cotangent dt.
"""

from __future__ import annotations

from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, Declarations, Definition
from stages.calculus.language.sugar import lambda_
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Dots"]

ZERO = t.Literal(0.0)


class Dots:
    """The functions dot0, dot1, .. for the sums and data types of a program, made when a term needs them."""

    def __init__(self, declarations: Declarations) -> None:
        self.declarations = declarations
        self.functions: dict[Type, Definition] = {}

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """The functions so far."""
        return tuple(self.functions.values())

    def dot(self, type_: Type, u: Term, v: Term) -> Term:
        """dot_t (u, v), for terms that may be written more than once."""
        match exposed := self.declarations.expose(type_):
            case ty.Real():
                return t.Operation("mul", (u, v))
            case ty.Unit() | ty.Int():
                return ZERO
            case ty.Pair(first, second):
                parts = ((first, t.Fst(u), t.Fst(v)), (second, t.Snd(u), t.Snd(v)))
                return total([self.dot(*part) for part in parts])
        return t.Apply(Var(self.function(exposed)), t.Tuple(u, v))

    def function(self, type_: Type) -> str:
        """The name of dot_T, which is defined at its first use."""
        if type_ not in self.functions:
            name, kind = f"dot{len(self.functions)}", ty.Arrow(ty.Pair(type_, type_), ty.REAL)
            self.functions[type_] = Definition(name, kind, Var(name))  # T may refer to itself
            body = lambda_(("u", "v"), kind.argument, self.cases(type_))
            self.functions[type_] = Definition(name, kind, body)
        return self.functions[type_].name

    def cases(self, type_: Type) -> Term:
        """Case u of {.. case v of ..}"""
        constructors = self.declarations.constructors(type_)
        assert constructors is not None, f"no sum or data type: {type_}"

        def names(letter: str, c: Constructor) -> tuple[str, ...]:
            return tuple(f"{letter}{k}" for k in range(len(c.fields)))

        def same(c: Constructor) -> Term:
            """The sum over the fields of a constructor."""
            fields = zip(c.fields, names("x", c), names("y", c), strict=True)
            return total([self.dot(field, Var(x), Var(y)) for field, x, y in fields])

        branches = []
        for c in constructors:
            inner = [t.Branch(d.name, names("y", d), same(c) if d == c else ZERO) for d in constructors]
            branches.append(t.Branch(c.name, names("x", c), t.Case(Var("v"), tuple(inner))))
        return t.Case(Var("u"), tuple(branches))


def total(terms: list[Term]) -> Term:
    """t1 + .. + tn, without zeros."""
    terms = [term for term in terms if term != ZERO] or [ZERO]
    made = terms[0]
    for term in terms[1:]:
        made = t.Operation("add", (made, term))
    return made
