"""Code that was written for numpy's own classes: attributes of elements, lists, `like=`; what numpy cannot tell us."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import integrate, optimize, special, stats

import dualrev as dr

X = np.array([0.5, 1.5, -2.0])

#: What an element of an array can do beside arithmetic, where numpy has a scalar.
OF_ELEMENTS = {
    "x - [1, 2]": lambda x: x[0] - [1, 2],
    "list + x": lambda x: [1.0, 2.0] + x[0],
    "tuple": lambda x: (1.0, x[1]) / x[0],
    "T": lambda x: x[0].T * x,
    "clip": lambda x: x[1].clip(0.0, 1.0) + x[0].clip(0.0, 1.0),
    "astype": lambda x: x[0].astype(float) * x[1].astype(int),
    "reshape": lambda x: x[0].reshape(1, 1) @ x[1:].reshape(1, 2),
    "ravel": lambda x: np.concatenate([x[0].ravel(), x[1].flatten(), x]),
    "sums": lambda x: x[0].sum() * x[1].mean() * x.sum().sum() * x.prod().max() * x.mean().min(),
    "round": lambda x: (0.9 * x[1]).round() * x,
    "copy": lambda x: x[0].copy() * x.copy(),
    "dtype": lambda x: x[0] * x.astype(x[1].dtype),
    "squeeze": lambda x: x[0].squeeze() ** 2,
    "transpose": lambda x: x[0].transpose() ** 2,
    "any": lambda x: x[0] if x[1].any() else x[2],
    "view": lambda x: x.view() * x.view(float),
    "x[None]": lambda x: x[0][None] * x + x.sum()[None, ..., None] * x[1][...] + x[2][()],
    "number's view": lambda x: x[0].view() * x[1] * x[2].nbytes * x[0].flags.c_contiguous,
    "strides": lambda x: x * x.strides[0] * x.flags.c_contiguous,
}


def test_whole_numbers_of_an_array_are_constants():
    """As x.astype(int): numpy asks for the type that it wants."""
    x = np.array([0.3, 1.7, 2.1])
    for whole in (np.int64, lambda x: np.asarray(x, dtype=int), lambda x: np.array(x, dtype=np.intp)):
        assert dr.grad(lambda x, whole=whole: np.sum(x * whole(x)))(x).tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(dr.ConversionError):
        dr.grad(lambda x: np.sum(np.asarray(x, dtype=np.float32)))(x)


def test_a_number_is_the_cotangent_of_an_array_without_axes():
    y, pull = dr.vjp(lambda x: np.tensordot(x, x, 1), np.ones(2))
    assert isinstance(y, np.ndarray)
    assert [pull(ct)[0].tolist() for ct in (1.0, np.float64(2.0), np.array(3.0))] == [[2.0] * 2, [4.0] * 2, [6.0] * 2]
    assert dr.grad(lambda x: x.conj() * x.take(0))(3.0) == 6.0


@pytest.mark.parametrize("name", OF_ELEMENTS)
def test_an_element_has_what_numpys_have(name):
    f = OF_ELEMENTS[name]
    dr.check(f, X)
    dr.check_grads(f, (X,))


def test_an_element_is_no_sequence():
    with pytest.raises(TypeError, match="not iterable"):
        dr.grad(lambda x: sum(x[0]))(X)
    with pytest.raises(TypeError, match="a number has no axes"):
        dr.grad(lambda x: x[0][0])(X)
    with pytest.raises(dr.UnsupportedError, match=r"ndarray\.view as"):
        dr.grad(lambda x: x.view(np.int64)[0])(X)
    made = dr.vjp(lambda x: np.array([x[0], x[1]]), X)[0]
    assert_array_equal(made, X[:2])


def test_constructors_with_like_hold_what_is_differentiated():
    """Constructors with `like` make arrays that hold differentiated numbers; numpy takes no plain float for `like`."""

    def f(x):
        a = np.zeros(2, like=x)
        a[0] = x[0]
        b = np.array([x[1], 1.0], like=x)
        return (
            a
            + np.exp(b)
            + np.full(2, x[2], like=x) * np.eye(2, like=x) @ np.ones(2, like=x)
            + np.asarray(x, like=x)[:2]
        )

    dr.check(f, X)
    dr.check_grads(f, (X,))


def exponential(x):
    return np.sum(np.exp(np.array([x, 1.0])))


def rotation(x):
    return np.linalg.det(np.array([[np.cos(x), -np.sin(x)], [np.sin(x), 1.0]]))


OF_OBJECTS = {
    "exp": exponential,
    "arctan2": lambda x: np.sum(np.arctan2(np.array([x, 1.0]), 2.0)),
    "isnan": lambda x: x * np.isnan(np.array([x, 1.0]))[0],
    "det": rotation,
    "inv": lambda x: np.linalg.inv(np.array([[x, 1.0], [0.0, x]]))[0, 0],
    "sqrt": lambda x: np.sum(np.sqrt(np.array([x, np.float64(2.0)]))),
    "solve": lambda x: np.linalg.solve(np.array([[x, 1.0], [0.0, x]]), np.ones(2))[0],
    "eigh": lambda x: np.linalg.eigh(np.array([[x, 1.0], [1.0, x]]))[0][0],
    "array data": lambda x: np.interp(np.array([x, 1.0]), [0.0, 1.0], [0.0, 1.0])[0],
}


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_functions_of_arrays_of_objects_are_refused_by_name_and_line(name):
    """numpy's own error would name neither the line nor the cure."""
    with pytest.raises(dr.UnsupportedError) as found:
        dr.grad(OF_OBJECTS[name])(0.5)
    message = str(found.value)
    assert __file__ in message
    assert f"{name} of an array of objects" in message
    assert "dualrev.numpy.array([x, 1.0])" in message
    assert found.value.__cause__ is not None


