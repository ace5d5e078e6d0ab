"""Interpolants of dualrev.scipy.interpolate: derivatives by the data and by the points, and SciPy's values."""

import pickle

import numpy as np
import pytest
import scipy.interpolate
from scipy.sparse.linalg import spsolve
from support.oracle import assert_same

import dualrev as dr
from dualrev.errors import SolutionError, UnsupportedError
from dualrev.scipy import interpolate

RNG = np.random.default_rng(0)
X = np.cumsum(0.5 * RNG.random(7) + 0.6)
Y = RNG.normal(size=(7, 2))
INSIDE = X[0] + (X[-1] - X[0]) * np.array([0.05, 0.3, 0.62, 0.9])
OUTSIDE = np.concatenate([INSIDE, X[:1] - 0.05, X[-1:] + 0.05])


def weighed(z):
    return np.sum(np.sin(0.3 * z) * np.cos(np.arange(1.0, 1.0 + np.size(z))).reshape(np.shape(z)))


#: Interpolants of (x, y), with y of shape (n, 2).
CUBIC = {
    "not-a-knot": lambda x, y: interpolate.CubicSpline(x, y),
    "natural": lambda x, y: interpolate.CubicSpline(x, y, bc_type="natural"),
    "clamped": lambda x, y: interpolate.CubicSpline(x, y, bc_type="clamped"),
    "slopes": lambda x, y: interpolate.CubicSpline(x, y, bc_type=("not-a-knot", (1, y[0]))),
    "curvatures": lambda x, y: interpolate.CubicSpline(x, y, bc_type=((2, y[1]), (2, x[:2]))),
    "another axis": lambda x, y: interpolate.CubicSpline(x, y.T, axis=1),
    "pchip": lambda x, y: interpolate.PchipInterpolator(x, y),
    "akima": lambda x, y: interpolate.Akima1DInterpolator(x, y, extrapolate=True),
    "makima": lambda x, y: interpolate.Akima1DInterpolator(x, y, method="makima", extrapolate=True),
    "hermite": lambda x, y: interpolate.CubicHermiteSpline(x, y, np.sin(y)),
}


@pytest.mark.parametrize("name", CUBIC)
@pytest.mark.parametrize("n", [2, 3, 7])
def test_cubic_interpolants(name, n):
    made, y = CUBIC[name], np.sin(1.0 + 2.0 * Y[:n]) + X[:n, None]
    points = X[0] + (X[n - 1] - X[0]) * np.array([-0.02, 0.3, 0.61, 1.03])
    dr.check_grads(lambda x, y, q: weighed(made(x, y)(q)), (X[:n], y, points), order=2)
    value = dr.vjp(lambda y: made(X[:n], y)(points), y)[0]
    original = made.__code__.co_names[1]
    assert isinstance(made(X[:n], y), getattr(scipy.interpolate, original))
    assert_same(value, made(X[:n], y)(points), rtol=0.0)


@pytest.mark.parametrize("n", [3, 4, 7])
def test_periodic_splines(n):
    def made(x, y):
        return interpolate.CubicSpline(x, np.concatenate([y, y[:1]]), bc_type="periodic")

    dr.check_grads(lambda x, y, q: weighed(made(x, y)(3.0 * q)), (X[:n], Y[: n - 1], INSIDE), order=2)
    dr.check_grads(lambda y, a: weighed(made(X[:n], y).integrate(a, 4.0 * a)), (Y[: n - 1], 2.3), order=2)


