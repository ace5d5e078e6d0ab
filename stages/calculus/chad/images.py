r"""The types of primals and cotangents: every type t has two images, where dual numbers have one.

    D[R]1 = R                  D[R]2 = R               likewise () and Int
    D[(s, t)]1 = (D[s]1, D[t]1)                        D[(s, t)]2 = (D[s]2, D[t]2)               likewise s + t
    D[s -> t]1 = D[s]1 -> (D[t]1, D[t]2 -o (Closure, D[s]2))                                     D[s -> t]2 = Closure
    D[T t1 .. tn]i = T D[t1]i .. D[tn]i                with an image of T if T's declaration has functions in it

    data Closure = Closed | F1 .. | F2 ..              a constructor for each \ and letrec of the program

The primal of data is the data itself: scalars carry nothing. A function's value has a cotangent, too: that of the
variables that it has captured. `Closure` has a constructor for each function of the program, with their cotangents as
its fields. This is closure conversion and defunctionalisation, by which Efficient CHAD takes functions. A sum of two
such cotangents is field by field, since one value is one closure; 0 has no constructor.

The first paper does without `Closure`. There D[s -> t]1 = D[s]1 -> (D[t]1, D[t]2 -o D[s]2), and D[s -> t]2 is a bag of
pairs (D[s]1, D[t]2), one for each call: for each of them \ runs its body again. Here both transformations have Closure,
so that they differ in the cotangents of environments and of pairs only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Declarations, Synonym
from stages.calculus.language.kinds import names
from stages.calculus.language.types import Type
from stages.calculus.transformations.transform import Transformation

__all__ = ["Captured", "Environment", "Images"]

#: The variables in scope with their types, from the outermost to the innermost.
Environment = tuple[tuple[str, Type], ...]


class Captured(NamedTuple):
    """A constructor of Closure, and the variables that a function has captured, by their indices in its environment."""

    name: str
    fields: tuple[Type, ...]
    places: tuple[int, ...]
    outside: Environment


class Images(Transformation):
    """D[t]1 and D[t]2, and the declarations that they need."""

    #: Types within a declaration for which a data type needs an image of its own, as primal and as cotangent.
    changed: tuple[tuple[type[Type], ...], tuple[type[Type], ...]] = ((ty.Arrow,), (ty.Arrow,))

    uses_closures = False  #: whether the program's types mention Closure, so that it has to be declared

    @property
    def closure(self) -> ty.Named:
        """Closure"""
        self.uses_closures = True
        return self.own_type("Closure")

    def scalar(self) -> Type:
        """D[R]1 = R"""
        return ty.REAL

    def arrow(self, argument: Type, result: Type) -> Type:
        """Not used: D[s -> t]1 needs s and t."""
        raise NotImplementedError

    def type(self, t: Type) -> Type:
        """D[t]1"""
        match t:
            case ty.Arrow(s, u):
                back = ty.Linear(self.cotangent(u), ty.Pair(self.closure, self.cotangent(s)))
                return ty.Arrow(self.type(s), ty.Pair(self.type(u), back))
            case ty.Named(name) if isinstance(self.source.types[name], DataType):
                return self.named(t, 0, self.type)
        return super().type(t)

    def cotangent(self, t: Type) -> Type:
        """D[t]2"""
        match self.source.expose(t):
            case ty.Pair(s, u):
                return self.product(self.cotangent(s), self.cotangent(u))
            case ty.Sum(s, u):
                return ty.Sum(self.cotangent(s), self.cotangent(u))
            case ty.Arrow():
                return self.closure
            case ty.Named() as data:
                return self.named(data, 1, self.cotangent)
            case scalar:
                return scalar

    def product(self, first: Type, second: Type) -> Type:
        """D[(s, t)]2, from D[s]2 and D[t]2."""
        return ty.Pair(first, second)

    # Data types

    def named(self, t: ty.Named, side: int, image: Callable[[Type], Type]) -> ty.Named:
        """The image of a data type: itself, or one that is declared."""
        name = self.own_type("DC"[side] + t.name).name if self.has_image(t, side) else t.name
        return ty.Named(name, tuple([image(a) for a in t.arguments]))

    def has_image(self, t: Type, side: int) -> bool:
        """Whether the declaration of a data type, or one that it refers to, contains a type with another image."""
        t = self.source.expose(t)
        if not isinstance(t, ty.Named):
            return False
        todo: list[Type] = []
        for name in names(ty.Named(t.name), self.source):
            declared = self.source.types[name]
            fields = [f for c in declared.constructors for f in c.fields] if isinstance(declared, DataType) else []
            todo += [declared.type] if isinstance(declared, Synonym) else fields
        while todo:
            part = todo.pop()
            if isinstance(part, self.changed[side]):
                return True
            todo += ty.parts(part)
        return False

    def named_in(self, t: Type, side: int, constructor: str) -> str:
        """The name of a constructor of t in the image of t."""
        return "DC"[side] + constructor if self.has_image(t, side) else constructor

    def declarations(self) -> Declarations:
        """The program's data types, their images, and Closure."""
        images: dict[str, DataType | Synonym] = {}
        for data in self.source:
            for side, image in enumerate((self.type, self.cotangent)):
                if isinstance(data, DataType) and self.has_image(own := ty.Named(data.name), side):
                    name = self.named(own, side, image).name
                    images[name] = DataType(
                        name,
                        data.parameters,
                        tuple(
                            Constructor("DC"[side] + c.name, tuple([image(f) for f in c.fields]))
                            for c in data.constructors
                        ),
                    )
        return self.source | {**images, **self.synonyms()}
