"""Properties of all stages on generated programs; each test is named after its equation."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dualrev import math as dm
from stages import STAGES, sharing

# Smooth, and bounded in value and slope, so that a generated program neither overflows nor amplifies roundings.
UNARY = {
    "sin": dm.sin,
    "tanh": dm.tanh,
    "neg": lambda a: -a,
    "gauss": lambda a: dm.exp(-a * a),
    "root": lambda a: dm.sqrt(1.0 + a * a),
    "half": lambda a: 0.5 * a,
    "fold": lambda a: a if a > 0 else a * 0.25,
}
BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: dm.tanh(a) * b,
    "div": lambda a, b: a / (1.0 + b * b),
    "max": dm.maximum,
    "atan2": lambda a, b: dm.atan2(a, 1.0 + b * b),
}


@st.composite
def programs(draw, inputs=None, outputs=1):
    """A straight-line program in which every step may use any earlier value, also twice: sharing included."""
    n = draw(st.integers(1, 3)) if inputs is None else inputs
    steps = []
    for k in range(draw(st.integers(1, 8))):
        earlier = st.integers(0, n + k - 1)
        name = draw(st.sampled_from([*UNARY, *BINARY]))
        steps.append((name, [draw(earlier) for _ in range(1 if name in UNARY else 2)]))
    results = [draw(st.integers(0, n + len(steps) - 1)) for _ in range(outputs - 1)] + [n + len(steps) - 1]

    def f(*xs):
        values = list(xs)
        for name, places in steps:
            values.append((UNARY | BINARY)[name](*(values[i] for i in places)))
        return tuple(values[i] for i in results) if outputs > 1 else values[-1]

    f.inputs, f.steps = n, steps
    return f


numbers = st.floats(-2.0, 2.0).map(lambda x: round(x, 3))


def magnitude(f, xs):
    """The gradient with every term taken as positive: what roundings are relative to when terms cancel.

    Of the sum of all intermediate values, because which of them is the result is not said.
    """
    rows = sharing("tape", f, *xs)
    terms = [1.0] * len(rows)
    for row in reversed(rows):
        for p, i in row.refers:
            terms[i] += abs(p) * terms[row.id]
    return terms[: len(xs)]


def close(found, expected, scales, rel=1e-12):
    return all(abs(a - b) <= rel * scale for a, b, scale in zip(found, expected, scales, strict=True))


few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
many = settings(max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def all_stages_agree(f, xs):
    gradients = {}
    for name, stage in STAGES.items():
        y, pullback = stage.vjp(f, *xs)
        assert y == f(*xs)
        gradients[name] = pullback(1.0)
    for name, gradient in gradients.items():
        assert close(gradient, gradients["tape"], magnitude(f, xs)), (name, gradient, gradients["tape"])
    return gradients["tape"]


@few
@given(programs(), st.data())
def test_all_stages_agree(f, data):
    all_stages_agree(f, [data.draw(numbers) for _ in range(f.inputs)])


@pytest.mark.slow
@many
@given(programs(), st.data())
def test_all_stages_agree_on_many_programs(f, data):
    all_stages_agree(f, [data.draw(numbers) for _ in range(f.inputs)])


@pytest.mark.parametrize("stage", STAGES)
@settings(few, max_examples=25)
@given(f=programs(inputs=2, outputs=2), xs=st.tuples(numbers, numbers), z1=st.tuples(numbers, numbers), data=st.data())
def test_d_z1_plus_d_z2_is_d_of_z1_plus_z2(stage, f, xs, z1, data):
    z2 = data.draw(st.tuples(numbers, numbers))
    _, d = STAGES[stage].vjp(f, *xs)
    both = d((z1[0] + z2[0], z1[1] + z2[1]))
    separate = [a + b for a, b in zip(d(z1), d(z2), strict=True)]
    assert close(both, separate, [4.0 * scale for scale in magnitude(f, xs)])  # cotangents are at most 2
    assert d((0.0, 0.0)) == (0.0, 0.0)


@pytest.mark.parametrize("stage", STAGES)
@settings(few, max_examples=25)
@given(f=programs(inputs=2, outputs=2), g=programs(inputs=2), xs=st.tuples(numbers, numbers))
def test_vjp_of_g_after_f_is_vjp_of_f_after_vjp_of_g(stage, f, g, xs):
    vjp = STAGES[stage].vjp
    y, d_f = vjp(f, *xs)
    _, d_g = vjp(g, *y)
    _, d_gf = vjp(lambda *x: g(*f(*x)), *xs)
    composed = d_f(tuple(d_g(1.0)))
    assert close(d_gf(1.0), composed, magnitude(lambda *x: g(*f(*x)), xs))


@pytest.mark.parametrize("stage", STAGES)
@few
@given(x=numbers, n=st.integers(0, 6))
def test_the_derivative_of_x_to_the_n_nested(stage, x, n):
    vjp = STAGES[stage].vjp

    def derivative(f):
        return lambda u: vjp(f, u)[1](1.0)[0]

    f = lambda u: u**n + 0.0 * u  # noqa: E731 - x**0 is a plain number
    for k in range(3):
        expected = math.perm(n, k) * x ** (n - k) if n >= k else 0.0
        assert math.isclose(f(x), expected, rel_tol=1e-12, abs_tol=1e-12)
        f = derivative(f)
