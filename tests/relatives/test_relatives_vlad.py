"""VLAD (stages/relatives/vlad): the paper's examples, and the programs of the stages by translation."""

import dataclasses
import itertools
import math
import random
import threading

import numpy as np
import pytest
from support.oracle import assert_same, check_order_2, check_vjp, differences, flat, rebuild
from support.stage_programs import SIZES, SIZES_OF_ORDER_2_IN_NAIVE, small

import dualrev as dr
from dualrev.eager.numbers.overload import function
from dualrev.errors import ArgumentError, ConversionError, CotangentError, LeakError
from dualrev.math import sin, sqrt
from dualrev.rules.primitives import PRIMITIVES
from stages import STAGES
from stages.comparison.counts import LimitReached
from stages.programs import PROGRAMS, wide_inputs
from stages.relatives import vlad
from stages.relatives.vlad import J, J_inverse, Meter, VladError, call, evaluate, parse, show, vjp
from stages.relatives.vlad.anf import normal
from stages.relatives.vlad.primitives import SYMBOLS, is_global
from stages.relatives.vlad.reverse import reverse
from stages.relatives.vlad.terms import Copy, Lambda
from stages.relatives.vlad.values import NIL, is_pair

GRADIENT = "(define (gradient f x) (cdr ((cdr ((J f) (J x))) 1)))\n"


def value(text):
    return show(evaluate(text))


def unit(text):
    """A lambda in A-normal form."""
    return normal(parse(text), is_global)


def meter(text):
    m = Meter()
    evaluate(text, m)
    return m


# Section 3, step by step


def test_a_transformed_primitive_returns_the_value_and_a_backpropagator():
    assert value("(let (((cons y b) ((J sin) (J 0)))) (list (J-inverse y) (b 1) (b 3)))") == (
        "(list 0 (cons () 1) (cons () 3))"
    )


def test_the_forward_phase_is_in_order_and_the_reverse_phase_in_reverse_order():
    made = show(evaluate("(J (lambda (x) (let* ((y (sin x)) (z (cos y))) (exp z))))")).split()
    text = " ".join(made)
    forward = [text.index(f"(cons ↼{x} ¯{x})") for x in ("y", "z", "t")]
    backward = [text.index(f"(¯{x} ↽{x})") for x in ("t", "z", "y")]
    assert forward + backward == sorted(forward + backward)


def test_zero_and_plus_are_the_vector_space_of_the_reals_at_the_fringe():
    assert value("(zero (list 1 (cons 2 ()) 3))") == "(list 0 (list 0) 0)"
    assert value("(plus (list 1 (list 2)) (list 10 (list 20)))") == "(list 11 (list 22))"
    assert value("(zero (lambda (x) x))") == "()"
    assert value("(list (zero sin) (zero (J sin)) (zero (J (list 1 2))))") == "(list () (J ()) (J (list 0 0)))"
    assert value("(let* ((a 3) (b (list 4 5))) (zero (lambda (x) (cons a (cons b x)))))") == "(list 0 (list 0 0))"


@pytest.mark.parametrize("text", ["1.5", "()", "(list 1 (list 2 3))", "(J 4)", "sin", "#t", "(lambda (x) x)", "Y", "J"])
def test_j_inverse_undoes_j(text):
    v = evaluate(text)
    assert show(J_inverse(J(v))) == show(v)
    assert show(J_inverse(J_inverse(J(J(v))))) == show(v)


F = "(lambda (a) (((lambda (b) (lambda (c) b)) a) 1))"


def test_the_a_normal_form_of_the_running_example():
    """f = \\a let x1 = \\b let x4 = \\c b in x4 end; x2 = x1 a; x3 = x2 1 in x3 end"""
    f = unit(F)
    (x1, outer), (x2, second), (x3, third) = f.bindings
    ((x4, inner),) = outer.bindings
    assert (f.parameter, second.function, second.argument) == ("a", x1, "a")
    assert (third.function, third.argument, f.result) == (x2, "1", x3)
    assert (outer.parameter, outer.result, inner.parameter) == ("b", x4, "c")
    assert [e for _, e in inner.bindings] == [Copy("b")]
    assert (f.free, outer.free, inner.free) == (("1",), (), ("b",))


# The three versions of its transform, as VLAD programs: rx is ↼x, sx is ↽x, bx is the backpropagator of x.
_VERSION = """
(define rf (lambda (ra)
  (let* ((rx1 (lambda (rb)
            (let* ((rx4 (lambda (rc) (cons rb (lambda (sb) {inner})))))
              (cons rx4 (lambda (sx4) {middle})))))
         ((cons rx2 bx2) (rx1 ra))
         ((cons rx3 bx3) (rx2 {one})))
    (cons rx3 (lambda (sx3) {outer})))))
(let (((cons y b) (rf (J 4)))) (list (J-inverse y) (b 1)))
"""
_ZEROS = """(let* ((sa (zero (J-inverse ra))) (sx1 (zero (J-inverse rx1))) (sx2 (zero (J-inverse rx2)))
                   (s1 (zero (J-inverse (J 1))))"""