METHODS = {
    "nu": lambda s, q: s(q, 1),
    "derivative": lambda s, q: s.derivative(2)(q),
    "antiderivative": lambda s, q: s.antiderivative(2)(q),
    "integrate": lambda s, q: s.integrate(q[0], q[2]),
    "integrate backwards": lambda s, q: s.integrate(q[3], q[1]),
    "coefficients": lambda s, q: s.c,
}
SPLINES = {
    "CubicSpline": interpolate.CubicSpline,
    "PPoly": lambda x, y: interpolate.PPoly(np.stack([y[1:], y[:-1], y[1:] * y[:-1]]), x),
    "make_interp_spline": interpolate.make_interp_spline,
    "BSpline": lambda x, y: interpolate.BSpline(
        np.concatenate([x[:1] - 2.0, x[:1] - 1.0, x, x[-1:] + 1.0, x[-1:] + 2.0]), y, 3
    ),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("spline", SPLINES)
def test_methods(name, spline):
    f, made = METHODS[name], SPLINES[spline]
    dr.check_grads(lambda x, y, q: weighed(f(made(x, y), q)), (X, Y, INSIDE), order=2)
    plain = made(X, Y)
    if name != "coefficients":
        dr.check_grads(lambda q: weighed(f(plain, q)), (INSIDE,), order=2)


def test_roots():
    y = np.cos(2.0 * X)
    dr.check_grads(lambda x, y: weighed(interpolate.CubicSpline(x, y).roots(extrapolate=False)), (X, y), order=2)
    cube = interpolate.CubicSpline(X, X**3)
    assert_same(dr.grad(lambda y: cube.solve(y)[0])(8.0), 1.0 / 12.0, rtol=1e-7)
    touching = interpolate.PPoly(np.array([[1.0], [-2.0], [1.0]]), np.array([0.0, 2.0]))
    with pytest.raises(SolutionError):
        dr.grad(lambda y: touching.solve(y)[0])(0.0)


INTERPOLATING = {
    **{f"k={k}": lambda x, y, k=k: interpolate.make_interp_spline(x, y, k) for k in (0, 1, 2, 4, 5)},
    "natural": lambda x, y: interpolate.make_interp_spline(x, y, bc_type="natural"),
    "conditions": lambda x, y: interpolate.make_interp_spline(x, y, bc_type=([(1, y[0])], [(2, y[1])])),
    "knots": lambda x, y: interpolate.make_interp_spline(x, y, t=[0.5] * 4 + [2.4, 3.3, 4.1] + [6.5] * 4),
    "axis": lambda x, y: interpolate.make_interp_spline(x, y.T, axis=1),
    "make_lsq_spline": lambda x, y: interpolate.make_lsq_spline(
        x, y, np.array([X[0] - 0.1] * 4 + [X[3] + 0.1] + [X[-1] + 0.1] * 4), w=1.0 + np.cos(x) ** 2
    ),
}


@pytest.mark.parametrize("name", INTERPOLATING)
def test_interpolating_splines(name):
    made = INTERPOLATING[name]
    dr.check_grads(lambda x, y, q: weighed(made(x, y)(q)), (X, Y, INSIDE), order=2)
    assert_same(dr.vjp(lambda y: made(X, y)(INSIDE), Y)[0], made(X, Y)(INSIDE), rtol=0.0)


def test_periodic_b_splines():
    def made(x, y):
        return interpolate.make_interp_spline(x, np.concatenate([y, y[:1]]), bc_type="periodic")

    dr.check_grads(lambda y, q: weighed(made(X, y)(3.0 * q)), (Y[:-1], INSIDE), order=2)
    with pytest.raises(UnsupportedError, match=r"CubicSpline\(x, y, bc_type='periodic'\)"):
        dr.grad(lambda x: weighed(made(x, Y[:-1])(INSIDE)))(X)


def test_fitpack_names():
    t, c, k = interpolate.splrep(X, Y[:, 0])
    dr.check_grads(
        lambda x, y, q: weighed(interpolate.splev(q, interpolate.splrep(x, y), 1)), (X, Y[:, 0], INSIDE), order=2
    )
    for ext in (0, 1, 3):
        dr.check_grads(lambda q, c, e=ext: weighed(interpolate.splev(q, (t, c, k), ext=e)), (OUTSIDE, c), order=2)
    dr.check_grads(lambda a, c: interpolate.splint(a, a * a, (t, c, k)), (1.2, c), order=2)
    with pytest.raises(UnsupportedError, match="make_lsq_spline with the knots"):
        dr.grad(lambda y: interpolate.splrep(X, y, s=1.0)[1].sum())(Y[:, 0])
    assert_same(interpolate.splev(INSIDE, (t, c, k)), scipy.interpolate.splev(INSIDE, (t, c, k)), rtol=0.0)


@pytest.mark.parametrize("ext", [0, 1, 3])
def test_classes_of_fitpack(ext):
    def made(x, y, q):
        spline = interpolate.InterpolatedUnivariateSpline(x, y, ext=ext)
        return weighed(spline(q)) + weighed(spline(q, 1)) + spline.integral(q[0], q[2])

    dr.check_grads(made, (X, Y[:, 0], INSIDE), order=2)
    dr.check_grads(
        lambda y: weighed(interpolate.UnivariateSpline(X, y, k=2, s=0, ext=ext)(OUTSIDE)), (Y[:, 0],), order=2
    )
    plain = interpolate.UnivariateSpline(X, Y[:, 0], s=0.1, ext=ext)
    dr.check_grads(lambda q: weighed(plain(q)) + plain.integral(q[0], q[1]), (INSIDE,), order=2)
    assert_same(plain(INSIDE), scipy.interpolate.UnivariateSpline(X, Y[:, 0], s=0.1)(INSIDE), rtol=0.0)
    assert isinstance(plain.derivative(), scipy.interpolate.UnivariateSpline)
    with pytest.raises(UnsupportedError, match="make_lsq_spline with the knots"):
        dr.grad(lambda y: interpolate.UnivariateSpline(X, y)(1.5)[()])(Y[:, 0])


KINDS = ["linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic", 5]


@pytest.mark.parametrize("kind", KINDS)
def test_interp1d(kind):
    x, y = X[::-1].copy(), Y[::-1].copy()  # it sorts them

    def filled(x, y, q, below):
        made = interpolate.interp1d(x, y, kind, axis=0, bounds_error=False, fill_value=(below, 1.0))
        return weighed(made(q))

    dr.check_grads(filled, (x, y, OUTSIDE, Y[1]), order=2)
    if kind not in ("previous", "next"):
        beyond = lambda y, q: weighed(interpolate.interp1d(x, y, kind, axis=0, fill_value="extrapolate")(q))  # noqa: E731
        dr.check_grads(beyond, (y, OUTSIDE), order=2)
    plain = interpolate.interp1d(x, y, kind, axis=0)
    dr.check_grads(lambda q: weighed(plain(q)), (INSIDE,), order=2)
    assert isinstance(plain, scipy.interpolate.interp1d)
    assert_same(plain(INSIDE), scipy.interpolate.interp1d(x, y, kind, axis=0)(INSIDE), rtol=0.0)


def test_points_out_of_bounds():
    outside = lambda q: interpolate.interp1d(X, Y[:, 0], bounds_error=False)(q)[()]  # noqa: E731
    assert dr.value_and_grad(outside)(X[-1] + 1.0)[1] == 0.0
    assert np.isnan(outside(X[-1] + 1.0))
    with pytest.raises(ValueError, match="above the interpolation range"):
        dr.grad(lambda q: interpolate.interp1d(X, Y[:, 0])(q)[()])(X[-1] + 1.0)


GRID = [np.cumsum(RNG.random(n) + 0.2) for n in (7, 6)]
VALUES = RNG.normal(size=(7, 6, 2))
POINTS = np.stack([p[0] + (p[-1] - p[0]) * np.array([0.1, 0.45, 0.83]) for p in GRID], axis=1)


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "cubic", "quintic"])
def test_grids(method):
    options = {"solver": spsolve} if method in ("slinear", "cubic", "quintic") else {}  # its own stops at 1e-6

    def made(a, b, values):
        return interpolate.RegularGridInterpolator((a, b), values, method, **options)

    dr.check_grads(lambda a, b, v, q: weighed(made(a, b, v)(q)), (*GRID, VALUES, POINTS), order=1)
    dr.check_grads(lambda v, q: weighed(made(*GRID, v)(q)), (VALUES, POINTS), order=2)
    plain = made(*GRID, VALUES)
    dr.check_grads(lambda q: weighed(plain(q)), (POINTS,), order=2)
    if options:
        dr.check_grads(lambda v, q: weighed(made(*GRID, v)(q, nu=[1, 0])), (VALUES, POINTS), order=1)
    again = pickle.loads(pickle.dumps(plain)) if method == "linear" else plain
    assert_same(again(POINTS), scipy.interpolate.RegularGridInterpolator(GRID, VALUES, method, **options)(POINTS))


