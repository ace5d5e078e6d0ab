r"""D1, the naive transformation: Figs. 6 and 7.

    D[R] = (R, R -o c)

    D[x : t] = x : D[t]              D[()] = ()                        D[(s, t)] = (D[s], D[t])
    D[fst(t)] = fst(D[t])            D[snd(t)] = snd(D[t])             D[s t] = D[s] D[t]
    D[\(x : s). t] = \(x : D[s]). D[t]                                 D[let x = s in t] = let x = D[s] in D[t]
    D[r] = (r, \_(z : R). 0)
    D[op(t1, .., tn)] = let (x1, d1) = D[t1] in .. in let (xn, dn) = D[tn]
                        in (op(x1, .., xn), \_(z : R). d1 (d1op(x1, .., xn)(z)) + .. + dn (dnop(x1, .., xn)(z)))

    Interleave_t : (t, t -o c) -> D[t]                                 Deinterleave_t : D[t] -> (t, t -o c)
    Interleave_R = \(x, d). (x, d)                                     Deinterleave_R = \(x, d). (x, d)
    Interleave_() = \((), d). ()                                       Deinterleave_() = \(). ((), \_(z : ()). 0)
    Interleave_(s, t) = \((x, y), d). (Interleave_s (x, \_(z : s). d (z, 0)), Interleave_t (y, \_(z : t). d (0, z)))
    Deinterleave_(s, t) = \(x, y). let (x1, x2) = Deinterleave_s x in let (y1, y2) = Deinterleave_t y
                                   in ((x1, y1), \_(z : (s, t)). x2 (fst z) + y2 (snd z))
    Interleave_Int = \(n, d). n                                        Deinterleave_Int = \n. (n, \_(z : Int). 0)
    Wrap[\(x : s). t] = \(x : s). let x = Interleave_s (x, \_(z : s). z) in Deinterleave_t (D[t])

    Deinterleave_(Vector t) = \v. let w = map Deinterleave_t v in (map fst w, \_(z : Vector t). fanin (map snd w) z 0)

Section 9 adds sums, data types and letrec, which keep their structure, too, as vectors do (vectors.py). For an input x
of such a type s, Wrap adds zeros x, a 0 with the structure of x, which 0 : s does not have (note 8); s must not contain
vectors.
"""

from __future__ import annotations

from collections.abc import Callable

from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor
from stages.calculus.language.discrete import DISCRETE
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.sugar import lambda_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.transform import Transformation

__all__ = ["D1"]


