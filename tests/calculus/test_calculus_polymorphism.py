"""Section 9: polymorphic functions, which D takes to polymorphic functions, and their copies for each type."""

from __future__ import annotations

import math

import pytest

from stages.calculus import TRANSFORMATIONS, Machine, check, parse_program, show_program, show_type
from stages.calculus.__main__ import ALL
from stages.calculus.checker.check import check_term
from stages.calculus.complexity import kept
from stages.calculus.language.errors import IllTyped, Unreadable
from stages.calculus.language.polymorphism import instantiated
from stages.calculus.language.values import Made
from stages.calculus.readable import readable
from stages.calculus.text.latex import latex_program
from stages.calculus.text.parser import parse_term
from stages.calculus.transformations.transform import _one_term

REVERSE = [name for name in TRANSFORMATIONS if name != "forward"]

LISTS = r"""
data List a = Nil | Cons a (List a);
letrec map : forall a b. (a -> b, List a) -> List b = \(f : a -> b, l : List a).
    case l of {Nil -> Nil[List b]; Cons(x, rest) -> Cons[List b](f x, map[a, b] (f, rest))}
and fold : forall a b. ((a, b) -> b, b, List a) -> b = \(f : (a, b) -> b, y : b, l : List a).
    case l of {Nil -> y; Cons(x, rest) -> f (x, fold[a, b] (f, y, rest))}
in \(l : List R).
    let pairs = map[R, (R, R)] (\(x : R). (x, sin(x)), l) in
    fold[(R, R), R] (\((x : R, y : R), s : R). x * y + s, 0.0, pairs) + fold[R, R] (\(x : R, s : R). x * s, 1.0, l)
"""
TWICE = r"""
letrec twice : forall a. (a -> a, a) -> a = \(f : a -> a, x : a). f (f x) in
\(x : R). twice[R] (\(y : R). y * y + 1.0, x)
    + twice[R -> R] (\(f : R -> R). \(y : R). 2.0 * f (y * y), \(y : R). sin(y)) x
"""
DEFINITIONS = r"""
swap : forall a b. (a, b) -> (b, a) = \(x : a, y : b). (y, x);
both : forall a. (a, a -> R) -> R = \(x : a, f : a -> R). f x + f (fst(swap[R, a] (1.0, x)));
\(x : R, y : R). let (u, v) = swap[R, R] (x, y) in both[(R, R)] ((u, v), \(p : R, q : R). p * p / q)
"""
SHADOWS = r"""
letrec f : forall a. a -> a = \(x : a).
    letrec g : forall b. (a, b) -> a = \(x : a, y : b). x in g[R] (x, 1.0)
in \(x : R). let y = f[R] x in letrec f : R -> R = \(z : R). z * f'(z) and f' : R -> R = \(z : R). z + y in f x
"""
SUMS = r"""
letrec either : forall a b c. (a + b, a -> c, b -> c) -> c = \(s : a + b, f : a -> c, g : b -> c).
    case s of {inl(x) -> f x; inr(y) -> g y} in
\(x : R, n : Int). either[R, (R, R), R] (
    if n <# 1 then inl[R + (R, R)](x) else inr[R + (R, R)]((x, x * x)), \(y : R). 3.0 * y, \(y : R, z : R). y * z)
"""
GROWING = r"""
letrec f : forall a. (Int, a, a -> R) -> R = \(n : Int, x : a, g : a -> R).
    if n <# 1 then g x else f[(a, a)] (n -# 1, (x, x), \(y : a, z : a). g y * g z)
in \(x : R). f[R] (3, x, \(y : R). y)
"""


def listed(*xs):
    made = Made("Nil", ())
    for x in reversed(xs):
        made = Made("Cons", (x, made))
    return made


def shifted(x, h):
    """Every scalar of a value, and the value with h added to it."""
    if isinstance(x, float):
        yield x + h
    elif isinstance(x, Made):
        for k, field in enumerate(x.fields):
            yield from (Made(x.name, (*x.fields[:k], y, *x.fields[k + 1 :])) for y in shifted(field, h))
    elif isinstance(x, tuple):
        yield from ((y, *x[1:]) for y in shifted(x[0], h)) if x else ()
        yield from ((x[0], y) for y in shifted(x[1], h)) if x else ()


def scalars(x):
    if isinstance(x, float):
        return [x]
    return [
        y for part in (x.fields if isinstance(x, Made) else x if isinstance(x, tuple) else ()) for y in scalars(part)
    ]


def value(program, x):
    machine = Machine(program)
    return machine.apply(machine.value(), x)


def gradient(name, program, x):
    """The gradient by a transformation, and the steps that it took."""
    derivative = ALL[name].wrap(program)
    check(derivative, ALL[name].language if name not in TRANSFORMATIONS else "D4")
    machine = Machine(derivative)
    _, pullback = machine.apply(machine.value(), x)
    return scalars(machine.apply(pullback, 1.0)), machine.steps


PROGRAMS = {
    "lists": (LISTS, listed(0.2, 0.5, 0.8)),
    "twice": (TWICE, 0.7),
    "definitions": (DEFINITIONS, (0.3, 0.9)),
    "shadows": (SHADOWS, 1.3),
    "left": (SUMS, (0.4, 0)),
    "right": (SUMS, (0.4, 1)),
}
each = pytest.mark.parametrize(("text", "x"), PROGRAMS.values(), ids=PROGRAMS)


