"""Futhark's sweeps: gradients against D4 and differences, the rules of reduce and scan, and what is run again."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import dualrev as dr
from stages import STAGES, count
from stages.relatives.bulk.language import build, gather, let, program, sum_of, unary
from stages.relatives.futhark import compiled, derivative, primal, rules, vjp
from stages.relatives.futhark.counting import work
from stages.relatives.futhark.terms import loop, reduce, scan

PAGE = Path(__file__).parents[2] / "docs" / "relatives.md"
XS, A = [0.7, 1.3, -0.4, 2.1], [[0.5, 1.5, -0.2], [0.3, 0.8, 1.1]]
sin, exp = (lambda u: unary("sin", u)), (lambda u: unary("exp", u))

CASES = {
    "a scope without loops": (lambda x, y: let(sin(x) * y, lambda s: s / x - s * 2.0 + exp(-y)), [0.7, 1.3]),
    "a build that captures a scalar": (lambda xs, y: build(4, lambda i: sin(xs[i]) * y), [XS, 0.3]),
    "builds in builds": (lambda a: build(2, lambda i: build(3, lambda j: a[i, j] * a[i, 2 - j])), [A]),
    "a build whose body is a number of outside": (lambda x: build(3, lambda i: x), [0.5]),
    "rows as elements": (lambda a: build(2, lambda i: let(a[1 - i], lambda r: r)), [A]),
    "a loop over a scalar": (lambda x: loop(x, 5, lambda v, i: sin(v) * x + v), [0.7]),
    "a loop over a vector": (lambda xs: loop(xs, 3, lambda v, i: build(4, lambda j: v[j] * v[3 - j] + xs[i])), [XS]),
    "a loop that reads an element": (lambda xs: loop(1.0, 4, lambda v, i: v * xs[i] + v), [XS]),
    "a loop of no iterations": (lambda x: loop(x, 0, lambda v, i: v * v), [0.7]),
    "a loop whose body ignores the variable": (lambda x, y: loop(x, 3, lambda v, i: y), [0.7, 1.3]),
    "a loop whose variable stays": (lambda x: loop(x, 3, lambda v, i: v) * x, [0.7]),
    "loops in loops": (lambda x: loop(x, 3, lambda v, i: loop(v, 2, lambda w, j: sin(w * v) + x)), [0.7]),
    "a loop in a build in a loop": (
        lambda xs: loop(xs, 2, lambda v, i: build(4, lambda j: loop(v[j], 3, lambda w, k: sin(w) * v[k]))),
        [XS],
    ),
    "the same names in two scopes": (
        lambda xs: let(
            build(4, lambda i: let(sin(xs[i]), lambda s: s * s)), lambda a: let(sum_of(a), lambda s: s * a[0])
        ),
        [XS],
    ),
    "reduce add, mul and maximum": (
        lambda xs: reduce("add", xs) * reduce("mul", xs) + reduce("maximum", xs) * xs[0],
        [XS],
    ),
    "a product with a zero": (lambda xs: reduce("mul", xs), [[2.0, 0.0, 3.0]]),
    "a product with two zeros": (lambda xs: reduce("mul", xs), [[2.0, 0.0, 3.0, 0.0]]),
    "reduce of any operator": (lambda xs: reduce(lambda a, b: a + b - a * b * 0.5, xs, 0.0), [XS]),
    "scan add, mul and maximum": (
        lambda xs: sum_of(build(4, lambda i: scan("add", xs)[i] * scan("mul", xs)[i] + scan("maximum", xs)[i] * xs[0])),
        [XS],
    ),
    "scan of any operator": (lambda xs: scan(lambda a, b: a + b - a * b * 0.5, xs, 0.0), [XS]),
    "one operator for a scan and a reduce": (
        lambda xs: scan(lambda a, b: a + b + a * b, xs, 0.0)[2] * reduce(lambda a, b: a + b + a * b, xs, 0.0),
        [XS],
    ),
    "reduce in a build, scan in a loop": (
        lambda a: sum_of(build(2, lambda i: reduce("mul", loop(a[i], 2, lambda v, k: scan("add", v))))),
        [A],
    ),
}
every = pytest.mark.parametrize(("made", "args"), [(program(f), args) for f, args in CASES.values()], ids=CASES)


def ranks(args):
    return [np.ndim(u) for u in args]


def python(made, args):
    """The program as a Python function, without the sweeps."""
    return compiled(primal(made, *ranks(args)), "primal")


@every
def test_value_and_gradient_are_those_of_d4_and_of_dr_vjp(made, args):
    f = python(made, args)
    y, pullback = vjp(made, *args)
    ct = np.random.default_rng(1).normal(size=np.shape(y)).tolist()
    for oracle in (STAGES["arrays"].vjp, dr.vjp):
        expected_y, expected = oracle(f, *args)
        assert y == expected_y
        for found, wanted in zip(pullback(ct), expected(ct), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


@every
def test_gradients_are_those_of_differences(made, args):
    f, h, rng = python(made, args), 1e-5, np.random.default_rng(2)
    ct = rng.normal(size=np.shape(f(*args)))
    vs = [rng.normal(size=np.shape(u)) for u in args]
    up, down = (np.array(f(*((np.array(u) + s * v).tolist() for u, v in zip(args, vs, strict=True)))) for s in (h, -h))
    found = sum(np.sum(np.array(z) * v) for z, v in zip(vjp(made, *args)[1](ct.tolist()), vs, strict=True))
    assert found == pytest.approx(np.sum((up - down) / (2 * h) * ct), rel=1e-7, abs=1e-9)


@every
def test_second_derivatives_are_those_of_d4_by_itself(made, args):
    f, d4 = python(made, args), STAGES["arrays"].vjp
    ct = np.random.default_rng(3).normal(size=np.shape(f(*args))).tolist()
    second = []
    for inner in (lambda *args: vjp(made, *args)[1](ct), lambda *args: d4(f, *args)[1](ct)):
        zs, pullback = d4(lambda *args, inner=inner: list(inner(*args)), *args)
        second.append(pullback([np.cos(np.array(z, dtype=float)).tolist() for z in zs]))
    for found, wanted in zip(*second, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)


def test_values_are_those_of_python():
    made = program(CASES["loops in loops"][0])
    v = x = 0.7
    for _ in range(3):
        w = v
        for _ in range(2):
            w = math.sin(w * v) + x
        v = w
    assert vjp(made, x)[0] == v
    assert vjp(program(lambda xs: scan("mul", xs)), XS)[0] == np.cumprod(XS).tolist()
    assert vjp(program(lambda xs: scan("maximum", xs)), XS)[0] == np.maximum.accumulate(XS).tolist()


# ---- the rules of reduce and scan


def d_mul(a, b, z):
    return z * b, z * a


@pytest.mark.parametrize("xs", [[2.0, 3.0, 5.0, -7.0], [2.0, 0.0, 5.0], [0.0, 3.0, 0.0], [1e-200, 1e-200], [4.0], []])
def test_the_special_rules_are_the_general_one(xs):
    general = rules.reduce_op(lambda a, b: a * b, d_mul, 1.0, xs, 3.0)
    assert len(rules.reduce_maximum(xs, 3.0)) == len(xs)
    assert rules.reduce_mul(xs, 3.0) == pytest.approx(general, rel=1e-14)
    ones = lambda a, b, z: (z, z)  # noqa: E731
    assert rules.reduce_add(xs, 3.0) == rules.reduce_op(lambda a, b: a + b, ones, 0.0, xs, 3.0)
    zs = [float(k + 1) for k in range(len(xs))]
    assert rules.scan_add(zs) == rules.scan_op(lambda a, b: a + b, ones, 0.0, xs, zs)


def test_a_maximum_belongs_to_its_first_element_and_to_a_nan():
    assert rules.reduce_maximum([1.0, 3.0, 3.0], 2.0) == [0.0, 2.0, 0.0]
    for xs in ([1.0, math.nan, 3.0], [math.nan, 1.0], [1.0, math.nan]):
        assert rules.reduce_maximum(xs, 2.0) == [2.0 if x != x else 0.0 for x in xs]


def test_a_scan_of_a_product_with_zeros():
    f, xs = program(lambda xs: scan("mul", xs)), [2.0, 0.0, 3.0, 0.0, 5.0]
    jacobian = [vjp(f, xs)[1]([float(i == k) for i in range(5)])[0] for k in range(5)]
    expected = [
        [math.prod(x for i, x in enumerate(xs[: k + 1]) if i != j) * (j <= k) for j in range(5)] for k in range(5)
    ]
    np.testing.assert_array_equal(jacobian, expected)


# ---- what is run again, and what is stored


def nest(depth, n):
    """Builds in builds, `depth` of them, around ten sines."""

    def inside(u, k):
        if k == depth:
            for _ in range(10):
                u = sin(u)
            return u
        f = {0: lambda a: inside(u * 1.0, 1), 1: lambda b: inside(u, 2), 2: lambda c: inside(u, 3)}[k]
        return build(n, f)

    return program(lambda x: inside(x, 0))


def test_each_level_of_nesting_runs_the_innermost_scope_once_more():
    ratios = []
    for depth in (1, 2, 3):
        counts = work(nest(depth, 4), 0.7)
        again = work(nest(depth, 8), 0.7)
        assert again.derivative / again.program == pytest.approx(counts.derivative / counts.program, rel=0.05)
        assert counts.stored == 0
        ratios.append(counts.derivative / counts.program)
    steps = np.diff(ratios)
    assert np.all((steps > 0.8) & (steps < 1.3))


def test_loops_store_their_variable_and_d4_every_number():
    def chain(n):
        return program(lambda x: loop(x, n, lambda v, i: sin(v) * v * x + x))

    made = {n: chain(n) for n in (10, 100)}
    for n, f in made.items():
        counts = work(f, 0.7)
        assert counts.stored == n
        assert counts.program == 4 * n
        assert count("arrays", python(f, [0.7]), 0.7).created >= 4 * n
    a, b = (work(f, 0.7).derivative for f in made.values())
    assert b / a == pytest.approx(10.0, rel=0.02)


def test_the_inner_loop_of_two_stores_for_one_iteration_of_the_outer_one_at_a_time():
    text = derivative(program(lambda x: loop(x, 3, lambda v, i: loop(v, 2, lambda w, j: w * x))), 0)
    first, again = text.split("reversed(range(3))")
    assert ("w_at" in first, "v_at = keep()" in first, "w_at = keep()" in again) == (False, True, True)


def test_the_table_on_the_page_is_what_is_counted():
    rows = [
        line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `futhark` ")
    ]
    made = {
        "one loop": program(lambda x: loop(x, 100, lambda v, i: sin(v) * x)),
        "a loop in a loop": program(lambda x: loop(x, 100, lambda v, i: loop(v, 100, lambda w, j: sin(w) * x))),
        "a loop in a build": program(lambda x: sum_of(build(100, lambda i: loop(x, 100, lambda w, j: sin(w) * x)))),
        "a product": program(lambda xs: reduce("mul", xs)),
        "a scan of products": program(lambda xs: sum_of(scan("mul", xs))),
    }
    assert [row[1] for row in rows] == list(made)
    for _, name, *cells in rows:
        args = [[1.0 + k / 1000 for k in range(100)]] if " product" in name else [0.7]
        d4 = count("arrays", python(made[name], args), *args).created
        assert [f"{u:,}" for u in (*work(made[name], *args), d4)] == [cell.strip(" |") for cell in cells]


@pytest.mark.parametrize(
    ("made", "args", "error", "says"),
    [
        (lambda xs: reduce(lambda a, b: a + b * xs[0], xs, 0.0), [XS], ValueError, "the operator of a reduce uses xs"),
        (lambda xs: reduce(lambda a, b: a, xs), [XS], ValueError, "pass it as `neutral`"),
        (lambda a: sum_of(a), [A], ValueError, "reduce and scan take a vector, got an array of rank 2"),
        (lambda xs: gather((2,), xs, lambda i: [i]), [XS], TypeError, "gather and scatter have none"),
    ],
)
def test_errors_name_the_term(made, args, error, says):
    with pytest.raises(error, match=says):
        vjp(program(made), *args)
