r"""The accumulators of Efficient CHAD, as efficient.py states them: Acc, addk, readk, take and run."""

from __future__ import annotations

from stages.calculus.chad.boundary import Boundary
from stages.calculus.chad.images import Environment
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Declarations, Definition, Synonym
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import INT, Type

__all__ = ["Accumulators"]


class Accumulators(Boundary):
    """The cotangent of an environment as a function on accumulators."""

    def __init__(self, c: Type, declarations: Declarations | None = None, taken: frozenset[str] = frozenset()) -> None:
        super().__init__(c, declarations, taken)
        self.contents: list[Type] = []  # t1, t2, .. of Acc
        self.deepest = 0  # the number of variables of the function whose body was transformed

    @property
    def acc(self) -> ty.Named:
        """Acc"""
        return self.own_type("Acc")

    @property
    def evm(self) -> ty.Resource:
        """Array Acc ->R Array Acc"""
        return ty.Resource(ty.Array(self.acc), ty.Array(self.acc))

    def environment_type(self, scope: Environment) -> Type:
        """D[G]2"""
        return self.evm

    def zero_of(self, scope: Environment) -> Term:
        """id"""
        return t.Identity(ty.Array(self.acc))

    def plus(self, left: Term, right: Term) -> Term:
        """b . b'"""
        return t.Compose(left, right)

    def kind(self, type_: Type) -> int:
        """k, for the type tk of a variable's cotangent."""
        type_ = self.cotangent(type_)
        if type_ not in self.contents:
            self.contents.append(type_)
        return self.contents.index(type_) + 1

    def one_hot(self, scope: Environment, place: int, z: Term) -> Term:
        """addk i z"""
        add = self.own(f"add{self.kind(scope[place][1])}")
        return t.Apply(t.Apply(add, t.Integer(place)), z)

    def read(self, kind: Type, a: Term) -> Term:
        """readk a"""
        return t.Apply(self.own(f"read{self.kind(kind)}"), a)

    def synonyms(self) -> dict[str, DataType | Synonym]:
        """Closure, Both and Acc"""
        made = (Constructor("Empty", ()), *(Constructor(f"A{k}", (t_,)) for k, t_ in enumerate(self.contents, 1)))
        return {**super().synonyms(), self.acc.name: DataType(self.acc.name, (), made)}

    def interface(self) -> tuple[Definition, ...]:
        """addk, readk, take, run, and the functions that open closures"""
        made = [d for k, t_ in enumerate(self.contents, 1) for d in (self.adding(k, t_), self.reading(k, t_))]
        return *made, self.taking(), self.running(), *super().interface()

    def adding(self, k: int, content: Type) -> Definition:
        r"""addk = \i. \_(z). \R(a). modify i (\b. Ak(z) + b) a"""
        added = t.Lambda("b", self.acc, t.Plus(t.Con(self.acc, f"A{k}", (Var("z"),)), Var("b")))
        body = t.ResourceLambda("a", ty.Array(self.acc), t.Primitive("modify", (Var("i"), added, Var("a"))))
        kind = ty.Arrow(INT, ty.Linear(content, self.evm))
        return Definition(self.own(f"add{k}").name, kind, t.Lambda("i", INT, t.LinearLambda("z", content, body)))

    def reading(self, k: int, content: Type) -> Definition:
        r"""readk = \_(a). case a of {Ak(z) -> z; .. -> 0}"""
        branches = [t.Branch("Empty", (), t.Zero(content))]
        for j in range(1, len(self.contents) + 1):
            branches.append(
                t.Branch(f"A{j}", ("z",), Var("z")) if j == k else t.Branch(f"A{j}", ("_",), t.Zero(content))
            )
        body = t.LinearLambda("a", self.acc, t.Case(Var("a"), tuple(branches)))
        return Definition(self.own(f"read{k}").name, ty.Linear(self.acc, content), body)

    def taking(self) -> Definition:
        r"""take i f b = \R(a). letR a = b a in letR (!z, a) = get i a in f z (set i 0 a)"""
        emptied = t.Primitive("set", (Var("i"), t.Zero(self.acc), Var("a")))
        body: Term = t.Apply(t.Apply(Var("f"), Var("z")), emptied)
        body = t.ResourceLet(("!z", "a"), t.Primitive("get", (Var("i"), Var("a"))), body)
        body = t.ResourceLet(("a",), t.Apply(Var("b"), Var("a")), body)
        body = t.ResourceLambda("a", ty.Array(self.acc), body)
        used = ty.Arrow(self.acc, self.evm)
        made = t.Lambda("i", INT, t.Lambda("f", used, t.Lambda("b", self.evm, body)))
        kind = ty.Arrow(INT, ty.Arrow(used, ty.Arrow(self.evm, self.evm)))
        return Definition(self.own("take").name, kind, made)

    def running(self) -> Definition:
        r"""run n b = alloc n 0 (\R(a). freeze (b a))"""
        body = t.ResourceLambda("a", ty.Array(self.acc), t.Primitive("freeze", (t.Apply(Var("b"), Var("a")),)))
        made = t.Primitive("alloc", (Var("n"), t.Zero(self.acc), body))
        kind = ty.Arrow(INT, ty.Arrow(self.evm, ty.FrozenArray(self.acc)))
        return Definition(self.own("run").name, kind, t.Lambda("n", INT, t.Lambda("b", self.evm, made)))