# SciPy 1.13 asks numpy 2.1 for the dtype of a class that has a property of this name
@pytest.mark.filterwarnings("ignore:in the future the `.dtype`:DeprecationWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: stats.norm.ppf(x),
        lambda x: stats.beta.sf(x, 2.0, 3.0),
        lambda x: stats.norm.fit([x, 1.0])[0],
        lambda x: stats.gmean([x, 1.0]),
    ],
)
def test_a_number_that_scipy_makes_an_array_of_is_no_array_of_the_user(f):
    """Nobody wrote np.array([x, 1.0]): the message names SciPy's function, and its cures work."""
    with pytest.raises(dr.UnsupportedError) as found:
        dr.grad(f)(0.3)
    message = str(found.value)
    assert __file__ in message
    assert re.search(r"\): scipy\.stats\.(norm\.(ppf|fit)|beta\.sf|gmean) cannot be differentiated: ", message)
    assert "np.array([x, 1.0])" not in message
    drop_in = "`from dualrev.scipy import stats`: stats." in message
    assert drop_in or ("ndtri(p) for norm.ppf(p)" in message and "dualrev.custom_vjp" in message)
    assert drop_in != ("norm.fit" in message)
    quantile = stats.norm.ppf(0.3)
    assert dr.grad(special.ndtri)(0.3) == pytest.approx(1.0 / stats.norm.pdf(quantile))


@pytest.mark.parametrize(
    "make", [lambda: ONES.copy(), lambda: np.array([1.0, 2.0]), lambda: ONES, lambda: 2.0 * ONES, lambda: np.zeros(2)]
)
def test_what_to_write_for_a_constant_array_that_is_written_to(make):
    def f(x, u):
        u[0] = x
        return u.sum()

    with pytest.raises(dr.ConversionError) as found:
        dr.grad(lambda x: f(x, make()))(0.5)
    assert "dualrev.numpy.array(u) for a constant array u or for u.copy()" in str(found.value)
    assert "dualrev.numpy.zeros(n) for np.zeros(n)" in str(found.value)
    assert dr.grad(lambda x: f(x, dr.numpy.array(make())))(0.5) == 1.0
    assert dr.grad(lambda x: f(x, dr.numpy.zeros(2)))(0.5) == 1.0


ONES = np.ones(2)


def test_arrays_of_objects_are_written_in_place():
    """np.full(3, x) of numpy itself is one."""

    def f(x):
        v = np.full(3, x[0])
        v += x * x
        v -= x[1]
        v[1:] *= x[:2]
        np.copyto(v[:1], x[2:])
        np.multiply(v, x, out=v)
        return v * x

    dr.check(f, X)
    dr.check_grads(f, (X,))


def test_errors_of_the_user_stay_as_they_are():
    for wrong in (lambda x: x + "a", lambda x: x.exponential, lambda x: (1.0).exponential):
        with pytest.raises((TypeError, AttributeError)) as found:
            dr.grad(wrong)(0.5)
        assert not isinstance(found.value, dr.DualrevError)


