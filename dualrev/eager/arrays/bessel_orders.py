"""Derivatives of the modified Bessel functions I and K by their orders.

    I_v(x) = sum over k of (x / 2)**(2 k + v) / (k! gamma(v + k + 1))                          (DLMF 10.25.2)
    pi I_v(x) = integral from 0 to pi of exp(x cos t) cos(v t), up to exp(-x)                  (DLMF 10.32.4)
    K_v(x) = integral from 0 to infinity of exp(-x cosh t) cosh(v t)                           (DLMF 10.32.9)

The terms of the series are positive, and their derivatives have one change of sign. For large x and smaller orders the
integral takes less time. I_-v(x) = I_v(x) + 2 / pi sin(pi v) K_v(x) has the orders below 0 (DLMF 10.27.2).

Source: NIST's Digital Library of Mathematical Functions, chapter 10.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.storage import plain
from dualrev.eager.arrays.shape_integrals import trigamma

__all__ = ["ive_by_order", "kve_by_order"]

_LARGE, _FLAT = 30.0, 10.0  # the integral serves above this x, for v * v below _FLAT x


def kve_by_order(n: int, v: Any, x: Any) -> Any:
    """n-th derivative of kve(v, x) = exp(x) K_v(x) by v."""
    size, far = np.abs(plain(v)), np.ones(np.broadcast_shapes(np.shape(v), np.shape(x)))
    with np.errstate(all="ignore"):
        for _ in range(30):  # where the integrand is negligible
            far = np.arccosh(1.0 + (60.0 + 2.0 * size * far) / plain(x))
        t = far * np.linspace(0.0, 1.0, 513).reshape(-1, *(1,) * far.ndim)
        fall = -2.0 * x * np.sinh(0.5 * t) ** 2
        rising, falling = np.exp(fall + v * t), np.exp(fall - v * t)
        even = rising + (falling if n % 2 == 0 else -falling)
        weights = np.where((t == 0.0) | (t == far), 0.5, 1.0) * t**n
        made = 0.5 * np.sum(weights * even, axis=0) * (far / 512.0)
    zero = np.where(plain(v) == 0.0, 0.0, np.sign(plain(v)) * np.inf) if n % 2 else np.inf
    return np.where(plain(x) == 0.0, zero, made)


def ive_by_order(n: int, v: Any, x: Any) -> Any:
    """n-th derivative of ive(v, x) = exp(-x) I_v(x) by v, for n = 1 or 2; NaN for x < 0, and at 0 unless v > 0."""
    known, order = plain(x), plain(v)
    inside, below = (known > 0.0) & np.isfinite(known), order < 0.0
    x, v = np.where(inside, x, 1.0), np.where(below, -v, v)
    flat = (plain(x) > _LARGE) & (plain(v) ** 2 < _FLAT * plain(x))
    made = np.where(
        flat,
        _by_integral(n, np.where(flat, v, 0.0), np.where(flat, x, _LARGE)),
        _by_series(n, np.where(flat, 1.0, v), np.where(flat, 1.0, x)),
    )
    if np.any(below):
        made = np.where(below, _reflected(n, made, np.where(below, v, 0.5), x), made)
    return np.where(inside, made, np.where((known == np.inf) | ((known == 0.0) & (order > 0.0)), 0.0, np.nan))


def _reflected(n: int, made: Any, v: Any, x: Any) -> Any:
    """The derivative at -v, where `made` is the derivative at v."""
    from scipy import special

    s, c, fall = np.sin(np.pi * v), np.cos(np.pi * v), 2.0 / np.pi * np.exp(-2.0 * x)
    slope = kve_by_order(1, v, x)
    if n == 1:
        return -(made + fall * (np.pi * c * special.kve(v, x) + s * slope))
    curved = 2.0 * np.pi * c * slope + s * (kve_by_order(2, v, x) - np.pi**2 * special.kve(v, x))
    return made + fall * curved


def _by_series(n: int, v: Any, x: Any) -> Any:
    from scipy import special

    largest = float(np.max(plain(x), initial=0.0))
    terms = int(0.5 * largest + 12.0 * np.sqrt(largest)) + 60
    k = np.arange(terms, dtype=float).reshape(-1, *(1,) * np.ndim(plain(v + x)))
    log = np.log(0.5 * x)
    a = np.exp((2.0 * k + v) * log - special.gammaln(k + 1.0) - special.gammaln(v + k + 1.0) - x)
    away = log - special.psi(v + k + 1.0)
    return np.sum(a * (away if n == 1 else away * away - trigamma(v + k + 1.0)), axis=0)


def _by_integral(n: int, v: Any, x: Any) -> Any:
    """exp(-x (1 - cos t)) is below 1e-17 from t = 9 / sqrt(x) on."""
    far = np.minimum(np.pi, 9.5 / np.sqrt(plain(x)))
    nodes, weights = (u.reshape(-1, *(1,) * np.ndim(far)) for u in np.polynomial.legendre.leggauss(96))
    t = 0.5 * far * (nodes + 1.0)
    wave = -t * np.sin(v * t) if n == 1 else -t * t * np.cos(v * t)
    return 0.5 * far / np.pi * np.sum(weights * np.exp(-2.0 * x * np.sin(0.5 * t) ** 2) * wave, axis=0)