FIRST = {
    "inner": "sc",
    "middle": "(let ((sb (zero (J-inverse rb)))) sb)",
    "one": "r1",
    "outer": "(let* ((s1 (plus s1 (bx3 sx3))) (sa (plus sa (bx2 sx2)))) sa)",
}
SECOND = {
    "inner": "(let ((sc (zero (J-inverse rc)))) sc)",
    "middle": "(let ((sb (zero (J-inverse rb)))) sb)",
    "one": "(J 1)",
    "outer": "(let* ((sa 0) (sx2 0) (s1 0) (s1 (plus s1 (bx3 sx3))) (sa (plus sa (bx2 sx2)))) sa)",
}
THIRD = {
    "inner": "(let ((sc (zero (J-inverse rc)))) (cons (list sb) sc))",
    "middle": "(let* ((sb (zero (J-inverse rb))) (sb (plus sb (car sx4)))) (cons () sb))",
    "one": "(J 1)",
    "outer": """(let* ((sa 0) (sx1 ()) (sx2 (list 0)) (s1 0) (p (bx3 sx3)) (sx2 (plus sx2 (car p)))
                       (s1 (plus s1 (cdr p))) (p (bx2 sx2)) (sx1 (plus sx1 (car p))) (sa (plus sa (cdr p))))
                  (cons () sa))""",
}


@pytest.mark.parametrize("missing", ["sc", "r1", "s1"])
def test_the_transform_without_nested_lambdas_has_unbound_variables(missing):
    repaired = {"sc": {}, "r1": {"inner": "0"}, "s1": {"inner": "0", "one": "(J 1)"}}[missing]
    with pytest.raises(VladError, match=f"{missing} is bound nowhere"):
        evaluate(_VERSION.format(**{**FIRST, **repaired}))


def test_without_sensitivities_of_environments_the_derivative_is_wrong_0():
    assert value(_VERSION.format(**SECOND)) == "(list 4 0)"


def test_with_sensitivities_of_environments_it_is_right_1():
    assert value(_VERSION.format(**THIRD)) == "(list 4 (cons () 1))"


def test_j_gives_the_third_version():
    assert value(f"(let (((cons y b) ((J {F}) (J 4)))) (list (J-inverse y) (b 1)))") == "(list 4 (cons (list 0) 1))"


def test_the_trace_of_its_backpropagators():
    """(\\c b)'s returns [1] and a zero; that of \\b \\c b takes [1] to [] and 1."""
    assert value("(let ((b 4)) ((cdr ((J (lambda (c) b)) (J 1))) 1))") == "(cons (list 1) 0)"
    assert value("((cdr ((J (lambda (b) (lambda (c) b))) (J 4))) (list 1))") == "(cons () 1)"


def test_the_sensitivity_of_an_environment_lists_the_free_variables_in_their_order():
    text = "(let* ((c 5) (a 3) (b 4)) ((cdr ((J (lambda (x) (- (* b a) (* c x)))) (J 2))) 1))"
    assert value(text) == "(cons (list () () 4 3 -2) -5)"  # of * - a b c


def test_the_transform_has_the_base_free_variables_of_the_original():
    f = unit("(lambda (a) (lambda (x) (* a x)))").bindings[0][1]
    once = reverse(f)
    assert (f.base_free, once.base_free) == (("*", "a"), ("↼*", "↼a"))
    assert reverse(once).base_free == ("↼↼*", "↼↼a")
    assert {"car", "plus", "zero", "J-inverse"} < set(once.free)
    assert reverse(once).origin.origin is f
    assert value("(let ((a 3)) (zero (lambda (x) (* a x))))") == "(list () 0)"
    assert value("(let ((a 3)) (J-inverse (zero (J (lambda (x) (* a x))))))") == "(list () 0)"


def test_an_argument_that_is_function_and_argument_gets_both_sensitivities():
    """The case j = k of rho: x x."""
    assert value(GRADIENT + "(gradient (lambda (a) (let ((f (lambda (g) a))) (f f))) 4)") == "1"


# A-normal form and alpha conversion


def units(top):
    todo = [top]
    while todo:
        u = todo.pop()
        yield u
        todo.extend(e for _, e in u.bindings if isinstance(e, Lambda))