def test_more_grids():
    def descending(v, q):
        made = interpolate.RegularGridInterpolator((GRID[0][::-1], GRID[1]), v, bounds_error=False, fill_value=None)
        return weighed(made((q[:, 0], q[:, 1] + 5.0)))

    dr.check_grads(descending, (VALUES, POINTS), order=2)
    dr.check_grads(lambda v, q: weighed(interpolate.interpn(GRID, v, q)), (VALUES, POINTS), order=2)
    with pytest.raises(UnsupportedError, match="method='cubic' or 'linear'"):
        dr.grad(lambda v: weighed(interpolate.RegularGridInterpolator(GRID, v, "pchip")(POINTS)))(VALUES)


def test_surfaces():
    z = VALUES[:, :, 0]

    def made(a, b, z, x, y):
        surface = interpolate.RectBivariateSpline(a, b, z)
        return weighed(surface(x, y)) + weighed(surface.ev(x[:2], y)) + weighed(surface(x, y, dx=1))

    pairs = (np.sort(POINTS[:, 0]), np.sort(POINTS[:2, 1]))
    dr.check_grads(made, (*GRID, z, *pairs), order=2)
    plain = interpolate.RectBivariateSpline(*GRID, z, kx=2, ky=3, s=0.1)
    dr.check_grads(lambda x, y: weighed(plain(x, y, dy=1)) + weighed(plain.ev(x[:2], y + 9.0)), pairs, order=2)
    assert_same(plain(*pairs), scipy.interpolate.RectBivariateSpline(*GRID, z, kx=2, ky=3, s=0.1)(*pairs), rtol=0.0)
    even = lambda z: weighed(interpolate.RectBivariateSpline(*GRID, z, kx=2, ky=2)(*pairs))  # noqa: E731
    dr.check_grads(even, (z,), order=1)
    with pytest.raises(UnsupportedError, match="or RegularGridInterpolator"):
        dr.grad(lambda z: weighed(interpolate.RectBivariateSpline(*GRID, z, s=0.1)(*pairs)))(z)


