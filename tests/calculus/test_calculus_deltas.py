"""Krawiec et al. 2022 in the calculus, on generated programs: types, gradients, second derivatives, and costs."""

from __future__ import annotations

import collections
import functools
import math

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from programs.calculus.calculus_choices import DATA
from programs.calculus.calculus_generator import closed_programs, open_terms
from programs.calculus.calculus_vectors import closed_programs_with_vectors, open_terms_with_vectors
from test_calculus_properties import (
    Run,
    gradient_is_that_of_differences,
    like,
    product,
    rebuilt,
    scalars,
    shape,
)

from stages.calculus import (
    TRANSFORMATIONS,
    Machine,
    check,
    check_term,
    evaluate,
    parse_program,
    show_program,
    show_type,
)
from stages.calculus.complexity import FAMILIES, kept, measure
from stages.calculus.deltas.table import DELTAS
from stages.calculus.language import types as ty
from stages.calculus.language.errors import StepLimit
from stages.calculus.language.kinds import same
from stages.calculus.language.values import Elements, Made
from stages.calculus.readable import readable

REVERSE = ["delta", "delta-map", "delta-array", "delta-vectors"]
SHARED = REVERSE[1:]
MONADIC = [*SHARED, "triple-delta"]
EXPONENTIAL = 300_000  # where Fig. 7 is given up

UNSHRUNK = [phase for phase in Phase if phase != Phase.shrink]  # shrinking takes minutes: the seed is printed
few = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), phases=UNSHRUNK)
many = settings(few, max_examples=1000)
programs = st.one_of(closed_programs(), closed_programs_with_vectors())
terms = st.one_of(open_terms(), open_terms_with_vectors())


@functools.lru_cache(maxsize=len(DELTAS))
def wrapped(name, of):
    return DELTAS[name].wrap(of.program)


def pulled(name, of, x, ct, limit=math.inf):
    """The value of Wrap at the input, and its pullback of the cotangent."""
    machine = Machine(wrapped(name, of), limit)
    y, pullback = machine.apply(machine.value(), x)
    return y, machine.apply(pullback, ct), lambda z: machine.apply(pullback, z)


# ---- types -----------------------------------------------------------------------------------------------------------


def term_keeps_its_type(name, of):
    """If G |- t : s then D[G] |- D[t] : M D[s]; and D[s] without a monad."""
    assume(name != "vectorised" or "Vector" not in show_type(of.c))  # whole tangents
    D = DELTAS[name](of.c, DATA, of.names)  # noqa: N806
    term, wanted = D.term(D.annotated(of.term, of.environment)), D.type(of.type)
    if name in MONADIC:
        wanted = D.computing(wanted)
    environment = {**D.environment(of.environment), **{d.name: d.type for d in D.interface()}}
    found = check_term(term, environment, D.declarations(), D.language)
    assert same(found, wanted, D.declarations())


def wrap_has_its_type(name, of):
    assume(name != "vectorised" or "Vector" not in show_type(of.source))
    program = wrapped(name, of)
    s, t = of.source, of.target
    wanted = {
        "triple": ty.Arrow(ty.Pair(s, s), ty.Pair(t, ty.Pair(t, t))),
        "tower": ty.Arrow(ty.Pair(s, s), ty.Arrow(ty.INT, t)),
        "triple-delta": ty.Arrow(ty.Pair(s, s), ty.Pair(ty.Pair(t, t), ty.Linear(t, ty.Pair(s, s)))),
    }.get(name, ty.Arrow(s, ty.Pair(t, ty.Linear(t, s))))
    assert same(check(program, DELTAS[name].language), wanted, program.declarations)
    if name not in ("triple", "triple-delta", "tower"):  # which write partial derivatives out, and are long
        assert parse_program(show_program(program)) == program
        short = readable(program)
        assert same(check(short, DELTAS[name].language), wanted, program.declarations)
        means_the_same(short, program, of)


