"""CHAD and Efficient CHAD in the calculus, on generated programs: types, gradients, functions, and costs."""

from __future__ import annotations

import functools
import math
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from programs.calculus.calculus_choices import DATA
from programs.calculus.calculus_generator import closed_program, closed_programs, open_term, open_terms
from support.pages import table
from test_calculus_properties import Run, like, rebuilt, scalars, shape

from stages import STAGES
from stages.calculus import TRANSFORMATIONS, Machine, check, check_term, parse_program, show_program
from stages.calculus.chad.table import CHADS
from stages.calculus.complexity import FAMILIES, kept, measure
from stages.calculus.language import types as ty
from stages.calculus.language.errors import IllTyped
from stages.calculus.language.kinds import same
from stages.calculus.language.values import Made
from stages.calculus.readable import readable

PAGE = Path(__file__).parents[2] / "docs" / "calculus.md"
UNSHRUNK = [phase for phase in Phase if phase != Phase.shrink]  # shrinking takes minutes: the seed is printed
few = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), phases=UNSHRUNK)
every = pytest.mark.parametrize("name", CHADS)


@functools.lru_cache(maxsize=len(CHADS))
def wrapped(name, of):
    return CHADS[name].wrap(of.program)


def pulled(name, program, x):
    """The value of Wrap at the input, and its pullback."""
    machine = Machine(CHADS[name].wrap(program))
    y, pullback = machine.apply(machine.value(), x)
    return y, lambda ct: machine.apply(pullback, ct)


# ---- types -----------------------------------------------------------------------------------------------------------


def term_keeps_its_type(name, of):
    """If G |- t : s then D[G]1 |- D[t] : (D[s]1, D[s]2 -o D[G]2)."""
    D = CHADS[name](of.c, DATA, of.names)  # noqa: N806
    D.scope = tuple(of.environment.items())
    term, kind = D.term(of.term), D.type(of.type)
    wanted = ty.Pair(kind, ty.Linear(D.cotangent(of.type), D.environment_type(D.scope)))
    environment, declarations = D.environment(of.environment), D.declarations()
    environment |= {d.name: d.type for d in D.interface()}
    assert same(check_term(term, environment, declarations, D.language), wanted, declarations)


def wrap_has_its_type(name, of):
    program = wrapped(name, of)
    wanted = ty.Arrow(of.source, ty.Pair(of.target, ty.Linear(of.target, of.source)))
    assert same(check(program, CHADS[name].language), wanted, program.declarations)
    assert parse_program(show_program(program)) == program
    assert same(check(readable(program), CHADS[name].language), wanted, program.declarations)


@every
@few
@given(open_terms())
def test_if_t_has_type_s_then_d_t_has_type_d_s_and_a_linear_function_to_d_g(name, of):
    term_keeps_its_type(name, of)


@every
@settings(few, max_examples=6)
@given(closed_programs(4))  # the text of tuples of environments is long
def test_wrap_has_its_type_and_can_be_read_back_and_shortened(name, of):
    wrap_has_its_type(name, of)


# ---- gradients -------------------------------------------------------------------------------------------------------


def gives_value_and_gradient(name, run):
    """Assert that value and gradient equal D4's, and that the pullback is linear."""
    machine = Machine(wrapped(name, run.of))
    y, pullback = machine.apply(machine.value(), run.x)
    back = lambda z: machine.apply(pullback, z)  # noqa: E731
    found = back(run.ct)
    assert y == run.y
    assert shape(found) == shape(run.x)
    assert run.close(scalars(found), run.gradient), (found, run.gradient)
    z1, z2 = scalars(run.ct), scalars(like(run.y, 3))
    both = back(rebuilt(run.y, [a + b for a, b in zip(z1, z2, strict=True)]))
    other = back(rebuilt(run.y, z2))
    sums = [a + b for a, b in zip(scalars(found), scalars(other), strict=True)]
    assert run.close(scalars(both), sums)
    assert scalars(back(rebuilt(run.y, [0.0] * len(z1)))) == [0.0] * len(run.gradient)


@every
@few
@given(closed_programs())
def test_value_and_gradient_are_those_of_d4(name, of):
    gives_value_and_gradient(name, Run(of))


@every
def test_second_derivatives_by_a_stage_around_the_evaluator(name):
    """The evaluator computes with a stage's dual numbers: reverse over reverse, for x^2 y + sin x at (0.5, 2)."""
    program = CHADS[name].wrap(parse_program(r"\(x : R, y : R). let z = x * y in z * x + sin(x)"))

    def slope(x, y):
        machine = Machine(program)
        _, pullback = machine.apply(machine.value(), (x, y))
        return machine.apply(pullback, 1.0)

    x, y = 0.5, 2.0
    first, pullback = STAGES["arrays"].vjp(slope, x, y)
    assert first == pytest.approx((2 * x * y + math.cos(x), x * x), rel=1e-14)
    assert pullback((1.0, 0.0)) == pytest.approx((2 * y - math.sin(x), 2 * x), rel=1e-14)
    assert pullback((0.0, 1.0)) == pytest.approx((2 * x, 0.0), rel=1e-14)