@pytest.mark.parametrize(
    "text", [F, "(lambda (x) (let* ((x (* x x)) (x (+ x 1)) (t x)) (if (< x t) x (lambda (x) x))))"]
)
@pytest.mark.parametrize("times", [0, 1, 2])
def test_a_transform_is_in_a_normal_form_and_its_variables_are_distinct(text, times):
    u = unit(text)
    for _ in range(times):
        u = reverse(u)
    for v in units(u):
        bound = [v.parameter, *(x for x, _ in v.bindings)]
        assert len({*bound, *v.free}) == len(bound) + len(v.free)
        assert v.result == bound[-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(let ((x 1)) (let ((x (+ x 1)) (y x)) (list x y)))", "(list 2 1)"),
        ("(let* ((x 1) (x (+ x 1)) (y x)) (list x y))", "(list 2 2)"),
        ("(let* ((x 1) (f (lambda (y) (+ x y))) (x 10)) (f x))", "11"),
        ("(((lambda (x) (lambda (x) x)) 1) 2)", "2"),
        ("((lambda (x y z) (list z y x)) 1 2 3)", "(list 3 2 1)"),
        ("((lambda ((list a b) (cons c ())) (list c b a)) (list 1 2) (list 3))", "(list 3 2 1)"),
        ("((lambda () 5))", "5"),
        ("(let (((J x) (J 3))) x)", "3"),
        ("((lambda ((J (cons a b))) (- a b)) (J (cons 5 2)))", "3"),
        ("(cond ((< 2 1) 1) ((= 2 2) 2) (else 3))", "2"),
        ("(list (and (< 1 2) #f) (or #f (< 1 2)) (not #f) (and #t) (or #f #f))", "(list #f #t #t #t #f)"),
        ("(list (- 3) (+ 1 2 3 4) (* 2 3 4) (/ 1 4) (pow 2 10) (maximum 1 2))", "(list -3 10 24 0.25 1024 2)"),
        ("(list (null? ()) (null? 1) (pair? (zero (list 1))) (real? 1) (procedure? J) (procedure? 1))",
         "(list #t #f #t #t #t #f)"),
        ("(list (/ 1 0) (log 0) (exp 1000))", "(list inf -inf inf)"),
        ("(letrec ((f (lambda (n) (if (<= n 0) 1 (* n (f (- n 1))))))) (f 10))", "3628800"),
        ("(letrec ((even (lambda (n) (if (= n 0) #t (odd (- n 1))))) (odd (lambda (n) (if (= n 0) #f (even (- n 1))))))"
         " (list (even 10) (even 7) (odd 7)))", "(list #t #f #t)"),
        ("(define x 3) (define (f y) (* x y)) ; a comment\n(f 4)", "12"),
        ("(list)", "()"),
        ("(cons 1 2)", "(cons 1 2)"),
    ],
)  # fmt: skip
def test_the_language(text, expected):
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no expression at its end"),
        ("(define x 1)", "no expression at its end"),
        ("(+ 1 2", r"line 1: a \( is not closed"),
        ("\n(+ 1 2))", r"line 2: a \) closes nothing"),
        ("(+ x 1)", "x is bound nowhere"),
        ("(let ((car 1)) car)", "car is a name of the language"),
        ("((lambda (sin) sin) 1)", "sin is a name of the language"),
        ("(if 1 2)", r"write \(if e1 e2 e3\)"),
        ("(f cons)", "cons is syntax"),
        ("(lambda (1) 1)", "1 is no variable"),
        ("(lambda ((f x)) 1)", "is no pattern"),
        ("(letrec ((x 1)) x)", "1 is no lambda"),
        ("(cond (#t 1))", "ends with"),
        ("(lambda (↼x) 1)", "made of base variables"),
        ("'x", "made of base variables"),
        ("5 6", "has to be .define"),
        ("(1 2)", "the number 1.0 is applied to the number 2.0"),
        ("(car 1)", "expected a pair, got the number 1.0"),
        ("(+ 1)", r"\+ takes two arguments, got the number"),
        ("(+ 1 ())", r"\+ takes numbers, got \[\]"),
        ("(+ 1 (J 2))", r"takes numbers, got J of the number 2.0"),
        ("(plus 1 ())", "do not conform"),
        ("(plus (lambda (x) x) (lambda (x) x))", "do not conform"),
        ("(J-inverse 1)", "not a result of J"),
        ("(J-inverse (lambda (x) x))", "not a result of J"),
        ("((J sin) 1)", "J-inverse: the number 1.0"),
    ],
)
def test_what_is_wrong_is_said(text, message):
    with pytest.raises(VladError, match=message):
        evaluate(text)


@pytest.mark.parametrize(
    "text", [F, "(let* ((x 1) ((list a b) (list x x))) (letrec ((f (lambda (n) (f n)))) (+ a b)))"]
)
def test_what_show_writes_parse_reads(text):
    term = parse(text)
    assert show(parse(show(term))) == show(term)


FIGURE = """\
(lambda (↼x)
  (let* ((↼t.1 (lambda (↼y)
                 (let* ((↼t ↼x))
                   (cons ↼t
                         (lambda (↽t)
                           (let* ((↽x (zero (J-inverse ↼x))) (↽y (zero (J-inverse ↼y))) (⊕= ↽x ↽t))
                             (cons (list ↽x) ↽y))))))))
    (cons ↼t.1 (lambda (↽t.1) (let* ((↽x (zero (J-inverse ↼x))) (⊕= (list ↽x) ↽t.1)) (cons () ↽x))))))"""


def test_a_transform_is_shown_as_in_the_figure():
    assert show(J(evaluate("(lambda (x) (lambda (y) x))"))) == FIGURE


# Derivatives in VLAD


@pytest.mark.parametrize("line", PRIMITIVES.values(), ids=PRIMITIVES)
def test_every_primitive_has_the_partial_derivatives_of_the_table(line):
    name = SYMBOLS.get(line.name, line.name)
    rng = np.random.default_rng(0)
    points = [rng.uniform(*interval, 3).tolist() for interval in line.domain]
    cases = {**dict.fromkeys(zip(*points, strict=True)), **line.edges}
    for point, partials in cases.items():
        text = " ".join(map(repr, point))
        made = evaluate(f"{GRADIENT} (gradient {name} {text if len(point) == 1 else f'(cons {text})'})")
        found = (made,) if len(point) == 1 else halves(made)
        expected = partials or STAGES["tape"].vjp(function(line), *point)[1](1.0)
        assert_same(tuple(float(x) for x in found), tuple(map(float, expected)))


def halves(v):
    car, cdr = evaluate("car"), evaluate("cdr")
    return call(car, v), call(cdr, v)


