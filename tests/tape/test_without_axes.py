"""Arrays without axes, of every type, on both engines: the derivative is that of differences, or it is refused."""

import re

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from dualrev.compiler.scalarize.complex.lower_complex import Complexes
from dualrev.errors import ConversionError, UnsupportedError

X = 1.3


@njit
def doubled(w):
    return w * 2.0


@njit
def packed(x):
    return np.array(x * x), np.array(complex(x * x, x))


# Each has its value from an array without axes; numba may refuse it, or an engine.
FORMS = {
    "arithmetic": lambda x: np.array(x * x) * 2.0 + 1.0,
    "negative": lambda x: -np.array(x * x),
    "function": lambda x: np.sin(np.array(x * x)),
    "item": lambda x: np.array(x * x).item() * 2.0,
    "item of a number": lambda x: (np.array(x * x) * 3.0).item(),
    "empty index": lambda x: np.array(x * x)[()] * 2.0,
    "sum": lambda x: np.sum(np.array(x * x)) + np.array(x).sum(),
    "asarray": lambda x: np.asarray(x * x).item(),
    "dtype": lambda x: np.array(x * x, dtype=np.float64).item(),
    "float32": lambda x: np.array(x * x).astype(np.float32)[()] * 1.0,
    "copy": lambda x: np.array(x * x).copy()[()],
    "reshape": lambda x: np.array(x * x).reshape(1)[0],
    "ravel": lambda x: np.array(x * x).ravel()[0],
    "at least one axis": lambda x: np.atleast_1d(np.array(x * x))[0],
    "one axis more": lambda x: np.expand_dims(np.array(x * x), 0)[0],
    "full": lambda x: np.full((), x * x)[()],
    "with a vector": lambda x: np.sum(np.array(x * x) * np.array([1.0, 2.0])),
    "where": lambda x: np.where(np.array(x) > 0.0, np.array(x * x), 0.0)[()],
    "condition": lambda x: x * x * np.array(x > 0.0)[()],
    "int": lambda x: x * x * np.array(3)[()],
    "callee": lambda x: doubled(np.array(x * x)),
    "tuple": lambda x: packed(x)[0][()] + packed(x)[1].real[()],
    "complex sum": lambda x: (np.array(complex(x * x, x)) + 1.0).real,
    "complex product": lambda x: (np.array(complex(x * x, x)) * np.array(complex(x, 2.0))).imag,
    "complex negative": lambda x: (-np.array(complex(x * x, x))).real,
    "complex power": lambda x: (np.array(complex(x * x, x)) ** 2).imag,
    "complex function": lambda x: np.exp(np.array(complex(x * x, x))).real,
    "complex modulus": lambda x: np.abs(np.array(complex(x * x, x))) * 1.0,
    "complex part": lambda x: np.real(np.array(complex(x * x, x))) * 1.0,
    "complex item": lambda x: np.array(complex(x * x, x)).item().real,
    "complex conjugate": lambda x: (1j * np.array(complex(x * x, x)).conj().item()).real,
    "complex with a vector": lambda x: np.sum(np.array(complex(x * x, x)) * np.array([1.0, 2.0])).real,
    "complex callee": lambda x: doubled(np.array(complex(x * x, x))).imag,
    "complex of a real one": lambda x: (np.array(x * x) * complex(1.0, 2.0)).imag,
}


def written(x):
    w, z = np.zeros(()), np.zeros((), np.complex128)
    for k in range(3):
        w[()] = w[()] + x * x * k
        z[()] = z[()] * complex(0.0, x) + complex(x, w[()])
    w += x
    return w[()] * (z * 2.0).real + (z - x).imag


def into_an_element(x):
    y = np.zeros(2)
    y[0] = np.array(x * x, dtype=np.float64)
    return y[0] * y[1] + y[0]


def on_a_branch(x):
    z = np.array(complex(x, 1.0))
    if x > 1.0:
        z = np.array(complex(x * x, x))
    return (z / 2.0).real + (z * z).imag


def in_places(x):
    w = np.array(x * x)
    s = 0.0
    for i, v in np.ndenumerate(w):
        s += v * w[i]
    for i in np.ndindex(w.shape):
        s += w[i] ** 3
    for v in w.flat:
        s += v
    return s


