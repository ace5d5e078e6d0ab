r"""Forward AD with tags: Wang et al. 2019, section 2.5, as a program transformation.

    data Num = V R | F Num Num Int      a number; or a value, its tangent, and the tag of the derivative it belongs to
    D[R] = Num                          D[r] = V(r)
    D[op(e1, .., en)] = op (D[e1], .., D[en])                       for the function op of Num below
    D[grad(f, x)] = let i = !tags in let _ = tags := i + 1 in tangent (D[f] (F(D[x], V(1), i)), i)
    everything else keeps its structure

    tag V(r) = -1                       tag F(x, d, j) = j
    primal (V(r), i) = V(r)             primal (F(x, d, j), i) = x if j = i, or F(x, d, j)
    tangent (V(r), i) = V(0)            tangent (F(x, d, j), i) = d if j = i, or V(0)
    value V(r) = r                      value F(x, d, j) = value x
    op (x1, .., xn) = let i = the highest tag of x1, .., xn in if i < 0 then V(op(value x1, .., value xn))
                      else let yk = primal (xk, i) in let y = op (y1, .., yn) in
                           F(y, tangent (x1, i) * p1 + .. + tangent (xn, i) * pn, i)
    Transform[\(x : s). e] = \(x, dx : (s, s)). let tags = ref 1 in (value D[e], value (tangent (D[e], 0)))
                             where x is F(V(x), V(dx), 0)

An operation belongs to the latest derivative among its arguments; numbers of earlier derivatives are constants to it.
So captured numbers are not confused: grad(\x. x * grad(\y. x + y, 1), 1) is 1, where Fig. 5 gives 2 (fig4 in table.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stages.calculus.continuations.forward import WithCells
from stages.calculus.continuations.partials import partial
from stages.calculus.continuations.terms import Assign, Gradient, Read, Ref
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Declarations, Definition, Synonym
from stages.calculus.language.discrete import DISCRETE
from stages.calculus.language.sugar import Pattern, if_, lambda_
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.forward import Forward

__all__ = ["Tagged"]


class Tagged(WithCells, Forward):
    """Forward AD with tags: section 2.5."""

    name = "tagged"
    language = "cells"
    reads = "nested"

    def __init__(self, c: Type, declarations: Declarations | None = None, taken: frozenset[str] = frozenset()) -> None:
        super().__init__(c, declarations, taken)
        self.operations: dict[str, Definition] = {}  # the functions of Num for those that the program has

    def scalar(self) -> Type:
        """D[R] = Num"""
        return self.own_type("Num")

    def synonyms(self) -> Mapping[str, DataType | Synonym]:
        """data Num = V R | F Num Num Int"""
        num = self.own_type("Num")
        constructors = (Constructor("V", (ty.REAL,)), Constructor("F", (num, num, ty.INT)))
        return {num.name: DataType(num.name, (), constructors)}

    # Terms

    def term(self, term: Term) -> Term:
        """D[e]"""
        match term:
            case t.Operation(op, arguments):
                return self.operated(op, [self.term(a) for a in arguments])
            case Gradient(f, x):
                i, tags = self.fresh("i"), self.own("tags")
                seeded = self.dual(self.term(x), self.constant(t.Literal(1.0)), Var(i))
                step = Assign(tags, t.Discrete("+#", (Var(i), t.Integer(1))))
                derivative = self.call("tangent", t.Apply(self.term(f), seeded), Var(i))
                return t.Let(i, Read(tags), t.Let("_", step, derivative))
        return super().term(term)

    def constant(self, r: Term) -> Term:
        """V(r)"""
        return t.Con(self.scalar(), "V", (r,))

    def dual(self, x: Term, d: Term, i: Term) -> Term:
        """F(x, d, i)"""
        return t.Con(self.scalar(), "F", (x, d, i))

    def discrete(self, term: t.Discrete) -> Term:
        """An operation with a discrete result, on the values; `real` makes a constant."""
        line = DISCRETE[term.name]
        parts = [self.term(a) for a in term.arguments]
        if ty.REAL in line.arguments:
            parts = [self.call("value", part) for part in parts]
        made = t.Discrete(term.name, tuple(parts))
        return self.constant(made) if line.result == ty.REAL else made

    def call(self, name: str, *arguments: Term) -> Term:
        """A call of one of the functions of `interface`."""
        return t.Apply(self.own(name), _tuple(list(arguments)))

    def operated(self, op: str, arguments: list[Term]) -> Term:
        """A call of the function for an operation, which is defined on first use."""
        name = self.own(f"{op}'").name
        if name not in self.operations:
            kind = ty.Arrow(_product([self.scalar()] * len(arguments)), self.scalar())
            self.operations[name] = Definition(name, kind, Var(name))
            self.operations[name] = Definition(name, kind, self.lifted(op, len(arguments)))
        return t.Apply(Var(name), _tuple(arguments))

    # The functions of Num

    def lifted(self, op: str, n: int) -> Term:
        """The function for an operation."""
        xs, ys = [Var(self.fresh("x")) for _ in range(n)], [Var(self.fresh("y")) for _ in range(n)]
        i, y = Var(self.fresh("i")), Var(self.fresh("y"))
        partials = [self.term(partial(op, k, ys, y)) for k in range(n)]
        one = self.constant(t.Literal(1.0))
        sums = [
            d if p == one else self.operated("mul", [d, p])
            for p, d in zip(partials, [self.call("tangent", x, i) for x in xs], strict=True)
        ]
        tangent = sums[0]
        for part in sums[1:]:
            tangent = self.operated("add", [tangent, part])
        inner: Term = t.Let(y.name, self.operated(op, list(ys)), self.dual(y, tangent, i))
        for x, own in reversed(list(zip(xs, ys, strict=True))):
            inner = t.Let(own.name, self.call("primal", x, i), inner)
        plain = self.constant(t.Operation(op, tuple([self.call("value", x) for x in xs])))
        body: Term = if_(t.Discrete("<#", (i, t.Integer(0))), plain, inner)
        return lambda_(_pattern([x.name for x in xs]), _product([self.scalar()] * n), self.highest(xs, i, body))

    def highest(self, xs: list[Var], i: Var, body: Term) -> Term:
        """let i = the highest tag in body"""
        best = self.call("tag", xs[0])
        for x in xs[1:]:
            a, b = Var(self.fresh("i")), Var(self.fresh("i"))
            higher = if_(t.Discrete("<#", (a, b)), b, a)
            best = t.Let(a.name, best, t.Let(b.name, self.call("tag", x), higher))
        return t.Let(i.name, best, body)

    def interface(self) -> tuple[Definition, ...]:
        """tag, primal, tangent and value, and the operations."""
        num = self.scalar()
        x, r, d, i, j = (Var(self.fresh(name)) for name in ("x", "r", "d", "i", "j"))

        def cases(plain: Term, dual: Term) -> Term:
            """case n of {V(r) -> plain; F(x, d, j) -> dual}"""
            value, tangent = t.Branch("V", (r.name,), plain), t.Branch("F", (x.name, d.name, j.name), dual)
            return t.Case(Var("n"), (value, tangent))

        def one(name: str, result: Type, body: Term) -> Definition:
            """A function of a Num n."""
            return Definition(self.own(name).name, ty.Arrow(num, result), t.Lambda("n", num, body))

        def two(name: str, body: Term) -> Definition:
            """A function of a Num n and a tag i."""
            given = ty.Pair(num, ty.INT)
            return Definition(self.own(name).name, ty.Arrow(given, num), lambda_(("n", i.name), given, body))

        same, zero = t.Discrete("==#", (j, i)), self.constant(t.Literal(0.0))
        whole = if_(same, x, self.dual(x, d, j))
        return (
            one("tag", ty.INT, cases(t.Integer(-1), j)),
            two("primal", cases(self.constant(r), whole)),
            two("tangent", cases(zero, if_(same, d, zero))),
            one("value", ty.REAL, cases(r, self.call("value", x))),
            *self.operations.values(),
        )

    # Transform

    def zip(self, type_: Type, x: Term, dx: Term) -> Term:
        """F(V(x), V(dx), 0) for a real; otherwise Interleave of Fig. 4."""
        if isinstance(self.source.expose(type_), ty.Real):
            return self.dual(self.constant(x), self.constant(dx), t.Integer(0))
        return super().zip(type_, x, dx)

    def unzip(self, type_: Type, x: Term) -> Term:
        """(value x, value (tangent (x, 0))) for a real; otherwise Deinterleave of Fig. 4."""
        if isinstance(self.source.expose(type_), ty.Real):
            return t.Tuple(self.call("value", x), self.call("value", self.call("tangent", x, t.Integer(0))))
        return super().unzip(type_, x)

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        """let tags = ref 1 in .."""
        return self.around(super().wrapped(x, source, target, inner))

    def around(self, made: Term) -> Term:
        """let tags = ref 1 in .."""
        return t.Let(self.own("tags").name, Ref(t.Integer(1)), made)


def _tuple(terms: list[Term]) -> Term:
    made = terms[-1]
    for term in reversed(terms[:-1]):
        made = t.Tuple(term, made)
    return made


def _product(kinds: list[Type]) -> Type:
    made = kinds[-1]
    for kind in reversed(kinds[:-1]):
        made = ty.Pair(kind, made)
    return made


def _pattern(names: list[str]) -> Pattern:
    made: Pattern = names[-1]
    for name in reversed(names[:-1]):
        made = (name, made)
    return made
