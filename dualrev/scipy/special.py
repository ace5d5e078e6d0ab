"""`scipy.special` for traced arguments: the functions that are no ufuncs, such as logsumexp. The ufuncs are SciPy's
own.

>>> import dualrev as dr
>>> dr.grad(logsumexp)([0.0, 0.0])
[0.5, 0.5]
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special as _special

from dualrev.eager.arrays.complex.pairs import is_complex, real_part, values
from dualrev.eager.arrays.linear_algebra.matrices import conjugated, of_matrices, rule
from dualrev.eager.arrays.memory.storage import holds_duals, plain, real_array
from dualrev.eager.arrays.shape_derivatives import by_name
from dualrev.eager.arrays.ufuncs import on_arrays
from dualrev.errors import UnsupportedError
from dualrev.rules.primitives import PRIMITIVES
from dualrev.scipy.bessel import hankel1, hankel2, spherical_in, spherical_jn, spherical_kn, spherical_yn
from dualrev.scipy.calls import instead_of, is_plain, valued

__all__ = [
    "comb",
    "factorial",
    "hankel1",
    "hankel2",
    "lambertw",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "perm",
    "polygamma",
    "softmax",
    "spherical_in",
    "spherical_jn",
    "spherical_kn",
    "spherical_yn",
    "zeta",
]


def __getattr__(name: str) -> Any:
    return getattr(_special, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_special)})


@instead_of(_special.logsumexp)
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """log(sum(b exp(a))) over an axis, some axes or all; with return_sign, (log|sum|, sign).

    For complex numbers it is the principal value of the logarithm; return_sign raises UnsupportedError then.

    >>> float(logsumexp([0.0, 0.0]))
    0.6931471805599453
    """
    a = of_matrices(a)
    if b is None and not is_complex(a) and not return_sign and np.any(np.isposinf(plain(a))):
        return _of_infinite(a, axis, keepdims)
    if return_sign and (is_complex(a) or is_complex(b)):
        raise UnsupportedError("scipy.special.logsumexp with return_sign of complex numbers", "it without return_sign")
    top = _largest(real_part(a), axis)
    terms = np.exp(a - top) if b is None else of_matrices(b) * np.exp(a - top)
    total = np.sum(terms, axis=axis, keepdims=True)
    made = np.log(np.abs(total) if return_sign else total) + top
    if not keepdims:
        made = of_matrices(np.squeeze(made, axis))[()]
    if not return_sign:
        return made
    sign = np.sign(plain(total))
    return made, sign if keepdims else real_array(np.squeeze(sign, axis))[()]


@instead_of(_special.softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    """exp(x) / sum(exp(x)) over an axis, some axes or all.

    >>> softmax([0.0, 0.0])
    array([0.5, 0.5])
    """
    x = of_matrices(x)
    y = np.exp(x - np.max(plain(real_part(x)), axis=axis, keepdims=True))  # NaN where that is infinite, as SciPy's
    return y / np.sum(y, axis=axis, keepdims=True)


@instead_of(_special.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    """Logarithm of softmax, also where softmax underflows.

    >>> log_softmax([0.0, -1000.0])
    array([    0., -1000.])
    """
    x = of_matrices(x)
    return x - logsumexp(x, axis, keepdims=True)


def _of_infinite(a: Any, axis: Any, keepdims: bool) -> Any:
    """Return logsumexp where elements are infinite: finite ones do not count there, as in logaddexp."""
    infinite = np.isposinf(plain(a))
    rest = logsumexp(np.where(infinite, 0.0, a), axis, keepdims=keepdims)
    made = np.sum(np.where(infinite | np.isnan(plain(a)), a, 0.0), axis=axis, keepdims=keepdims)
    return np.where(np.any(infinite, axis=axis, keepdims=keepdims), made, rest)


def _largest(x: Any, axis: Any) -> Any:
    """Return the largest elements as constants, to factor out of sums of exponentials; 0 where they are infinite."""
    top = np.max(plain(x), axis=axis, keepdims=True)
    return np.where(np.isfinite(top), top, 0.0)


_polygamma = on_arrays(PRIMITIVES["polygamma"])


@instead_of(_special.polygamma)
def polygamma(n: Any, x: Any) -> Any:
    """n-th derivative of psi at x; n is an int, or an array of ints. Differentiated with respect to x.

    >>> float(polygamma(1, 1.0))
    1.6449340668482266
    """
    if holds_duals(n):
        raise UnsupportedError("scipy.special.polygamma by its order", "dualrev.value(n), which is a whole number")
    orders, x = np.asarray(n), real_array(x)
    if not orders.ndim:
        return _polygamma(float(orders), x if x.ndim else x[()])
    x = x + np.zeros(orders.shape)
    orders = np.broadcast_to(orders, x.shape)
    made = [_polygamma(float(k), u) for k, u in zip(orders.ravel(), np.ravel(x), strict=True)]
    return np.reshape(np.stack(made), x.shape) if made else x


@valued(_special.multigammaln)
def multigammaln(a: Any, d: int) -> Any:
    """Logarithm of the multivariate gamma function of dimension d.

    >>> bool(np.isclose(multigammaln(2.0, 1), _special.gammaln(2.0)))
    True
    """
    a = real_array(a)[..., None]
    made = np.sum(_special.gammaln(a - 0.5 * np.arange(d)), axis=-1)
    return made + 0.25 * d * (d - 1) * math.log(math.pi)


@instead_of(_special.zeta)
def zeta(x: Any, q: Any = 1.0) -> Any:
    """Hurwitz zeta function, differentiated by q. x is a constant.

    >>> float(zeta(2, 1.0))
    1.6449340668482266
    """
    if holds_duals(x):
        raise UnsupportedError("scipy.special.zeta by its first argument", "dualrev.value(x), if it is a constant")
    return by_name("zeta")(np.asarray(x, float), real_array(q))


@valued(_special.comb)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:  # noqa: N803 - SciPy's name
    """Number of combinations of N things taken k at a time: binom(N, k), and 0 unless 0 <= k <= N.

    >>> float(comb(5, 2))
    10.0
    """
    n, k = real_array(N), real_array(k)
    if repetition:
        n = n + k - 1.0
    inside = (plain(k) >= 0.0) & (plain(k) <= plain(n)) & (plain(n) >= 0.0)
    return np.where(inside, _special.binom(np.where(inside, n, 1.0), np.where(inside, k, 1.0)), 0.0)[()]


@valued(_special.perm)
def perm(N: Any, k: Any, exact: bool = False) -> Any:  # noqa: N803 - SciPy's name
    """Number of permutations of N things taken k at a time, and 0 unless 0 <= k <= N.

    >>> float(perm(5, 2))
    20.0
    """
    n, k = real_array(N), real_array(k)
    inside = (plain(k) >= 0.0) & (plain(k) <= plain(n)) & (plain(n) >= 0.0)
    n, k = np.where(inside, n, 1.0), np.where(inside, k, 1.0)
    return np.where(inside, _special.poch(n - k + 1.0, k), 0.0)[()]


@valued(_special.factorial)
def factorial(n: Any, exact: bool = False, **kwargs: Any) -> Any:
    """Factorial of numbers, gamma(n + 1), and 0 of negative ones.

    >>> float(factorial(3))
    6.0
    """
    n = real_array(n)
    inside = ~(plain(n) < 0.0)
    return np.where(inside, _special.gamma(np.where(inside, n, 0.0) + 1.0), 0.0)[()]


@instead_of(_special.lambertw)
def lambertw(z: Any, k: int = 0, tol: float = 1e-8) -> Any:
    """Lambert's function: w exp(w) = z, on the branch k; its value is complex.

    >>> lambertw(np.e).real.round(6)
    np.float64(1.0)
    """
    z = of_matrices(z)
    z = z + np.zeros(np.shape(k), complex) if np.ndim(k) or not is_complex(z) else z

    def slope(w: Any) -> Any:
        """Return the derivative at a value."""
        return np.exp(-w) / (1.0 + w)

    def compute(z: Any) -> Any:
        """Return the value, where z may be traced by runs further out."""
        return lambertw(z, k, tol) if not is_plain(z) else _special.lambertw(values(z), k, tol)

    return rule(
        compute,
        lambda xs, ys, gs: [gs[0] * conjugated(slope(ys[0]))],
        lambda xs, ys, ts: [ts[0] * slope(ys[0])],
        z,
    )