def means_the_same(short, program, of):
    found = []
    for one in (short, program):
        machine = Machine(one, EXPONENTIAL)
        try:
            y, pullback = machine.apply(machine.value(), of.x)
            found.append(repr((y, machine.apply(pullback, like(y, 1)))))
        except (StepLimit, ArithmeticError, ValueError):
            return
    assert found[0] == found[1]


@pytest.mark.parametrize("name", DELTAS)
@few
@given(terms)
def test_if_t_has_type_s_in_g_then_d_t_has_type_m_d_s_in_d_g(name, of):
    term_keeps_its_type(name, of)


@pytest.mark.parametrize("name", DELTAS)
@few
@given(programs)
def test_wrap_has_its_type_and_can_be_read_back_and_shortened(name, of):
    wrap_has_its_type(name, of)


@pytest.mark.parametrize("name", REVERSE)
def test_the_readable_form_of_a_name_that_hides_its_own_whole(name):
    program = DELTAS[name].wrap(
        parse_program(r"\(e : (R, (R, R))). let x = (let e = fst(snd(e)) in sin(e) * e) in let u = x in x * u")
    )
    short = readable(program)
    check(short, DELTAS[name].language)
    assert (
        evaluate(short, (1.0, (2.0, 3.0)))[0] == evaluate(program, (1.0, (2.0, 3.0)))[0] == (2.0 * math.sin(2.0)) ** 2
    )


# ---- gradients -------------------------------------------------------------------------------------------------------


def gives_value_and_gradient(name, run):
    """Assert that value and gradient equal D4's, and that the pullback is linear."""
    y, found, again = pulled(name, run.of, run.x, run.ct, EXPONENTIAL if name == "delta" else math.inf)
    assert y == run.y
    assert shape(found) == shape(run.x)
    assert run.close(scalars(found), run.gradient), (found, run.gradient)
    z1, z2 = scalars(run.ct), scalars(like(run.y, 3))
    both = again(rebuilt(run.y, [a + b for a, b in zip(z1, z2, strict=True)]))
    other = again(rebuilt(run.y, z2))
    sums = [a + b for a, b in zip(scalars(found), scalars(other), strict=True)]
    assert run.close(scalars(both), sums)
    assert scalars(again(rebuilt(run.y, [0.0] * len(z1)))) == [0.0] * len(run.gradient)


@pytest.mark.parametrize("name", REVERSE)
@few
@given(programs)
def test_the_gradient_is_that_of_d4(name, of):
    try:
        gives_value_and_gradient(name, Run(of))
    except StepLimit:
        assert name == "delta"


@few
@given(closed_programs_with_vectors())
def test_with_vectors_the_gradient_is_that_of_differences_and_of_all_stages_that_take_them(of):
    run = Run(of)
    gradient_is_that_of_differences(run)
    for name in ("sparse", "collectorless", "contrib", "tape"):
        machine = Machine(TRANSFORMATIONS[name].wrap(of.program))
        y, pullback = machine.apply(machine.value(), run.x)
        assert y == run.y
        assert run.close(scalars(machine.apply(pullback, run.ct)), run.gradient), name
    machine = Machine(TRANSFORMATIONS["forward"].wrap(of.program))
    _, dy = machine.apply(machine.value(), (run.x, rebuilt(run.x, run.direction)))
    agrees(product(scalars(dy), scalars(run.ct)), product(run.gradient, run.direction), run)


def agrees(found, expected, run, factor=1.0):
    """Assert that two derivatives along the direction agree up to rounding errors."""
    scale = math.fsum(abs(g * v) for g, v in zip(run.gradient, run.direction, strict=True))
    allowed = factor * (1e-9 * (scale + abs(expected)) + 1e-11 * sum(run.magnitude))
    assert abs(found - expected) <= allowed, (found, expected)


# ---- second derivatives ----------------------------------------------------------------------------------------------