class D1(Transformation):
    """The naive transformation: Figs. 6 and 7."""

    name = "D1"
    language = "D1"

    def scalar(self) -> Type:
        """D[R] = (R, R -o c)"""
        return ty.Pair(ty.REAL, ty.Linear(ty.REAL, self.c))

    def arrow(self, argument: Type, result: Type) -> Type:
        """D[s -> t] = D[s] -> D[t]"""
        return ty.Arrow(argument, result)

    def term(self, term: Term) -> Term:
        """D[t]"""
        match term:
            case t.Var() | t.Star() | t.Integer():
                return term
            case t.Instance(function, types):
                return t.Instance(function, tuple([self.type(s) for s in types]))
            case t.Tuple(first, second):
                return t.Tuple(self.term(first), self.term(second))
            case t.Fst(pair):
                return t.Fst(self.term(pair))
            case t.Snd(pair):
                return t.Snd(self.term(pair))
            case t.Apply(function, argument):
                return t.Apply(self.term(function), self.term(argument))
            case t.Lambda(x, type_, body):
                return t.Lambda(x, self.type(type_), self.term(body))
            case t.Let():
                return self.lets(term)
            case t.Literal():
                return self.constant(term)
            case t.Operation():
                return self.scalars(term.arguments, lambda xs, ds: self.operation(term.name, xs, ds))
            case t.Discrete():
                return self.discrete(term)
            case t.Primitive(name, arguments):
                return t.Primitive(name, tuple([self.term(a) for a in arguments]))
            case t.Letrec(functions, body):
                return t.Letrec(tuple([self.function(f) for f in functions]), self.term(body))
            case t.Con(type_, name, arguments):
                return self.constructor(type_, name, tuple([self.term(a) for a in arguments]))
            case t.Case(scrutinee, branches):
                made = [t.Branch(self.image(b.name), b.variables, self.term(b.body)) for b in branches]
                return t.Case(self.term(scrutinee), tuple(made))
        raise AssertionError(term)

    def lets(self, term: Term) -> Term:
        """D[let x = s in t], for a chain of lets."""
        chain = []
        while isinstance(term, t.Let):
            chain.append((term.name, self.term(term.value)))
            term = term.body
        made = self.term(term)
        for x, value in reversed(chain):
            made = t.Let(x, value, made)
        return made

    def constant(self, r: Term) -> Term:
        """D[r]"""
        return t.Tuple(r, t.LinearLambda(self.fresh("z"), ty.REAL, t.Zero(self.c), "D[r]"))

    def scalars(self, arguments: tuple[Term, ...], use: Callable[[list[Var], list[Var]], Term]) -> Term:
        """let (x1, d1) = D[t1] in .. in use(x1..xn, d1..dn)"""
        names = [(self.fresh("x"), self.fresh("d")) for _ in arguments]
        made = use([Var(x) for x, _ in names], [Var(d) for _, d in names])
        for pattern, argument in zip(reversed(names), reversed(arguments), strict=True):
            made = let(pattern, self.term(argument), made)
        return made

    def operation(self, op: str, xs: list[Var], ds: list[Var]) -> Term:
        """(op(x1, .., xn), the backpropagator)"""
        z, args = self.fresh("z"), tuple(xs)
        sums: list[Term] = [t.Apply(d, t.Partial(op, k, args, Var(z))) for k, d in enumerate(ds, 1)]
        return t.Tuple(t.Operation(op, args), t.LinearLambda(z, ty.REAL, self.total(sums), "D[op]"))

    def discrete(self, term: t.Discrete) -> Term:
        """An operation with a discrete result, on the values; `real` makes a constant."""
        if ty.REAL in DISCRETE[term.name].arguments:
            return self.scalars(term.arguments, lambda xs, ds: t.Discrete(term.name, tuple(xs)))
        made = t.Discrete(term.name, tuple([self.term(a) for a in term.arguments]))
        return self.constant(made) if DISCRETE[term.name].result == ty.REAL else made

    def function(self, f: t.Function) -> t.Function:
        """D of a function of a letrec."""
        type_ = self.type(f.type)
        assert isinstance(type_, ty.Arrow)
        return t.Function(f.name, type_, f.parameter, self.term(f.body), f.parameters)

    # 0 and + of backpropagators' results

    def zero(self) -> Term:
        """0 : c"""
        return t.Zero(self.c)

    def plus(self, left: Term, right: Term) -> Term:
        """b + b'"""
        return t.Plus(left, right)

    def total(self, sums: list[Term]) -> Term:
        """b1 + .. + bn"""
        made = sums[0] if sums else self.zero()
        for b in sums[1:]:
            made = self.plus(made, b)
        return made

    # Fig. 7

    def interleave(self, type_: Type, x: Term, d: Term) -> Term:
        """Interleave (x, d), for terms x and d that may be written more than once."""
        match self.source.expose(type_):
            case ty.Real():
                return self.input(x, d)
            case ty.Unit() | ty.Int():
                return x
            case ty.Pair(first, second):

                def both(v: Var, w: Var) -> Term:
                    """The dual pair: each half gets a backpropagator that puts a zero beside its cotangent."""
                    left, right = t.Zero(second), t.Zero(first)
                    return t.Tuple(
                        self.inner(first, d, lambda z: t.Tuple(z, left), lambda e: self.interleave(first, v, e)),
                        self.inner(second, d, lambda z: t.Tuple(right, z), lambda e: self.interleave(second, w, e)),
                    )

                return self.halves(x, both)
            case ty.Vector():
                raise self.no_vector(x)
            case ty.Named() as data:
                given = ty.Pair(data, self.placing(data))

                def make() -> Term:
                    """Interleave for the data type, as a function."""
                    v, e = self.fresh("v"), self.fresh("d")
                    return lambda_((v, e), given, self.choice(data, Var(v), Var(e)))

                function = self.recursive("Interleave", data, ty.Arrow(given, self.type(data)), make)
                return t.Apply(function, t.Tuple(x, d))
            case other:
                return self.choice(other, x, d)

    def input(self, x: Term, d: Term) -> Term:
        """Interleave_R (x, d)"""
        return t.Tuple(x, d)

    def no_vector(self, x: Term) -> IllTyped:
        """The error for a vector in the input: its scalars' backpropagators would make vectors of its length."""
        return IllTyped(
            x,
            f"a Vector is in the argument, and {self.name} gives whole cotangents: the 0 beside an element needs the"
            " vector's length, which its type does not have; transform to sparse, D4, .., tape, or delta-map",
        )

    def inner(self, part: Type, d: Term, place: Callable[[Term], Term], use: Callable[[Var], Term]) -> Term:
        r"""let e = \_(z : part). d (place z) in use(e)"""
        z, e = self.fresh("z"), self.fresh("d")
        return t.Let(e, self.placed(z, part, t.Apply(d, place(Var(z)))), use(Var(e)))

    def placing(self, part: Type) -> Type:
        """part -o c"""
        return ty.Linear(part, self.codomain())

    def placed(self, z: str, part: Type, body: Term) -> Term:
        r"""\_(z : part). body"""
        return t.LinearLambda(z, part, body, "Interleave" if isinstance(part, ty.Real) else "")

    def start(self, source: Type) -> Term:
        r"""\_(z : s). z"""
        z = self.fresh("z")
        return self.placed(z, source, Var(z))

    def choice(self, type_: Type, x: Term, d: Term) -> Term:
        """case x of {C(y1, .., yn) -> DC(Interleave (y1, ..), ..); ..}"""

        def branch(c: Constructor, ys: list[Var]) -> Term:
            """Interleave the fields of a constructor, each with zeros in place of the others."""
            parts = []
            for k, (field, y) in enumerate(zip(c.fields, ys, strict=True)):
                zeros: list[Term] = [t.Zero(f) for f in c.fields]

                def place(z: Term, k: int = k, zeros: list[Term] = zeros) -> Term:
                    """The cotangent with z in field k, and zeros in the other fields."""
                    return t.Con(type_, c.name, (*zeros[:k], z, *zeros[k + 1 :]))

                parts.append(self.inner(field, d, place, lambda e, f=field, y=y: self.interleave(f, y, e)))  # type: ignore[misc]
            return self.constructor(type_, c.name, tuple(parts))

        return self.each(type_, x, branch)

    def codomain(self) -> Type:
        """The result type of backpropagators."""
        return self.c

    def deinterleave(self, type_: Type, x: Term) -> Term:
        """Deinterleave x, for a term x that may be written more than once."""
        z = self.fresh("z")
        match self.source.expose(type_):
            case ty.Real():
                return self.output(x)
            case ty.Unit() | ty.Int() as discrete:
                return t.Tuple(x, t.LinearLambda(z, discrete, self.zero()))
            case ty.Pair(first, second):
                x1, x2, y1, y2 = (self.fresh(name) for name in ("x", "d", "y", "d"))
                sums: list[Term] = [t.Apply(Var(x2), t.Fst(Var(z))), t.Apply(Var(y2), t.Snd(Var(z)))]
                back = t.LinearLambda(z, ty.Pair(first, second), self.total(sums))
                made = t.Tuple(t.Tuple(Var(x1), Var(y1)), back)

                def parts(v: Var, w: Var) -> Term:
                    """Deinterleave both halves of a pair."""
                    after = let((y1, y2), self.deinterleave(second, w), made)
                    return let((x1, x2), self.deinterleave(first, v), after)

                return self.halves(x, parts)
            case ty.Vector(element):
                return self.of_elements(element, x)
            case ty.Named() as data:
                result = ty.Pair(data, ty.Linear(data, self.codomain()))

                def make() -> Term:
                    """Deinterleave for the data type, as a function."""
                    v = self.fresh("v")
                    return t.Lambda(v, self.type(data), self.chosen(data, Var(v)))

                function = self.recursive("Deinterleave", data, ty.Arrow(self.type(data), result), make)
                return t.Apply(function, x)
            case other:
                return self.chosen(other, x)

    def of_elements(self, element: Type, x: Term) -> Term:
        """Deinterleave_(Vector t) x"""
        y, w, d, z = (self.fresh(name) for name in ("y", "w", "d", "z"))
        parts = self.mapped(x, lambda v: t.Let(y, v, self.deinterleave(element, Var(y))))
        back = t.LinearLambda(z, ty.Vector(element), t.Primitive("fanin", (Var(d), Var(z), self.zero())))
        made = t.Tuple(self.mapped(Var(w), t.Fst), back)
        return t.Let(w, parts, t.Let(d, self.mapped(Var(w), t.Snd), made))

    def output(self, x: Term) -> Term:
        """Deinterleave_R x"""
        return x

    def chosen(self, type_: Type, x: Term) -> Term:
        r"""case x of {DC(y1, ..) -> let (v1, d1) = Deinterleave y1 in .. in (C(v1, ..), \_(z). case z of ..); ..}"""
        constructors = self.source.constructors(type_)
        assert constructors is not None

        def branch(c: Constructor, ys: list[Var]) -> Term:
            """Deinterleave a constructor's fields; its backpropagator adds up theirs."""
            names = [(self.fresh("v"), self.fresh("d")) for _ in ys]
            z = self.fresh("z")
            cases = []
            for other in constructors:
                zs = tuple([self.fresh("z") for _ in other.fields])
                sums: list[Term] = [t.Apply(Var(d), Var(w)) for (_, d), w in zip(names, zs, strict=False)]
                cases.append(t.Branch(other.name, zs, self.total(sums) if other.name == c.name else self.zero()))
            back = t.LinearLambda(z, type_, t.Case(Var(z), tuple(cases)))
            made: Term = t.Tuple(t.Con(type_, c.name, tuple([Var(v) for v, _ in names])), back)
            for pattern, field, y in reversed(list(zip(names, c.fields, ys, strict=True))):
                made = let(pattern, self.deinterleave(field, y), made)
            return made

        return self.each(type_, x, branch, image=True)

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        r"""let x = Interleave (x, \_(z : s). z) in Deinterleave (D[t])"""
        start, y, d, given = self.start(source), self.fresh("y"), self.fresh("d"), self.fresh("x")
        result: Term = t.Let(y, inner(), self.deinterleave(target, Var(y)))
        if self.has_choice(source):
            v, e = self.fresh("v"), self.fresh("d")
            result = let((v, e), result, t.Tuple(Var(v), self.with_zeros(Var(e), target, source, Var(given))))
        made: Term = t.Let(d, start, t.Let(x, self.interleave(source, Var(x), Var(d)), result))
        return t.Let(given, Var(x), made) if self.has_choice(source) else made

    def with_zeros(self, d: Term, target: Type, source: Type, x: Term) -> Term:
        r"""linear(\(z : t). d z + zeros x)"""
        z = self.fresh("z")
        return t.Claim(t.Lambda(z, target, t.Plus(t.Apply(d, Var(z)), self.zeros(source, x))))
