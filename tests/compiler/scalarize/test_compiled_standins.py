"""Functions that numba has and the tape has not: compiled derivatives against differences of numba's own values."""

import math
import random

import numpy as np
import pytest
from numba import njit
from numba.np.unsafe.ndarray import to_fixed_tuple
from numba.typed import List
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.polynomial.polynomial import polyadd, polymul, polyval
from support.oracle import flat, rebuild

import dualrev as dr
from dualrev.errors import UnsupportedError

pytestmark = [
    pytest.mark.usefixtures("checked", "unoptimized"),
    pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaPendingDeprecationWarning"),
]

A = np.array([0.5, -1.2, 0.8, 2.0, -0.3])
M = np.array([[1.0, 0.4, -0.2], [0.3, 1.5, 0.6], [0.2, 0.9, 1.2], [0.7, -0.5, 0.8]])


@njit
def lists_as_arguments(ys, x, places):
    """Their gradient is a list; one of ints has none."""
    zs = ys.copy()
    zs.append(x)
    s = zs[-1] * ys[places[0]]
    for k, y in enumerate(ys):
        s += y * y * x * k
    return s + ys[-1] * len(ys)


@njit
def views_in_lists(a, m):
    """Parts of an array, some of them written to; windows that overlap; strides of their own."""
    u, v = np.split(a[:4], 2)
    w = np.array_split(a, 3)
    w[1][0] *= u[1]
    p, q = np.vsplit(m, 2)
    r = np.hsplit(m, (1,))
    windows = sliding_window_view(a, 3)
    t, _ = np.broadcast_arrays(a[:3], m)
    s = np.sum(windows * windows) * v[0] + np.sum(p * q) + np.sum(r[1]) * r[0][2, 0]
    return s + np.sum(as_strided(a, (2, 2), (8, 8)) ** 2) + np.sum(t * m) * w[2][0]


@njit
def choices_and_steps(a, x):
    """np.select, rounding, a mantissa; elements by places of all axes and by a.flat."""
    m = np.outer(a, a[:2])
    m.flat[3] = x * x
    s = (
        np.sum(np.select([a > 1.0, a > 0.4], choicelist=[a * x, a * a], default=0.3 * x))
        + np.sum(np.around(a, 1) * a)
        + np.sum(a.imag)
    )
    mantissa, exponent = math.frexp(x * 9.0)
    t = to_fixed_tuple(np.asarray_chkfinite(a), 3)
    for place in np.ndindex(m.shape):
        s += m[place] * m[place]
    return s + t[2] * a[slice(1, 3)][0] + mantissa * exponent


@njit
def definitions_of_its_own(a, x):
    """Counts, and series of np.polynomial."""
    counts, edges = np.histogram(a, 3, (-1.5, x + 2.0))
    p = polymul(polyadd(a[:2], a[2:]), a[:2])
    s = polyval(x, p) * np.sum(polyval(a, p[:2]))
    return s + counts[1] * x + edges[2] * edges[3]


@njit
def samples_by_their_parameters(x, y):
    """Draws are constants, and so are parameters on which a sample does not depend smoothly."""
    np.random.seed(3)
    random.seed(4)
    ys = np.array([x, y, x * y])
    random.shuffle(ys)
    s = np.random.laplace(x, y) + np.random.logistic(x, y) * np.random.gumbel(x, y) + np.random.rayleigh(x)
    s += np.random.weibull(y) * np.random.pareto(y) + np.sum(np.random.triangular(x - 1.0, x, y + 3.0, 3) ** 2)
    s += np.random.geometric(0.3) * x + np.random.multinomial(5, np.array([0.4, 0.6]))[0] * ys[0]
    return s + random.weibullvariate(x, y) * random.betavariate(2.0, 3.0) + np.random.power(y)


def fresh(args):
    return tuple(x.copy() if isinstance(x, (np.ndarray, list)) else x for x in args)


def moved(args, tangents, step):
    made = [
        rebuild(x, [a + step * t for a, t in zip(flat(x), flat(dx), strict=True)])
        for x, dx in zip(args, tangents, strict=True)
    ]
    return tuple(made)


@pytest.mark.parametrize(
    ("f", "args", "more"),
    [
        (lists_as_arguments, ([0.5, 1.5, -0.4], 0.7), ([1, 2],)),
        pytest.param(views_in_lists, (A, M), (), marks=pytest.mark.slow),
        (choices_and_steps, (A, 0.7), ()),
        pytest.param(definitions_of_its_own, (A, 0.7), (), marks=pytest.mark.slow),
        pytest.param(samples_by_their_parameters, (0.7, 1.3), (), marks=pytest.mark.slow),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_in_both_modes(f, args, more):
    """The value is numba's; gradient, jvp and differences agree in a direction without pattern."""
    y, gradient = dr.value_and_grad(f, tuple(range(len(args))))(*fresh(args), *more)
    assert math.isclose(y, f(*fresh(args), *more), rel_tol=1e-12)
    numbers = flat(list(args))
    tangents = rebuild(list(args), [math.sin(3.0 * k + 1.0) for k in range(len(numbers))])
    slope = sum(g * t for g, t in zip(flat(list(gradient)), flat(tangents), strict=True))
    h = 1e-5
    difference = (f(*moved(args, tangents, h), *more) - f(*moved(args, tangents, -h), *more)) / (2 * h)
    assert math.isclose(slope, difference, rel_tol=1e-6)
    none = tuple([None] * len(x) for x in more)
    assert math.isclose(dr.jvp(f, (*fresh(args), *more), (*tangents, *none))[1], slope, rel_tol=1e-9)


def test_the_gradient_of_a_list_is_a_list_of_its_kind():
    gradient = dr.value_and_grad(lists_as_arguments, (0, 1))
    found, _ = gradient([0.5, 1.5, -0.4], 0.7, [1, 2])[1]
    assert type(found) is list
    typed, _ = gradient(List([0.5, 1.5, -0.4]), 0.7, List([1, 2]))[1]
    assert type(typed) is List
    assert list(typed) == found
    assert dr.vjp(lists_as_arguments, [0.5, 1.5, -0.4], 0.7, [1, 2])[1](1.0)[0] == found
    for transform in (dr.hessian, dr.jacrev):
        with pytest.raises(UnsupportedError, match="by a list as an argument"):
            transform(lists_as_arguments)([0.5, 1.5, -0.4], 0.7, [1, 2])


@njit
def appended(ys, x):
    ys.append(x)
    return ys[0] * ys[-1]


def test_a_list_that_is_an_argument_and_changes_is_refused():
    with pytest.raises(UnsupportedError, match=r"ys\.append\(x\).*a change of a list that is an argument"):
        dr.grad(appended)([0.5, 1.5], 0.7)


@njit
def walds(x):
    return np.random.wald(x, 1.0)


def test_a_parameter_of_a_sample_that_is_no_smooth_function_of_it_is_refused():
    with pytest.raises(UnsupportedError, match="wald"):
        dr.grad(walds)(0.5)
