r"""Fig. 5 of Krawiec et al. 2022, rule by rule, each term with the type that the figure gives it.

The figure's omitted rules are Fig. 3's. (x) is scale here, which takes the vector first, and (+) the sum of monoid S.
"""

from __future__ import annotations

import re

import pytest

from stages.calculus import Machine, check, check_term, parse_program, parse_term, parse_type, show
from stages.calculus.deltas.vectorised import Vectorised
from stages.calculus.language.kinds import same
from stages.calculus.language.values import Made
from stages.calculus.readable import readable
from stages.calculus.transformations.d1 import D1

DATA = parse_program("data List a = Nil | Cons a (List a); 1.0").declarations
TYPES = {"x": "R", "y": "R", "n": "Int", "p": "(R, Int)", "f": "R -> R", "s": "R + Int", "l": "List R"}
ENVIRONMENT = {name: parse_type(kind) for name, kind in TYPES.items()}
S = "(R, (R + Int, List R))"
DUAL = f"(R, {S})"

FIG_5 = [  # a term, its image, and the type of the image, with D for D_S[R]
    ("2.0", "(2.0, zero)", "D"),
    ("x + y", "let (x1, d1) = x in let (x2, d2) = y in (x1 + x2, d1 ++ d2)", "D"),
    ("x * y", "let (x1, d1) = x in let (x2, d2) = y in (x1 * x2, scale d1 x2 ++ scale d2 x1)", "D"),
    ("x - y", "let (x1, d1) = x in let (x2, d2) = y in (x1 - x2, d1 ++ scale d2 (-1.0))", "D"),
    ("sin(x)", "let (x1, d1) = x in (sin(x1), scale d1 (partial 1 sin(x1)(1.0)))", "D"),
    # "where omitted rules are as in Fig. 3"
    ("x", "x", "D"),
    ("3", "3", "Int"),
    (r"\(u : R). u", r"\(u : D). u", "D -> D"),
    ("f x", "f x", "D"),
    ("let u = x in u", "let u = x in u", "D"),
    ("inl[R + Int](x)", "inl[D + Int](x)", "D + Int"),
    ("inr[R + Int](n)", "inr[D + Int](n)", "D + Int"),
    ("case s of {inl(u) -> u; inr(k) -> x}", "case s of {inl(u) -> u; inr(k) -> x}", "D"),
    ("(x, n)", "(x, n)", "(D, Int)"),
    ("fst(p)", "fst(p)", "D"),
    ("snd(p)", "snd(p)", "Int"),
    ("n +# 1", "n +# 1", "Int"),
    ("Cons[List R](x, l)", "DCons[DList D](x, l)", "DList D"),
    (r"letrec g : R -> R = \(u : R). g u in g x", r"letrec g : D -> D = \(u : D). g u in g x", "D"),
]


def dual(text):
    """The text with D_S[R] in place of D."""
    return re.sub(r"\bD\b", DUAL, text)


@pytest.mark.parametrize(("source", "expected", "kind"), FIG_5)
def test_fig_5_each_term_and_its_type(source, expected, kind):
    """If G |- e : A, then D_S[G] |- D_S[e] : D_S[A]."""
    D = Vectorised(parse_type(S), DATA)  # noqa: N806
    found = D.term(parse_term(source))
    assert found == parse_term(dual(expected)), show(found)
    environment = D.environment(ENVIRONMENT) | {d.name: d.type for d in D.interface()}
    typed = check_term(found, environment, D.declarations(), D.language)
    assert same(typed, parse_type(dual(kind)), D.declarations())
    assert same(typed, D.type(check_term(parse_term(source), ENVIRONMENT, DATA, "source")), D.declarations())


def test_fig_5_on_types():
    D = Vectorised(parse_type(S), DATA)  # noqa: N806
    lines = {
        "R": "D",
        "(R, Int)": "(D, Int)",
        "R + Int": "D + Int",
        "R -> R": "D -> D",
        "Int": "Int",
        "List R": "DList D",
    }
    for source, image in lines.items():
        assert D.type(parse_type(source)) == parse_type(dual(image))


