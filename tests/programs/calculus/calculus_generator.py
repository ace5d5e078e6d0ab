"""Well-typed programs of the calculus' source language, with an input, and open terms with their environments.

A term is made for a type, in an environment, with a size, which is divided among its parts. Choices are bytes, and 0 is
the plainest one, so that hypothesis shrinks to it. Functions call themselves only with an Int that goes down to 0, or
with a part of their argument, so that every program terminates. Operations are kept in their domains, and mostly
bounded. Numbers of an input differ from each other and from the literals: hardly a comparison is a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from programs.calculus.calculus_choices import DATA, Choices
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Program
from stages.calculus.language.sugar import FALSE, TRUE, if_
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import BOOL, INT, REAL, Named, Type
from stages.calculus.language.values import show_value
from stages.calculus.text.printer import show, show_type

__all__ = [
    "BINARY",
    "OVER_POSITIVE",
    "POSITIVE",
    "UNARY",
    "Closed",
    "Open",
    "closed_program",
    "closed_programs",
    "open_terms",
]

#: The data types that structural recursion takes apart, each with those that it calls itself for.
GROUPS = {"List": ("List",), "Tree": ("Tree",), "T1": ("T1", "T2"), "T2": ("T1", "T2")}
UNARY = ("sin", "cos", "tanh", "neg", "atan", "asinh", "erf", "expm1 tanh", "exp tanh", "gamma exp tanh", "abs")
BINARY = ("mul", "add", "sub", "maximum", "minimum", "logaddexp")
POSITIVE = ("sqrt", "log", "cbrt", "lgamma", "log1p")  # of 1.5 + x x
OVER_POSITIVE = ("div", "hypot", "atan2")  # of x and 1.5 + y y

Environment = Mapping[str, Type]
_CHOICES = st.binary(min_size=150, max_size=600)


@dataclass(frozen=True, repr=False, eq=False)
class Closed:
    """A program of type source -> target, and an input of it."""

    program: Program
    source: Type
    target: Type
    x: Any

    def __repr__(self) -> str:
        kind = show_type(ty.Arrow(self.source, self.target))
        return f"of type {kind}, at {show_value(self.x)}:\n{show(self.program.term)}\n"


@dataclass(frozen=True, repr=False)
class Open:
    """A term of this type in this environment, a type of cotangents, and all names of variables."""

    term: Term
    type: Type
    environment: Environment
    c: Type
    names: frozenset[str]

    def __repr__(self) -> str:
        known = "".join(f"{x} : {show_type(kind)}\n" for x, kind in self.environment.items())
        return f"of type {show_type(self.type)}, with c = {show_type(self.c)}:\n{known}|- {show(self.term)}\n"


def closed_programs(size: int = 14) -> st.SearchStrategy[Closed]:
    """Programs with an input."""
    return _CHOICES.map(lambda choices: closed_program(choices, size))


def open_terms(size: int = 8) -> st.SearchStrategy[Open]:
    """Terms with free variables."""
    return _CHOICES.map(lambda choices: open_term(choices, size))


def closed_program(choices: bytes, size: int) -> Closed:
    """The program of these choices."""
    writer = Writer(choices)
    source, target = writer.first_order(3), writer.first_order(2)
    if not writer.chance(8):  # mostly with a scalar
        source = source if _has_real(source) else ty.Pair(source, REAL)
        target = target if _has_real(target) else ty.Pair(REAL, target)
    n = writer.size(size)
    if writer.chance(8):
        term = writer.term(ty.Arrow(source, target), {}, n)
    else:
        x, form = writer.name(), writer.pick((Writer.term, Writer.lets, Writer.lets))
        term = t.Lambda(x, source, form(writer, target, {x: source}, n))
    return Closed(Program(term, DATA), source, target, writer.value(source, 3))


def open_term(choices: bytes, size: int) -> Open:
    """The term of these choices."""
    writer = Writer(choices)
    environment = {writer.name(): writer.type(3) for _ in range(writer.below(5))}
    wanted = writer.type(3)
    term = writer.term(wanted, environment, writer.size(size))
    return Open(term, wanted, environment, writer.first_order(2), frozenset(writer.names))


def _has_real(kind: Type) -> bool:
    return kind == REAL or any(_has_real(part) for part in ty.parts(kind))


class Writer(Choices):
    """Makes terms, too."""

    def term(self, wanted: Type, env: Environment, size: int) -> Term:
        """A term of the type."""
        if size <= 0:
            return self.leaf(wanted, env)
        return self.pick(FORMS)(self, wanted, env, size - 1)

    def atoms(self, env: Environment) -> list[tuple[Term, Type]]:
        """The variables and the parts of those that are pairs."""
        found: list[tuple[Term, Type]] = []
        for x, kind in env.items():
            todo: list[tuple[Term, Type]] = [(Var(x), kind)]
            while todo:
                atom, kind = todo.pop()
                found.append((atom, kind))
                if isinstance(kind, ty.Pair):
                    todo += [(t.Snd(atom), kind.second), (t.Fst(atom), kind.first)]
        return found[::-1]  # what was bound last comes first

    def leaf(self, wanted: Type, env: Environment) -> Term:
        """A variable or the like; or what is made of least."""
        found = [atom for atom, kind in self.atoms(env) if kind == wanted]
        if found and not self.chance(6):
            return self.pick(found)
        match wanted:
            case ty.Real():
                return t.Literal((self.below(17) - 4) / 4)
            case ty.Int():
                return t.Integer(self.below(6) - 1)
            case ty.Unit():
                return t.Star()
            case ty.Pair(first, second):
                return t.Tuple(self.leaf(first, env), self.leaf(second, env))
            case ty.Arrow(argument, result):
                x = self.name()
                return t.Lambda(x, argument, self.leaf(result, {**env, x: argument}))
        c = self.constructor(wanted, 0)
        return t.Con(wanted, c.name, tuple([self.leaf(field, env) for field in c.fields]))

    def made(self, wanted: Type, env: Environment, size: int) -> Term:
        """Return a term that makes a value of the type."""
        match wanted:
            case ty.Real():
                return self.number(env, size)
            case ty.Int():
                op = self.pick(("+#", "-#", "*#", "//#", "%#"))
                if op in ("//#", "%#"):
                    return t.Discrete(op, (self.term(INT, env, size), t.Integer(self.pick((2, 3, -2)))))
                return t.Discrete(op, self.several((INT, INT), env, size))
            case ty.Pair(first, second):
                return t.Tuple(*self.several((first, second), env, size))
            case ty.Arrow(argument, result):
                x = self.name()
                return t.Lambda(x, argument, self.term(result, {**env, x: argument}, size))
            case ty.Sum() if wanted == BOOL:
                return self.condition(env, size)
            case ty.Sum() | Named():
                c = self.constructor(wanted, size)
                return t.Con(wanted, c.name, self.several(c.fields, env, size))
        return self.leaf(wanted, env)

    def several(self, kinds: Sequence[Type], env: Environment, size: int) -> tuple[Term, ...]:
        """A term of each type."""
        sizes = self.shares(size, len(kinds)) if kinds else []
        return tuple([self.term(kind, env, n) for kind, n in zip(kinds, sizes, strict=True)])

    def condition(self, env: Environment, size: int) -> Term:
        """A term of type () + ()."""
        op = self.pick(("<", "<=", "<#", "<=#", "==#", "true", "false"))
        if op in ("true", "false"):
            return TRUE if op == "true" else FALSE
        kind = INT if op.endswith("#") else REAL
        return t.Discrete(op, self.several((kind, kind), env, size))

    def number(self, env: Environment, size: int) -> Term:
        """A term of type R."""
        match self.pick(("binary", "unary", "positive", "over", "real", "power")):
            case "binary":
                return t.Operation(self.pick(BINARY), self.several((REAL, REAL), env, size))
            case "unary":
                made = self.term(REAL, env, size)
                for op in reversed(self.pick(UNARY).split()):
                    made = t.Operation(op, (made,))
                return made
            case "positive":
                return self.positive(env, size, lambda y: t.Operation(self.pick(POSITIVE), (y,)))
            case "over":
                m, n = self.shares(size, 2)
                x = self.term(REAL, env, m)
                return self.positive(env, n, lambda y: t.Operation(self.pick(OVER_POSITIVE), (x, y)), x)
            case "power":
                m, n = self.shares(size, 2)
                x = t.Operation("tanh", (self.term(REAL, env, m),))
                return self.positive(env, n, lambda y: t.Operation("pow", (y, x)), x)
        return t.Discrete("real", (self.term(INT, env, size),))

    def positive(self, env: Environment, size: int, use: Callable[[Term], Term], beside: Term | None = None) -> Term:
        """let x = .. in use(1.5 + x x), where x is no variable of what stands beside."""
        x = self.own("p") if beside is not None else self.name()
        square = t.Operation("mul", (Var(x), Var(x)))
        return t.Let(x, self.term(REAL, env, size), use(t.Operation("add", (t.Literal(1.5), square))))

    # Forms for any type

    def let(self, wanted: Type, env: Environment, size: int) -> Term:
        """let x = .. in .. x .. x .."""
        x, kind = self.name(), self.type(2)
        m, n = self.shares(size, 2)
        return t.Let(x, self.term(kind, env, m), self.term(wanted, {**env, x: kind}, n))

    def lets(self, wanted: Type, env: Environment, size: int) -> Term:
        """let x = .. in let y = .. x .. x .. in ..: scalars, each of earlier ones"""
        names = self.distinct(1 + self.below(5))
        *sizes, last = self.shares(size, len(names) + 1)
        numbers = []
        for x, n in zip(names, sizes, strict=True):
            numbers.append(self.number(env, n))
            env = {**env, x: REAL}
        made = self.term(wanted, env, last)
        for x, number in reversed(list(zip(names, numbers, strict=True))):
            made = t.Let(x, number, made)
        return made

    def called(self, wanted: Type, env: Environment, size: int) -> Term:
        """A variable's function, applied to one or two arguments; without one, let or a function written out."""
        found: list[tuple[Term, tuple[Type, ...]]] = []
        for atom, kind in self.atoms(env):
            if isinstance(kind, ty.Arrow) and kind.result == wanted:
                found.append((atom, (kind.argument,)))
            elif isinstance(kind, ty.Arrow) and isinstance(kind.result, ty.Arrow) and kind.result.result == wanted:
                found.append((atom, (kind.argument, kind.result.argument)))
        if not found:
            return self.pick((Writer.higher, Writer.let, Writer.applied))(self, wanted, env, size)
        made, kinds = self.pick(found)
        for argument in self.several(kinds, env, size):
            made = t.Apply(made, argument)
        return made

    def higher(self, wanted: Type, env: Environment, size: int) -> Term:
        r"""let g = \(f : s -> t). f .. in g (..)"""
        kind = ty.Arrow(ty.Arrow(self.type(1), self.type(1)), wanted)
        g = self.name()
        m, n = self.shares(size, 2)
        return t.Let(g, self.made(kind, env, m), self.called(wanted, {**env, g: kind}, n))

    def applied(self, wanted: Type, env: Environment, size: int) -> Term:
        """s t"""
        kind = self.type(2)
        return t.Apply(*self.several((ty.Arrow(kind, wanted), kind), env, size))

    def projected(self, wanted: Type, env: Environment, size: int) -> Term:
        """fst(t), snd(t)"""
        other = self.type(1)
        if self.chance(2):
            return t.Snd(self.term(ty.Pair(other, wanted), env, size))
        return t.Fst(self.term(ty.Pair(wanted, other), env, size))

    def conditional(self, wanted: Type, env: Environment, size: int) -> Term:
        """if .. then .. else .."""
        m, n, k = self.shares(size, 3)
        return if_(self.condition(env, m), self.term(wanted, env, n), self.term(wanted, env, k))

    def case(self, wanted: Type, env: Environment, size: int) -> Term:
        """case .. of {..}"""
        m, n = self.shares(size, 2)
        scrutinee, kind = self.some(env, (ty.Sum, Named), m)
        constructors = DATA.constructors(kind)
        assert constructors is not None
        branches = []
        for c, k in zip(constructors, self.shares(n, len(constructors)), strict=True):
            names = self.distinct(len(c.fields))
            body = self.term(wanted, {**env, **dict(zip(names, c.fields, strict=True))}, k)
            branches.append(t.Branch(c.name, names, body))
        return t.Case(scrutinee, tuple(branches))

    def some(self, env: Environment, kinds: tuple[type[Type], ...], size: int) -> tuple[Term, Type]:
        """A term of one of these kinds of types, a variable if there is one."""
        found = [(a, kind) for a, kind in self.atoms(env) if isinstance(kind, kinds) and self.recursive(kind, kinds)]
        if found and not self.chance(4):
            return self.pick(found)
        kind = Named(self.pick(tuple(GROUPS)), (self.type(1),))
        if ty.Sum in kinds and self.chance(2):
            kind = ty.Sum(self.type(1), self.type(1))
        return self.term(kind, env, size), kind

    @staticmethod
    def recursive(kind: Type, kinds: tuple[type[Type], ...]) -> bool:
        """Whether it will do for recursion, if that is wanted."""
        return ty.Sum in kinds or (isinstance(kind, Named) and kind.name in GROUPS)

    # Recursion

    def structural(self, wanted: Type, env: Environment, size: int) -> Term:
        """letrec f : T a -> s = .. in f (..), which calls itself with the parts of its argument that have type T a."""
        m, n = self.shares(size, 2)
        scrutinee, kind = self.some(env, (Named,), m)
        assert isinstance(kind, Named)
        group = {Named(name, kind.arguments): self.own("f") for name in GROUPS[kind.name]}
        results = {data: wanted if data == kind else self.type(1) for data in group}
        more = self.type(1) if self.chance(2) else None  # an accumulator
        argument = {data: data if more is None else ty.Pair(data, more) for data in group}
        sizes = self.shares(n, len(group) + 1)
        functions = []
        for data, f in group.items():
            p = self.own("p")
            inner = env if more is None else {**env, p: argument[data]}
            branches = self.folded(data, group, results, more, inner, sizes.pop())
            body = t.Case(Var(p) if more is None else t.Fst(Var(p)), branches)
            functions.append(t.Function(f, ty.Arrow(argument[data], results[data]), p, body))
        if more is not None:
            scrutinee = t.Tuple(scrutinee, self.term(more, env, sizes.pop()))
        return t.Letrec(tuple(functions), t.Apply(Var(group[kind]), scrutinee))

    def folded(
        self,
        data: Named,
        group: Mapping[Named, str],
        results: Mapping[Named, Type],
        more: Type | None,
        env: Environment,
        size: int,
    ) -> tuple[t.Branch, ...]:
        """C(x1, .., xn) -> let y1 = f x1 in .. in ..; ..  for the xi of the function's data types."""
        constructors = DATA.constructors(data)
        assert constructors is not None
        branches = []
        for c, n in zip(constructors, self.shares(size, len(constructors)), strict=True):
            inside = [field for field in c.fields if field in group]
            names = self.distinct(len(c.fields) + len(inside))
            known, calls = {**env, **dict(zip(names, c.fields, strict=False))}, []
            ys = list(names[len(c.fields) :])
            for x, field in zip(names, c.fields, strict=False):
                if field in group:
                    given: Term = Var(x)
                    if more is not None:
                        given = t.Tuple(given, self.term(more, known, n // 4))
                    y = ys.pop(0)
                    calls.append((y, t.Apply(Var(group[field]), given)))
                    known = {**known, y: results[field]}
            body = self.term(results[data], known, n)
            for y, call in reversed(calls):
                body = t.Let(y, call, body)
            branches.append(t.Branch(c.name, names[: len(c.fields)], body))
        return tuple(branches)

    def counting(self, wanted: Type, env: Environment, size: int) -> Term:
        """letrec f : (Int, s) -> t = .. in let g = \\x. f (n, x) in ..: it calls itself, or another, with n - 1."""
        kind, count = self.type(2), 1 + self.below(2)
        calls = 1 + self.below(2)
        names = [self.own("f") for _ in range(count)]
        sizes = self.shares(size, count + 1)
        functions = []
        for k in range(count):
            body = self.counted(names[(k + 1) % count], calls, kind, wanted, env, sizes[k])
            functions.append(t.Function(names[k], ty.Arrow(ty.Pair(INT, kind), wanted), body.name, body.body))
        g, x = self.distinct(2)
        start = self.below(4)
        called = t.Lambda(x, kind, t.Apply(Var(names[0]), t.Tuple(t.Integer(start), Var(x))))
        if self.chance(2):
            body = t.Let(g, called, self.called(wanted, {**env, g: ty.Arrow(kind, wanted)}, sizes[-1]))
        else:
            body = t.Apply(Var(names[0]), t.Tuple(self.bounded(env, start), self.term(kind, env, sizes[-1])))
        return t.Letrec(tuple(functions), body)

    def bounded(self, env: Environment, at_most: int) -> Term:
        """An Int, of a variable if there is one."""
        found = [atom for atom, kind in self.atoms(env) if kind == INT]
        if not found:
            return t.Integer(at_most)
        n = self.pick(found)
        return if_(t.Discrete("<#", (n, t.Integer(at_most))), n, t.Integer(at_most))

    def counted(self, f: str, calls: int, kind: Type, wanted: Type, env: Environment, size: int) -> t.Lambda:
        r"""\p. let n = fst(p) in let x = snd(p) in if n <= 0 then .. else let y = f (n - 1, ..) in .."""
        p = self.own("p")
        n, x, *ys = self.distinct(2 + calls)
        inner: dict[str, Type] = {**env, n: INT, x: kind}
        first, *others, last = self.shares(size, 2 + calls)
        zero = self.term(wanted, inner, first)
        made = []
        for y, m in zip(ys, others, strict=True):
            less = t.Tuple(t.Discrete("-#", (Var(n), t.Integer(1))), self.term(kind, inner, m))
            made.append((y, t.Apply(Var(f), less)))
            inner = {**inner, y: wanted}
        body = self.term(wanted, inner, last)
        for y, call in reversed(made):
            body = t.Let(y, call, body)
        choice = if_(t.Discrete("<=#", (Var(n), t.Integer(0))), zero, body)
        both = t.Let(n, t.Fst(Var(p)), t.Let(x, t.Snd(Var(p)), choice))
        return t.Lambda(p, ty.Pair(INT, kind), both)


#: What a term may be, each as often as it stands here.
FORMS = (
    *[Writer.made] * 6,
    *[Writer.let] * 2,
    *[Writer.lets] * 2,
    *[Writer.called] * 4,
    Writer.conditional,
    Writer.applied,
    Writer.projected,
    *[Writer.case] * 2,
    Writer.higher,
    Writer.structural,
    Writer.counting,
)