class Twice(Run):
    """With the two derivatives of triple numbers; what the table's lines refuse or what is infinite is passed over."""

    def __init__(self, of):
        super().__init__(of)
        assume(scalars(self.x) and scalars(self.y))
        self.dx = rebuilt(self.x, self.direction)
        try:
            machine = Machine(wrapped("triple", of))
            self.value, (self.first, self.second) = machine.apply(machine.value(), (self.x, self.dx))
        except (ArithmeticError, ValueError):
            assume(False)
        assume(all(abs(r) < 1e6 for r in scalars(self.second)))


def triples_agree(run):
    """y, ct . y' = gradient . dx, and ct . y'' = dx . H dx, where the reverse triple gives the gradient and H dx."""
    assert run.value == run.y
    agrees(product(scalars(run.first), scalars(run.ct)), product(run.gradient, run.direction), run)
    (y, dy), (g, hdx), _ = pulled("triple-delta", run.of, (run.x, run.dx), run.ct)
    assert (y, dy) == (run.value, run.first)
    assert run.close(scalars(g), run.gradient)
    assert shape(hdx) == shape(run.x)
    expected = product(scalars(run.second), scalars(run.ct))
    size = math.fsum(abs(a * b) for a, b in zip(scalars(hdx), run.direction, strict=True))
    assert abs(product(scalars(hdx), run.direction) - expected) <= 1e-7 * (size + abs(expected) + sum(run.magnitude))


def second_is_that_of_differences(run):
    """Assert that second derivatives equal differences of first ones, if the differences agree with each other."""
    expected = product(scalars(run.second), scalars(run.ct))

    def first(t):
        moved = [r + t * v for r, v in zip(scalars(run.x), run.direction, strict=True)]
        machine = Machine(TRANSFORMATIONS["forward"].wrap(run.of.program))
        _, dy = machine.apply(machine.value(), (rebuilt(run.x, moved), run.dx))
        assume(shape(dy) == shape(run.y))
        return product(scalars(dy), scalars(run.ct))

    found = []
    for h in (2.0**-8, 2.0**-11, 2.0**-14):
        wide, narrow = ((first(step) - first(-step)) / (2 * step) for step in (h, h / 2))
        found.append((4 * narrow - wide) / 3)
    scale = abs(expected) + 1e-3 * abs(first(0.0)) + 1e-3 * sum(run.magnitude)
    if min(abs(d - expected) for d in found) > 1e-4 * scale:
        assert max(found) - min(found) > 1e-4 * scale, (found, expected)


@few
@given(programs)
def test_triple_numbers_agree_forward_and_reverse_and_with_differences(of):
    run = Twice(of)
    triples_agree(run)
    second_is_that_of_differences(run)


@pytest.mark.slow
@many
@given(programs)
def test_everything_of_many_programs(of):
    for name in DELTAS:
        if name != "vectorised":
            wrap_has_its_type(name, of)
    run = Run(of)
    for name in REVERSE:
        try:
            gives_value_and_gradient(name, run)
        except StepLimit:
            assert name == "delta"
    triples_agree(Twice(of))
    second_is_that_of_differences(Twice(of))


@pytest.mark.slow
@many
@given(terms)
def test_typing_of_many_terms(of):
    for name in DELTAS:
        if name != "vectorised":
            term_keeps_its_type(name, of)


ROSENBROCK = r"\(x : R, y : R). let a = 1.0 - x in let b = y - x * x in a * a + 100.0 * (b * b)"


def test_the_hessian_of_a_known_function():
    program = parse_program(ROSENBROCK)
    x, y = 0.7, -0.4
    hessian = [[2.0 - 400.0 * (y - 3.0 * x * x), -400.0 * x], [-400.0 * x, 200.0]]
    gradient = (-2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x))
    triple, reverse = Machine(DELTAS["triple"].wrap(program)), Machine(DELTAS["triple-delta"].wrap(program))
    for u in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (-2.0, 0.5)):
        rows = [row[0] * u[0] + row[1] * u[1] for row in hessian]
        _, (first, second) = triple.apply(triple.value(), ((x, y), u))
        (_, dy), pullback = reverse.apply(reverse.value(), ((x, y), u))
        g, hu = reverse.apply(pullback, 1.0)
        assert first == dy == pytest.approx(gradient[0] * u[0] + gradient[1] * u[1], rel=1e-13)
        assert second == pytest.approx(rows[0] * u[0] + rows[1] * u[1], rel=1e-13)
        assert g == pytest.approx(gradient, rel=1e-13)
        assert hu == pytest.approx(rows, rel=1e-13)


