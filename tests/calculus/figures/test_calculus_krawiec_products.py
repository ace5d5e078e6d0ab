"""Krawiec et al. 2022, Fig. 1: the dot product at each type; Fig. 16: it turns a cotangent into a number."""

import pytest

from stages.calculus import Machine, Program, check, parse_program
from stages.calculus.deltas.products import Dots
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.sugar import lambda_
from stages.calculus.language.values import Made
from stages.calculus.transformations.d4 import D4

LIST = "data List a = Nil | Cons a (List a); "


def listed(*xs):
    made = Made("Nil", ())
    for x in reversed(xs):
        made = Made("Cons", (x, made))
    return made


def inl(x):
    return Made("inl", (x,))


def inr(x):
    return Made("inr", (x,))


@pytest.mark.parametrize(
    ("type_", "u", "v", "expected"),
    [
        ("R", 3.0, 5.0, 15.0),
        ("()", (), (), 0.0),
        ("Int", 3, 5, 0.0),
        ("(R, (Int, R))", (3.0, (1, 2.0)), (5.0, (2, 7.0)), 29.0),
        ("(R + Int)", inl(3.0), inl(5.0), 15.0),
        ("(R + Int)", inl(3.0), inr(5), 0.0),  # vectors of different shapes have no scalars in common
        ("(List (R, Int))", listed((2.0, 1), (3.0, 1)), listed((5.0, 0), (7.0, 0)), 31.0),
        ("(List (R + List R))", listed(inl(2.0), inr(listed(3.0))), listed(inl(5.0), inr(listed(7.0, 1.0))), 31.0),
    ],
)
def test_fig_1_the_dot_product_is_a_family_of_functions(type_, u, v, expected):
    parsed = parse_program(f"{LIST}\\(x : {type_}). x")
    kind = check(parsed, "source").argument
    family = Dots(parsed.declarations)
    body = lambda_(("u", "v"), ty.Pair(kind, kind), family.dot(kind, t.Var("u"), t.Var("v")))
    program = Program(body, parsed.declarations, family.definitions)
    assert check(program, "source") == ty.Arrow(ty.Pair(kind, kind), ty.REAL)
    machine = Machine(program)
    assert machine.apply(machine.value(), (u, v)) == machine.apply(machine.value(), (v, u)) == expected


@pytest.mark.parametrize(
    ("text", "x", "ct"),
    [
        (r"\(x : (R, R)). (sin(fst(x)) * snd(x), fst(x))", (0.7, 1.3), (2.0, 3.0)),
        (r"\(x : R). Cons[List R](x * x, Cons[List R](x, Nil[List R]))", 0.7, listed(2.0, 3.0)),
    ],
)
def test_fig_16_the_wrapper_differentiates_the_dot_product_with_the_cotangent(text, x, ct):
    f = parse_program(LIST + text)
    kind = check(f, "source")
    family = Dots(f.declarations)
    y = t.Apply(f.term, t.Var("s"))
    product = t.Let("y", y, family.dot(kind.result, t.Var("y"), t.Var("dt")))
    of_product = Program(
        lambda_(("s", "dt"), ty.Pair(kind.argument, kind.result), product), f.declarations, family.definitions
    )
    assert check(of_product, "source").result == ty.REAL
    found = [Machine(D4.wrap(program)) for program in (f, of_product)]
    (_, pull), (_, pull_product) = (m.apply(m.value(), given) for m, given in zip(found, (x, (x, ct)), strict=True))
    by_s, _ = found[1].apply(pull_product, 1.0)
    assert by_s == found[0].apply(pull, ct)
