r"""The common part of all transformations: types and declarations, names, and Wrap's recursion over data types.

A transformation D_c, for a type c of cotangents, is determined by its image of R and of the terms that touch scalars.
Everywhere else it keeps the structure (Fig. 6, section 9):

    D[()] = ()    D[(s, t)] = (D[s], D[t])    D[s -> t] = D[s] -> D[t]    D[Int] = Int    D[s + t] = D[s] + D[t]
    D[a] = a      D[T t1 .. tn] = DT D[t1] .. D[tn],   with   data DT a1 .. an = DC1 D[..] .. | ..   declared
    D[forall a. t] = forall a. D[t], and D[f[s]] = f[D[s]] on terms (polymorphism.py)

    If G |- t : s then D[G] |- D[t] : D[s]         (D2 to D4: D[t] : Int -> (D[s], Int))
    Wrap : (s -> t) ~> (s -> (t, t -o s))
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar, Self

from stages.calculus.checker.check import check
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Declarations, Definition, Program, Synonym
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.kinds import first_order
from stages.calculus.language.polymorphism import as_function, instantiated
from stages.calculus.language.sugar import let
from stages.calculus.language.terms import (
    Apply,
    Branch,
    Case,
    Con,
    Integer,
    Lambda,
    Letrec,
    Literal,
    Primitive,
    Star,
    Term,
    Tuple,
    Var,
    subterms,
)
from stages.calculus.language.types import Type
from stages.calculus.text.printer import show_type

__all__ = ["Transformation", "names"]


class Transformation(ABC):
    """A transformation of the paper, for one program.

    name        "D1", ...
    language    the language of its results, for check.check
    reads       the language of its source programs
    c           the type of the program's cotangents
    """

    name: ClassVar[str]
    language: ClassVar[str]
    reads: ClassVar[str] = "source"

    def __init__(self, c: Type, declarations: Declarations | None = None, taken: frozenset[str] = frozenset()) -> None:
        self.c, self.source = c, declarations or Declarations()
        # a pattern's hidden variable is _x_y: no part of such a name is free either
        self.taken = set(taken) | {part for name in taken if name.startswith("_") for part in name.split("_")}
        self.counters: dict[str, itertools.count[int]] = {}
        self.definitions: dict[str, Definition] = {}
        self.functions: dict[tuple[str, Type], str] = {}  # those of Wrap, for data types

    # What each of them defines

    @abstractmethod
    def scalar(self) -> Type:
        """D[R]"""

    @abstractmethod
    def arrow(self, argument: Type, result: Type) -> Type:
        """D[s -> t], from D[s] and D[t]."""

    @abstractmethod
    def term(self, t: Term) -> Term:
        """D[t]"""

    @abstractmethod
    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        r"""The body of Wrap[\(x : source). t]; `inner` makes D[t]."""

    def synonyms(self) -> Mapping[str, DataType | Synonym]:
        """The types that the transformed program declares."""
        return {}

    def interface(self) -> tuple[Definition, ...]:
        """The functions that the transformed program calls."""
        return ()

    def whole(self, t: Term) -> Term:
        """D[t] for the term of a program."""
        return self.term(t)

    def annotated(self, term: Term, environment: Mapping[str, Type]) -> Term:
        """Prepare a source term for D, whose free variables have these types; for rules that depend on types."""
        return term

    def around(self, made: Term) -> Term:
        """D[t], with the transformation's bindings around it: none by default."""
        return made

    # Types

    def type(self, t: Type) -> Type:
        """D[t] on types."""
        match t:
            case ty.Real():
                return self.scalar()
            case ty.Pair(first, second):
                return ty.Pair(self.type(first), self.type(second))
            case ty.Arrow(argument, result):
                return self.arrow(self.type(argument), self.type(result))
            case ty.Sum(left, right):
                return ty.Sum(self.type(left), self.type(right))
            case ty.Vector(element):
                return ty.Vector(self.type(element))
            case ty.Named(name, arguments):
                declared = self.source.types[name]
                if isinstance(declared, Synonym):
                    return self.type(declared.at(arguments))
                return ty.Named(self.own_type(f"D{name}").name, tuple([self.type(a) for a in arguments]))
        return t

    def environment(self, types: Mapping[str, Type]) -> dict[str, Type]:
        """D on environments: D[x : t] = x : D[t]."""
        return {x: self.type(t) for x, t in types.items()}

    def declarations(self) -> Declarations:
        """The program's data types, their images, and the synonyms."""
        images = {
            (name := self.own_type(f"D{data.name}").name): DataType(
                name,
                data.parameters,
                tuple(Constructor(f"D{c.name}", tuple([self.type(f) for f in c.fields])) for c in data.constructors),
            )
            for data in self.source
            if isinstance(data, DataType)
        }
        return self.source | {**images, **self.synonyms()}

    # Terms

    def constructor(self, t: Type, name: str, arguments: tuple[Term, ...]) -> Con:
        """D[C] applied to arguments that have been transformed."""
        return Con(self.type(t), self.image(name), arguments)

    def image(self, constructor: str) -> str:
        """The image of the constructor C: DC; inl and inr stay."""
        return constructor if constructor in ("inl", "inr") else f"D{constructor}"

    def own(self, name: str) -> Var:
        """A function of the transformed program; it is renamed if the source program uses the name."""
        while name in self.taken:
            name += "'"
        return Var(name)

    def own_type(self, name: str) -> ty.Named:
        """A type of the transformed program; it is renamed if the source program uses the name."""
        while name in self.source.types:
            name += "'"
        return ty.Named(name)

    def fresh(self, base: str) -> str:
        """A name that the program does not use: base1, base2, ..."""
        count = self.counters.setdefault(base, itertools.count(1))
        return next(name for k in count if (name := f"{base}{k}") not in self.taken)

    # Wrap

    @classmethod
    def wrap(cls, program: Program) -> Program:
        """Wrap[P] for a program P : s -> t without functions in s and t; IllTyped for others."""
        program = _one_term(program, cls.reads)
        self, term = cls.wrap_term(program, check(program, cls.reads))
        return Program(term, self.declarations(), (*self.interface(), *self.definitions.values()))

    @classmethod
    def wrap_term(cls, program: Program, type_: Type, known: Mapping[str, Type] | None = None) -> tuple[Self, Lambda]:
        """Wrap[t] for a program's term t of this type, without definitions; and the transformation that made it.

        `known` are the types of its free variables.
        """
        kind = program.declarations.expose(type_)
        if not isinstance(kind, ty.Arrow):
            raise IllTyped(program.term, f"Wrap takes a function, and this has type {show_type(kind)}")
        for side, what in ((kind.argument, "argument"), (kind.result, "result")):
            if not first_order(side, program.declarations):
                why = "what the derivative of a function value should be is not defined"
                raise IllTyped(program.term, f"the {what} has type {show_type(side)}, with a function in it: {why}")
        self = cls(kind.argument, program.declarations, names(program.term) | frozenset(known or ()))
        match self.annotated(program.term, known or {}):
            case Lambda(x, _, body):
                inner: Callable[..., Term] = lambda *i: self.on(body, *i)  # noqa: E731
            case function:
                x = self.fresh("x")
                inner = self.called(function, Var(x))
        return self, Lambda(x, kind.argument, self.wrapped(x, kind.argument, kind.result, inner))

    @classmethod
    def of(cls, program: Program, kind: Type) -> Program:
        """D[t] for a program of type s -> t with c = s, with the definitions that it refers to.


        With c = () for other programs, and if s contains a function: such an s has no cotangents.
        """
        program = _one_term(program, cls.reads)
        is_data = isinstance(kind, ty.Arrow) and first_order(kind.argument, program.declarations)
        c = kind.argument if isinstance(kind, ty.Arrow) and is_data else ty.UNIT
        self = cls(c, program.declarations, names(program.term))
        made = self.around(self.whole(self.annotated(program.term, {})))
        return Program(made, self.declarations(), self.interface())

    def on(self, t: Term, *state: Term) -> Term:
        """D[t], applied to the state if the transformation has one."""
        assert not state
        return self.term(t)

    def called(self, function: Term, x: Term) -> Callable[..., Term]:
        """A function that makes D[function] x from its state."""
        return lambda: Apply(self.term(function), x)

    def recursive(self, kind: str, t: Type, type_: Type, make: Callable[[], Term]) -> Var:
        """The definition for a data type, made once; Interleave and others call themselves on its parts."""
        if (kind, t) not in self.functions:
            assert isinstance(t, ty.Named)
            name = f"{kind}_{t.name}"
            while name in self.definitions or name in self.taken:
                name += "'"
            self.functions[kind, t] = name
            self.definitions[name] = Definition(name, type_, Var(name))
            self.definitions[name] = Definition(name, type_, make())
        return Var(self.functions[kind, t])

    def has_choice(self, t: Type, seen: frozenset[Type] = frozenset()) -> bool:
        """Whether a type contains a sum, data type or vector: its 0 then depends on the input (the paper's note 8)."""
        t = self.source.expose(t)
        return isinstance(t, (ty.Sum, ty.Named, ty.Vector)) or any(self.has_choice(part) for part in ty.parts(t))

    def zeros(self, t: Type, x: Term) -> Term:
        """0 with the structure of x: zeros_R x = 0, zeros_(s, t) (x, y) = (zeros x, zeros y), and so on."""
        match self.source.expose(t):
            case ty.Real():
                return Literal(0.0)
            case ty.Unit():
                return Star()
            case ty.Int():
                return Integer(0)
            case ty.Pair(first, second):
                return self.halves(x, lambda v, w: Tuple(self.zeros(first, v), self.zeros(second, w)))
            case ty.Vector(element):
                return self.mapped(x, lambda y: self.zeros(element, y))
            case ty.Named() as data:

                def make() -> Term:
                    """zeros for the data type, as a function."""
                    v = self.fresh("v")
                    return Lambda(v, data, self.each(data, Var(v), lambda c, ys: self.same(data, c, ys, self.zeros)))

                return Apply(self.recursive("zeros", data, ty.Arrow(data, data), make), x)
            case other:
                return self.each(other, x, lambda c, ys: self.same(other, c, ys, self.zeros))

    def each(self, t: Type, x: Term, make: Callable[[Constructor, list[Var]], Term], image: bool = False) -> Case:
        """case x of {C(y1, .., yn) -> make(C, y1..yn); ..}, with `image` for x : D[t]."""
        branches = []
        constructors = self.source.constructors(t)
        assert constructors is not None
        for c in constructors:
            names = tuple([self.fresh("y") for _ in c.fields])
            name = self.image(c.name) if image else c.name
            branches.append(Branch(name, names, make(c, [Var(y) for y in names])))
        return Case(x, tuple(branches))

    def same(self, t: Type, c: Constructor, ys: list[Var], part: Callable[[Type, Term], Term]) -> Con:
        """C(part(y1), .., part(yn))"""
        return Con(t, c.name, tuple([part(field, y) for field, y in zip(c.fields, ys, strict=True)]))

    def mapped(self, v: Term, make: Callable[[Term], Term]) -> Term:
        """[make(v0), .., make(v(n-1))], for terms v and vi that may be written more than once."""
        j = self.fresh("j")
        body = make(Primitive("index", (v, Var(j))))
        return Primitive("build", (Primitive("size", (v,)), Lambda(j, ty.INT, body)))

    def mapped_image(self, element: Type, v: Term, make: Callable[[Term], Term]) -> Term:
        """[make(v0), .., make(v(n-1))], for v : D[Vector element]"""
        return self.mapped(v, make)

    def halves(self, pair: Term, use: Callable[[Var, Var], Term]) -> Term:
        """let (x, y) = pair in use(x, y)"""
        x, y = self.fresh("x"), self.fresh("y")
        return let((x, y), pair, use(Var(x), Var(y)))


def _one_term(program: Program, language: str) -> Program:
    """The program with its definitions as a letrec around its term; see also `instantiated`."""
    if program.definitions:
        check(program, language)
        functions = [as_function(d, program.declarations) for d in program.definitions]
        program = Program(Letrec(tuple(functions), program.term), program.declarations)
    if language != "source":  # of programs with cells, functions are copied for each of their types
        check(program, language)
        return instantiated(program)
    return program


def names(term: Term) -> frozenset[str]:
    """All variable names in a term."""
    found: set[str] = set()
    todo = [term]
    while todo:
        t = todo.pop()
        todo.extend(subterms(t))
        if isinstance(t, Letrec):
            found |= {name for f in t.functions for name in (f.name, f.parameter)}
        elif isinstance(t, Case):
            found |= {x for branch in t.branches for x in branch.variables}
        elif "name" in t.__slots__:
            found.add(t.name)  # type: ignore[attr-defined]
    return frozenset(found)