def test_triples_of_triples():
    """A triple can be transformed again: the fourth derivative of x^5 along x + t + s is 120 x at dx = 1."""
    program = parse_program(r"\(x : R). let y = x * x in y * y * x")
    twice = DELTAS["triple"].wrap(DELTAS["triple"].wrap(program))
    _, (_, (_, (_, fourth))) = evaluate(twice, ((2.0, 1.0), (1.0, 0.0)))
    assert fourth == 240.0
    reverse = Machine(DELTAS["delta-map"].wrap(DELTAS["triple"].wrap(program)))
    y, pullback = reverse.apply(reverse.value(), (2.0, 1.0))
    assert y == (32.0, (80.0, 160.0))
    assert reverse.apply(pullback, (0.0, (0.0, 1.0))) == (240.0, 320.0)  # d/dx and d/ddx of 20 x^3 dx^2


# ---- costs -----------------------------------------------------------------------------------------------------------


def visits(name, program, x):
    """How often eval is called in a pullback, by constructors of Delta, and how many bindings there are."""
    counts = collections.Counter()
    machine = Machine(DELTAS[name].wrap(program))
    _, pullback = machine.apply(machine.value(), x)
    machine.called = lambda f, _: counts.update([type(f.body).__name__])
    machine.apply(pullback, 1.0)
    return counts.total()


def test_every_let_bound_delta_is_visited_once_and_without_let_as_often_as_there_are_paths():
    """x1 = x0 + x0, .., xn: Add, and two Vars, for each; and the paths are 2^n (section 5.3)."""
    doublings = [FAMILIES["doublings"].make(n) for n in range(1, 11)]
    for n, (program, x) in enumerate(doublings, 1):
        assert visits("delta-array", program, x) == 3 * n + 1  # and the output's own Var
        assert visits("delta-map", program, x) == 3 * n + 2  # and the Zero in which the nest of Lets ends
        assert visits("delta", program, x) == 2 ** (n + 1) - 1


@pytest.mark.parametrize("family", FAMILIES)
def test_the_monadic_translation_keeps_the_criterion(family):
    """Steps divided by the program's steps do not grow from n = 16 to n = 128, with a map except for a logarithm."""
    found = {name: [measure(DELTAS[name], *FAMILIES[family].make(n), 1.0) for n in (16, 128)] for name in MONADIC[:2]}
    small, large = (m.ratio for m in found["delta-array"])
    assert large < 1.05 * small
    assert large < 50
    small, large = (m.ratio / math.log2(m.primal + m.size) for m in found["delta-map"])
    assert large < 1.05 * small


def test_without_sharing_the_criterion_is_broken_on_doublings_only():
    steps = [measure(DELTAS["delta"], *FAMILIES["doublings"].make(n), 1.0).gradient for n in (8, 9, 10)]
    assert 1.8 < (steps[2] - steps[1]) / (steps[1] - steps[0]) < 2.2
    with pytest.raises(StepLimit):
        measure(DELTAS["delta"], *FAMILIES["doublings"].make(40), 1.0, limit=1e5)
    for family in ("wide", "deep"):
        small, large = (measure(DELTAS["delta"], *FAMILIES[family].make(n), 1.0).ratio for n in (16, 128))
        assert large < 1.05 * small


