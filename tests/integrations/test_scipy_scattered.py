"""Interpolants of scattered data: SciPy's values, and derivatives by the data, the points and the data points."""

import pickle

import numpy as np
import pytest
import scipy.interpolate
import scipy.spatial

import dualrev as dr
from dualrev.errors import UnsupportedError
from dualrev.scipy import interpolate

RNG = np.random.default_rng(0)
POINTS, LINE = RNG.uniform(size=(20, 2)), RNG.permutation(np.linspace(0.0, 1.0, 8))
VALUES = np.sin(3.0 * POINTS[:, 0]) + POINTS[:, 1] ** 2
X = np.array([[0.4, 0.5], [0.6, 0.35], [0.5, 0.5]])
BODY = RNG.uniform(size=(30, 3))


@pytest.mark.parametrize("rescale", [False, True])
def test_on_triangles(rescale):
    f = lambda v, x, p: interpolate.LinearNDInterpolator(p, v, rescale=rescale)(x)  # noqa: E731
    dr.check(f, VALUES, X, POINTS)
    dr.check_grads(f, (VALUES, X, POINTS), order=1)
    dr.check_grads(lambda v, x: interpolate.griddata(POINTS, v, x, rescale=rescale) ** 2, (VALUES, X), order=2)


CASES = {
    "tuples of coordinates, nearest": (
        lambda v: interpolate.griddata(tuple(POINTS.T), v, tuple(X.T), method="nearest"),
        (VALUES,),
    ),
    "outside": (lambda v: interpolate.griddata(POINTS, v, [[5.0, 5.0], [0.5, 0.5]], fill_value=-1.0), (VALUES,)),
    "several values": (lambda v: interpolate.griddata(POINTS, np.stack([v, 2.0 * v], axis=1), X), (VALUES,)),
    "nearest": (lambda v: interpolate.NearestNDInterpolator(POINTS, v, rescale=True)(X), (VALUES,)),
    "nearest, within a distance": (
        lambda v: np.nan_to_num(
            interpolate.NearestNDInterpolator(POINTS, v)([[5.0, 5.0], [0.5, 0.5]], distance_upper_bound=1.0), nan=7.0
        ),
        (VALUES,),
    ),
    "the second coordinate": (lambda b: interpolate.LinearNDInterpolator(POINTS, VALUES)(0.4, b), (0.5,)),
    "coordinates": (lambda a: interpolate.LinearNDInterpolator(POINTS, VALUES)(a, 0.5), (0.4,)),
    "a triangulation": (lambda v: interpolate.LinearNDInterpolator(scipy.spatial.Delaunay(POINTS), v)(X), (VALUES,)),
    "space": (lambda x: interpolate.LinearNDInterpolator(BODY, BODY.sum(axis=1) ** 2)(x), (np.full((1, 3), 0.5),)),
    **{
        f"a line, {method}": (
            lambda y, x, method=method: interpolate.griddata(LINE, y, x, method=method),
            (LINE**2, np.array([0.33, 0.71])),
        )
        for method in ("linear", "cubic", "nearest")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    f, args = CASES[name]
    dr.check(f, *args)
    dr.check_grads(f, args, order=2)


def test_an_interpolant_of_plain_data_is_scipys():
    made = interpolate.LinearNDInterpolator(POINTS, VALUES)
    assert isinstance(made, scipy.interpolate.LinearNDInterpolator)
    np.testing.assert_array_equal(made(X), scipy.interpolate.LinearNDInterpolator(POINTS, VALUES)(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(made))(X), made(X))


def test_the_cubic_method_is_refused():
    with pytest.raises(UnsupportedError, match=r"method='cubic' .* Write method='linear', or RBFInterpolator"):
        dr.grad(lambda v: interpolate.griddata(POINTS, v, X, method="cubic")[0])(VALUES)