def into_themselves(x):
    w = np.array(x * x)
    w *= w
    np.multiply(w, x, w)
    w -= np.array(x)
    return w[()]


def complex_in_place(x):
    w = np.array(complex(x * x, x))
    v = w
    w += x
    w *= complex(x, 1.0)
    w -= np.array(x * x * x)
    w[...] = w[()] * x
    return (v * 2.0).real + v.imag[()]


def joined(x):
    w, z = np.array(x * x), np.array(complex(x * x, x))
    s = np.sum(np.stack((w, np.array(x))) * np.array([1.0, 2.0])) + np.sum(np.hstack((w, w)))
    return s + np.sum(np.vstack((w, w))) * np.sum(np.dstack((w, w))) + np.sum(np.stack((z, z))).imag


def looked_at(x):
    z = np.array(complex(x * x, x))
    if np.isnan(z) or not np.isfinite(z):
        return x
    return np.where(np.array(x > 1.0), z, z * 2.0)[()].imag * x


def of_single_precision(x):
    w = np.zeros((), np.float32)
    w[...] = x * x
    w += x
    z = np.array(np.complex64(complex(x * x, x)))
    z *= complex(x, 1.0)
    return w[()] * 1.0 + (z * 2.0).real


FORMS |= {
    "in places": in_places,
    "into themselves": into_themselves,
    "complex in place": complex_in_place,
    "joined": joined,
    "looked at": looked_at,
    "float32 in place": of_single_precision,
}
FORMS |= {"written": written, "into an element": into_an_element, "on a branch": on_a_branch}

# Python's complex() makes plain floats of its arguments: the tape refuses it.
REFUSED = {name for name in FORMS if name.startswith("complex ")} - {"complex of a real one"}
REFUSED |= {"tuple", "written", "on a branch", "joined", "looked at"}


def slopes(f):
    """The first and the second derivative by differences."""
    h = 1e-4
    low, middle, high = f(X - h), f(X), f(X + h)
    return float((high - low) / (2.0 * h)), float((high - 2.0 * middle + low) / h**2)


@pytest.mark.parametrize("name", [name for name in FORMS if not name.startswith("float32")])  # no digits
def test_the_tape(name):
    f = FORMS[name]
    first, second = slopes(f)
    f = twin(njit(f))
    ways = (dr.grad(f), first), (lambda x: dr.jvp(f, (x,), (1.0,))[1], first), (lambda x: dr.hvp(f)(x, 1.0), second)
    for derivative, expected in ways:
        if name in REFUSED:
            with pytest.raises((ConversionError, UnsupportedError)):
                derivative(X)
        else:
            assert derivative(X) == pytest.approx(expected, rel=1e-5, abs=1e-5)


#: `make test` compiles some of them, each with three derivatives, `make campaign` all.
FEW = {*list(FORMS)[::6], "tuple", "float32 in place", "into an element"}
COMPILED = [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in FORMS]


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name):
    g = njit(FORMS[name])
    first, second = slopes(g)
    if name == "float32":
        first, second = 2.0 * X, 2.0
    if name == "float32 in place":
        first, second = 2.0 * X + 1.0 + 2.0 * (3.0 * X * X - 1.0), 2.0 + 12.0 * X
    assert dr.grad(g)(X) == pytest.approx(first, rel=1e-6)
    value, slope = dr.jvp(g, (X,), (1.0,))
    assert value == pytest.approx(g(X), rel=1e-12)
    assert slope == pytest.approx(first, rel=1e-6)
    assert dr.hvp(g)(X, 1.0) == pytest.approx(second, rel=1e-5, abs=1e-5)


def test_an_operation_that_no_rule_knows_is_refused(monkeypatch):
    """The compiler once took arrays without axes for numbers: such a fault is an error, not a derivative of 0."""
    monkeypatch.setattr(Complexes, "_elements", lambda self, args, line: [self.pair(x) for x in args])
    words = r"test_without_axes.py:\d+: .*has no rule for it \(a real number is converted without its derivative\)"
    with pytest.raises(UnsupportedError, match=words):
        dr.grad(njit(FORMS["complex sum"]))(X)


@njit
def of_an_argument(w, z):
    return (z * 2.0).real * w[()] + (w * z).imag


@njit
def as_a_result(x):
    return np.array(x * x) * 2.0, np.array(x * x)


