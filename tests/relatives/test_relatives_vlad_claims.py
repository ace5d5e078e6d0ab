"""VLAD: claims of Pearlmutter and Siskind 2008 about lengths, variables, Booleans and predicates."""

import itertools

import pytest

from stages.relatives.vlad import J, evaluate, show
from stages.relatives.vlad.terms import precedes


def test_a_transform_is_longer_by_a_constant_factor_at_every_order():
    """Section 1: unlike the symbolic derivative of a product, whose length is the square of the number of factors."""

    def lengths(n):
        f = evaluate("(lambda (x) " + "(* x " * n + "x" + ")" * n + ")")
        return [len(show(value).split()) for value in (f, J(f), J(J(f)))]

    few, twice, four_times = (lengths(n) for n in (10, 20, 40))
    for small, middle, large in zip(few, twice, four_times, strict=True):
        assert large - middle == 2 * (middle - small) > 0


def test_the_order_of_variables_keeps_that_of_their_bases_and_of_their_tags():
    """Section 4: x < ↼x < ↽x < ¯x, and x1 < x2 implies that both with the same tag are so."""
    for x in ("x", "↼x", "¯↼x"):
        tagged = [precedes(f"{tag}{x}") for tag in ("", "↼", "↽", "¯")]
        assert tagged == sorted(tagged)
    variables = ["x", "y", "↼x", "↼y", "↽x", "¯y", "↼↼x"]
    assert all(precedes(a) != precedes(b) for a, b in itertools.combinations(variables, 2))  # a total order
    for first, second in itertools.combinations(sorted(variables, key=precedes), 2):
        for tag in "↼↽¯":
            assert precedes(tag + first) < precedes(tag + second)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(#t (cons 1 2))", "1"),
        ("(#f (cons 1 2))", "2"),
        ("(((< 1 2) (cons (lambda (x) 5) (lambda (x) 6))) ())", "5"),  # if 1 < 2 then 5 else 6
        ("(((< 2 1) (cons (lambda (x) 5) (lambda (x) 6))) ())", "6"),
    ],
)
def test_booleans_are_the_projections_of_pairs(text, expected):
    """Section 4: `if` applies its condition to a pair of functions."""
    assert show(evaluate(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("((cdr ((J real?) (J 3))) 5)", "(cons () 0)"),
        ("((cdr ((J pair?) (J (cons 1 2)))) 5)", "(cons () (cons 0 0))"),
        ("((cdr ((J <) (J (cons 1 2)))) 5)", "(cons () (cons 0 0))"),
    ],
)
def test_a_transformed_predicate_returns_the_zero_of_its_argument(text, expected):
    """Section 4: the transforms of p and q."""
    assert show(evaluate(text)) == expected


COMBINATOR = "(lambda (f) ((lambda (x) (f (lambda (y) ((x x) y)))) (lambda (x) (f (lambda (y) ((x x) y))))))"


@pytest.mark.parametrize("fixed_point", ["Y", COMBINATOR])
def test_recursion_by_a_fixed_point_combinator_has_the_derivatives_of_letrec(fixed_point):
    """Section 4: letrec is implemented by Y. x^4 by recursion, at 2: 4 x^3 and 12 x^2."""
    head = "(define (gradient f x) (cdr ((cdr ((J f) (J x))) 1)))"
    power = "(lambda (n) (if (<= n 0) 1 (* x (power (- n 1)))))"
    by_letrec = f"(lambda (x) (letrec ((power {power})) (power 4)))"
    by_combinator = f"(lambda (x) (({fixed_point} (lambda (power) {power})) 4))"
    for f in (by_letrec, by_combinator):
        assert show(evaluate(f"{head} (gradient {f} 2)")) == "32"
        assert show(evaluate(f"{head} (gradient (lambda (x) (gradient {f} x)) 2)")) == "48"