@pytest.mark.parametrize("name", REVERSE)
@pytest.mark.parametrize("family", FAMILIES)
def test_space_is_that_of_the_program(family, name):
    """Space kept for the pullback grows linearly (Lemma 3), as Deltas are shared in memory."""
    words = [kept(DELTAS[name], *FAMILIES[family].make(n)) for n in (16, 32, 64)]
    assert words[2] - words[1] == pytest.approx(2 * (words[1] - words[0]), rel=0.1)


@pytest.mark.parametrize("name", REVERSE)
def test_a_pullback_may_be_called_twice_and_what_is_unused_stays_out(name):
    derivative = DELTAS[name].wrap(parse_program(r"\(x : R, y : R). let u = sqrt(x) in let z = x + y in x * z"))
    machine = Machine(derivative)
    _, back = machine.apply(machine.value(), (0.0, 4.0))  # where the partial derivative of sqrt is infinite
    assert [machine.apply(back, z) for z in (1.0, -2.0, 1.0)] == [(4.0, 0.0), (-8.0, -0.0), (4.0, 0.0)]


@pytest.mark.parametrize("name", MONADIC)
def test_deep_programs(name):
    """As many bindings as memory holds: neither the translation's do nor eval's nest of Lets is on Python's stack."""
    loop = parse_program(
        r"letrec f : (Int, R) -> R = \(n : Int, x : R). if n <# 1 then x else f (n -# 1, x * 1.0) in f"
    )
    machine, x = Machine(DELTAS[name].wrap(loop)), (3000, 2.0)
    y, back = machine.apply(machine.value(), (x, (0, 1.0)) if name == "triple-delta" else x)
    assert machine.apply(back, 1.0) == (((3000, 1.0), (3000, 0.0)) if name == "triple-delta" else (3000, 1.0))
    assert y == ((2.0, 1.0) if name == "triple-delta" else 2.0)
    lets = parse_program(r"\(x : R). " + "let x = x * 1.0 in " * 300 + "x")
    machine = Machine(DELTAS[name].wrap(lets))
    check(machine.program, "deltas")
    _, back = machine.apply(machine.value(), (2.0, 1.0) if name == "triple-delta" else 2.0)
    assert machine.apply(back, 1.0) == ((1.0, 0.0) if name == "triple-delta" else 1.0)


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REVERSE)
@pytest.mark.parametrize(
    ("source", "x"),
    [
        (r"\(deltaLet : R). deltaLet * deltaLet", 3.0),
        (r"\(eval : R). eval * eval", 3.0),
        (r"\(rebuild : R). rebuild * rebuild", 3.0),
        ("data M = A R;\n\\(x : M). case x of {A(y) -> y * y}", Made("A", (3.0,))),
        ("data Delta = Var R;\n\\(x : Delta). case x of {Var(y) -> y * y}", Made("Var", (3.0,))),
        ("type DeltaState = R;\n\\(x : DeltaState). x * x", 3.0),
        ("g : R -> R = \\(y : R). y * y;\n\\(x : R). g x", 3.0),
        ("type P a = (a, a);\n\\(x : P R). fst(x) * snd(x)", (3.0, 3.0)),
    ],
)
def test_names_of_the_program_are_not_captured(name, source, x):
    program = parse_program(source)
    derivative = DELTAS[name].wrap(program)
    check(derivative, DELTAS[name].language)
    assert evaluate(derivative, x)[0] == evaluate(program, x) == 9.0
    machine = Machine(derivative)
    _, back = machine.apply(machine.value(), x)
    assert math.fsum(scalars(machine.apply(back, 1.0))) == 6.0
    text = show_program(derivative)
    assert parse_program(text) == derivative


def test_cotangents_of_another_length_are_refused():
    program = parse_program(r"\(x : R). build(2, \(i : Int). x * real(i))")
    for name in SHARED:
        machine = Machine(DELTAS[name].wrap(program))
        _, back = machine.apply(machine.value(), 3.0)
        assert machine.apply(back, Elements((5.0, 7.0))) == 7.0
        with pytest.raises(ValueError, match="a cotangent of 1 elements for a vector of 2"):
            machine.apply(back, Elements((5.0,)))
