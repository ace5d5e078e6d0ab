r"""The common part of the transformations of Krawiec et al. 2022: numbers with a Delta, the wrapper of Figs. 8, 10, 16.

    D[R] = (R, Delta)                 a Delta describes how a number depends on the input; its constructors differ
    D[r] = (r, Zero)

    initVars_t : (t, Int) -> (D[t], Int)                  takes and returns the next free id
    initVars_R (x, i) = ((x, the Delta of input i), i + 1)
    initVars_() and initVars_Int (x, i) = (x, i)          initVars_(s, t), of sums, data and vectors: part by part
    lookup_t : (DeltaMap, D[t]) -> t                      lookup_R (m, (x, u)) = m at the id of u; Ints stay

    Deinterleave_t : D[t] -> (t, t -o DeltaMap -> DeltaMap)    as in D3, with Deinterleave_R (x, u) = (x, eval u)

The paper's wrapper is R[e] : (s, t) -> s, and returns no value. Here, as in our paper, Wrap : (s -> t) ~> (s -> (t, t
-o s)): the forward pass runs once for any number of cotangents. Fig. 16 differentiates e s . dt, the dot product with
the cotangent. The Deltas of dt are Zero, so that product only scales each number of the output by its part of dt, which
Deinterleave's linear function does here. Ids begin at 0, as elsewhere here, not at 1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence

from stages.calculus.deltas.back import Back
from stages.calculus.deltas.terms import InSequence
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Definition, Synonym
from stages.calculus.language.sugar import lambda_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.d1 import D1

__all__ = ["Deltas", "factors"]

#: The partial derivatives that are written as Figs. 7 and 9 write them, of one or two variables; None for a factor 1.
_FACTORS: Mapping[str, Callable[..., tuple[Term | None, ...]]] = {
    "add": lambda x, y: (None, None),
    "sub": lambda x, y: (None, t.Literal(-1.0)),
    "mul": lambda x, y: (y, x),
    "neg": lambda x: (t.Literal(-1.0),),
}


def factors(op: str, xs: list[Var]) -> Sequence[Term | None]:
    """The partial derivatives of op at x1, .., xn; None for a factor 1."""
    if op in _FACTORS:
        return _FACTORS[op](*xs)
    return [t.Partial(op, k, tuple(xs), t.Literal(1.0)) for k in range(1, len(xs) + 1)]


class Deltas(D1):
    """The common part: everything except the constructors of Delta and their evaluation."""

    language = "deltas"

    @property
    def delta(self) -> ty.Named:
        """Delta"""
        return self.own_type("Delta")

    @property
    def map(self) -> ty.Named:
        """DeltaMap"""
        return self.own_type("DeltaMap")

    def scalar(self) -> Type:
        """D[R] = (R, Delta)"""
        return ty.Pair(ty.REAL, self.delta)

    @abstractmethod
    def constructors(self) -> tuple[Constructor, ...]:
        """The constructors of Delta."""

    @abstractmethod
    def collection(self) -> Type:
        """The definition of DeltaMap."""

    def synonyms(self) -> Mapping[str, DataType | Synonym]:
        """Delta; and DeltaMap, once Wrap has defined the functions on it."""
        delta = {self.delta.name: DataType(self.delta.name, (), self.constructors())}
        return {**delta, self.map.name: Synonym(self.map.name, self.collection())} if self.definitions else delta

    def define(self, *definitions: Definition) -> None:
        """Add definitions that only Wrap needs."""
        self.definitions |= {d.name: d for d in definitions}

    def scaled(self) -> tuple[Constructor, ...]:
        """Scale R Delta | Add Delta Delta"""
        return Constructor("Scale", (self.coefficient(), self.delta)), Constructor("Add", (self.delta, self.delta))

    # What Deltas are scaled by: numbers; second.py has pairs

    def coefficient(self) -> Type:
        """R"""
        return ty.REAL

    def nothing(self) -> Term:
        """0"""
        return t.Literal(0.0)

    def times(self, y: Term, x: Term) -> Term:
        """y x, as a linear body in x"""
        return t.Partial("mul", 1, (t.Literal(1.0), y), x)

    # On terms

    def made(self, name: str, *arguments: Term) -> t.Con:
        """A constructor of Delta."""
        return t.Con(self.delta, name, arguments)

    def constant(self, r: Term) -> Term:
        """(r, Zero)"""
        return t.Tuple(r, self.made("Zero"))

    def operation(self, op: str, xs: list[Var], us: list[Var]) -> Term:
        """(op(x1, .., xn), the sum)"""
        return t.Tuple(t.Operation(op, tuple(xs)), self.total_delta(op, xs, us))

    def total_delta(self, op: str, xs: list[Var], us: list[Var]) -> Term:
        """Add (Scale (d1op(x1, .., xn)) u1) .. (Scale (dnop(x1, .., xn)) un): Fig. 14"""
        found = zip(factors(op, xs), us, strict=True)
        terms: list[Term] = [u if factor is None else self.made("Scale", factor, u) for factor, u in found]
        return self.added_up(terms)

    def added_up(self, terms: list[Term]) -> Term:
        """Add (Add u1 u2) .. un"""
        made = terms[0]
        for term in terms[1:]:
            made = self.made("Add", made, term)
        return made

    # Linear functions of a DeltaMap, as in D3

    def codomain(self) -> Type:
        """DeltaMap -> DeltaMap"""
        return ty.Arrow(self.map, self.map)

    def evaluated(self) -> Type:
        """Delta -> R -o (DeltaMap -> DeltaMap)"""
        return ty.Arrow(self.delta, ty.Linear(self.coefficient(), self.codomain()))

    def zero(self) -> Term:
        """id : DeltaMap -> DeltaMap"""
        return t.Identity(self.map)

    def plus(self, left: Term, right: Term) -> Term:
        """Composition"""
        return t.Compose(left, right)

    def output(self, x: Term) -> Term:
        """let (v, u) = x in (v, eval u)"""
        v, u = self.fresh("x"), self.fresh("u")
        return let((v, u), x, t.Tuple(Var(v), t.Apply(self.own("eval"), Var(u))))

    def evaluating(self, *branches: t.Branch) -> Definition:
        r"""eval u = case u of {Zero -> \_(x : R). id; Scale(y, u) -> \_(x : R). eval u (y x); ..}"""
        x, u, v, y = Var("x"), Var("u"), Var("v"), Var("y")

        def eval_(delta: Term, at: Term) -> Term:
            """eval delta at"""
            return t.Apply(t.Apply(self.own("eval"), delta), at)

        def linear(body: Term) -> Term:
            r"""\_(x : R). body"""
            return t.LinearLambda("x", self.coefficient(), body, "eval")

        first = (
            t.Branch("Zero", (), linear(self.zero())),
            t.Branch("Scale", ("y", "u"), linear(eval_(u, self.times(y, x)))),
            t.Branch("Add", ("u", "v"), linear(self.plus(eval_(v, x), eval_(u, x)))),
        )
        body = t.Lambda("u", self.delta, t.Case(Var("u"), (*first, *branches)))
        return Definition(self.own("eval").name, self.evaluated(), body)

    # The wrapper

    @abstractmethod
    def entry(self, i: Term) -> Term:
        """The Delta of input i."""

    @abstractmethod
    def lookup(self, m: Term, x: Term) -> Term:
        """lookup_R (m, x)"""

    def id_of(self, constructor: str) -> Definition:
        """idOf u = case u of {OneHot(i) -> i; ..}, for the Delta of an input, which has no other constructor"""
        branches = [
            t.Branch(c.name, ("i",), Var("i"))
            if c.name == constructor
            else t.Branch(c.name, ("_",) * len(c.fields), t.Integer(-1))
            for c in self.constructors()
        ]
        body = t.Lambda("u", self.delta, t.Case(Var("u"), tuple(branches)))
        return Definition(self.own("idOf").name, ty.Arrow(self.delta, ty.INT), body)

    def final_map(self) -> Type:
        """The type of lookup's map after the evaluation."""
        return self.map

    def started(self, x: Term, i: Term) -> Term:
        """The number with the Delta of input i."""
        return t.Tuple(x, self.entry(i))

    def given(self, type_: Type) -> Type:
        """The argument type of initVars, for data of this type."""
        return type_

    def init_vars(self, type_: Type, x: Term, i: Term) -> Term:
        """initVars (x, i), for terms that may be written more than once"""
        match self.source.expose(type_):
            case ty.Real():
                return t.Tuple(self.started(x, i), t.Discrete("+#", (i, t.Integer(1))))
            case ty.Unit() | ty.Int():
                return t.Tuple(x, i)
            case ty.Pair(s, u):
                return self.halves(x, lambda v, w: self.init_all([(v, s), (w, u)], i, lambda ys: t.Tuple(*ys)))
            case ty.Vector(element):
                v, j = self.fresh("v"), self.fresh("i")
                one = self.mapped(
                    x, lambda y: t.Let(v, y, t.Lambda(j, ty.INT, self.init_vars(element, Var(v), Var(j))))
                )
                return t.Apply(InSequence(one), i)
            case ty.Named() as data:
                given, found = ty.Pair(self.given(data), ty.INT), ty.Pair(self.type(data), ty.INT)

                def make() -> Term:
                    """initVars for the data type, as a function."""
                    v, j = self.fresh("v"), self.fresh("i")
                    return lambda_((v, j), given, self.init_fields(data, Var(v), Var(j)))

                function = self.recursive("initVars", data, ty.Arrow(given, found), make)
                return t.Apply(function, t.Tuple(x, i))
            case other:
                return self.init_fields(other, x, i)

    def init_fields(self, type_: Type, x: Term, i: Term) -> Term:
        """case x of {C(y1, .., yn) -> .. (DC(x1, .., xn), in); ..}"""

        def branch(c: Constructor, ys: list[Var]) -> Term:
            """initVars of the fields of a constructor."""
            made = lambda xs: self.constructor(type_, c.name, tuple(xs))  # noqa: E731
            return self.init_all(list(zip(ys, c.fields, strict=True)), i, made)

        return self.each(type_, x, branch, image=self.given(type_) != type_)

    def init_all(self, parts: list[tuple[Var, Type]], i: Term, make: Callable[[list[Term]], Term]) -> Term:
        """let (x1, i1) = initVars (y1, i) in .. in (make(x1, .., xn), in)"""
        names = [(self.fresh("x"), self.fresh("i")) for _ in parts]
        ids = [i, *(Var(j) for _, j in names)]
        made: Term = t.Tuple(make([Var(x) for x, _ in names]), ids[-1])
        for k in reversed(range(len(parts))):
            part, kind = parts[k]
            made = let(names[k], self.init_vars(kind, part, ids[k]), made)
        return made

    def prepared(self, x: str, source: Type, next_id: str, body: Term) -> Term:
        """let (x, next_id) = initVars (x, 0) in let lookup = .. in body"""
        m = self.fresh("m")
        back = t.Lambda(m, self.final_map(), self.looked_up(source, Var(x), Var(m)))
        return let((x, next_id), self.init_vars(source, Var(x), t.Integer(0)), t.Let(self.rebuild, back, body))

    def looked_up(self, source: Type, x: Term, m: Term) -> Term:
        """lookup (m, x)"""
        return Back("lookup", self, self.lookup, given=self.final_map())(source, x, m)

    def found(self, target: Type, y: str, image: Term) -> Term:
        """The value that Wrap returns, given the image D[t]."""
        return Var(y)

    @property
    def rebuild(self) -> str:
        """The name of the function that looks up the input's parts."""
        return self.own("rebuild").name