def test_fig_1_scaling_is_a_family_of_functions():
    """(x) at R, K, products, sums and data: each real is scaled, and what is discrete is 0, a cotangent of Int."""
    program = parse_program("data List a = Nil | Cons a (List a); \\(l : List R, (p : R + Int, n : Int)). 0.0")
    kind = check(program, "source").argument
    D = Vectorised(kind, program.declarations)  # noqa: N806
    made = parse_program("0.0")
    machine = Machine(type(made)(made.term, D.declarations(), D.interface()))
    value = (Made("Cons", (2.0, Made("Cons", (3.0, Made("Nil", ()))))), (Made("inl", (5.0,)), 7))
    found = machine.apply(machine.environment["scale"], value, 10.0)
    assert found == (Made("Cons", (20.0, Made("Cons", (30.0, Made("Nil", ()))))), (Made("inl", (50.0,)), 0))


FIG_6 = r"""
    scale : (R, R) -> R -o (R, R) =
      \(u2 : R, du2 : R). \_(z5 : R). (partial 1 mul(1.0, u2)(z5), partial 1 mul(1.0, du2)(z5));
    \(x1' : R, y1' : R).
      let zero = (0.0, 0.0) in
      let d1 = \(z1 : (R, R)). z1 ++ zero in
      let ((x1, dx1), y1, dy1) =
        (let d4 = \(z3 : R). d1 (z3, 0[R]) in (x1', d4 1.0), let d5 = \(z4 : R). d1 (0[R], z4) in (y1', d5 1.0)) in
      let (y2, dy2) = (x1 * y1, scale dx1 y1 ++ scale dy1 x1) in (y2, scale dy2)
"""


def test_fig_6_the_wrapper():
    program = Vectorised.wrap(parse_program(r"\(x : R, y : R). x * y"))
    assert check(program, "D1") == parse_type("(R, R) -> (R, R -o (R, R))")
    machine = Machine(program)
    y, pullback = machine.apply(machine.value(), (3.0, 2.0))
    assert (y, machine.apply(pullback, 10.0)) == (6.0, (20.0, 30.0))
    assert readable(program) == parse_program(FIG_6)


def test_a_zero_has_the_structure_of_the_input():
    """Section 5.2: for S = S1 + S2, zero is inl or inr, as the input is."""
    program = parse_program(r"\(s : R + (R, R)). case s of {inl(u) -> 2.0; inr(p) -> fst(p) * 3.0}")
    machine = Machine(Vectorised.wrap(program))
    for x, y, gradient in (
        (Made("inl", (5.0,)), 2.0, Made("inl", (0.0,))),
        (Made("inr", ((5.0, 7.0),)), 15.0, Made("inr", ((3.0, 0.0),))),
    ):
        value, pullback = machine.apply(machine.value(), x)
        assert (value, machine.apply(pullback, 1.0)) == (y, gradient)


@pytest.mark.parametrize("text", [r"\(x : R, y : R). x * y + sin(x)", r"\(x : R, y : R). (x, (y * y, 2.0 * x))"])
def test_vectors_and_linear_functions_are_the_same_thing(text):
    """Section 10: R -o S and S are isomorphic; D1's backpropagator at 1 is the vector of Fig. 5."""
    program = parse_program(text)
    found = []
    for D in (D1, Vectorised):  # noqa: N806
        machine = Machine(D.wrap(program))
        y, pullback = machine.apply(machine.value(), (3.0, 2.0))
        unit = 1.0 if isinstance(y, float) else (1.0, (10.0, 100.0))
        found.append((y, machine.apply(pullback, unit)))
    assert found[0] == found[1]


def test_every_operation_makes_a_vector_of_the_size_of_the_input():
    """Section 5.2: the steps for one more operation grow with the input."""

    def steps(n, operations):
        body = "x" + " * 1.5" * operations
        kind, value = "R", 2.0
        for _ in range(n - 1):
            kind, value = f"(R, {kind})", (1.0, value)
        path = "snd(" * (n - 1) + "v" + ")" * (n - 1)
        machine = Machine(Vectorised.wrap(parse_program(rf"\(v : {kind}). let x = {path} in {body}")))
        machine.apply(machine.value(), value)
        return machine.steps

    per_operation = [steps(n, 2) - steps(n, 1) for n in (2, 4, 8)]
    assert per_operation[2] - per_operation[1] == 2 * (per_operation[1] - per_operation[0]) > 0
