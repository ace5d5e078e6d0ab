"""np.linalg.eig and eigvals with complex results, in real and imaginary parts, with their rules (rule_definitions.py).

With numpy 2.5, numba's results are complex for every matrix; before, they are of complex ones. `of_real` takes a real
matrix, `of_parts` the two parts of a complex one: LAPACK has a function for each, and they may give the eigenvalues in
another order.

    with p = inv(v) da v: dw = diag(p), dv = v (p / gaps) + v c

where c keeps the columns of v as LAPACK scales them: of length 1, and with a largest component that is real. A complex
matrix is a pair of real ones in the rules, which are differentiated themselves.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from dualrev.rules.library.linalg.factors import diagonal, rounding
from dualrev.rules.library.linalg.matrices import product, turned
from dualrev.rules.library.njit_internal import inner
from dualrev.rules.library.rule_definitions import define

__all__ = ["eig_of_parts", "eig_of_real", "eigvals_of_parts", "eigvals_of_real"]


@inner
def eig_of_real(a):
    """np.linalg.eig of a real matrix."""
    w, v = np.linalg.eig(a)
    return (w.real.copy(), w.imag.copy()), (turned(v.real.T), turned(v.imag.T))


@inner
def eig_of_real_fwd(a):
    """Both, for the value and for the rule."""
    w, v = eig_of_real(a)
    return (w, v), (w, v)


@inner
def eig_of_real_bwd(residuals, ct):
    """The transpose of push."""
    (w, v), (gw, gv) = residuals, ct
    return (_pulled(w, v, gw, gv)[0],)


@inner
def eig_of_real_push(primals, y, tangents):
    """Tangents of the complex eigenvalues and eigenvectors of a real matrix."""
    return _pushed(y[0], y[1], (tangents[0], np.zeros_like(tangents[0])))


define(eig_of_real, eig_of_real_fwd, eig_of_real_bwd, eig_of_real_push)


@inner
def eig_of_parts(x, y):
    """np.linalg.eig of a complex matrix."""
    w, v = np.linalg.eig(x + np.complex64(1j) * y)
    return (w.real.copy(), w.imag.copy()), (turned(v.real.T), turned(v.imag.T))


@inner
def eig_of_parts_fwd(x, y):
    """Both, for the value and for the rule."""
    w, v = eig_of_parts(x, y)
    return (w, v), (w, v)


@inner
def eig_of_parts_bwd(residuals, ct):
    """The transpose of push."""
    (w, v), (gw, gv) = residuals, ct
    return _pulled(w, v, gw, gv)


@inner
def eig_of_parts_push(primals, y, tangents):
    """The formulas above."""
    return _pushed(y[0], y[1], tangents)


define(eig_of_parts, eig_of_parts_fwd, eig_of_parts_bwd, eig_of_parts_push)


@inner
def _pushed(w, v, t):
    p = _product(_product(_inverse(v), t), v)
    u = _product(v, _over_gaps(p, w, 1.0))
    return (diagonal(p[0]), diagonal(p[1])), _kept_in_scale(v, u)


@inner
def _pulled(w, v, gw, gv):
    t = _adjoint(v)
    p = _over_gaps(_product(t, _of_any_scale(v, gv)), w, -1.0)
    for k in range(len(w[0])):
        p[0][k, k] = gw[0][k]
        p[1][k, k] = gw[1][k]
    return _product(_adjoint(_inverse(v)), _product(p, t))


@inner(error_model="numpy")
def _over_gaps(p, w, sign):
    """p / gaps, or with the sign -1 by their conjugates; at ties NaN where p is not 0. The diagonal is 0."""
    (a, b), (x, y) = p, w
    least = max(rounding(x), rounding(y))
    real, imag = np.zeros(a.shape, a.dtype), np.zeros(a.shape, a.dtype)
    for i in range(len(x)):
        for j in range(len(x)):
            if i != j:
                c, d = x[j] - x[i], sign * (y[j] - y[i])
                if not (abs(c) <= least and abs(d) <= least):
                    size = c * c + d * d
                    real[i, j] = (a[i, j] * c + b[i, j] * d) / size
                    imag[i, j] = (b[i, j] * c - a[i, j] * d) / size
                elif a[i, j] != 0.0 or b[i, j] != 0.0:
                    real[i, j] = np.nan * a[i, j]
                    imag[i, j] = np.nan * b[i, j]
    return real, imag


@inner(error_model="numpy")
def _kept_in_scale(v, u):
    """Remove from the columns of u what changes the length of the columns of v, or their largest component's phase."""
    (vr, vi), (ur, ui) = v, u
    real, imag = np.empty(vr.shape, vr.dtype), np.empty(vr.shape, vr.dtype)
    for j in range(len(vr)):
        k = _largest(vr, vi, j)
        along, turn = np.sum(vr[:, j] * ur[:, j] + vi[:, j] * ui[:, j]), ui[k, j] / vr[k, j]
        for i in range(len(vr)):
            real[i, j] = ur[i, j] - vr[i, j] * along + vi[i, j] * turn
            imag[i, j] = ui[i, j] - vi[i, j] * along - vr[i, j] * turn
    return real, imag


