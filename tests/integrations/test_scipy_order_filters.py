"""Filters that select elements: SciPy's values, and derivatives of the selected elements, at the boundaries, too."""

import numpy as np
import pytest

import dualrev as dr
from dualrev.errors import UnsupportedError
from dualrev.scipy import ndimage, signal

IMAGE, LINE = np.random.default_rng(0).normal(size=(6, 7)), np.random.default_rng(1).normal(size=9)

CASES = {
    "median": (lambda x: ndimage.median_filter(x, 3), IMAGE),
    "median, an even window": (lambda x: ndimage.median_filter(x, 4), LINE),
    "maximum": (lambda x: ndimage.maximum_filter(x, size=(2, 3), mode="constant", cval=0.1), IMAGE),
    "minimum": (lambda x: ndimage.minimum_filter(x, footprint=np.eye(3), mode="wrap", origin=(1, 0)), IMAGE),
    "percentile": (lambda x: ndimage.percentile_filter(x, 30, size=3, mode="nearest"), IMAGE),
    "percentile, by itself and the image": (
        lambda x: ndimage.percentile_filter(x, 30.0 + 0.0 * x[0, 0], size=3),
        IMAGE,
    ),
    "rank": (lambda x: ndimage.rank_filter(x, -2, size=3, mode="mirror"), IMAGE),
    "maximum of a line": (lambda x: ndimage.maximum_filter1d(x, 3), LINE),
    "minimum of a line": (lambda x: ndimage.minimum_filter1d(x, 4, mode="constant"), LINE),
    "signal: a line": (lambda x: signal.medfilt(x, kernel_size=5), LINE),
    "signal: an image": (lambda x: signal.medfilt(x), IMAGE),
    "signal: two sizes": (lambda x: signal.medfilt2d(x, [3, 5]), IMAGE),
    "signal: a rank": (lambda x: signal.order_filter(x, np.ones((3, 3)), 2), IMAGE),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    f, x = CASES[name]
    dr.check(f, x)
    dr.check_grads(lambda x: f(x) ** 2, (x,), order=2)


def test_the_number_beyond_the_ends_and_equal_elements():
    beyond = LINE[:2].mean()
    f = lambda c: ndimage.median_filter(LINE, 3, mode="constant", cval=c)[0]  # noqa: E731
    assert dr.value_and_grad(f)(beyond) == (beyond, 1.0)
    equal = np.array([1.0, 1.0, 0.0, 2.0, 2.0])
    selected = dr.jacobian(lambda x: signal.medfilt(x, 3))(equal)
    np.testing.assert_array_equal(selected.sum(axis=1), np.ones(5))  # one element each
    np.testing.assert_array_equal(selected @ equal, signal.medfilt(equal))


def test_an_array_for_the_output_is_refused():
    with pytest.raises(
        UnsupportedError, match=r"scipy\.ndimage\.median_filter with output=.* Write it without, and assign its result"
    ):
        dr.grad(lambda x: ndimage.median_filter(x, 3, output=np.empty(9))[0])(LINE)
