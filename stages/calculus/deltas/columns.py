r"""A pair of vectors for Vector R: Krawiec et al. 2022, section 8.3.

    D[Vector R] = (Vector R, Vector Delta)            D[Vector t] = Vector D[t] for other t

    D[index(s, t)] = do {v <- D[s]; i <- D[t]; pure (index(fst v, i), index(snd v, i))}      for s : Vector R
    D[size(s)]     = do {v <- D[s]; pure (size(fst v))}
    D[build(s, t)] = do {n <- D[s]; f <- D[t]; w <- sequence(build(n, f)); pure (map fst w, map snd w)}
    everything else as in arrays.py

    initVars_(Vector R) (x, i) = ((x, build(size x, \j. Var (i + j))), i + size x)
    Deinterleave_(Vector R) (x, u) = (x, \_(z : Vector R). fanin (map eval u) z id)

In place of a vector of pairs, numbers lie beside numbers and Deltas beside Deltas, and the input's numbers are not
copied. As the paper says, the primitives need the same special cases. Which case applies depends on the type of the
vector, so the type checker notes the types first (`annotated`), and polymorphic functions are copied for each of their
types. A data type with a Vector of one of its parameters would need a copy, too: IllTyped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from stages.calculus.checker.check import Checker, Environment, Used
from stages.calculus.checker.well_formed import parameters
from stages.calculus.deltas.arrays import Arrays
from stages.calculus.deltas.terms import InSequence, do
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import DataType, Program
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.languages import LANGUAGES
from stages.calculus.language.polymorphism import instantiated
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Columns"]


@dataclass
class Noting(Checker):
    """A type checker that notes the type of each term, by the term's identity."""

    found: dict[int, Type] = field(default_factory=dict)

    def rule(self, term: Term, env: Environment, held: Environment) -> tuple[Type, Used]:
        """The type of a term, which is noted."""
        kind, used = super().rule(term, env, held)
        self.found[id(term)] = kind
        return kind, used


class Columns(Arrays):
    """Deltas in arrays, with a pair of vectors for each vector of numbers."""

    name = "delta-vectors"

    def annotated(self, term: Term, environment: Mapping[str, Type]) -> Term:
        """The term with the types of its parts noted in `types`; polymorphic functions are copied."""
        for data in self.source:
            if isinstance(data, DataType) and any(_vector_of_parameter(f) for c in data.constructors for f in c.fields):
                raise IllTyped(term, f"{data.name} has a Vector of a parameter: {self.name} needs its element type")
        if any(isinstance(kind, ty.ForAll) for kind in environment.values()):
            raise IllTyped(term, f"{self.name} copies polymorphic functions for each type: put them in this program")
        self.copied = _apart(instantiated(Program(term, self.source)).term)  # kept alive: identities are in `types`
        checker = Noting(self.source, LANGUAGES[self.reads])
        checker.rule(self.copied, environment, {})
        self.types = checker.found
        return self.copied

    def type(self, t: Type) -> Type:
        """D[Vector R] = (Vector R, Vector Delta)"""
        if isinstance(t, ty.Vector) and self.is_number(t.element):
            return ty.Pair(ty.Vector(ty.REAL), ty.Vector(self.delta))
        return super().type(t)

    def is_number(self, element: Type) -> bool:
        """Whether this type is R."""
        return isinstance(self.source.expose(element), ty.Real)

    def term(self, term: Term) -> Term:
        """D[t]"""
        if isinstance(term, t.Primitive):
            of = self.source.expose(self.types[id(term if term.name == "build" else term.arguments[0])])
            if isinstance(of, ty.Vector) and self.is_number(of.element):
                return self.on_numbers(term)
        return super().term(term)

    def on_numbers(self, term: t.Primitive) -> Term:
        """D[t] of an operation on a Vector R"""
        match term:
            case t.Primitive("index", arguments):
                both = lambda v, i: t.Tuple(_index(t.Fst(v), i), _index(t.Snd(v), i))  # noqa: E731
                return self.run(arguments, lambda v, i: self.pure(both(v, i)), "vi")
            case t.Primitive("size", arguments):
                return self.run(arguments, lambda v: self.pure(t.Primitive("size", (t.Fst(v),))), "v")
        assert term.name == "build"
        w = self.fresh("w")
        columns = self.pure(t.Tuple(self.mapped(Var(w), t.Fst), self.mapped(Var(w), t.Snd)))
        return self.run(term.arguments, lambda n, f: do([(w, InSequence(t.Primitive("build", (n, f))))], columns), "nf")

    # The wrapper

    def mapped_image(self, element: Type, v: Term, make: Callable[[Term], Term]) -> Term:
        """[make(x0, u0), ..], for v = (x, u) : D[Vector R]"""
        if not self.is_number(element):
            return super().mapped_image(element, v, make)
        j = self.fresh("j")
        body = make(t.Tuple(_index(t.Fst(v), Var(j)), _index(t.Snd(v), Var(j))))
        return t.Primitive("build", (t.Primitive("size", (t.Fst(v),)), t.Lambda(j, ty.INT, body)))

    def init_vars(self, type_: Type, x: Term, i: Term) -> Term:
        r"""((x, build(size x, \j. Var (i + j))), i + size x) for a Vector R"""
        kind = self.source.expose(type_)
        if not (isinstance(kind, ty.Vector) and self.is_number(kind.element)):
            return super().init_vars(type_, x, i)
        j, size = self.fresh("j"), t.Primitive("size", (x,))
        ids = t.Lambda(j, ty.INT, self.entry(t.Discrete("+#", (i, Var(j)))))
        return t.Tuple(t.Tuple(x, t.Primitive("build", (size, ids))), t.Discrete("+#", (i, size)))

    def of_elements(self, element: Type, x: Term) -> Term:
        r"""(x, \_(z : Vector R). fanin (map eval u) z id) for (x, u) : D[Vector R]"""
        if not self.is_number(element):
            return super().of_elements(element, x)
        d, z = self.fresh("d"), self.fresh("z")
        back = t.Primitive("fanin", (Var(d), Var(z), self.zero()))
        evals = self.mapped(t.Snd(x), lambda u: t.Apply(self.own("eval"), u))
        return t.Let(d, evals, t.Tuple(t.Fst(x), t.LinearLambda(z, ty.Vector(ty.REAL), back)))


def _index(v: Term, i: Term) -> Term:
    return t.Primitive("index", (v, i))


def _vector_of_parameter(type_: Type) -> bool:
    if isinstance(type_, ty.Vector):
        return bool(parameters(type_))
    return any(map(_vector_of_parameter, ty.parts(type_)))


def _apart(node: Term) -> Term:
    """A copy of a term in which no two parts are the same object."""
    chain: list[t.Let] = []
    while isinstance(node, t.Let):
        chain.append(node)
        node = node.body

    def part(value: object) -> object:
        """The copy of a field."""
        if isinstance(value, Term):
            return _apart(value)
        if isinstance(value, (t.Branch, t.Function)):
            return dataclasses.replace(value, body=_apart(value.body))
        return tuple(map(part, value)) if isinstance(value, tuple) else value

    made = dataclasses.replace(node, **{f.name: part(getattr(node, f.name)) for f in dataclasses.fields(node)})
    for let in reversed(chain):
        made = t.Let(let.name, _apart(let.value), made)
    return made
