"""Shaikhha et al.: each rewriting step keeps the gradient, and the last program has the cost of reverse mode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dualrev as dr
from stages import STAGES
from stages.relatives.bulk import elementwise
from stages.relatives.bulk.language import Program, build, gather, let, program, sum_of, unary
from stages.relatives.bulk.terms import Build, Index, Let, Num, Op, Sum, Var
from stages.relatives.distributive import operations, steps
from stages.relatives.distributive.forward import Same, gradient, terms
from stages.relatives.distributive.linear import plugged
from stages.relatives.distributive.rules import RULES

PAGE = Path(__file__).parents[2] / "docs" / "relatives.md"
sin, exp, log, sqrt = (lambda u, name=name: unary(name, u) for name in ("sin", "exp", "log", "sqrt"))


def chain(k):
    """y1 = xs[0], y2 = y1 y1 + y1 and so on: k numbers, each used three times."""
    made = Var(f"y{k}")
    for i in range(k, 1, -1):
        made = Let(f"y{i}", Var(f"y{i - 1}") * Var(f"y{i - 1}") + Var(f"y{i - 1}"), made)
    return Program(("xs",), Let("y1", Index(Var("xs"), (Num(0),)), made))


def product(n):
    def squares(a, xs):
        return let(
            build(n, lambda k: sum_of(build(n, lambda j: a[k, j] * xs[j]))),
            lambda y: sum_of(build(n, lambda i: y[i] * y[i])),
        )

    return program(squares)


#: Programs by size, the argument, and the shapes of the arguments; the first are reduced to the cost of the program.
PROGRAMS = {
    "dot product": (lambda n: program(lambda xs, ys: sum_of(build(n, lambda i: xs[i] * ys[i]))), "xs", "1 1"),
    "the other argument": (lambda n: program(lambda xs, ys: sum_of(build(n, lambda i: xs[i] * ys[i]))), "ys", "1 1"),
    "norm": (lambda n: program(lambda xs: sqrt(sum_of(build(n, lambda i: xs[i] * xs[i])))), "xs", "1"),
    "logarithm of a sum": (lambda n: program(lambda xs: log(sum_of(build(n, lambda i: exp(xs[i]))))), "xs", "1"),
    "square of a sum": (
        lambda n: program(lambda xs: let(sum_of(build(n, lambda i: sin(xs[i]))), lambda s: s * s + s)),
        "xs",
        "1",
    ),
    "two sums": (
        lambda n: program(
            lambda xs, ys: sum_of(build(n, lambda i: xs[i] * ys[i])) / sum_of(build(n, lambda j: xs[j] * xs[j]))
        ),
        "xs",
        "1 1",
    ),
    "a vector by a matrix": (product, "xs", "2 1"),
    "a matrix by a vector": (product, "a", "2 1"),
    "a body with lets": (
        lambda n: program(lambda xs: sum_of(build(n, lambda i: let(sin(xs[i]), lambda s: s * s - s / xs[i])))),
        "xs",
        "1",
    ),
    "a vector that is used in two loops": (
        lambda n: program(
            lambda xs: let(
                build(n, lambda k: sin(xs[k])),
                lambda y: sum_of(build(n, lambda i: y[i] * xs[i])) * sum_of(build(n, lambda j: -y[j])),
            )
        ),
        "xs",
        "1",
    ),
    "a single element": (lambda n: program(lambda xs: xs[0] * xs[1] * 2.0), "xs", "1"),
    "fewer elements than there are": (
        lambda n: program(lambda xs: sum_of(build(2, lambda i: xs[i] * xs[i]))),
        "xs",
        "1",
    ),
    "a constant": (lambda n: program(lambda xs, ys: ys[0] * 3.0), "xs", "1 1"),
    "a number": (lambda n: program(lambda x, ys: sum_of(build(n, lambda i: x * ys[i] * x))), "x", "0 1"),
}
every = pytest.mark.parametrize("name", PROGRAMS)


def setting(name, n):
    make, argument, dimensions = PROGRAMS[name]
    made = make(n)
    shapes = dict(zip(made.arguments, ((n,) * int(d) for d in dimensions.split()), strict=True))
    rng = np.random.default_rng(1)
    return made, argument, shapes, [rng.uniform(0.5, 1.5, shapes[x]).tolist() for x in made.arguments]


@every
def test_each_step_has_the_gradient_of_d4_and_of_dr_vjp(name):
    made, argument, shapes, args = setting(name, 3)
    k = made.arguments.index(argument)
    expected = STAGES["arrays"].vjp(elementwise.function(made), *args)[1](1.0)[k]
    np.testing.assert_allclose(dr.vjp(elementwise.function(made), *args)[1](1.0)[k], expected, rtol=1e-13, atol=1e-15)
    for step in steps(made, argument, shapes):
        found = elementwise.function(step.program)(*args)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13, err_msg=str(step))


@every
def test_the_last_program_has_no_tangents(name):
    made, argument, shapes, _ = setting(name, 3)
    last = steps(made, argument, shapes)[-1].program
    assert not any(isinstance(t, Let) and t.name.startswith("d") for t in terms(last.body))
    if name not in ("a single element", "fewer elements than there are"):  # their one-hots select what has a gradient
        assert not any(isinstance(t, Same) for t in terms(last.body))


@every
def test_forward_mode_costs_n_times_the_program_and_the_last_program_a_constant_times(name):
    ratios = []
    for n in (8, 32):
        made, argument, shapes, _ = setting(name, n)
        found = steps(made, argument, shapes)
        first, last = (operations(found[k].program.body) for k in (0, -1))
        cost = operations(made.body) + np.prod(shapes[argument])
        ratios.append((first / cost, last / cost))
    (forward, after), (forward_4, after_4) = ratios
    assert after_4 <= 1.5 * after  # what grows with n grows fourfold
    assert after_4 < 8
    if name not in ("a constant", "a number", "a single element", "fewer elements than there are"):
        assert forward_4 > 3 * forward


def test_factoring_keeps_a_chain_linear_in_which_each_number_is_used_three_times():
    counts = []
    for k in (3, 6, 12):
        found = steps(chain(k), "xs", {"xs": (1,)}, limit=20_000)
        counts.append(operations(found[-1].program.body))
        np.testing.assert_allclose(
            elementwise.function(found[-1].program)([0.1]),
            STAGES["arrays"].vjp(elementwise.function(chain(k)), [0.1])[1](1.0)[0],
            rtol=1e-12,
        )
    assert counts[2] - counts[1] == pytest.approx(2 * (counts[1] - counts[0]), rel=0.1)


def test_every_rule_is_used_by_an_example():
    used = {step.rule for name in PROGRAMS for step in steps(*setting(name, 3)[:3])}
    assert used == {"forward mode", *RULES}


def test_the_dot_product_step_by_step():
    made, argument, shapes, _ = setting("dot product", 3)
    assert [f"{rule}: {at.body}" for rule, at in steps(made, argument, shapes)] == [
        r"forward mode: build 3 (\g. let dxs = build 3 (\h. [h = g])"
        r" in sum (build 3 (\i. ys[i] * dxs[i] + xs[i] * 0)))",
        r"ring: build 3 (\g. let dxs = build 3 (\h. [h = g]) in sum (build 3 (\i. ys[i] * dxs[i] + 0)))",
        r"ring: build 3 (\g. let dxs = build 3 (\h. [h = g]) in sum (build 3 (\i. ys[i] * dxs[i])))",
        r"order of a product: build 3 (\g. let dxs = build 3 (\h. [h = g]) in sum (build 3 (\i. dxs[i] * ys[i])))",
        r"inlining: build 3 (\g. sum (build 3 (\i. (build 3 (\h. [h = g]))[i] * ys[i])))",
        r"loop fusion: build 3 (\g. sum (build 3 (\i. [i = g] * ys[i])))",
        r"one-hot: build 3 (\g. ys[g])",
    ]


def test_substitution_renames_what_it_would_capture():
    x, j = Var("x"), Var("j")
    assert str(plugged(Build(2, "j", x * j), "x", j)) == r"build 2 (\j'. j * j')"
    assert str(plugged(Let("j", x, x * j), "x", j)) == "let j' = j in j * j'"


def test_a_one_hot_needs_the_same_range():
    sum_ = Sum(Build(2, "i", Op("mul", (Same(Var("i"), Var("g")), Index(Var("xs"), (Var("i"),))))))
    assert RULES["one-hot"](sum_, {"g": 3}) is None
    assert str(RULES["one-hot"](sum_, {"g": 2})) == "xs[g]"


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda xs: build(3, lambda i: xs[i]), "the value of the program has shape"),
        (lambda xs: sum_of(build(3, lambda i: xs[i + 1])), "an index has to be one of a build"),
        (lambda xs: sum_of(build(4, lambda i: xs[i])), "not longer than the axis"),
        (lambda xs: sum_of(xs), "written as the sum of a build"),
        (lambda xs: sum_of(build(3, lambda g: xs[g])), "g is a name that the gradient uses"),
        (lambda xs: let(xs[0], lambda dx: dx), "dx is a name that the gradient uses"),
        (lambda xs: (xs * xs)[0], "an operation on arrays"),
    ],
)
def test_errors_name_the_term(f, says):
    with pytest.raises(ValueError, match=says):
        steps(program(f), "xs", {"xs": (3,)})


def test_gather_is_refused_and_an_endless_rewriting_is_an_error():
    with pytest.raises(TypeError, match="the rules are for build, sum and scalar operations"):
        gradient(program(lambda xs: gather((3,), xs, lambda i: [i])[0]), "xs", {"xs": (3,)})
    with pytest.raises(RuntimeError, match="no end of the rewriting after 2 steps"):
        steps(Program(("xs",), Index(Var("xs"), (Num(0),))), "xs", {"xs": (3,)}, limit=2)


def test_the_table_on_the_page_is_what_is_counted():
    rows = [
        line.split(" | ")
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `distributive` ")
    ]
    assert len(rows) == 4
    for _, name, *cells in rows:
        made, argument, shapes, _ = setting(name, 16)
        found = steps(made, argument, shapes)
        counts = [operations(made.body), *(operations(found[k].program.body) for k in (0, -1)), len(found) - 1]
        assert [f"{u:,}" for u in counts] == [cell.strip(" |") for cell in cells]
