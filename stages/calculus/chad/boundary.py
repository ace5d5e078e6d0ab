r"""Dense and sparse cotangents of data: Wrap takes and returns those of the program's types.

    sparse_t : t -o D[t]2                                         dense_t : (t, D[t]2) -> t
    sparse_R z = z                                                dense_R (x, z) = z
    sparse_(s, t) z = Both(sparse_s (fst z), sparse_t (snd z))    dense_(s, t) ((x, y), Both(z, w)) = (dense (x, z), ..)
    sparse_T (C(zs)) = C(sparse z1, ..)                           dense_T (C(xs), C(zs)) = C(dense (x1, z1), ..)
                                                                  dense_T (C(xs), 0) = C(zeros x1, ..)

dense gives a 0 without structure that of the value that it belongs to (the note 8 of our paper).
"""

from __future__ import annotations

from collections.abc import Callable

from stages.calculus.chad.functions import Functions
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Synonym
from stages.calculus.language.sugar import lambda_
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Boundary"]


class Boundary(Functions):
    """Sparse cotangents of pairs, and the conversion of cotangents of data."""

    uses_pairs = False  #: whether the program's types mention Both, so that it has to be declared

    def product(self, first: Type, second: Type) -> Type:
        """Both D[s]2 D[t]2, a pair whose 0 is one value, without two halves."""
        self.uses_pairs = True
        return ty.Named(self.own_type("Both").name, (first, second))

    def synonyms(self) -> dict[str, DataType | Synonym]:
        """Closure and Both, if they are used."""
        if not self.uses_pairs:
            return super().synonyms()
        a, b = ty.Parameter("a"), ty.Parameter("b")
        both = self.own_type("Both").name
        return {**super().synonyms(), both: DataType(both, ("a", "b"), (Constructor("Both", (a, b)),))}

    def pair(self, both: ty.Pair, first: Term, second: Term) -> Term:
        """Both(b, b')"""
        return t.Con(self.cotangent(both), "Both", (first, second))

    def halved(self, z: Term, use: Callable[[Term, Term], Term]) -> Term:
        """case z of {Both(v, w) -> use(v, w)}"""
        v, w = self.fresh("z"), self.fresh("z")
        return t.Case(z, (t.Branch("Both", (v, w), use(Var(v), Var(w))),))

    def sparse(self, kind: Type, z: Term) -> Term:
        """sparse z, a linear body."""
        match self.source.expose(kind):
            case ty.Pair(first, second) as both:
                return self.pair(both, self.sparse(first, t.Fst(z)), self.sparse(second, t.Snd(z)))
            case ty.Named() as data:

                def make() -> Term:
                    """sparse for the data type, as a function."""
                    v = self.fresh("z")
                    return t.LinearLambda(v, data, self.sparse_fields(data, Var(v)))

                if self.cotangent(data) == data:
                    return z
                return t.Apply(self.recursive("sparse", data, ty.Linear(data, self.cotangent(data)), make), z)
            case ty.Sum() as choice:
                return self.sparse_fields(choice, z)
        return z

    def sparse_fields(self, kind: Type, z: Term) -> Term:
        """case z of {C(zs) -> C(sparse z1, ..); ..}"""
        branches = []
        for c in self.constructors(kind):
            zs = tuple([self.fresh("z") for _ in c.fields])
            parts = tuple([self.sparse(field, Var(v)) for field, v in zip(c.fields, zs, strict=True)])
            image = t.Con(self.cotangent(kind), self.named_in(kind, 1, c.name), parts)
            branches.append(t.Branch(c.name, zs, image))
        return t.Case(z, tuple(branches))

    def dense(self, kind: Type, x: Term, z: Term) -> Term:
        """dense (x, z), for terms that may be written more than once."""
        match self.source.expose(kind):
            case ty.Pair(first, second):
                a, b = self.fresh("z"), self.fresh("z")

                def both(v: Var, w: Var) -> Term:
                    """case z of {Both(a, b) -> (dense (v, a), dense (w, b))}"""
                    made = t.Tuple(self.dense(first, v, Var(a)), self.dense(second, w, Var(b)))
                    return t.Case(z, (t.Branch("Both", (a, b), made),))

                return self.halves(x, both)
            case ty.Named() as data:
                given = ty.Pair(data, self.cotangent(data))

                def make() -> Term:
                    """dense for the data type, as a function."""
                    v, w = self.fresh("v"), self.fresh("z")
                    return lambda_((v, w), given, self.dense_fields(data, Var(v), Var(w)))

                return t.Apply(self.recursive("dense", data, ty.Arrow(given, data), make), t.Tuple(x, z))
            case ty.Sum() as choice:
                return self.dense_fields(choice, x, z)
        return z

    def dense_fields(self, kind: Type, x: Term, z: Term) -> Term:
        """case x of {C(xs) -> case z of {C(zs) -> C(dense (x1, z1), ..); .. -> C(zeros x1, ..)}; ..}"""

        def of(c: Constructor, xs: list[Var]) -> Term:
            """The cotangent of a value with this constructor."""
            branches = []
            for other in self.constructors(kind):
                zs = tuple([self.fresh("z") for _ in other.fields])
                if other.name == c.name:
                    made = [self.dense(f, v, Var(w)) for f, v, w in zip(c.fields, xs, zs, strict=True)]
                else:
                    made = [self.zeros(f, v) for f, v in zip(c.fields, xs, strict=True)]
                branches.append(t.Branch(self.named_in(kind, 1, other.name), zs, t.Con(kind, c.name, tuple(made))))
            return t.Case(z, tuple(branches))

        return self.each(kind, x, of)
