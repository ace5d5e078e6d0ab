"""Derivatives of the incomplete gamma and beta functions by their shape parameters, as integrals over one tail.

    d/da P(a, x) = integral from 0 to x of f(t) (log t - psi(a)) dt = -(the same from x to infinity)

f is the density. The factor in brackets has one zero, and x lies on one side of it: of the two integrals, the one whose
integrand has a constant sign has no cancellation. In w = log t (for beta functions w = logit t) the density is
log-concave, so Gauss-Legendre quadrature on a few panels has about 12 digits. The last two panels end where the
density has fallen by factors of exp(-1) and exp(-45).

Source: differentiation under the integral sign, for the functions of chapter 8 of NIST's Digital Library of
Mathematical Functions. Figurnov, Mohamed and Mnih (Implicit Reparameterization Gradients, 2018) differentiate series.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.eager.arrays.elementwise import on_arrays
from dualrev.eager.arrays.memory.storage import plain
from dualrev.rules.primitives import PRIMITIVES

__all__ = ["beta_integral", "gamma_integral", "in_parts", "trigamma"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_GRADED = (0.0, 0.75, 0.94, 0.985, 1.0)  # a density may be flat, and fall at once
_STEP = 8192  # elements at a time: a temporary array has 10 MB
_LARGE = 20.0  # from here on, Stirling's series


def gamma_integral(n: int, a: Any, x: Any) -> Any:
    """n-th derivative of gammainc(a, x) by a, for n = 1 or 2."""
    return in_parts(lambda *args: _gamma(n, *args), a, x)


def beta_integral(i: int, j: int, a: Any, b: Any, x: Any) -> Any:
    """Derivative of betainc(a, b, x), i times by a and j times by b, for i + j = 1 or 2."""
    return in_parts(lambda *args: _beta(i, j, *args), a, b, x)


def in_parts(f: Callable[..., Any], *args: Any) -> Any:
    """Return f of the broadcast arguments; of many plain elements, computed for some at a time."""
    shape = np.broadcast_shapes(*map(np.shape, args))
    flat = [np.reshape(np.broadcast_to(u, shape), -1) for u in args]
    with np.errstate(all="ignore"):
        if all(u.__class__ is np.ndarray for u in flat) and flat[0].size > _STEP:
            starts = range(0, flat[0].size, _STEP)
            return np.reshape(np.concatenate([f(*(u[k : k + _STEP] for u in flat)) for k in starts]), shape)
        return np.reshape(f(*flat), shape)


def trigamma(x: Any) -> Any:
    """Return polygamma(1, x) of traced arrays."""
    return on_arrays(PRIMITIVES["polygamma"])(1.0, x)


def _gamma(n: int, a: Any, x: Any) -> Any:
    from scipy import special

    known = plain(x)
    inside = (known > 0.0) & (known < np.inf)
    a = np.where(plain(a) == 0.0, 1e-140, a)  # the limit
    x = np.where(inside, x, 1.0)
    w, centre = np.log(x), special.psi(a)
    sign = np.where(plain(w) < plain(centre), -1.0, 1.0)

    def fall(u: Any, a: Any, x: Any) -> Any:
        return sign * a * u - x * np.expm1(sign * u)

    u, weights = _panels(lambda u: fall(u, plain(a), plain(x)), sign)
    away = w + sign * u - centre
    factor = away if n == 1 else away * away - trigamma(a)
    made = -sign * np.sum(weights * np.exp(fall(u, a, x)) * factor, axis=0) * _gamma_density(a, x)
    return np.where(inside, made, np.where(known >= 0.0, 0.0, np.nan))


def _gamma_density(a: Any, x: Any) -> Any:
    """x**a exp(-x) / gamma(a): the density of log x."""
    from scipy import special

    large = plain(a) > _LARGE
    b = np.where(large, a, _LARGE)
    away = (x - b) / b
    c = 1.0 / (b * b)
    correction = (1.0 / 12.0 - c * (1.0 / 360.0 - c * (1.0 / 1260.0 - c * (1.0 / 1680.0 - c / 1188.0)))) / b
    by_stirling = 0.5 * np.log(b / (2.0 * np.pi)) - b * (away - np.log1p(away)) - correction
    a = np.where(large, 1.0, a)
    return np.exp(np.where(large, by_stirling, a * np.log(x) - x - special.gammaln(a)))


def _beta(i: int, j: int, a: Any, b: Any, x: Any) -> Any:
    from scipy import special

    known = plain(x)
    inside = (known > 0.0) & (known < 1.0)
    x = np.where(inside, x, 0.5)
    both = special.psi(a + b)
    by_a, by_b = special.psi(a) - both, special.psi(b) - both
    log_x, log_y = np.log(x), np.log1p(-x)
    # the zero of the first factor; a second derivative has two, and neither tail is better
    lower = plain(log_x) < plain(by_a) if i else plain(log_y) > plain(by_b)
    of_tail, of_rest = np.where(lower, a, b), np.where(lower, b, a)
    s, r = np.where(lower, x, 1.0 - x), np.where(lower, 1.0 - x, x)

    def fall(u: Any, a: Any, b: Any, x: Any, y: Any) -> tuple[Any, Any]:
        """Return the falls of log x and log(1 - x), from x to the point that is u below it in logit x."""
        near = plain(u) < 1.0
        v = np.where(near, 1.0, u)
        first = np.where(near, np.log1p(y * np.expm1(np.where(near, u, 0.0))), v + np.log(y + x * np.exp(-v)))
        return first, np.log1p(x * np.expm1(-u))

    def whole(u: Any) -> Any:
        first, second = fall(u, plain(of_tail), plain(of_rest), plain(s), plain(r))
        return -plain(of_tail) * first - plain(of_rest) * second

    bend = np.where(lower, 1.0, -1.0) * plain(log_x - log_y)  # logit x is 0 there
    u, weights = _panels(whole, bend, bend - 4.0, bend, bend + 4.0)
    first, second = fall(u, of_tail, of_rest, s, r)
    in_a = log_x - np.where(lower, first, second) - by_a
    in_b = log_y - np.where(lower, second, first) - by_b
    factors = {(1, 0): lambda: in_a, (0, 1): lambda: in_b}
    factors |= {(2, 0): lambda: in_a * in_a - trigamma(a) + trigamma(a + b)}
    factors |= {(0, 2): lambda: in_b * in_b - trigamma(b) + trigamma(a + b)}
    factors |= {(1, 1): lambda: in_a * in_b + trigamma(a + b)}
    total = np.sum(weights * np.exp(-of_tail * first - of_rest * second) * factors[i, j](), axis=0)
    made = np.where(lower, 1.0, -1.0) * total * np.exp(a * log_x + b * log_y - special.betaln(a, b))
    return np.where(inside, made, np.where((known == 0.0) | (known == 1.0), 0.0, np.nan))


def _panels(fall: Callable[[Any], Any], like: np.ndarray, *bends: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes and weights of quadrature on all panels, as rows.

    `fall` is concave, and 0 at 0; panels also end at the bends, where its slope changes.
    """
    first, last = _where(fall, -1.0, len(like)), _where(fall, -45.0, len(like))
    ends = np.sort([*(part * first for part in _GRADED), last, *(np.clip(u, 0.0, last) for u in bends)], axis=0)
    nodes, weights = [], []
    for start, end in itertools.pairwise(ends):
        half = 0.5 * (end - start)
        nodes.append(start + half * (1.0 + _NODES[:, None]))
        weights.append(half * _WEIGHTS[:, None])
    return np.concatenate(nodes), np.concatenate(weights)


def _where(fall: Callable[[Any], Any], depth: float, count: int) -> np.ndarray:
    """Return where the function has fallen to a depth, by bisection in the logarithm: to a tenth."""
    low, high = np.full(count, -80.0), np.full(count, 480.0)
    for _ in range(12):
        middle = 0.5 * (low + high)
        above = fall(np.exp2(middle)) > depth
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.exp2(high)