# ---- functions and recursion -----------------------------------------------------------------------------------------

#: Programs whose functions capture variables, with an input; the gradient is compared with D4's.
FUNCTIONS = {
    "a variable that only a function uses": (r"\(x : R). (\(y : R). \(z : R). x) x 1.0", 3.0),
    "a function called twice, at a number and its own result": (
        r"\(x : R, y : R). let f = \(z : R). x * z + y in f (f 2.0)",
        (3.0, 5.0),
    ),
    "a function that is returned by one branch of two": (
        r"\(x : R, y : R). (if x < y then (\(z : R). x * z) else \(z : R). sin(y) * z) (x * y)",
        (3.0, 2.0),
    ),
    "functions in a list, which is folded": (
        r"""data List a = Nil | Cons a (List a);
        \(x : R, y : R). letrec all : (List (R -> R), R) -> R = \(l : List (R -> R), z : R).
            case l of {Nil -> z; Cons(f, rest) -> all (rest, f z)}
        in all (Cons[List (R -> R)](\(z : R). x * z,
                Cons[List (R -> R)](\(z : R). z * z + y, Nil[List (R -> R)])), x)""",
        (3.0, 2.0),
    ),
    "recursion that captures a variable": (
        r"\(x : R, y : R). letrec f : (Int, R) -> R = \(n : Int, z : R). if n <# 1 then z"
        " else f (n -# 1, sin(z * x) + y) in f (5, y)",
        (0.7, 0.3),
    ),
    "mutual recursion": (
        r"\(x : R, y : R). letrec f : (Int, R) -> R = \(n : Int, z : R). if n <# 1 then z else y * g (n -# 1, z * x)"
        r" and g : (Int, R) -> R = \(n : Int, z : R). if n <# 1 then x else x + f (n -# 1, cos(z))"
        " in f (4, y) * g (3, x)",
        (0.7, 0.3),
    ),
    "recursion with two calls": (
        r"\(x : R). letrec f : Int -> R = \(n : Int). if n <# 2 then x else f (n -# 1) * f (n -# 2) in f 7",
        1.1,
    ),
    "a polymorphic function at two types": (
        r"""twice : forall a. (a -> a, a) -> a = \(f : a -> a, x : a). f (f x);
        \(x : R). fst(twice[(R, R)] (\(p : (R, R)). (fst(p) * snd(p), x), (x, 2.0))) + twice[R] (\(y : R). x * y, x)""",
        1.5,
    ),
    "a program with the names that the transformations use": (
        r"""data Both = Closed | F1 Both | A1 R; data Acc = Empty Closure; data Closure = Both R R;
        add1 : R -> R = \(run : R). run * run;
        \(z1 : R). let take = \(open1 : Acc). case open1 of {Empty(d1) -> case d1 of {Both(x1, x2) -> x1 * add1 x2}}
        in take (Empty[Acc](Both[Closure](z1, 2.0 * z1)))""",
        1.5,
    ),
    "a function inside of a declared type": (
        r"""data Stream = Next R (() -> Stream) | End;
        \(x : R). letrec from : R -> Stream = \(y : R). Next[Stream](y, \(u : ()). from (y * x))
        and take : (Int, Stream) -> R = \(n : Int, s : Stream).
            if n <# 1 then 0.0 else case s of {Next(y, rest) -> y + take (n -# 1, rest ()); End -> 0.0}
        in take (4, from x)""",
        1.5,
    ),
}


@every
@pytest.mark.parametrize("what", FUNCTIONS)
def test_the_variables_that_functions_capture_have_cotangents(name, what):
    text, x = FUNCTIONS[what]
    program = parse_program(text)
    expected = Machine(TRANSFORMATIONS["D4"].wrap(program))
    y, pullback = expected.apply(expected.value(), x)
    check(CHADS[name].wrap(program), CHADS[name].language)
    found, back = pulled(name, program, x)
    assert found == y
    assert scalars(back(1.0)) == pytest.approx(scalars(expected.apply(pullback, 1.0)), rel=1e-12)
    assert back(1.0) == back(1.0)


def test_the_closure_of_a_function_returns_the_cotangents_of_what_it_has_captured():
    """(\\y. x * y + x) called at 2 with the cotangent 10 returns F(10 * 2 + 10), and 10 * x for y."""
    program = parse_program(r"\(x : R). (\(y : R). x * y + x, x)")
    D = CHADS["efficient-chad"](ty.UNIT)  # noqa: N806
    whole = D.whole(program.term)
    assert "data Closure = Closed | F1 ℝ;" in show_program(type(program)(whole, D.declarations(), D.interface()))
    machine = Machine(type(program)(whole, D.declarations(), D.interface()))
    (f, _), _ = machine.apply(machine.value(), 3.0)
    y, back = machine.apply(f, 2.0)
    assert y == 9.0
    assert machine.apply(back, 10.0) == (Made("F1", (30.0,)), 30.0)


