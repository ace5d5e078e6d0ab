"""numpy's functions on arrays whose elements are being differentiated: values as on floats, the table's rules."""

import math

import numpy as np
import pytest
from support.oracle import assert_same, check_vjp

import dualrev as dr
from dualrev.errors import ConversionError, UnsupportedError
from stages import STAGES

X = np.array([0.5, 1.3, -2.1, 0.7])
M = np.array([[0.5, -1.0], [2.0, 0.3]])

# One of each kind is enough for what happens outside of a stage; closures, lists and the tape build differently.
stages = pytest.mark.parametrize("stage", ["naive", "sparse", "contrib", "tape"])


def gradient(stage, f, *primals):
    y, pullback = STAGES[stage].vjp(f, *primals)
    return y, pullback(np.ones_like(y) if isinstance(y, np.ndarray) else 1.0)


@stages
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sin(x) * np.exp(-x * x),
        lambda x: np.sum(x[1:] * x[:-1]),
        lambda x: np.dot(x, x[::-1]),
        lambda x: x @ np.outer(x, x) @ np.arange(4.0),
        lambda x: np.mean(x**2) - np.prod(x),
        lambda x: np.max(x) * np.min(x) + np.ptp(x),
        lambda x: np.max(x.reshape(2, 2)) * np.min(x.reshape(2, 2)) + np.logaddexp.reduce(x.reshape(2, 2), axis=None),
        lambda x: np.exp(np.where(x > 0, x, 0.0)),
        lambda x: np.maximum(x, 0),
        lambda x: np.clip(x, -1.0, 1.0) * x,
        lambda x: np.floor(x) * x,
        lambda x: np.sign(x) * np.abs(x) ** 1.5,
        lambda x: np.copysign(x, -1.0) + np.logaddexp(x, 0.0),
        lambda x: np.logaddexp.reduce(x),
        lambda x: np.divmod(x, 0.8)[1],
        lambda x: np.square(x) + np.reciprocal(x) + np.fabs(x) + np.float_power(np.abs(x), 1.5) + np.deg2rad(x),
        lambda x: np.logical_and(x, x) * x,
        lambda x: np.logical_or.reduce(x > 0) * x,
        lambda x: np.isfinite(x) * x,
        lambda x: np.fmax(x, 0.1) + np.fmin(x, 0.1),
        lambda x: np.add.outer(x, x) * np.multiply.outer(x, np.arange(4.0)),
        lambda x: np.concatenate([x, 2.0 * x]).reshape(2, 4).T.sum(axis=0),
        lambda x: np.cumsum(x) * np.sort(x),
        lambda x: np.stack([np.sum(x), np.add(x[0], [1.0, 2.0]).sum()]),
        lambda x: np.einsum("i,j->ij", x, x).trace(),
        lambda x: np.vectorize(lambda u: u * u if u > 0 else u)(x),
    ],
)
def test_array_functions(stage, f):
    check_vjp(STAGES[stage].vjp, f, X)


@stages
def test_matrices_and_assignment(stage):
    def f(m, x):
        out = np.zeros_like(m)
        out[0] = m @ x
        out[1] += x * 2.0
        view = out.T
        view[0, 1] = x[0] * x[1]
        return out

    check_vjp(STAGES[stage].vjp, f, M, np.array([0.4, 1.7]))


@stages
def test_a_tie_in_an_array_is_shared(stage):
    _, (ct,) = gradient(stage, lambda x: np.maximum(x, 0.0), np.array([0.0, 1.0]))
    assert_same(ct, np.array([0.5, 1.0]))
    _, (ct,) = gradient(stage, np.max, np.array([1.0, 1.0]))
    assert_same(ct, np.array([0.5, 0.5]))


@stages
@pytest.mark.parametrize("f", [lambda x: np.maximum(x, 0.0), np.max, np.min, np.ptp, lambda x: np.clip(x, 0.0, 1.5)])
def test_nan_in_an_array_stays(stage, f):
    x = np.array([math.nan, 1.0, 2.0])
    assert_same(gradient(stage, f, x)[0], f(x) if isinstance(f(x), np.ndarray) else float(f(x)))


@stages
def test_nan_is_sorted_last_and_found_first(stage):
    x = np.array([3.0, math.nan, 2.0, 1.0])
    for f in (np.sort, lambda x: x[np.argsort(x)], lambda x: x * np.argmax(x), lambda x: x * np.argmin(x)):
        assert_same(gradient(stage, f, x)[0], f(x))
    y, (ct,) = gradient(stage, lambda m: np.sort(m, axis=0)[0] * [1.0, 10.0], M)
    assert_same((y, ct), (np.array([0.5, -10.0]), np.array([[1.0, 10.0], [0.0, 0.0]])))