@pytest.mark.parametrize(
    ("f", "x", "derivatives"),
    [
        ("(lambda (x) (* x (* x (* x x))))", 1.5, [4 * 1.5**3, 12 * 1.5**2, 24 * 1.5]),
        ("(lambda (x) (sin (* 2 x)))", 0.7, [2 * math.cos(1.4), -4 * math.sin(1.4), -8 * math.cos(1.4)]),
        ("(lambda (x) (if (< x 1) (exp x) (/ 1 x)))", 2.0, [-1 / 4, 2 / 8, -6 / 16]),
        ("(letrec ((f (lambda (x n) (if (<= n 0) 1 (* x (f x (- n 1))))))) (lambda (x) (f x 3)))", 0.5,
         [3 * 0.5**2, 6 * 0.5]),
        ("(lambda (x) (((lambda (f) (lambda (y) (f (f y)))) (lambda (y) (* x y))) x))", 2.0, [12, 12, 6]),  # x^3
    ],
)  # fmt: skip
def test_j_of_j_gives_the_derivatives_of_every_order(f, x, derivatives):
    nested = f
    for expected in derivatives:
        nested = f"(lambda (x) (gradient {nested} x))"
        assert_same(evaluate(f"{GRADIENT} ({nested} {x})"), float(expected), floor=1e-13)


def test_the_gradient_of_a_function_with_a_free_variable_that_is_differentiated_around_it():
    """d/dx (x * d/dy (x + y)) = 1: perturbations are not confused."""
    assert value(GRADIENT + "(gradient (lambda (x) (* x (gradient (lambda (y) (+ x y)) 1))) 1)") == "1"
    assert value(GRADIENT + "(gradient (lambda (x) (gradient (lambda (y) (* x (* y y))) x)) 3)") == "12"


def test_j_applies_to_itself_and_to_the_other_primitives_of_ad():
    text = "(let (((cons y b) ((J {}) (J {})))) (list (J-inverse y) (cdr (b {}))))"
    assert value(text.format("J", "3", "(J 5)")) == "(list (J 3) 5)"
    assert value(text.format("J-inverse", "(J 3)", "5")) == "(list 3 (J 5))"
    assert value(text.format("zero", "(list 1 2)", "(list 5 6)")) == "(list (list 0 0) (list 0 0))"
    assert value(text.format("plus", "(cons 1 2)", "5")) == "(list 3 (cons 5 5))"


def test_j_of_j_of_a_primitive_takes_the_sensitivity_of_its_value_and_its_backpropagator():
    """J of J of sin at 0.5 is right for sensitivities of the value and of the backpropagator's x."""
    text = "(let* (((cons y b) ((J (J sin)) (J (J 0.5)))) (none (zero (J-inverse y)))) (J-inverse (cdr (b {}))))"
    assert_same(evaluate(text.replace("{}", "(cons (J 1) (cdr none))")), math.cos(0.5))
    assert evaluate(text.replace("{}", "none")) == 0.0


def test_a_lambda_that_takes_j_of_something_is_not_taken_for_a_transform():
    text = "(gradient (lambda (a) ((lambda ((J y)) (* a (* a y))) (J 2))) 5)"
    assert value(GRADIENT + text) == "20"
    assert value(GRADIENT + text.replace("* a (* a y)", "* y (* a y)").replace("(J 2)", "(J a)")) == "75"
    assert value(GRADIENT + f"(gradient (lambda (a) {text.replace('5)', 'a)')}) 5)") == "4"


def test_a_closure_and_a_sum_of_closures():
    assert value("(let ((f (lambda (a) (lambda (x) (+ a x))))) ((plus (f 1) (f 2)) 10))") == "13"


def test_the_hessian_times_a_vector():
    """Section 5: of 2x^2 + 3xy + 4y^2 at [3, 4], times [7, 8]."""
    text = """
    (define (f (list x y)) (+ (* 2 x x) (* 3 x y) (* 4 y y)))
    (define (dot (list a b) (list c d)) (+ (* a c) (* b d)))
    (cdr ((cdr ((J (lambda (x) (dot (cdr ((cdr ((J f) (J x))) 1)) (list 7 8)))) (J (list 3 4)))) 1))"""
    assert value(text) == "(list 52 85)"


MINIMAX = """
(define golden 0.6180339887498949)
(define (bracket f a b c) (if (<= (f b) (f c)) (list a b c) (bracket f b c (+ c (* 1.618034 (- c b))))))
(define (narrow f a b c d fb fc epsilon)
  (cond ((<= (abs (- d a)) epsilon) (if (< fb fc) b c))
        ((< fb fc) (let ((x (- c (* golden (- c a))))) (narrow f a x b c (f x) fb epsilon)))
        (else (let ((x (+ b (* golden (- d b))))) (narrow f b c x d fc (f x) epsilon)))))
(define (golden-section f (list a b c) epsilon)
  (let ((x1 (- c (* golden (- c a)))) (x2 (+ a (* golden (- c a)))))
    (narrow f a x1 x2 c (f x1) (f x2) epsilon)))
(define (univariate-argmin f epsilon)
  (let ((down (< (f 1) (f 0))))
    (golden-section f (if down (bracket f 0 1 2.618034) (bracket f 1 0 (- 1.618034))) epsilon)))

(define (v+ (list a b) (list c d)) (list (+ a c) (+ b d)))
(define (v* k (list a b)) (list (* k a) (* k b)))
(define (squared-norm (list a b)) (+ (* a a) (* b b)))
(define (argmin f x0 epsilon)
  (let ((g (gradient f x0)))
    (if (<= (squared-norm g) (* epsilon epsilon))
        x0
        (argmin f (v+ x0 (v* (univariate-argmin (lambda (k) (f (v+ x0 (v* k g)))) epsilon) g)) epsilon))))
(define (argmax f x0 epsilon) (argmin (lambda (x) (- (f x))) x0 epsilon))
(define (max-of f x0 epsilon) (f (argmax f x0 epsilon)))
(define (payoff (list s t) (list u v)) (- (+ (* s s) (* t t)) (+ (* u u) (* v v))))
(define x0 (list 1 0.5))
(define y0 (list 0.75 1))
(define epsilon 0.01)
(let ((x* (argmin (lambda (x) (max-of (lambda (y) (payoff x y)) y0 epsilon)) x0 epsilon)))
  (list x* (argmax (lambda (y) (payoff x* y)) y0 epsilon)))
"""