def test_vectors_are_refused_with_the_transformations_that_take_them():
    with pytest.raises(IllTyped, match=r"vectors are for --to D1 \.\. tape"):
        CHADS["chad"].wrap(parse_program(r"\(v : Vector R). index(v, 0)"))


def test_a_data_type_within_a_sum_within_itself_is_first_order():
    """Its values are finite, so it may be a program's input: `first_order` and `is_monoid` recur through the sum."""
    program = parse_program(r"data T = C (T + R) | N; \(x : T + R). case x of {inl(t) -> 0.0; inr(r) -> r * r}")
    for D in (TRANSFORMATIONS["D4"], *CHADS.values()):  # noqa: N806
        machine = Machine(D.wrap(program))
        y, pullback = machine.apply(machine.value(), Made("inr", (3.0,)))
        assert (y, machine.apply(pullback, 1.0)) == (9.0, Made("inr", (6.0,)))


# ---- costs -----------------------------------------------------------------------------------------------------------


def lets(n):
    """\\x0. let x1 = x0 * x0 in .. let xn = x(n-1) * x0 in xn"""
    text = "".join(rf"let x{k} = x{k - 1} * x0 in " for k in range(1, n + 1))
    return parse_program(rf"\(x0 : R). {text} x{n}")


def steps(name, program, x):
    return measure(CHADS[name], program, x, 1.0).gradient


def test_chad_pays_for_the_environment_at_each_use_and_efficient_chad_does_not():
    """n lets: n uses of environments with up to n variables."""
    found = {name: [steps(name, lets(n), 1.01) for n in (20, 40, 80)] for name in CHADS}
    small, middle, large = found["chad"]
    assert large - middle > 3.5 * (middle - small)
    small, middle, large = found["efficient-chad"]
    assert large - middle == 2 * (middle - small)


def test_the_steps_on_the_page():
    for n, *said in table(PAGE, "lets"):
        named = {**CHADS, "D4": TRANSFORMATIONS["D4"]}
        found = [measure(D, lets(int(n)), 1.01, 1.0) for D in named.values()]
        assert said == [f"{k:,}" for k in (found[0].primal, *(one.gradient for one in found))]


@pytest.mark.parametrize("family", FAMILIES)
def test_efficient_chad_keeps_the_criterion_of_section_4(family):
    small, large = (measure(CHADS["efficient-chad"], *FAMILIES[family].make(n), 1.0).ratio for n in (16, 128))
    assert large < 1.05 * small
    assert large < 40


def test_chad_breaks_it_where_the_environment_is_large():
    """Of the families only `wide` has large environments: the functions of the others have few variables."""
    ratios = {f: [measure(CHADS["chad"], *FAMILIES[f].make(n), 1.0).ratio for n in (16, 32, 64)] for f in FAMILIES}
    assert ratios["wide"][2] > 1.9 * ratios["wide"][1] > 3.6 * ratios["wide"][0]
    assert all(ratios[f][2] < 1.05 * ratios[f][0] < 40 for f in ("doublings", "deep"))


def test_a_large_cotangent_is_not_copied_at_each_use():
    """A list of n numbers, of whose head the sum of m uses is taken: 0 and + visit what two cotangents share."""
    text = r"data List a = Nil | Cons a (List a); \(l : List R). let h = \(l : List R). case l of {Nil -> 0.0;"
    text += " Cons(x, r) -> x} in h l + h l + h l + h l"
    program = parse_program(text)
    made = Made("Nil", ())
    found = []
    for n in (1, 100):
        while n:
            made, n = Made("Cons", (float(n), made)), n - 1
        machine = Machine(CHADS["efficient-chad"].wrap(program))
        _, pullback = machine.apply(machine.value(), made)
        before = machine.steps
        assert machine.apply(pullback, 1.0).fields[0] == 4.0
        found.append(machine.steps - before)
    assert found[1] - found[0] < 30 * 100  # `dense` reads the list, once


@every
@pytest.mark.parametrize("family", FAMILIES)
def test_space_is_that_of_the_program(name, family):
    found = [kept(CHADS[name], *FAMILIES[family].make(n)) for n in (16, 32, 64)]
    assert found[2] - found[1] == pytest.approx(2 * (found[1] - found[0]), rel=0.1)


if __name__ == "__main__":  # python tests/calculus/test_calculus_chad.py 300: as many generated programs and terms
    import sys

    for seed in range(int(sys.argv[1])):
        rng = random.Random(seed)
        choices = rng.randbytes(rng.randint(150, 600))
        for name in CHADS:
            term_keeps_its_type(name, open_term(choices, 8))
            wrap_has_its_type(name, closed_program(choices, 14))