@stages
def test_comparisons_may_write_into_arrays_of_objects(stage):
    f = lambda x: np.equal(x, 0.5, out=np.empty_like(x)) * x  # noqa: E731
    assert_same(gradient(stage, f, X)[0], np.where(X == 0.5, X, 0.0))


@stages
def test_a_relu_of_negative_numbers_is_an_array_of_floats(stage):
    y, (ct,) = gradient(stage, lambda x: np.maximum(x, 0), np.array([-1.0, -2.0]))
    assert_same((y, ct), (np.zeros(2), np.zeros(2)))
    y, (ct,) = gradient(stage, np.floor, np.array([1.5, math.inf]))
    assert_same((y, ct), (np.array([1.0, math.inf]), np.zeros(2)))


@stages
def test_what_would_be_wrong_is_refused_with_the_line_and_the_cure(stage):
    with pytest.raises(UnsupportedError, match=r"test_arrays\.py:\d+.*np\.where\(np\.isnan\(x\), 0\.0, x\)"):
        gradient(stage, lambda x: np.nan_to_num(x) * x, X)
    with pytest.raises(ConversionError, match=r"(?s)storing a number .*test_arrays\.py:\d+.*dualrev\.numpy"):
        gradient(stage, lambda x: np.add(x, 1.0, out=np.zeros(4)), X)
    with pytest.raises(ConversionError, match=r"(?s)storing a number .*test_arrays\.py:\d+.*dualrev\.numpy"):
        gradient(stage, lambda x: np.add.at(np.zeros(4), [0, 0], x[:2]) or x, X)
    assert_same(gradient(stage, np.sum, X)[1][0], np.ones(4))


@pytest.mark.parametrize(
    ("f", "args", "expected"),
    [
        ("fmod", (1.0, 0.1), (1.0, -9.0)),
        ("remainder", (1.0, 0.1), (1.0, -10.0)),
        ("atan2", (1e-170, 1e-170), (5e169, -5e169)),
        ("atan2", (1e200, 1e200), (5e-201, -5e-201)),
        ("asinh", (1e200,), (1e-200,)),
        ("acosh", (1e200,), (1e-200,)),
        ("expm1", (-40.0,), (math.exp(-40.0),)),
        ("logaddexp", (math.inf, 1.0), (1.0, 0.0)),
    ],
)
def test_partials_at_the_ends_of_the_exponents(f, args, expected):
    from dualrev import math as dm

    _, pullback = STAGES["tape"].vjp(getattr(dm, f), *args)
    assert_same(pullback(1.0), expected, rtol=1e-15)


def test_the_derivative_of_a_partial_that_is_nan_is_nan():
    vjp = STAGES["sparse"].vjp
    for inner, outer in ((0, 1), (1, 0)):
        first = lambda *at, k=inner: vjp(lambda x, n: x**n, *at)[1](1.0)[k]  # noqa: E731
        assert math.isnan(vjp(first, -2.0, 3.0)[1](1.0)[outer])


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_determinants_of_singular_matrices_have_all_derivatives(rank):
    """They are polynomials of the entries."""
    rng = np.random.default_rng(rank)
    a = rng.normal(size=(3, rank)) @ rng.normal(size=(rank, 3)) if rank else np.zeros((3, 3))

    def by_hand(a):
        return sum(a[0, k] * (a[1, k - 2] * a[2, k - 1] - a[1, k - 1] * a[2, k - 2]) for k in range(3))

    for f, g in ((np.linalg.det, by_hand), (dr.grad(np.linalg.det), dr.grad(by_hand))):
        for derivative in (dr.jacrev, dr.jacfwd, lambda f: dr.jacrev(dr.jacrev(f))):
            np.testing.assert_allclose(derivative(f)(a), derivative(g)(a), atol=1e-12)
    of_several = dr.hessian(lambda a: np.sum(np.linalg.det(np.stack([a, a + np.eye(3)]))))
    np.testing.assert_allclose(of_several(a), dr.hessian(lambda a: by_hand(a) + by_hand(a + np.eye(3)))(a), atol=1e-10)
    assert dr.hessian(np.linalg.det)(np.zeros((1, 1))).tolist() == [[[[0.0]]]]