def test_minimax_by_nested_gradient_descent_with_line_search():
    """Section 5: the saddle point of s^2 + t^2 - u^2 - v^2 is at ([0, 0], [0, 0]).

    argmin compares squares: the derivative of the norm's square root is infinite where the gradient is 0.
    """
    x, y = halves(evaluate(GRADIENT + MINIMAX))
    for point in (x, halves(y)[0]):
        first, rest = halves(point)
        assert abs(first) < 0.01
        assert abs(halves(rest)[0]) < 0.01


ENCODED = """
(define (CAR x) (x (lambda (x1) (lambda (x2) x1))))
(define (CDR x) (x (lambda (x1) (lambda (x2) x2))))
(define (CONS x1) (lambda (x2) (lambda (x) ((x x1) x2))))
"""


def test_pairs_as_closures_have_the_derivatives_of_native_ones():
    """Section 4's encoding; the sensitivity of such a pair is a list of two."""
    assert value(ENCODED + GRADIENT + "(gradient (lambda (x) (* (CAR ((CONS x) 5)) (CDR ((CONS 1) x)))) 3)") == "6"
    text = "(gradient (lambda (p) (* (CAR p) (sin (CDR p)))) ((CONS 3) 0))"
    assert value(ENCODED + GRADIENT + text) == "(list 0 3)"


def test_a_list_as_long_as_it_gets_is_differentiated_in_every_element():
    text = """
    (letrec ((sum (lambda (xs) (if (null? xs) 0 (+ (* (car xs) (car xs)) (sum (cdr xs))))))
             (count (lambda (n) (if (<= n 0) () (cons n (count (- n 1)))))))
      (gradient sum (count 4)))"""
    assert value(GRADIENT + text) == "(list 8 6 4 2)"


class Programs:
    """Random expressions: numbers (r), functions of a number (f), pairs of a number and a function (p)."""

    def __init__(self, seed):
        self.random, self.names = random.Random(seed), itertools.count()

    def expression(self, kind, scope, depth):
        known = [x for x, k in scope if k == kind]
        if known and (depth <= 0 or self.random.random() < 0.25):
            return self.random.choice(known)
        if depth <= 0:
            return {"r": "0.7", "f": "sin", "p": "(cons 0.3 cos)"}[kind]

        def make(k, *more):
            return self.expression(k, [*scope, *more], depth - 1)

        x = f"v{next(self.names)}"
        other = self.random.choice("rfp")
        same = [
            lambda: f"(let (({x} {make(other)})) {make(kind, (x, other))})",
            lambda: f"((lambda ({x}) {make(kind, (x, other))}) {make(other)})",
            lambda: f"(if (< {make('r')} {make('r')}) {make(kind)} {make(kind)})",
        ]
        own = {
            "r": [
                lambda: f"({self.random.choice(['+', '*', '-'])} {make('r')} {make('r')})",
                lambda: f"(sin {make('r')})",
                lambda: f"({make('f')} {make('r')})",
                lambda: f"(car {make('p')})",
                lambda: f"(gradient {make('f')} {make('r')})",
            ],
            "f": [
                lambda: f"(lambda ({x}) {make('r', (x, 'r'))})",
                lambda: f"(lambda ({x}) {make('r', (x, 'r'))})",
                lambda: f"(cdr {make('p')})",
            ],
            "p": [lambda: f"(cons {make('r')} {make('f')})"],
        }
        return self.random.choice(same + own[kind] * 2)()


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_with_closures_and_nested_gradients_have_the_derivative_of_differences(seed):
    f = f"(lambda (x) {Programs(seed).expression('r', [('x', 'r')], 6)})"
    value, slope = (evaluate(GRADIENT + text) for text in (f, f"(lambda (x) (gradient {f} x))"))
    for x in (0.4, 1.3):
        expected = differences(lambda x: call(value, x), (x,), (1.0,))
        assert_same(np.array([call(slope, x)]), expected, rtol=1e-7, floor=1e-7 * max(1.0, abs(expected[0])))


# Programs of the stages, with VLAD's own loops, branches and closures

