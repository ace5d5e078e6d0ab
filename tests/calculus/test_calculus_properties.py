"""Properties of the paper's transformations on generated programs and terms; each test is named after its statement."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from programs.calculus.calculus_choices import DATA
from programs.calculus.calculus_generator import (
    BINARY,
    OVER_POSITIVE,
    POSITIVE,
    UNARY,
    Closed,
    Open,
    closed_program,
    closed_programs,
    open_terms,
)

from stages import STAGES, sharing
from stages.calculus import TRANSFORMATIONS, Machine, Program, check, check_term, evaluate, parse_program
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Definition
from stages.calculus.language.discrete import DISCRETE
from stages.calculus.language.errors import StepLimit
from stages.calculus.language.kinds import same
from stages.calculus.language.languages import LANGUAGES
from stages.calculus.language.terms import Branch, Discrete, Function, LinearLambda, Operation, Term, subterms
from stages.calculus.language.types import INT
from stages.calculus.language.values import Closure, Elements, Made
from stages.calculus.readable import readable

REVERSE = [name for name in TRANSFORMATIONS if name != "forward"]
STAGED = [name for name in REVERSE if name != "D1"]
CLOSURES = [name for name in STAGED if name not in ("contrib", "tape")]  # whose backpropagators are functions
LARGE = 1e4  # beyond it, roundings are all that differences see
STEPS = 5_000  # of a source program
EXPONENTIAL = 30_000  # where D1 is given up

few = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
many = settings(few, max_examples=10_000)


# Values


def scalars(value: Any) -> list[float]:
    """The real scalars of a value, from left to right."""
    if isinstance(value, float):
        return [value]
    assert value is None or isinstance(value, (int, str, tuple)), value
    return [x for part in value for x in scalars(part)] if isinstance(value, tuple) else []


def rebuilt(value: Any, numbers: list[float], discrete: Callable[[Any], Any] = lambda x: x) -> Any:
    """The value with other real scalars, and with `discrete` of its other parts."""
    left = iter(numbers)

    def of(part: Any) -> Any:
        if isinstance(part, Made):
            return Made(discrete(part.name), tuple(map(of, part.fields)))
        if isinstance(part, Elements):
            return Elements(tuple(map(of, part.elements)))
        if isinstance(part, tuple):
            return tuple(map(of, part))
        return next(left) if isinstance(part, float) else discrete(part)

    return of(value)


def shape(value: Any) -> Any:
    """The value without its numbers."""
    if isinstance(value, Made):
        return Made(value.name, shape(value.fields))
    return tuple(map(shape, value)) if isinstance(value, tuple) else type(value)


def like(value: Any, seed: int) -> Any:
    """A random cotangent or tangent of the value."""
    rng = random.Random(seed)
    return rebuilt(value, [rng.uniform(0.25, 1.0) * rng.choice([-1, 1]) for _ in scalars(value)])


def product(xs: list[float], ys: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(xs, ys, strict=True))


@functools.lru_cache(maxsize=len(TRANSFORMATIONS))
def wrapped(name: str, of: Closed) -> Program:
    """Wrap of the program; a test may want it several times."""
    return TRANSFORMATIONS[name].wrap(of.program)


class Run:
    """A program at its input, with a random cotangent of its value and a random direction of the input."""

    def __init__(self, of: Closed) -> None:
        self.of, self.x = of, of.x
        self.machine = Machine(of.program, limit=STEPS)
        try:
            self.function = self.machine.value()
            self.y = self.f(self.x)
        except (StepLimit, ArithmeticError, ValueError):
            assume(False)
        assume(all(abs(r) < LARGE for r in scalars(self.y)))
        self.ct, self.direction = like(self.y, 1), scalars(like(self.x, 2))

    def f(self, x: Any) -> Any:
        """The source program."""
        self.machine.steps = 0
        return self.machine.apply(self.function, x)

    def along(self, t: float) -> float:
        """<f(x + t direction), ct>"""
        moved = [r + t * v for r, v in zip(scalars(self.x), self.direction, strict=True)]
        return product(scalars(self.f(rebuilt(self.x, moved))), scalars(self.ct))

    def derivative(self, name: str) -> tuple[Any, Callable[[Any], Any]]:
        """The value and the pullback, by a transformation of reverse AD."""
        machine = Machine(wrapped(name, self.of), EXPONENTIAL if name == "D1" else math.inf)
        y, pullback = machine.apply(machine.value(), self.x)
        return y, lambda ct: machine.apply(pullback, ct)

    @functools.cached_property
    def gradient(self) -> list[float]:
        """The pullback of the cotangent, by D4."""
        _, pullback = self.derivative("D4")
        found = scalars(pullback(self.ct))
        assert not any(map(math.isnan, found)), found
        assume(all(abs(r) < LARGE for r in found))
        return found

    @functools.cached_property
    def magnitude(self) -> list[float]:
        """The gradient of the sum of all intermediate values with every term taken as positive: what roundings of terms
        that cancel are relative to."""
        rows = sharing("tape", self.f, self.x)
        terms = [1.0] * len(rows)
        for row in reversed(rows):
            for p, i in row.refers:
                terms[i] += abs(p) * terms[row.id]
        return terms[: len(self.gradient)]

    def close(self, found: list[float], expected: list[float]) -> bool:
        """Whether two gradients agree."""
        if len(found) != len(expected):
            return False
        pairs = enumerate(zip(found, expected, strict=True))
        wrong = [(a, b, k) for k, (a, b) in pairs if not abs(a - b) <= 1e-9 * abs(b)]
        return all(abs(a - b) <= 1e-11 * self.magnitude[k] for a, b, k in wrong)


# The statements, for one program


def term_keeps_its_type(name: str, of: Open) -> None:
    D = TRANSFORMATIONS[name](of.c, DATA, of.names)  # noqa: N806
    interface = {definition.name: definition.type for definition in D.interface()}
    found = check_term(D.term(of.term), {**interface, **D.environment(of.environment)}, D.declarations(), D.language)
    wanted = D.type(of.type)
    if name == "tape":
        wanted = ty.Resource(D.tape, ty.Pair(ty.Bang(wanted), D.tape))
    elif name in STAGED:
        wanted = ty.Arrow(INT, ty.Pair(wanted, INT))
    assert same(found, wanted, D.declarations())


def wrap_has_its_type(name: str, of: Closed) -> None:
    program = wrapped(name, of)
    s, t = of.source, of.target
    wanted = ty.Arrow(s, ty.Pair(t, ty.Linear(t, s)))
    if name == "forward":
        wanted = ty.Arrow(ty.Pair(s, s), ty.Pair(t, t))
    assert same(check(program, TRANSFORMATIONS[name].language), wanted, program.declarations)


def wrap_gives_value_and_gradient(name: str, run: Run) -> None:
    y, pullback = run.derivative(name)
    assert y == run.y
    found = pullback(run.ct)
    assert shape(found) == shape(run.x)
    assert run.close(scalars(found), run.gradient), (found, run.gradient)


def stage_gives_value_and_gradient(name: str, run: Run) -> None:
    if not scalars(run.x) or not scalars(run.y):
        return  # which the stages refuse
    y, pullback = STAGES[name].vjp(run.f, run.x)
    assert y == run.y
    (found,) = pullback(rebuilt(run.ct, scalars(run.ct), discrete=lambda _: None))
    assert run.close(scalars(found), run.gradient), (found, run.gradient)


def forward_is_the_transpose(run: Run) -> None:
    machine = Machine(wrapped("forward", run.of))
    y, dy = machine.apply(machine.value(), (run.x, rebuilt(run.x, run.direction)))
    assert y == run.y
    assert shape(dy) == shape(run.y)
    found, expected = product(scalars(dy), scalars(run.ct)), product(run.gradient, run.direction)
    scale = math.fsum(abs(g * v) for g, v in zip(run.gradient, run.direction, strict=True))
    assert abs(found - expected) <= 1e-9 * scale or abs(found - expected) <= 1e-11 * sum(run.magnitude)


def gradient_is_that_of_differences(run: Run) -> None:
    """Unless differences disagree among themselves, as beside a kink."""

    def slope(h: float) -> float:
        wide, narrow = ((run.along(step) - run.along(-step)) / (2 * step) for step in (h, h / 2))
        return (4 * narrow - wide) / 3

    expected = product(run.gradient, run.direction)
    scale = math.fsum(abs(g * v) for g, v in zip(run.gradient, run.direction, strict=True))
    scale += 1e-3 * abs(run.along(0.0)) + 1e-6
    found = []
    for h in (2.0**-10, 2.0**-13, 2.0**-16, 2.0**-20):
        found.append(slope(h))
        if abs(found[-1] - expected) <= 1e-5 * scale:
            return
    assert max(found[1:]) - min(found[1:]) > 1e-4 * scale, (found, expected)


def pullback_is_linear(name: str, run: Run) -> None:
    """d 0 = 0 and d (z1 + z2) = d z1 + d z2"""
    _, d = run.derivative(name)
    z1, z2 = scalars(run.ct), scalars(like(run.y, 3))
    zero, both, first, second = (
        scalars(d(rebuilt(run.y, z))) for z in ([0.0] * len(z1), [a + b for a, b in zip(z1, z2, strict=True)], z1, z2)
    )
    assert zero == [0.0] * len(run.gradient)
    assert run.close(both, [a + b for a, b in zip(first, second, strict=True)])


def backpropagators_are_called_once_in_order(name: str, run: Run) -> None:
    """Each at most once in a pullback, each delayed call is made, and it delays calls of smaller ids only."""
    delayed: dict[int, tuple[int, Any]] = {}  # id(f) -> (i, f)
    functions: dict[int, Any] = {}
    done: list[int] = []

    def called(f: Closure, _: Any) -> None:
        if f.made_by == "SCall":
            i, callee = f.environment["i"], f.environment["f"]
            assert functions.setdefault(i, callee) is callee, f"two backpropagators have the id {i}"
            assert delayed.setdefault(id(callee), (i, callee))[0] == i
            assert not done or i < done[-1], f"{done[-1]} calls {i}"
        elif id(f) in delayed:
            done.append(delayed[id(f)][0])
        else:
            assert f.made_by not in ("D[op]", "D[r]", "Interleave"), "a call that was not delayed"

    plain = wrapped(name, run.of)
    definitions = tuple([Definition(d.name, d.type, marked(d.term, d.name)) for d in plain.definitions])
    machine = Machine(Program(marked(plain.term, "Wrap"), plain.declarations, definitions))
    _, pullback = machine.apply(machine.value(), run.x)
    machine.called = called
    machine.apply(pullback, run.ct)
    assert done == sorted(functions, reverse=True)


def marked(part: Any, name: str) -> Any:
    """The term, with a `made_by` in all of its linear functions."""
    if isinstance(part, tuple):
        return tuple([marked(p, name) for p in part])
    if not isinstance(part, (Term, Branch, Function)):
        return part
    made = type(part)(*[marked(getattr(part, field), name) for field in part.__slots__])
    if isinstance(made, LinearLambda) and not made.made_by:
        return LinearLambda(made.name, made.type, made.body, name)
    return made


# The generator


def test_the_generator_writes_every_construct_and_operation():
    rng, depends = random.Random(0), 0
    found: set[str] = set()
    for _ in range(250):
        of = closed_program(rng.randbytes(500), 14)
        todo = [of.program.term]
        while todo:
            term = todo.pop()
            found.add(type(term).__name__)
            found |= {term.name} if isinstance(term, (Operation, Discrete)) else set()
            todo.extend(subterms(term))
        machine = Machine(of.program)
        f = machine.value()
        moved = rebuilt(of.x, [r + 0.1 for r in scalars(of.x)])
        depends += scalars(machine.apply(f, of.x)) != scalars(machine.apply(f, moved))
    missing = {kind.__name__ for kind in LANGUAGES["source"].terms} | set(DISCRETE) | {"pow"}
    missing -= {
        "Primitive",
        "Instance",
    }  # of vectors: calculus_vectors.py; of polymorphic functions: test_calculus_polymorphism.py
    missing |= {*BINARY, *POSITIVE, *OVER_POSITIVE, *(op for ops in UNARY for op in ops.split())}
    assert not missing - found
    assert depends > 100


# Few of each


@pytest.mark.parametrize("name", TRANSFORMATIONS)
@few
@given(open_terms())
def test_if_t_has_type_s_in_g_then_d_t_has_type_d_s_in_d_g(name, of):
    term_keeps_its_type(name, of)


@pytest.mark.parametrize("name", TRANSFORMATIONS)
@few
@given(closed_programs())
def test_wrap_of_s_to_t_is_s_to_t_and_t_to_s_linearly(name, of):
    wrap_has_its_type(name, of)


@pytest.mark.parametrize("name", REVERSE)
@few
@given(closed_programs())
def test_wrap_gives_the_value_and_all_d_the_same_gradient(name, of):
    try:
        wrap_gives_value_and_gradient(name, Run(of))
    except StepLimit:
        assert name == "D1"


@few
@given(closed_programs())
def test_stages_give_the_same_gradient(of):
    run = Run(of)
    for name in STAGES:
        if name != "naive":
            stage_gives_value_and_gradient(name, run)


@few
@given(closed_programs())
def test_the_gradient_is_that_of_differences_and_the_transpose_of_forward_ad(of):
    run = Run(of)
    gradient_is_that_of_differences(run)
    forward_is_the_transpose(run)


@pytest.mark.parametrize("name", REVERSE)
@few
@given(closed_programs())
def test_d_of_0_is_0_and_d_of_z1_plus_z2_is_d_z1_plus_d_z2(name, of):
    try:
        pullback_is_linear(name, Run(of))
    except StepLimit:
        assert name == "D1"


@pytest.mark.parametrize("name", CLOSURES)
@few
@given(closed_programs())
def test_a_backpropagator_is_called_once_and_calls_smaller_ids(name, of):
    backpropagators_are_called_once_in_order(name, Run(of))


# Names that a transformation uses, too


CAPTURED = [
    (r"\(SCall : R). SCall * SCall", 3.0, ["D2", "D3", "sparse", "D4"], "a variable hides a function of the interface"),
    (r"\(SOneHot : R). SOneHot * SOneHot", 3.0, ["sparse", "D4"], "a variable hides a function of the interface"),
    (r"\(_x2_d2 : R). 2.0 * _x2_d2", 3.0, ["D1", "sparse", "D4"], "let (x2, d2) = .. binds _x2_d2, which is not fresh"),
    ("g : R -> R = \\(y : R). y * y;\n\\(x : R). g x", 3.0, REVERSE, "Wrap forgets the program's definitions"),
    (
        "data Staged = S R;\n\\(x : Staged). case x of {S(y) -> y * y}",
        Made("S", (3.0,)),
        STAGED,
        "Staged is declared instead of the program's own",
    ),
    (
        "data L = M R;\ndata DL = K R;\n\\(x : DL). case x of {K(y) -> y * y}",
        Made("K", (3.0,)),
        REVERSE,
        "the image of L is declared instead of the program's own DL",
    ),
]


@pytest.mark.parametrize(
    ("source", "x", "name"),
    [pytest.param(source, x, name, id=f"{why}-{name}") for source, x, names, why in CAPTURED for name in names],
)
def test_names_of_the_program_are_not_captured(source, x, name):
    program = parse_program(source)
    derivative = TRANSFORMATIONS[name].wrap(program)
    check(derivative, TRANSFORMATIONS[name].language)
    assert evaluate(derivative, x)[0] == evaluate(program, x)


@settings(few, max_examples=8)
@given(closed_programs())
def test_the_readable_form_means_the_same(of):
    run = Run(of)
    for name in ("D1", "D2", "D4", "contrib", "tape"):
        whole = wrapped(name, of)
        short = readable(whole)
        assert check(short, TRANSFORMATIONS[name].language) == check(whole, TRANSFORMATIONS[name].language)
        found = []
        for program in (whole, short):
            machine = Machine(program, EXPONENTIAL if name == "D1" else math.inf)
            try:
                y, pullback = machine.apply(machine.value(), run.x)
                found.append(repr((y, machine.apply(pullback, run.ct))))
            except StepLimit:
                assume(False)
        assert found[0] == found[1]


# All of many


@pytest.mark.slow
@many
@given(open_terms())
def test_typing_of_many_terms(of):
    for name in TRANSFORMATIONS:
        term_keeps_its_type(name, of)


@pytest.mark.slow
@many
@given(closed_programs())
def test_everything_of_many_programs(of):
    run, stages = Run(of), set(STAGES)
    for name in TRANSFORMATIONS:
        wrap_has_its_type(name, of)
    for name in REVERSE:
        try:
            wrap_gives_value_and_gradient(name, run)
            pullback_is_linear(name, run)
        except StepLimit:
            assert name == "D1"
            stages.discard("naive")
    for name in stages:
        stage_gives_value_and_gradient(name, run)
    for name in CLOSURES:
        backpropagators_are_called_once_in_order(name, run)
    forward_is_the_transpose(run)
    gradient_is_that_of_differences(run)
