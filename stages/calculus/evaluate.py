r"""Call-by-value evaluation that counts steps.

One step is the evaluation of one term: a variable, a literal, a pair, a call, an operation of the table or one of its
partial derivatives. Operations that cost more count more:

    0[t], b + b'            1 for every scalar, (), pair and constructor made or added; for a map
    Map, n and m <= n keys  union: m (1 + log2(n/m + 1));   highest, lookup, delete: 1 + log2(n + 1)      (staged.py)
    arrays                  alloc, allocBeside: 1 for every element;   get, set, modify, ...: 1           (arrays.py)

Rules are written as generators, in direct style: `value = yield term, environment` evaluates a part. The driver keeps
waiting generators in a list, not on Python's stack, so that only memory limits the depth. A rule that ends with
`return Tail(term, environment)` does not wait (a tail call). A rule that ends with a Jump changes the list
(continuations/).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dualrev.eager.numbers.overload import function, linearize
from dualrev.rules.primitives import PRIMITIVES
from stages import ordered_map
from stages.calculus.continuations.evaluating import RULES as CONTINUATIONS
from stages.calculus.continuations.evaluating import Continuation
from stages.calculus.deltas.evaluating import RULES as DELTAS
from stages.calculus.language import terms as t
from stages.calculus.language.arrays import ARRAYS
from stages.calculus.language.declarations import Declarations, Program
from stages.calculus.language.discrete import DISCRETE
from stages.calculus.language.errors import StepLimit
from stages.calculus.language.staged import MAPS
from stages.calculus.language.types import BOOL, Arrow, Int, Map, Pair, Real, Resource, Type, Unit
from stages.calculus.language.values import (
    EMPTY,
    FALSE,
    IDENTITY,
    TRUE,
    Closure,
    Composed,
    Elements,
    Formal,
    Jump,
    Made,
    Rule,
    Tail,
    Tree,
    is_function,
)
from stages.calculus.language.vectors import VECTORS
from stages.calculus.text.printer import mark

__all__ = ["Machine", "Tail", "evaluate", "log2"]

Environment = Mapping[str, Any]


@dataclass
class Machine:
    """An evaluator of one program.

    declarations, definitions   of the program
    limit                       StepLimit is raised when `steps` exceeds it

    called                      a callback for every call of a closure with a `made_by`: gets closure and argument
    steps                       the number of steps so far
    """

    program: Program
    limit: float = float("inf")
    called: Callable[[Closure, Any], None] | None = None
    steps: int = 0
    environment: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for definition in self.program.definitions:
            self.environment[definition.name] = self.run(definition.term, self.environment)
        self.steps = 0

    @property
    def declarations(self) -> Declarations:
        """The program's data types and synonyms."""
        return self.program.declarations

    def value(self) -> Any:
        """The value of the program's term."""
        return self.run(self.program.term, self.environment)

    def apply(self, f: Any, *arguments: Any) -> Any:
        """The value of a function at an argument; with several arguments, each result is applied to the next one."""
        for x in arguments:
            f = self._drive(self.call(f, x))
        return f

    def run(self, term: t.Term, environment: Environment) -> Any:
        """The value of a term."""

        def start() -> Rule:
            """The rule of the whole term."""
            return (yield term, environment)

        return self._drive(start())

    def _drive(self, rule: Rule) -> Any:
        """Run a rule, and all rules that it calls, and return its value."""
        waiting, answer = [rule], None
        while waiting:
            try:
                asked = waiting[-1].send(answer)
            except StopIteration as done:
                waiting.pop()
                asked = done.value
                if type(asked) is Jump:
                    asked = asked.go(waiting)
                if type(asked) is not Tail:
                    answer = asked
                    continue
            if isinstance(asked, Generator):
                waiting.append(asked)
                answer = None
                continue
            term, environment = asked
            self.step(1)
            if (immediate := _IMMEDIATE.get(type(term))) is not None:
                answer = immediate(term, environment)
            else:
                waiting.append(_RULES[type(term)](self, term, environment))
                answer = None
        return answer

    def step(self, cost: int) -> None:
        """Count steps."""
        self.steps += cost
        if self.steps > self.limit:
            raise StepLimit(f"more than {self.limit:,.0f} steps")

    def undefined(self, term: t.Operation | t.Partial | t.Discrete, xs: list[Any], why: str) -> str:
        """The message for an operation that is undefined at its arguments, with its place in the program."""
        given = ", ".join(map(repr, xs))
        wholes = (self.program.term, *(definition.term for definition in self.program.definitions))
        place = next((found for whole in wholes if (found := mark(whole, term))), "")
        return f"{why}: {term.name}({given})" + (f"\n{place}" if place else "")

    def call(self, f: Any, x: Any) -> Rule:
        """f x"""
        while isinstance(f, Composed):
            self.step(1)
            x = yield self.call(f.right, x)
            f = f.left
        return self.enter(f, x)

    def enter(self, f: Any, x: Any) -> Any:
        """f x, for a function that is not a composition: the value, or a Tail."""
        if f is IDENTITY:
            return x
        if isinstance(f, Continuation):
            return f.entered(x)
        if f.made_by and self.called is not None:
            self.called(f, x)
        return Tail(f.body, {**f.environment, f.parameter: x})

    def plus(self, a: Any, b: Any) -> Rule:
        """a + b, for values of one monoid."""
        if isinstance(a, Tree):
            small, large = sorted((len(a), len(b)))
            self.step(small * (1 + log2(large // max(small, 1))))
            return Tree(ordered_map.union_with(_merge, a.root, b.root))
        self.step(1)
        if isinstance(a, Formal) or isinstance(b, Formal):
            return b if isinstance(a, Formal) else a
        if is_function(a):
            return Composed(a, b)
        if isinstance(a, Made):
            if a.name != b.name:
                raise ValueError(
                    f"{a.name} + {b.name}: a cotangent has the constructors of the value that it belongs to"
                )
            fields = []
            for x, y in zip(a.fields, b.fields, strict=True):
                fields.append((yield self.plus(x, y)))
            return Made(a.name, tuple(fields))
        if isinstance(a, Elements):
            if len(a.elements) != len(b.elements):
                raise ValueError(f"cotangents of {len(a.elements)} and of {len(b.elements)} elements for one vector")
            sums = []
            for x, y in zip(a.elements, b.elements, strict=True):
                sums.append((yield self.plus(x, y)))
            return Elements(tuple(sums))
        if isinstance(a, tuple) and a:
            first = yield self.plus(a[0], b[0])
            return first, (yield self.plus(a[1], b[1]))
        return () if a == () else a + b

    def zeros(self, type_: Type) -> tuple[str, tuple[Any, ...]]:
        """The first constructor of a sum or data type, and 0 for each of its fields."""
        constructors = self.declarations.constructors(type_)
        assert constructors
        return constructors[0].name, tuple([self.zero(field) for field in constructors[0].fields])

    def zero(self, type_: Type) -> Any:
        """0 of the type."""
        self.step(1)
        match self.declarations.expose(type_):
            case Real():
                return 0.0
            case Unit():
                return ()
            case Int():
                return 0
            case Pair(first, second):
                return self.zero(first), self.zero(second)
            case Map():
                return EMPTY
            case Arrow() | Resource():
                return IDENTITY
            case choice:
                return Formal(choice)


def evaluate(program: Program, *arguments: Any, limit: float = float("inf")) -> Any:
    """The value of a program; with arguments, the value of the program's function at them."""
    machine = Machine(program, limit)
    return machine.apply(machine.value(), *arguments)


def log2(n: int) -> int:
    """The logarithm of n + 1, rounded up: the depth of a balanced tree of n nodes."""
    return n.bit_length()


def _merge(a: Any, b: Any) -> Any:
    """The value of a key in both maps: the sum, or one function with the sum of its arguments (linear factoring)."""
    return (b[0], a[1] + b[1]) if isinstance(a, tuple) else a + b


_OPERATORS = {**MAPS, **ARRAYS, **VECTORS}

# The rules, in the order of terms.py. Immediate ones ask for nothing.

_IMMEDIATE: dict[type, Callable[[Any, Environment], Any]] = {
    t.Var: lambda term, environment: environment[term.name],
    t.Star: lambda term, environment: (),
    t.Literal: lambda term, environment: term.value,
    t.Integer: lambda term, environment: term.value,
    t.Lambda: lambda term, environment: Closure(term.name, term.body, environment),
    t.LinearLambda: lambda term, environment: Closure(term.name, term.body, environment, term.made_by),
    t.ResourceLambda: lambda term, environment: Closure(term.name, term.body, environment),
    t.Identity: lambda term, environment: IDENTITY,
}


def _tuple(machine: Machine, term: t.Tuple, environment: Environment) -> Rule:
    first = yield term.first, environment
    return first, (yield term.second, environment)


def _fst(machine: Machine, term: t.Fst, environment: Environment) -> Rule:
    return (yield term.pair, environment)[0]


def _snd(machine: Machine, term: t.Snd, environment: Environment) -> Rule:
    return (yield term.pair, environment)[1]


def _apply(machine: Machine, term: t.Apply, environment: Environment) -> Rule:
    f = yield term.function, environment
    x = yield term.argument, environment
    return (yield machine.call(f, x)) if isinstance(f, Composed) else machine.enter(f, x)


def _let(machine: Machine, term: t.Let, environment: Environment) -> Rule:
    value = yield term.value, environment
    return Tail(term.body, {**environment, term.name: value})


def _operation(machine: Machine, term: t.Operation, environment: Environment) -> Rule:
    xs = []
    for argument in term.arguments:
        xs.append((yield argument, environment))
    try:
        return function(PRIMITIVES[term.name])(*xs)
    except (ValueError, ArithmeticError) as error:
        raise type(error)(machine.undefined(term, xs, str(error))) from None


def _discrete(machine: Machine, term: t.Discrete, environment: Environment) -> Rule:
    xs = []
    for argument in term.arguments:
        xs.append((yield argument, environment))
    line = DISCRETE[term.name]
    try:
        found = line.compute(*xs)
    except ZeroDivisionError as error:
        raise ZeroDivisionError(machine.undefined(term, xs, str(error))) from None
    return (TRUE if found else FALSE) if line.result == BOOL else found


def _letrec(machine: Machine, term: t.Letrec, environment: Environment) -> Rule:
    inner = dict(environment)
    for f in term.functions:
        inner[f.name] = Closure(f.parameter, f.body, inner)
    yield from ()
    return Tail(term.body, inner)


def _con(machine: Machine, term: t.Con, environment: Environment) -> Rule:
    fields = []
    for argument in term.arguments:
        fields.append((yield argument, environment))
    return Made(term.name, tuple(fields))


def _instance(machine: Machine, term: t.Instance, environment: Environment) -> Rule:
    """f[t] evaluates to f: types are erased at run time."""
    yield from ()
    return Tail(term.function, environment)


def _case(machine: Machine, term: t.Case, environment: Environment) -> Rule:
    made = yield term.scrutinee, environment
    if isinstance(made, Formal):  # a linear body is 0 in every branch
        name, fields = machine.zeros(made.type)
        made = Made(name, fields)
    branch = next(branch for branch in term.branches if branch.name == made.name)
    return Tail(branch.body, {**environment, **dict(zip(branch.variables, made.fields, strict=True))})


def _partial(machine: Machine, term: t.Partial, environment: Environment) -> Rule:
    xs = []
    for argument in term.arguments:
        xs.append((yield argument, environment))
    z = yield term.body, environment
    try:
        return z * linearize(PRIMITIVES[term.name], xs)[1][term.index - 1]
    except (ValueError, ArithmeticError) as error:
        raise type(error)(machine.undefined(term, xs, str(error))) from None


def _plus(machine: Machine, term: t.Plus, environment: Environment) -> Rule:
    left = yield term.left, environment
    right = yield term.right, environment
    return (yield machine.plus(left, right))


def _zero(machine: Machine, term: t.Zero, environment: Environment) -> Rule:
    yield from ()
    return machine.zero(term.type)


def _compose(machine: Machine, term: t.Compose, environment: Environment) -> Rule:
    left = yield term.left, environment
    return Composed(left, (yield term.right, environment))


def _singleton(machine: Machine, term: t.Singleton, environment: Environment) -> Rule:
    key = yield term.key, environment
    return Tree(ordered_map.singleton(key, (yield term.value, environment)))


def _primitive(machine: Machine, term: t.Primitive, environment: Environment) -> Rule:
    xs = []
    for argument in term.arguments:
        xs.append((yield argument, environment))
    return (yield _OPERATORS[term.name].evaluate(machine, *xs))


def _resource_let(machine: Machine, term: t.ResourceLet, environment: Environment) -> Rule:
    value = yield term.value, environment
    values = (value,) if len(term.names) == 1 else value
    names = [name.removeprefix("!") for name in term.names]
    return Tail(term.body, {**environment, **dict(zip(names, values, strict=True))})


def _of(machine: Machine, term: t.Of, environment: Environment) -> Rule:
    return (yield term.content, environment)


def _claim(machine: Machine, term: t.Claim, environment: Environment) -> Rule:
    return (yield term.function, environment)


_RULES: dict[type, Callable[[Machine, Any, Environment], Rule]] = {
    t.Instance: _instance,
    t.Tuple: _tuple,
    t.Fst: _fst,
    t.Snd: _snd,
    t.Apply: _apply,
    t.Let: _let,
    t.Operation: _operation,
    t.Discrete: _discrete,
    t.Letrec: _letrec,
    t.Con: _con,
    t.Case: _case,
    t.Partial: _partial,
    t.Plus: _plus,
    t.Zero: _zero,
    t.Compose: _compose,
    t.Singleton: _singleton,
    t.Primitive: _primitive,
    t.ResourceLet: _resource_let,
    t.Of: _of,
    t.Claim: _claim,
    **CONTINUATIONS,
    **DELTAS,
}
