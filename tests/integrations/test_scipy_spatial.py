"""dualrev.scipy.spatial.distance: SciPy's values, and the derivatives of differences; 0 at points that coincide."""

import numpy as np
import pytest
import scipy.spatial

import dualrev as dr
from dualrev.scipy import spatial
from dualrev.scipy.spatial import distance

RNG = np.random.default_rng(5)
A, B, W = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 3)), RNG.uniform(0.5, 2.0, size=3)
P = np.abs(A) + 0.1
SPREAD = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.7]])
METRICS = {
    "braycurtis": {},
    "canberra": {},
    "chebyshev": {},
    "cityblock": {"w": W},
    "correlation": {},
    "cosine": {},
    "euclidean": {},
    "euclidean, weights": {"w": W},
    "jensenshannon": {},
    "mahalanobis": {"VI": SPREAD},
    "minkowski": {"p": 3.0, "w": W},
    "minkowski, p": {"p": 1.5},
    "seuclidean": {"V": W},
    "seuclidean, variances of the points": {},
    "sqeuclidean": {},
}


@pytest.mark.parametrize("name", METRICS)
def test_a_metric(name):
    metric, options = name.partition(",")[0], METRICS[name]
    a, b = (P, P[:2] + 0.3) if metric in ("jensenshannon", "braycurtis") else (A, B)
    for f, args in (
        (lambda a, b: distance.cdist(a, b, metric, **options), (a, b)),
        (lambda a: distance.pdist(a, metric, **options), (a,)),
        (
            lambda u, v: getattr(distance, metric)(u, v, **({"V": W} if metric == "seuclidean" else options)),
            (a[0], b[1]),
        ),
    ):
        dr.check(f, *args)
        dr.check_grads(f, args, order=2)


def test_arguments_of_a_metric_have_derivatives():
    for f, args in (
        (lambda v: distance.cdist(A, B, "mahalanobis", VI=v), (SPREAD,)),
        (lambda v: distance.pdist(A, "seuclidean", V=v), (W,)),
        (lambda w: distance.minkowski(A[0], A[1], 3, w), (W,)),
        (lambda p: distance.cdist(A, B, "minkowski", p=p), (2.5,)),
        (
            lambda a: distance.cdist(RNG.normal(size=(9, 3)) * 0 + np.arange(27.0).reshape(9, 3) ** 1.1, a, "cosine"),
            (B,),
        ),
    ):
        dr.check(f, *args)
        dr.check_grads(f, args, order=2)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "minkowski", "seuclidean", "canberra"])
def test_points_that_coincide(metric):
    """The subgradient 0: the diagonal does not matter, and nothing is NaN."""
    options = {"p": 3.0} if metric == "minkowski" else {"V": W} if metric == "seuclidean" else {}
    between = distance.pdist(A, metric, **options).sum()
    value, g = dr.value_and_grad(lambda x: np.sum(distance.cdist(x, x, metric, **options)))(A)
    assert value == pytest.approx(2.0 * between)
    np.testing.assert_allclose(g, 2.0 * dr.grad(lambda x: np.sum(distance.pdist(x, metric, **options)))(A), rtol=1e-12)
    assert not dr.grad(lambda u: getattr(distance, metric)(u, A[0], **options))(A[0]).any()


def test_squareform():
    x = distance.pdist(A)
    for f, args in ((distance.squareform, (x,)), (lambda x: distance.squareform(distance.squareform(x)), (x,))):
        dr.check(f, *args)
        dr.check_grads(f, args, order=2)
    with pytest.raises(ValueError, match="binomial coefficient"):
        dr.grad(lambda x: np.sum(distance.squareform(x)))(np.ones(4))


def test_what_is_refused():
    with pytest.raises(dr.UnsupportedError, match=r"cdist with the metric 'hamming' .* at .*euclidean"):
        dr.grad(lambda x: np.sum(distance.cdist(x, B, "hamming")))(A)
    with pytest.raises(dr.UnsupportedError, match="pdist with out="):
        dr.grad(lambda x: np.sum(distance.pdist(x, out=np.empty(6))))(A)
    with pytest.raises(ValueError, match="same number of columns"):
        dr.grad(lambda x: np.sum(distance.cdist(x, B[:, :2])))(A)
    assert distance.hamming is scipy.spatial.distance.hamming
    assert spatial.KDTree is scipy.spatial.KDTree
    assert "hamming" in dir(distance)
    assert {"distance", "KDTree"} <= set(dir(spatial))