def test_as_arguments_and_results():
    w, z = np.array(1.5), np.array(0.5 + 2.0j)
    slope = dr.grad(of_an_argument)(w, z)
    assert isinstance(slope, np.ndarray)
    assert slope.shape == ()
    assert slope == pytest.approx(2.0 * 0.5 + 2.0)
    (number, array), pull = dr.vjp(as_a_result, X)
    assert (number, array[()]) == (2.0 * X * X, X * X)
    assert pull((1.0, np.array(10.0)))[0] == pytest.approx(4.0 * X + 20.0 * X)


@njit
def of_one_argument(z):
    return (z * z * 1j).real


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_a_gradient_by_a_complex_one_is_one(dtype):
    """The gradient has the structure of its argument on both engines."""
    z = np.array(0.5 + 2.0j, dtype)
    for f in (of_one_argument, of_one_argument.py_func):
        slope = dr.grad(f)(z)
        assert isinstance(slope, np.ndarray)
        assert (slope.dtype, slope.shape, slope[()]) == (dtype, (), -4.0 + 1.0j)


def complex_of_dualrev(x):
    w = dr.numpy.array(x + 2j * x)
    v = w
    w *= 1j * x
    v.flat[0] = v.flat[0] * x
    return v[...].real[()] * 1.0


def elements_by_flat(x):
    w = dr.numpy.array([x + 2j * x, x * x * 1j, x * x])
    w.flat[1:] = w.flat[:2]
    w.flat[0] = w.flat[0] * 1j
    s = 0.0
    for u in w.flat:
        s = s + u * u * len(w.flat)
    w.flat = x * 1j
    return s.real + np.sum(w).imag


def real_by_flat(x):
    w = dr.numpy.zeros(())
    w.flat[0] = x * x
    w.flat[:] = w.flat[0] * x
    return w[()] * 1.0


@pytest.mark.parametrize("f", [complex_of_dualrev, elements_by_flat, real_by_flat])
def test_arrays_of_dualrev_numpy(f):
    """They are arrays, which other names see changed."""
    first, second = slopes(f)
    assert dr.grad(f)(X) == pytest.approx(first, rel=1e-6)
    assert dr.jvp(f, (X,), (1.0,))[1] == pytest.approx(first, rel=1e-6)
    assert dr.hvp(f)(X, 1.0) == pytest.approx(second, rel=1e-5)


def into_ones(u):
    v = np.ones(3)
    v += np.array(u)
    return v[0]


def copied(u):
    v = np.ones(3)
    np.copyto(v, np.array(u))
    return v[0]


def by_flat(u):
    v = np.ones(3)
    v.flat[0] = u
    return v[0]


def with_nditer(u):
    return sum(v * v for v in np.nditer(u * np.ones(3)))


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (into_ones, "v += np.array(u)`: a number under differentiation in an array of plain numbers"),
        (copied, "np.copyto(v, np.array(u))`: a number under differentiation in an array of plain numbers"),
        (by_flat, "storing a number that is being differentiated in an array of plain numbers"),
        (with_nditer, "np.nditer cannot be differentiated"),
    ],
)
def test_what_numpy_refuses_in_its_own_words_is_explained(f, words):
    with pytest.raises((ConversionError, UnsupportedError), match=re.escape(words)):
        dr.grad(f)(X)


def test_vmap_of_functions_that_return_them():
    """Under differentiation, np.array of numbers is an array of objects."""
    xs = np.array([1.0, 2.0])
    for g in (np.array, dr.numpy.array, lambda x: np.array(x)[...]):
        assert_same(dr.jacobian(lambda v, g=g: dr.vmap(lambda x: g(x * x))(v))(xs), np.diag(2.0 * xs))
    rows = dr.jacobian(lambda v: dr.vmap(lambda x: np.array([x * x, x]))(v))(xs)
    assert_same(rows, np.array([[[2.0, 0.0], [1.0, 0.0]], [[0.0, 4.0], [0.0, 1.0]]]))
    _, pull = dr.vjp(lambda v: dr.vmap(lambda x: np.array(x * x + 1j * x))(v), xs)
    assert_same(pull(np.ones(2) * (1.0 + 1.0j))[0], 2.0 * xs - 1.0)