@inner(error_model="numpy")
def _of_any_scale(v, g):
    """The transpose of it."""
    (vr, vi), (gr, gi) = v, g
    real, imag = np.empty(vr.shape, vr.dtype), np.empty(vr.shape, vr.dtype)
    for j in range(len(vr)):
        k = _largest(vr, vi, j)
        along = np.sum(vr[:, j] * gr[:, j] + vi[:, j] * gi[:, j])
        across = np.sum(vr[:, j] * gi[:, j] - vi[:, j] * gr[:, j])
        for i in range(len(vr)):
            real[i, j] = gr[i, j] - vr[i, j] * along
            imag[i, j] = gi[i, j] - vi[i, j] * along
        imag[k, j] -= across / vr[k, j]
    return real, imag


@inner
def _largest(vr, vi, j):
    """The largest component of a column among those that are real: LAPACK turns the largest one to be so."""
    k, size, real = 0, -1.0, False
    for i in range(len(vr)):
        large = vr[i, j] * vr[i, j] + vi[i, j] * vi[i, j]
        if (vi[i, j] == 0.0, large) > (real, size):
            k, size, real = i, large, vi[i, j] == 0.0
    return k


@inner
def eigvals_of_real(a):
    """np.linalg.eigvals of a real matrix."""
    w = np.linalg.eigvals(a)
    return w.real.copy(), w.imag.copy()


@inner
def eigvals_of_real_fwd(a):
    """The values; the vectors wait until they are asked for."""
    return eigvals_of_real(a), a


@inner
def eigvals_of_real_bwd(a, ct):
    """The transpose of push."""
    _, v = eig_of_real(a)
    return (_pulled_of_values(v, ct)[0],)


@inner
def eigvals_of_real_push(primals, w, tangents):
    """dw = diag(inv(v) da v)"""
    _, v = eig_of_real(primals[0])
    return _pushed_of_values(v, (tangents[0], np.zeros_like(tangents[0])))


define(eigvals_of_real, eigvals_of_real_fwd, eigvals_of_real_bwd, eigvals_of_real_push)


@inner
def eigvals_of_parts(x, y):
    """np.linalg.eigvals of a complex matrix."""
    w = np.linalg.eigvals(x + np.complex64(1j) * y)
    return w.real.copy(), w.imag.copy()


@inner
def eigvals_of_parts_fwd(x, y):
    """The values; the vectors wait until they are asked for."""
    return eigvals_of_parts(x, y), (x, y)


@inner
def eigvals_of_parts_bwd(residuals, ct):
    """The transpose of push."""
    x, y = residuals
    _, v = eig_of_parts(x, y)
    return _pulled_of_values(v, ct)


@inner
def eigvals_of_parts_push(primals, w, tangents):
    """dw = diag(inv(v) da v)"""
    _, v = eig_of_parts(primals[0], primals[1])
    return _pushed_of_values(v, tangents)


define(eigvals_of_parts, eigvals_of_parts_fwd, eigvals_of_parts_bwd, eigvals_of_parts_push)


@inner
def _pushed_of_values(v, t):
    p = _product(_product(_inverse(v), t), v)
    return diagonal(p[0]), diagonal(p[1])


@inner
def _pulled_of_values(v, g):
    t = _adjoint(v)
    (a, b), (c, d) = t, g
    real, imag = np.empty(a.shape, a.dtype), np.empty(a.shape, a.dtype)
    for i in range(len(a)):
        for j in range(len(a)):
            real[i, j] = c[i] * a[i, j] - d[i] * b[i, j]
            imag[i, j] = c[i] * b[i, j] + d[i] * a[i, j]
    return _product(_adjoint(_inverse(v)), (real, imag))


# Complex matrices


@inner
def _product(a, b):
    (ar, ai), (br, bi) = a, b
    return product(ar, br) - product(ai, bi), product(ar, bi) + product(ai, br)


@inner
def _adjoint(a):
    return turned(a[0]), -turned(a[1])


@inner
def _inverse(a):
    """Inverse of a complex matrix: its parts are blocks of the inverse of the real matrix ((re, -im), (im, re))."""
    real, imag = a
    n = len(real)
    whole = np.empty((2 * n, 2 * n), real.dtype)
    for i in range(n):
        for j in range(n):
            whole[i, j] = whole[n + i, n + j] = real[i, j]
            whole[n + i, j] = imag[i, j]
            whole[i, n + j] = -imag[i, j]
    inverse = np.linalg.inv(whole)
    return inverse[:n, :n].copy(), inverse[n:, :n].copy()
