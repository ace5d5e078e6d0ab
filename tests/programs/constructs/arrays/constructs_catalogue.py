"""Functions of numpy that have a definition in numba code, select elements, make views or join arrays."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from support.case import case

#: Large functions, with arguments: they take long to compile, and are compared with the tape by
#: tests/compiler/scalarize/arrays/test_compiled_catalogue.py.
LARGE: list[tuple[Any, tuple[Any, ...]]] = []


def large(*primals: Any) -> Callable[[Any], Any]:
    """A decorator that appends a function to `LARGE`."""

    def enter(function: Any) -> Any:
        LARGE.append((function, primals))
        return function

    return enter


A = np.array([0.5, -1.2, 0.8, 2.0, -0.3])
M = np.array([[0.5, -1.2, 0.8], [1.5, 0.3, -0.7]])
SQUARE = np.array([[2.5, -1.2, 0.8], [1.5, 3.3, -0.7], [0.2, 0.9, 2.1]])
CUBE = np.linspace(-1.0, 1.3, 24).reshape(2, 3, 4)
WEIGHTS = np.array([0.4, 1.1, 0.8, 0.9, 1.6])
PLACES = np.array([2, 0, 2, -1])
FLAGS = np.array([True, False, True, True, False])


@case(A, PLACES, FLAGS)
@case(A[:4].copy(), np.array([], dtype=np.int64), np.zeros(4, dtype=np.bool_), name="no_places_at_all")
@njit
def places_and_masks(a, places, flags):
    """Read, written and added to; places that occur twice; the index is changed afterwards."""
    b, c = a[places] * a[places], a[flags]
    if len(places) > 0:
        places[0] = 1
    a[places] *= b
    a[flags] = c * c
    a[a < -1.0] = a[0]
    a[~flags] += 1.0
    p = np.arange(len(a))
    a[p[::-1]] = a
    s = np.sum(a[np.where(a > 0.0)[0]]) + np.sum(a[np.nonzero(flags)[0]] ** 2)
    return s + np.sum(a[places] * b) + np.sum(np.take(a, p[1:]) * a[:-1])


@large(CUBE, np.array([1, 0, 1]), np.array([0, 2, 1]), np.array([True, False, True]))
@njit
def places_of_three_axes(c, i, j, flags):
    """Beside ints and slices, apart and together, of two axes, and of several arrays."""
    s = np.sum(c[i, j] * c[i, j]) + np.sum(c[0, :, j] ** 2) + np.sum(c[i, ..., j] ** 3)
    s += np.sum(c[1, 1:, j] ** 2) + np.sum(c[1, flags] * c[0, 0]) + np.sum(c[i.reshape(3, 1), j] ** 2)
    c[:, j, 1:] = c[:, i, 1:] * 0.5
    c[0, j] += s
    c[:, flags, 0] = c[0, 0, 1]
    return np.sum(c * c)


@large(np.repeat(A, 2)[::2], np.repeat(M, 2, axis=1)[:, ::2])
@njit
def joined_arrays(a, m):
    u, v = a[:3], a[2:]
    s = np.sum(np.stack((u, v), 1)[1]) * np.sum(np.vstack((u, v))[1] * u) + np.sum(np.vstack((m, m))[1:3] * m)
    s += np.sum(np.hstack((m, m * 2.0))[:, 2:5] * m) + np.sum(np.hstack((u, v))[1:4] * u)
    s += np.sum(np.dstack((m, m))[:, :, 1] * m) + np.sum(np.column_stack((u, v))[:, 1] * u)
    s += np.sum(np.concatenate((m, m * m), axis=1)[:, 1:4] * m) + np.sum(np.append(u, s) ** 2) * a[1]
    return s + np.sum(np.repeat(a, 2)[1:6] * a) + np.sum(np.roll(m, 2) * m)


@large(A, M, CUBE)
@njit
def views_by_functions(a, m, c):
    """Functions that return views: a store to one view is seen in all."""
    column, back, t, two, turned = np.expand_dims(a, 1), np.flip(a), np.swapaxes(m, 0, 1), np.atleast_2d(a), np.rot90(m)
    column[1, 0] *= a[0]
    back[0] = a[1] * a[2]
    t[0, 1] += a[3]
    two[0, 2] = m[1, 1]
    turned[0, 0] *= 2.0
    np.atleast_1d(a)[4] *= a[2]
    np.atleast_3d(m)[1, 2, 0] *= a[2]
    np.transpose(c, (2, 0, 1))[1, 0, 2] *= a[0]
    c.transpose(1, 0, 2)[0, 1, 3] = c[1, 1, 1]
    contiguous, fortran = np.ascontiguousarray(m), np.asfortranarray(m)
    contiguous[0, 0] *= m[0, 1]
    fortran[1, 1] *= m[0, 0]
    s = np.sum(fortran * m) + np.sum(np.moveaxis(c, 0, 2)[1] ** 2) + np.sum(np.broadcast_to(a[:3], (2, 3)) * m)
    return s + np.sum(a * a * a) + np.sum(m * m * m) + np.sum(np.fliplr(m) * np.flipud(m))


@large(A, M)
@njit
def orders(a, m):
    s = (
        np.sum(np.sort(a) * a)
        + np.median(a) ** 2
        + np.median(m)
        + np.percentile(a, 30.0) * a[0]
        + np.partition(a, 2)[2]
    )
    s += np.sum(np.quantile(a, np.array([0.0, 0.4, 1.0])) ** 2) + np.unique(a)[1] * a[2] + a[np.argsort(m[0])[1]] ** 2
    b = a * a
    b.sort()
    return s + np.sum(b[:3] * m[0]) + np.ptp(a) + a[np.argmin(a)]


@case(np.array([1.0, 1.0, 2.0, 2.0, 0.5], dtype=np.float32), smooth=False)
@njit
def equal_numbers(a):
    """They do not share a derivative, but at both ends of np.ptp."""
    return np.median(a) + np.sum(np.sort(a) * np.arange(5.0)) + np.ptp(a)


@large(A)
@njit
def without_nan(a):
    b = a * 1.5
    b[1] = np.nan
    s = np.nansum(b) * a[0] + np.nanmean(b) + np.nanvar(b) + np.nanstd(b) + np.nanmax(b) * np.nanmin(b) + np.nanprod(b)
    s += np.nanmedian(b) + np.nanpercentile(b, 30.0) + np.sum(np.nancumsum(b) * a) + np.sum(np.nancumprod(b) * a)
    return s + np.sum(np.nan_to_num(b) ** 2)


@large(A, M, 0.45)
@njit
def tables_and_averages(a, m, x):
    xp, fp = np.array([0.0, 0.3, 1.0]), a[:3]
    s = np.interp(x, xp * a[3], fp) + np.sum(np.interp(a, xp, fp) * a) + np.interp(x, m[1] * 0.0 + xp, m[0])
    s += np.average(a, weights=WEIGHTS * x) + np.average(m) + np.trapezoid(a) + np.trapezoid(a, WEIGHTS) * x
    s += np.sum(np.cov(m) * m[:, :2]) + np.corrcoef(m[0], m[1])[0, 1] + np.sum(np.cumprod(m) ** 2) + np.sum(np.sinc(m))
    s += np.sum(np.bincount(np.array([0, 2, 2, 5, 1]), weights=a) ** 2) + np.sinc(x * 0.0)
    b, c = np.empty(5), np.empty(2)
    np.multiply(a, WEIGHTS, b)
    for k in range(2):
        c[k] = np.sum(m[k] * a[:3])
    return s + np.sum(b * a) + c[0] * c[1] + np.sum(np.logspace(x, 1.0, 5) * a) + np.geomspace(x, 5.0, 4)[2]


@large(A, SQUARE)
@njit
def small_products(a, m):
    u, v = a[:3], m[0]
    s = np.sum(np.cross(u, v) * v) + np.sum(np.cross(m, m.T) * m) + np.trace(m) * np.trace(m, 1)
    s += np.sum(np.kron(m, m[:2])[1] ** 2) + np.sum(np.outer(m, u) * u) + np.sum(np.vander(u) * m)
    s += (
        np.sum(np.convolve(a, u)[1:6] * a) + np.sum(np.convolve(a, u, mode="same") * a) + np.sum(np.correlate(a, u) * u)
    )
    s += np.sum(np.tril(m) * m) + np.sum(np.triu(m, 1) ** 2) + np.sum(np.diag(u)[1] * v) + np.sum(np.diag(m, 1) ** 2)
    np.fill_diagonal(m, u[0] * v[1])
    return s + np.sum(m * m) + np.sum(np.diff(a, 2) ** 2) + np.sum(a.repeat(2) ** 2) + np.sum(a.cumprod() * a)


@large(np.asfortranarray(SQUARE), A[:3].copy())
@njit
def systems(m, b):
    """Solved with pivots; factors; determinants."""
    x = np.linalg.solve(m, b)
    s = np.sum(x * b) + np.sum(np.linalg.inv(m) * m.T) + np.sum(np.linalg.solve(m, m.T * 2.0)[0] * b)
    s += np.linalg.det(m) + np.linalg.slogdet(m)[1]
    low = np.linalg.cholesky(m + m.T + 4.0 * np.eye(3))
    return s + np.sum(low.ravel() * m.ravel())


@large(SQUARE, A)
@njit
def norms(m, a):
    s = (
        np.linalg.norm(a)
        + np.linalg.norm(m)
        + np.linalg.norm(a, 1) * np.linalg.norm(a, 3)
        + np.linalg.norm(a * 1e200) * 1e-200
    )
    return (
        s + np.linalg.norm(a, np.inf) + np.linalg.norm(a, -math.inf) + np.linalg.norm(m, 1) + np.linalg.norm(m, np.inf)
    )


@case(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.5, -1.0]]), name="the_determinant_of_a_singular_matrix")
@case(np.array([[0.0, 2.0], [0.0, 3.0]]), name="the_determinant_of_a_column_of_zeros")
@njit
def determinants(m):
    return np.linalg.det(m)


@case(np.array([0.0, 1.5, 0.0, -0.8, 0.0]), A, smooth=False)
@njit
def trimmed_and_united(a, b):
    """A zero inside stays; those at the ends go. Not smooth: a zero that is moved stays, too."""
    t, u = np.trim_zeros(a), np.union1d(a, b)
    return np.sum(t * t * np.arange(3.0)) * np.sum(u * u * np.arange(len(u)))


@case(0.7, 1.3)
@case(np.float32(0.7), 1.3)
@njit
def functions_of_arrays_of_a_number(x, y):
    """A number is what numpy takes for an array of one."""
    s = np.real(x) * x + np.imag(x) + np.nan_to_num(x) * x + np.nan_to_num(x * y, nan=3.0)
    return s + np.max(x) * y + np.amin(y) * x + np.ptp(x) + np.nanmin(y) * x + np.mean(x) * np.prod(y)


@case(0.7, 1.3, later=True)
@case(np.float32(0.7), 1.3, later=True)
@njit
def sums_and_deviations_of_a_number(x, y):
    """As those above, of a later numba than 0.65."""
    return np.std(x) + np.sum(x) * y + np.sum(y) * x * x