WRITTEN_IN_VLAD = {
    "fig1": (lambda x, y: f"(list {x} {y})", "(lambda ((list x y)) (let ((z (+ x y))) (* x z)))"),
    "doublings": (
        lambda x, n: f"(list {x})",
        "(define (f x n) (if (<= n 0) x (f (+ x x) (- n 1))))\n(lambda ((list x)) (f x 8))",
    ),
    "loop": (
        lambda x, a, b, n: f"(list {x} {a} {b})",
        """(define (f x a b n)
             (cond ((<= n 0) x)
                   ((> x 0) (f (* a (- b (sin (+ (* a x) b)))) a b (- n 1)))
                   (else (f (+ b (* a (sin (- b (* a x))))) a b (- n 1)))))
           (lambda ((list x a b)) (f x a b 20))""",
    ),
    "newton": (
        lambda means, e: f"(list (list {' '.join(map(str, means))}) {e})",
        """(define (root m e)
             (letrec ((improve (lambda (x step)
                        (if (> (abs step) 1e-9)
                            (let ((step (/ (- (- x (* e (sin x))) m) (- 1 (* e (cos x)))))) (improve (- x step) step))
                            x))))
               (improve m 1)))
           (define (map f xs) (if (null? xs) () (cons (f (car xs)) (map f (cdr xs)))))
           (lambda ((list means e)) (map (lambda (m) (root m e)) means))""",
    ),
    "compose": (
        lambda pairs, x: f"(list (list {' '.join(f'(list {a} {b})' for a, b in pairs)}) {x})",
        """(define (compose links even)
             (if (null? links)
                 (lambda (x) x)
                 (let* (((list a b) (car links)) (rest (compose (cdr links) (not even))))
                   (if even
                       (lambda (x) (rest (- b (* a x))))
                       (lambda (x) (rest (+ x (* b (sin (* a x))))))))))
           (lambda ((list pairs x)) ((compose pairs #t) x))""",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN_IN_VLAD)
def test_a_program_written_in_vlad_has_the_gradient_of_the_tape(name):
    argument, text = WRITTEN_IN_VLAD[name]
    primals = small(PROGRAMS[name], 0, SIZES)
    f, x = evaluate(text), evaluate(argument(*primals))
    y, backpropagator = halves(call(J(f), J(x)))
    expected, pullback = STAGES["tape"].vjp(PROGRAMS[name].function, *primals)
    assert_same(fringe(J_inverse(y)), flat(expected))
    ct = cotangent(expected)
    sensitivity = evaluate(f"(list {' '.join(map(repr, ct))})") if isinstance(ct, list) else ct
    assert_same(fringe(halves(call(backpropagator, sensitivity))[1]), flat(pullback(ct)))


def fringe(v):
    """The numbers of a value."""
    found, todo = [], [v]
    while todo:
        u = todo.pop()
        if is_pair(u):
            todo.extend(halves(u)[::-1])
        elif u is not NIL:
            found.append(u)
    return found


# Costs, counted

COUNTED = {  # definitions, and a function of one number
    "loop": ("(define (f x n) (if (<= n 0) x (f (* (sin x) (+ x 0.5)) (- n 1))))", "(lambda (x) (f x {n}))"),
    "recursion": ("(define (f x n) (if (<= n 0) x (* 1.001 (f (sin x) (- n 1)))))", "(lambda (x) (f x {n}))"),
    "closures": (
        "(define (compose f n) (if (<= n 0) f (compose (lambda (y) (sin (f (* 0.9 y)))) (- n 1))))",
        "(lambda (x) ((compose sin {n}) x))",
    ),
    "list": (
        """(define (make x n) (if (<= n 0) () (cons x (make (sin x) (- n 1)))))
           (define (sum xs) (if (null? xs) 0 (+ (car xs) (sum (cdr xs)))))""",
        "(lambda (x) (sum (make x {n})))",
    ),
    "shared": (
        "(define (g x n) (if (<= n 0) x (let ((y (g x (- n 1)))) (+ (* y x) (sin y)))))",
        "(lambda (x) (g x {n}))",
    ),
}


@pytest.mark.parametrize("program", COUNTED)
def test_arithmetic_operations_are_as_many_in_the_forward_phase_and_a_constant_times_as_many_in_all(program):
    arithmetic, steps = [], []
    for n in (20, 80, 320):
        definitions, f = COUNTED[program]
        f = f.replace("{n}", str(n))
        primal = meter(f"{definitions} ({f} 0.3)")
        forward = meter(f"{definitions} ((J {f}) (J 0.3))")
        both = meter(f"{definitions} ((cdr ((J {f}) (J 0.3))) 1)")
        assert forward.arithmetic == primal.arithmetic
        assert both.created == both.calls
        arithmetic.append(both.arithmetic / primal.arithmetic)
        steps.append(both.steps / primal.steps)
    assert max(arithmetic) < 10.5
    assert max(arithmetic) < 1.05 * min(arithmetic)
    assert max(steps) < 23
    assert max(steps) < 1.05 * min(steps)


@pytest.mark.parametrize("program", COUNTED)
def test_the_gradient_of_a_gradient_takes_a_constant_times_the_operations(program):
    ratios = []
    for n in (10, 30):
        definitions, f = COUNTED[program]
        f = f.replace("{n}", str(n))
        nested = meter(f"{GRADIENT} {definitions} (gradient (lambda (x) (gradient {f} x)) 0.3)")
        ratios.append(nested.arithmetic / meter(f"{definitions} ({f} 0.3)").arithmetic)
    assert 60 < min(ratios) <= max(ratios) < 100
    assert max(ratios) < 1.05 * min(ratios)


SHARE = """
(define (share x n) (if (<= n 0) x (share (cons x x) (- n 1))))
(define (left p) (if (pair? p) (left (car p)) p))
(define (back f x ct) (cdr ((cdr ((J f) (J x))) ct)))
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(left (J-inverse (J (share 1 {n}))))", 1),
        ("(left (zero (share 1 {n})))", 0),
        ("(left (plus (share 1 {n}) (share 2 {n})))", 3),
        ("(back (lambda (x) (left (share x {n}))) 3 1)", 1),
        ("(back (lambda (x) (share x {n})) 3 (share 1 {n}))", 2.0**40),
        ("(back (lambda (x) (plus (share x {n}) (share x {n}))) 3 (share 1 {n}))", 2.0**41),
        ("(back (lambda (x) (back (lambda (x) (share (* x x) {n})) x (share 1 {n}))) 3 1)", 2.0**41),
    ],
)  # fmt: skip
def test_shared_structure_takes_linear_time(text, expected):
    """x2 = (x1, x1); x3 = (x2, x2); .. (section 4)"""
    assert evaluate(SHARE + text.replace("{n}", "40")) == expected
    few, many = (meter(SHARE + text.replace("{n}", str(n))).steps for n in (10, 40))
    assert many < 4.5 * few


def test_recursion_that_is_10_000_deep_works():
    text = """(gradient (lambda (x) (letrec ((f (lambda (n) (if (<= n 0) x (* 1.0001 (f (- n 1))))))) (f 10000))) 2)"""
    assert_same(evaluate(GRADIENT + text), 1.0001**10_000, rtol=1e-11)


def test_texts_that_are_10_000_parentheses_deep_work():
    text = "(lambda (x) " + "(sin " * 10_000 + "x" + ")" * 10_001
    f = evaluate(text)
    assert 0.0 < call(f, 1.0) < 1.0


# Python functions by translation


def cotangent(y):
    return rebuild(y, np.random.default_rng(1).uniform(0.5, 1.5, len(flat(y))).tolist(), discrete=lambda leaf: None)


everywhere = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)


@everywhere
@pytest.mark.parametrize("seed", [0, 1])
def test_every_program_has_the_value_and_the_gradient_of_the_tape(program, seed):
    primals = small(program, seed, SIZES)
    y, pullback = vjp(program.function, *primals)
    expected, other = STAGES["tape"].vjp(program.function, *primals)
    assert_same(y, expected, rtol=0.0, floor=0.0)
    found = pullback(cotangent(y))
    assert_same(found, other(cotangent(y)), floor=0.0)
    assert_same(pullback(cotangent(y)), found, rtol=0.0, floor=0.0)


@everywhere
def test_every_program_has_the_derivative_of_differences(program):
    check_vjp(vjp, program.function, *small(program, 0, SIZES))


@everywhere
def test_every_program_has_the_second_derivative_of_differences(program):
    sizes = SIZES_OF_ORDER_2_IN_NAIVE | {"rotate": 1, "particles": 1, "loop": 6, "sum_mat_vec": 3}  # for speed only
    check_order_2(vjp, program.function, *small(program, 0, sizes))


def chain(x, n):
    for k in range(n):
        x = sin(x) if k % 2 else x * 1.0001
    return x


def test_a_chain_of_10_000_operations_works():
    y, pullback = vjp(chain, 0.5, 10_000)
    expected, other = STAGES["tape"].vjp(chain, 0.5, 10_000)
    assert_same(y, expected)
    assert_same(pullback(1.0), other(1.0))


GROWTH = {
    "doublings": lambda n: (PROGRAMS["doublings"].function, 1.0, n),
    "wide": lambda n: (PROGRAMS["wide"].function, *wide_inputs(n, n // 4, 0)),
    "deep": lambda n: (PROGRAMS["deep"].function, *PROGRAMS["deep"].make(n, 0)),
    "chain": lambda n: (chain, 0.5, n),
}


@pytest.mark.parametrize("program", GROWTH)
def test_backpropagators_grow_linearly(program):
    few, many = (vlad.count(*GROWTH[program](n)) for n in (40, 160))
    assert few.created == few.calls
    assert many.created == many.calls
    assert few.work < many.work < 4.5 * few.work


def test_count_counts_each_application_once_and_stops_at_its_limit():
    assert dataclasses.astuple(vlad.count(lambda x: x + x, 1.0)) == (2, 2, 0, 0, 0, 0, 0)
    assert vlad.count(chain, 0.5, 10).calls == 11  # and one of the whole
    with pytest.raises(LimitReached, match="more than 50 steps"):
        vlad.count(chain, 0.5, 100, limit=50)


def test_a_translation_has_the_operations_that_the_value_depends_on():
    def f(x, y):
        unused = sqrt(y)  # its derivative at 0 is infinite
        return (x + 1.0) * x if unused < 1.0 else x

    assert show(vlad.translated(f, 2.0, 0.0)) == (
        "(lambda (p) (let* ((x0 (car p)) (t (cons x0 1.0)) (x3 (+ t)) (t.1 (cons x3 x0)) (x4 (* t.1))) x4))"
    )
    assert vjp(f, 2.0, 0.0)[1](1.0) == (5.0, 0.0)


def test_a_translation_is_of_one_run():
    def f(x):
        return sin(x) if x > 0.0 else x * x

    assert "sin" in show(vlad.translated(f, 1.0))
    assert "sin" not in show(vlad.translated(f, -1.0))


def test_of_a_primitive_of_the_users_the_value_and_the_partial_derivatives_are_given():
    between = dr.primitive("between", "a * b + c", "b", "a", "1.0")
    text = show(vlad.translated(lambda x, y: between(x, y, 2.0) * y, 3.0, 5.0))
    assert "(given." in text
    check_vjp(vjp, lambda x, y: between(x, y, x) * y, 3.0, 5.0)
    check_order_2(vjp, lambda x, y: between(x, sin(y), x) * y, 3.0, 5.0)


def test_a_cotangent_of_0_at_an_infinite_derivative_is_nan_as_on_the_tape():
    def f(x, y):
        return x, sqrt(y)

    found, expected = (one(f, 2.0, 0.0)[1]((1.0, 0.0)) for one in (vjp, STAGES["tape"].vjp))
    assert_same(found, expected)


def test_inputs_and_outputs_of_all_kinds():
    def f(a, b, n):
        return {"s": a["x"] * b[0], "t": (b[1], 3.0, n), "u": np.array([a["x"], b[1]])}

    y, pullback = vjp(f, {"x": 2.0}, [3.0, 7.0], 4)
    assert_same(y, {"s": 6.0, "t": (7.0, 3.0, 4), "u": np.array([2.0, 7.0])})
    found = pullback({"s": 1.0, "t": (10.0, 100.0, None), "u": np.array([1000.0, 10000.0])})
    assert_same(found, ({"x": 1003.0}, [2.0, 10010.0], None))
    with pytest.raises(CotangentError):
        pullback(1.0)
    assert vjp(lambda x: 5.0, 1.0)[1](1.0) == (0.0,)
    assert vjp(lambda x, y: x, 1.0, 2.0)[1](3.0) == (3.0, 0.0)
    check_vjp(vjp, lambda xs: np.sin(xs) * xs[::-1] + xs.sum(), np.array([0.3, 0.4, 0.5]))
    with pytest.raises(ArgumentError):
        vjp(lambda n: n, 3)


def test_a_function_that_raises_leaves_nothing_behind():
    def f(x):
        if x > 1.0:
            raise RuntimeError("in f")
        return x * x

    with pytest.raises(RuntimeError, match="in f"):
        vjp(f, 2.0)
    assert vjp(f, 0.5)[1](1.0) == (1.0,)
    with pytest.raises(ZeroDivisionError):
        vjp(lambda x: 1.0 / x, 0.0)
    with pytest.raises(ConversionError):
        vjp(lambda x: math.sin(x), 0.0)


def test_a_number_that_is_kept_from_an_earlier_call_is_refused():
    kept = []
    vjp(lambda x: kept.append(x) or x * x, 1.0)
    for f in (lambda y: y * kept[0], lambda y: kept[0] * y, lambda y: kept[0] * 2.0, lambda y: (y, kept[0])):
        with pytest.raises(LeakError):
            vjp(f, 2.0)


def test_edges_have_the_limits_of_the_table():
    assert vjp(sqrt, 0.0)[1](1.0) == (math.inf,)
    assert vjp(abs, 0.0)[1](1.0) == (1.0,)
    y, pullback = vjp(lambda x: vjp(sqrt, x)[1](1.0)[0], 0.0)
    assert y == math.inf
    assert math.isnan(pullback(1.0)[0])


@pytest.mark.parametrize("outer", [*STAGES, "vlad"])
@pytest.mark.parametrize("inner", ["naive", "tape", "vlad"])
def test_nests_with_the_stages_in_both_directions(outer, inner):
    """d/dx (x * d/dy (x * y^2 + sin(y) * x) at y = x), with operands of the two calls in either order."""
    vjps = {**{name: stage.vjp for name, stage in STAGES.items()}, "vlad": vjp}

    def f(x):
        return x * vjps[inner](lambda y: x * (y * y) + sin(y) * x + (y - x) * (x - y), x)[1](1.0)[0]

    y, pullback = vjps[outer](f, 0.7)
    assert_same(y, 2 * 0.7**3 + 0.7**2 * math.cos(0.7))
    assert_same(pullback(1.0), (6 * 0.7**2 + 2 * 0.7 * math.cos(0.7) - 0.7**2 * math.sin(0.7),))


def test_nests_with_dualrev_grad():
    inner = lambda x: vjp(lambda y: x * sin(y) * y, x)[1](1.0)[0]  # noqa: E731
    expected = dr.grad(lambda x: dr.grad(lambda y, x: x * sin(y) * y)(x, x))(0.7)
    assert_same(dr.grad(inner)(0.7), expected)
    assert_same(vjp(lambda x: dr.grad(lambda y: x * sin(y) * y)(x), 0.7)[1](1.0), (expected,))


def test_third_derivatives():
    def f(x):
        return sin(x) * x

    def df(x):
        return vjp(f, x)[1](1.0)[0]

    def ddf(x):
        return vjp(df, x)[1](1.0)[0]

    assert_same(vjp(ddf, 0.7)[1](1.0)[0], -3 * math.sin(0.7) - 0.7 * math.cos(0.7))


def test_threads_do_not_disturb_each_other():
    found = [None] * 4

    def work(i):
        found[i] = [vjp(lambda x: sin(x) * float(i) + x, 0.1 * k)[1](1.0)[0] for k in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        assert_same(found[i], [i * math.cos(0.1 * k) + 1.0 for k in range(20)])
