"""dualrev.scipy.ndimage: SciPy's values, and the derivatives of differences, with every mode at the boundaries."""

import numpy as np
import pytest
import scipy.ndimage

import dualrev as dr
from dualrev.scipy import ndimage

RNG = np.random.default_rng(3)
X, LINE, W = RNG.normal(size=(4, 5)), RNG.normal(size=6), RNG.normal(size=(3, 2))
MODES = ["reflect", "mirror", "nearest", "wrap", "constant"]
GRID = ["grid-mirror", "grid-wrap", "grid-constant"]
POINTS = np.array([[0.3, 1.7, 2.4, -0.6, 3.8], [0.2, 3.1, 3.6, 1.4, 4.7]])


def compare(f, *args, order=2):
    dr.check(f, *args)
    dr.check_grads(f, args, order=order)


@pytest.mark.parametrize("mode", [*MODES, *GRID])
def test_filters_with_every_mode(mode):
    """By the image and by the weights; weights that are longer than the image, and of even lengths."""
    compare(lambda x, w: ndimage.correlate(x, w, mode=mode, cval=0.7), X, W)
    compare(lambda x, w: ndimage.convolve(x, w, mode=mode, cval=0.7, origin=(1, -1)), X, W)
    compare(lambda x, w: ndimage.correlate1d(x, w, axis=0, mode=mode, cval=-1.0, origin=1), X, LINE)
    compare(lambda x, w: ndimage.convolve1d(x, w, mode=mode, cval=-1.0), X, LINE[:4])
    compare(lambda x, s: ndimage.gaussian_filter1d(x, s, mode=mode, order=1), LINE, 1.3)
    compare(lambda x: ndimage.uniform_filter(x, 4, mode=mode, cval=0.3, origin=1), X, order=1)


CASES = {
    "gaussian, orders": (lambda x, s: ndimage.gaussian_filter(x, s, order=(0, 2)), (X, 0.9)),
    "gaussian, two sigmas": (lambda x, s: ndimage.gaussian_filter(x, (s, 0.6), mode=("wrap", "nearest")), (X, 1.1)),
    "gaussian, radius": (lambda x: ndimage.gaussian_filter(x, 1.0, radius=2), (X,)),
    "gaussian, third order": (lambda x, s: ndimage.gaussian_filter1d(x, s, order=3), (LINE, 1.1)),
    "uniform1d": (lambda x: ndimage.uniform_filter1d(x, 3, axis=0), (X,)),
    "sobel": (lambda x: ndimage.sobel(x, axis=0, mode="constant", cval=1.0), (X,)),
    "prewitt": (lambda x: ndimage.prewitt(x), (X,)),
    "laplace": (lambda x: ndimage.laplace(x, mode="wrap"), (X,)),
    "gaussian_laplace": (lambda x, s: ndimage.gaussian_laplace(x, s), (X, 0.8)),
    "gradient": (lambda x: ndimage.gaussian_gradient_magnitude(x, 0.8), (X,)),
    "sum": (lambda x: ndimage.sum(x), (X,)),
    "sum_labels": (lambda x: ndimage.sum_labels(x, X > 0.0), (X,)),
    "sums": (lambda x: ndimage.sum_labels(x, np.arange(5) % 3, [0, 2, 7]), (X,)),
    "means": (lambda x: ndimage.mean(x, np.arange(5) % 3, [[0], [2]]), (X,)),
    "shift": (lambda x, s: ndimage.shift(x, s, mode="nearest"), (X, np.array([0.4, -1.3]))),
    "shift, one number": (lambda x, s: ndimage.shift(x, s, order=1), (LINE, 0.4)),
    "zoom": (lambda x: ndimage.zoom(x, 1.6), (X,)),
    "zoom, grid": (lambda x: ndimage.zoom(x, (0.7, 2.0), order=1, grid_mode=True, mode="grid-constant"), (X,)),
    "rotate": (lambda x, a: ndimage.rotate(x, a, order=1), (X, 20.0)),
    "rotate, cubic": (lambda x, a: ndimage.rotate(x, a, reshape=False, mode="reflect"), (X, 20.0)),
    "affine": (
        lambda x, m, b: ndimage.affine_transform(x, m, b, output_shape=(3, 3), mode="mirror"),
        (X, np.array([[0.9, 0.2], [-0.1, 1.1]]), np.array([0.3, 0.4])),
    ),
    "affine, a diagonal": (lambda x, m: ndimage.affine_transform(x, m, 0.23, order=1), (X, np.array([0.83, 0.71]))),
    "affine, homogeneous": (
        lambda x, m: ndimage.affine_transform(x, m, mode="mirror"),
        (X, np.array([[0.9, 0.2, 0.31], [-0.1, 1.1, 0.43]])),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_function_of_an_image(name):
    f, args = CASES[name]
    compare(f, *args)


@pytest.mark.parametrize("mode", [*MODES, *GRID])
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_splines_at_coordinates(order, mode):
    """By the image and by the coordinates, inside, at the edges and outside; order 1 has no second derivative."""

    def f(x, at):
        return ndimage.map_coordinates(x, at, order=order, mode=mode, cval=0.4)

    dr.check(f, X, POINTS)
    dr.check_grads(f, (X, POINTS), order=1 if order == 1 else 2)


def test_the_nearest_element_is_a_constant_of_the_coordinates():
    f = lambda x, at: np.sum(ndimage.map_coordinates(x, at, order=0, mode="nearest"))  # noqa: E731
    by_image, by_coordinates = dr.grad(f, (0, 1))(X, POINTS)
    assert by_image.sum() == 5.0
    assert not by_coordinates.any()


def test_a_linear_spline_has_its_slope_on_the_right():
    f = lambda at: ndimage.map_coordinates(LINE, at[None], order=1, mode="nearest")  # noqa: E731
    slopes = np.diag(dr.jacobian(f)(np.array([1.0, 2.0])))
    np.testing.assert_allclose(slopes, np.diff(LINE)[1:3], rtol=1e-14)


def test_what_is_refused():
    with pytest.raises(dr.UnsupportedError, match=r"gaussian_filter with output=.* at "):
        dr.grad(lambda x: np.sum(ndimage.gaussian_filter(x, 1.0, output=np.empty((4, 5)))))(X)
    with pytest.raises(dr.UnsupportedError, match=r"zoom by the factor"):
        dr.grad(lambda z: np.sum(ndimage.zoom(X, z)))(1.5)
    with pytest.raises(dr.UnsupportedError, match="of complex"):
        dr.grad(lambda x: np.sum(ndimage.laplace(x * 1j).imag))(X)
    assert ndimage.binary_dilation is scipy.ndimage.binary_dilation
    assert "binary_dilation" in dir(ndimage)