def test_options_that_are_set_later():
    plain = interpolate.RegularGridInterpolator(GRID, VALUES[:, :, 0], bounds_error=False)
    beyond = POINTS + 5.0
    assert not dr.grad(lambda q: np.nansum(plain(q)))(beyond).any()
    plain.fill_value = None
    dr.check_grads(lambda q: weighed(plain(q)), (beyond,), order=2)
    line = interpolate.interp1d(X, Y[:, 0], bounds_error=False)
    line.fill_value = "extrapolate"
    assert_same(dr.grad(lambda q: line(q)[()])(9.0), float(np.diff(Y[-2:, 0])[0] / np.diff(X[-2:])[0]), rtol=1e-12)


def test_polynomials():
    def made(x, y, q):
        return weighed(interpolate.BarycentricInterpolator(x, y)(q))

    dr.check_grads(made, (X, Y, np.concatenate([INSIDE, X[:2]])), order=2)


KERNELS = ["linear", "thin_plate_spline", "cubic", "quintic"]
KERNELS += ["multiquadric", "inverse_multiquadric", "inverse_quadratic", "gaussian"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_radial_functions(kernel):
    places, points = RNG.normal(size=(9, 2)), RNG.normal(size=(3, 2))
    data, options = np.sin(places), {"kernel": kernel, "epsilon": 1.3}

    def made(y, d, x, smoothing):
        return weighed(interpolate.RBFInterpolator(y, d, smoothing=smoothing, **options)(x))

    dr.check_grads(made, (places, data, points, 0.1), order=2)
    plain = interpolate.RBFInterpolator(places, data, **options)
    dr.check_grads(lambda x: weighed(plain(x)), (points,), order=2)
    assert_same(plain(points), scipy.interpolate.RBFInterpolator(places, data, **options)(points), rtol=0.0)
    with pytest.raises(UnsupportedError, match="RBFInterpolator without neighbors"):
        dr.grad(lambda d: weighed(interpolate.RBFInterpolator(places, d, neighbors=8, **options)(points)))(data)


def test_scalars_integers_and_complex_data():
    spline = interpolate.CubicSpline([0, 1, 2, 3], [0, 1, 8, 27])
    assert_same(dr.grad(lambda q: spline(q))(1.5), 6.75, rtol=1e-12)
    assert_same(dr.grad(dr.grad(lambda q: spline(q)))(1.5), 9.0, rtol=1e-12)
    assert type(spline(1.5)) is np.ndarray
    dr.check_grads(lambda y, q: abs(interpolate.CubicSpline(X, y * (1.0 + 2.0j))(q)[0]), (Y[:, 0], INSIDE), order=2)
    with pytest.raises(UnsupportedError, match="derivative, antiderivative, integrate, solve or a call"):
        dr.grad(lambda y: interpolate.CubicSpline(X, y).extend)(Y)
    with pytest.raises(UnsupportedError, match="one interpolant for the real part"):
        dr.grad(lambda y: abs(interpolate.BSpline(np.arange(11.0), y * 1j, 3)(4.5)))(Y[:, 0])