@pytest.mark.parametrize(
    ("f", "inside"),
    [
        (lambda p: integrate.solve_ivp(lambda t, y: -p * y, (0.0, 1.0), [1.0]).y[0, -1], "scipy"),
        (lambda p: integrate.quad(lambda t: p * t, 0.0, 1.0)[0], "scipy"),
        (lambda p: optimize.brentq(lambda x: x - p, 0.0, 5.0), "scipy"),
        (lambda p: stats.norm.logpdf(np.ones(2), p), "scipy"),
        (lambda p: stats.norm.logpdf(p * np.ones(2)), "scipy"),
    ],
)
def test_a_refusal_inside_of_a_library_names_both_lines(f, inside):
    with pytest.raises(dr.DualrevError, match=rf"(?s)test_like_numpy.*in(side)? \S*{inside}.*dualrev\.scipy"):
        dr.grad(f)(2.0)


@pytest.mark.parametrize(
    ("f", "once"),
    [
        (lambda p: optimize.brentq(lambda x: x - p if x > 4.0 else -1.0, 0.0, 5.0), "different signs"),
        (lambda p: optimize.fsolve(lambda x: x - p, [0.5])[0], "not a proper array of floats"),
    ],
)
def test_a_refusal_that_code_in_c_lost_is_said_in_place_of_what_it_raised(f, once):
    """C code that looks at no errors raised another one in the same line: brentq took the number for -1.0."""
    with pytest.raises(
        dr.ConversionError, match=r"(?s)test_like_numpy.*inside scipy\.optimize\.\w+\).*dualrev\.scipy"
    ) as found:
        dr.grad(f)(2.0)
    assert once in str(found.value.__cause__)


def test_an_error_of_a_library_for_plain_numbers_stays_as_it_is():
    """A line that refused a number in an earlier call, or was asked for a plain one here."""

    def f(p):
        return p * optimize.brentq(lambda x: x + 1.0, 0.0, 5.0)

    with pytest.raises(dr.ConversionError):
        dr.grad(lambda p: optimize.brentq(lambda x: x - p, 0.0, 5.0))(2.0)
    with pytest.raises(ValueError, match="different signs"):
        dr.grad(f)(2.0)


# Functions of numpy that came later than the others


def parts(w, v):
    return w, v * np.sign(np.sum(v.x if isinstance(v, dr.RealArray) else v, axis=0))


M = np.array([[2.0, 0.5, 0.1], [0.3, -1.0, 0.4], [0.2, 0.6, 5.0]])
SINCE = {
    "eig": (lambda a: parts(*np.linalg.eig(a)), M),
    "eigvals": (lambda a: np.linalg.eigvals(a) ** 2, M),
    "histogram, edges": (lambda x: np.histogram(x, 4)[1], X),
    "histogram, weights": (lambda x: np.histogram([0.1, 0.9, 0.4], 2, (0.0, 1.0), weights=x)[0] ** 2, X),
    "histogram, density": (lambda x: np.histogram(x, [-3.0, 0.0, 0.7, 2.0], density=True, weights=x**2)[0], X),
    "sliding_window_view": (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2) ** 2, X),
    "r_": (lambda x: dr.numpy.r_[x, 1.0, x[0], 0:3] ** 2, X),
    "c_": (lambda x: dr.numpy.c_[x, x**2, np.ones(3)] @ x, X),
    "vectorize": (dr.numpy.vectorize(lambda a: a * a if a > 0.0 else -a), X),
    "vectorize, two": (lambda x: dr.numpy.vectorize(lambda a, b: (a * b, a + b))(x[:, None], x)[0], X),
}


@pytest.mark.parametrize("name", SINCE)
def test_functions_that_are_known_now(name):
    f, x = SINCE[name]
    dr.check(f, x)
    dr.check_grads(f, (x,))


def test_what_they_refuse():
    with pytest.raises(dr.UnsupportedError, match="directions"):
        dr.grad(lambda x: np.sum(dr.numpy.r_["-1", x]))(X)
    for options in ({"otypes": [int]}, {"otypes": "di"}, {"signature": "()->()"}):
        with pytest.raises(dr.UnsupportedError, match="options or keywords"):
            dr.grad(lambda x, options=options: np.sum(dr.numpy.vectorize(lambda a: a, **options)(x)))(X)
    assert_array_equal(np.asarray(dr.numpy.r_[1:3, 0.5]), [1.0, 2.0, 0.5])