@each
@pytest.mark.parametrize("name", REVERSE)
def test_the_gradient_of_a_polymorphic_program_is_that_of_its_copies_and_of_differences(text, x, name):
    program = parse_program(text)
    copies = instantiated(_one_term(program, "source"))
    found, steps = gradient(name, program, x)
    again, fewer = gradient(name, copies, x)
    assert found == again
    h = 1e-6
    up, down = ([value(program, y) for y in shifted(x, d)] for d in (h, -h))
    expected = [(a - b) / (2 * h) for a, b in zip(up, down, strict=True)]
    assert all(math.isclose(a, b, rel_tol=1e-7) for a, b in zip(found, expected, strict=True))
    assert 0 < steps - fewer < 40  # one for each f[..] that is evaluated
    assert kept(TRANSFORMATIONS[name], program, x) == kept(TRANSFORMATIONS[name], copies, x)


@each
@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_d_of_a_polymorphic_function_is_polymorphic(text, x, name):
    program = parse_program(text)
    made = TRANSFORMATIONS[name].of(program, check(program, "source"))
    assert show_program(made).count("∀") == text.count("forall")
    for shown in (made, readable(made), TRANSFORMATIONS[name].wrap(program)):
        check(shown, "D4")
        assert parse_program(show_program(shown)) == shown
        assert parse_program(show_program(shown, ascii=True)) == shown


def test_of_d_s_own_type():
    program = parse_program(LISTS)
    text = show_program(readable(TRANSFORMATIONS["D1"].of(program, check(program, "source"))))
    assert "fold : ∀a b. ((a, b) → b, b, DList a) → b" in text
    assert "fold[((ℝ, ℝ ⊸ List ℝ), ℝ, ℝ ⊸ List ℝ), (ℝ, ℝ ⊸ List ℝ)]" in text


@pytest.mark.parametrize("name", ["shift-reset", "meta", "cps", "functional", "fig4", "tagged"])
def test_transformations_of_programs_with_cells_are_given_the_copies(name):
    program = parse_program(TWICE)
    machine = Machine(ALL[name].wrap(program))
    found = machine.apply(machine.value(), (0.7, 1.0))
    expected, _ = gradient("D4", program, 0.7)
    found = found[1] if name in ("fig4", "tagged") else found
    assert math.isclose(found, expected[0], rel_tol=1e-12)


def test_a_function_that_uses_itself_at_ever_larger_types_has_no_copies_and_a_derivative():
    program = parse_program(GROWING)
    assert show_type(check(program, "source")) == "ℝ → ℝ"
    assert value(program, 1.1) == pytest.approx(1.1**8)
    for name in REVERSE:
        assert gradient(name, program, 1.1)[0] == pytest.approx([8 * 1.1**7])
    with pytest.raises(IllTyped, match="f uses itself at ever larger types"):
        instantiated(program)


def test_copies_have_names_of_their_own_and_what_nothing_uses_has_none():
    text = show_program(instantiated(parse_program(LISTS)))
    assert "∀" not in text
    assert text.count("letrec map :") == 1
    assert {"fold : (((ℝ, ℝ), ℝ)", "fold' : ((ℝ, ℝ)"} <= set(_heads(text))
    unused = parse_program(r"letrec f : forall a. a -> a = \(x : a). x in \(x : R). x")
    assert show_program(instantiated(unused)) == "λ(x : ℝ). x"
    check(instantiated(parse_program(SHADOWS)), "source")


def _heads(text):
    for name in ("fold", "fold'"):
        at = text.index(f" {name} : ") + 1
        yield text[at : text.index(" →", at)]


def test_latex():
    assert r"\forall a" in latex_program(parse_program(TWICE))


def test_a_linear_body_reads_an_instance_in_the_function_part():
    term = parse_term(
        r"letrec f : forall a. a -> R -o R = \(x : a). \_(z : R). z + z in \_(z : R). f[R] 1.0 z + f[R] 2.0 z"
    )
    assert show_type(check_term(term)) == "ℝ ⊸ ℝ"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (r"letrec f : forall a. a -> a = \(x : a). x in \(x : R). f x", r"f is polymorphic: write f\[R\]"),
        (r"letrec f : forall a. a -> a = \(x : a). x in \(x : R). f[R, R] x", r"f has 1 parameters \(a\), not 2"),
        (r"\(f : R -> R). f[R] 1.0", "f is not polymorphic: it has type ℝ → ℝ"),
        (r"\(x : R). g[R] x", "there is no variable g"),
        (r"letrec f : forall a. a -> R = \(x : a). x in f[R]", "the result of f has type ℝ, and this is a"),
        (r"letrec f : forall a. a -> a = \(x : a). x in \(x : a). x", "a is a parameter of no declaration here"),
        (r"letrec f : forall a a. a -> a = \(x : a). x in f[R, R]", "a is a parameter already"),
        (r"letrec f : forall a. a -> R = \(x : a). letrec g : forall a. a -> R = \(y : a). 1.0 in g[a] x in f[R]",
         "a is a parameter already"),
        (r"letrec f : forall a. a -> (a, a) = \(x : a). (x, x) in f[Array R]", "Array ℝ is a resource"),
        (r"letrec f : forall a. a -> a -o a = \(x : a). \_(z : a). z in f[R]", "a may be any type, also one without 0"),
        (r"letrec f : forall a. a -> a = \(x : a). x in (f, 1.0)", "f is polymorphic"),
        (r"letrec f : forall a. a -> a = \(x : a). x in \_(z : R). f[R] z", "a linear body applies only"),
    ],
)  # fmt: skip
def test_refused(text, why):
    with pytest.raises(IllTyped, match=why):
        check(parse_program(text), "D4")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (r"letrec f : forall A. A -> A = \(x : A). x in f", "a parameter .it begins with a small letter"),
        (r"letrec f : forall . R -> R = \(x : R). x in f", "expected a parameter"),
        (r"\(x : forall a. a). x", "expected a type"),
    ],
)
def test_unreadable(text, why):
    with pytest.raises(Unreadable, match=why):
        parse_program(text)
