"""Fit laws to times, by least squares, with intervals of 95% confidence.

fit_law     t = c n^p or t = c b^n, whichever the logarithm of t follows better, over the larger half of the sizes
fit_slope   t = a + b n, each time weighted by its size: the errors of times are a share of them
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
LEAST_BASE = 1.2  # 1.01^n is what noise makes of times that hardly grow


@dataclasses.dataclass(frozen=True)
class Law:
    """A law `n^value` or `value^n`, with the confidence interval of the value."""

    kind: str  # "power" or "exponential"
    value: float
    low: float
    high: float
    sizes: tuple[int, ...]  # that were used

    def __str__(self) -> str:
        """Format the law for the table.

        >>> str(Law("power", 1.034, 0.98, 1.09, ())), str(Law("exponential", 2.0, 1.99, 2.01, ()))
        ('n^1.03 (0.98 to 1.09)', '2.00^n (1.99 to 2.01)')
        """
        law = f"n^{self.value:.2f}" if self.kind == "power" else f"{self.value:.2f}^n"
        return f"{law} ({self.low:.2f} to {self.high:.2f})"


@dataclasses.dataclass(frozen=True)
class Slope:
    """A line: seconds per unit of n, half the width of their interval, and seconds at n = 0."""

    value: float
    error: float
    intercept: float


def fit_law(sizes: Sequence[int], seconds: Sequence[float]) -> Law | None:
    """Fit a law; None for fewer than four sizes, as a law with one residual has no interval worth printing.

    At small sizes fixed costs hide the law, so only the larger half of the sizes is used, by their logarithm, and at
    least four of them.

    >>> fit_law([1, 2, 4, 8, 16, 32, 64], [n**2 for n in (1, 2, 4, 8, 16, 32, 64)]).value
    2.0
    """
    if len(sizes) < 4:
        return None
    order = np.argsort(sizes)
    ns, times = np.array(sizes, float)[order], np.array(seconds, float)[order]
    start = min(int(np.searchsorted(ns, math.sqrt(ns[0] * ns[-1]))), len(ns) - 4)
    ns, times = ns[start:], times[start:]
    power, exponential = _regress("power", np.log(ns), np.log(times)), _regress("exponential", ns, np.log(times))
    grows = exponential[1] > math.log(LEAST_BASE) and exponential[-1] < power[-1]
    kind, slope, half, _ = exponential if grows else power
    scale: Callable[[float], float] = float if kind == "power" else math.exp
    return Law(kind, scale(slope), scale(slope - half), scale(slope + half), tuple(map(int, ns)))


def expected_power(claim: Callable[[float], float], sizes: Sequence[int]) -> float:
    """Return the power that a fit finds if times follow the claim exactly: n log n is n^1.1 at sizes near a thousand.

    >>> expected_power(lambda n: n * n, [10, 20, 40])
    2.0
    """
    ns = np.array(sizes, float)
    return round(float(np.polyfit(np.log(ns), np.log([claim(n) for n in ns]), 1)[0]), 12)


def _regress(kind: str, x: np.ndarray, y: np.ndarray) -> tuple[str, float, float, float]:
    """Return the slope of y over x, half the width of its interval, and the sum of squared residuals."""
    fit = stats.linregress(x, y)
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(x) - 2) * fit.stderr)
    residuals = y - fit.intercept - fit.slope * x
    return kind, float(fit.slope), half, float(residuals @ residuals)


def fit_slope(sizes: Sequence[int], seconds: Sequence[float]) -> Slope | None:
    """Fit a line; None for fewer than three sizes.

    >>> fit_slope([10, 20, 40, 80], [1.0 + 0.5 * n for n in (10, 20, 40, 80)]).value
    0.5
    """
    if len(sizes) < 3:
        return None
    n, t = np.array(sizes, float), np.array(seconds, float)
    design = np.column_stack([1.0 / t, n / t])
    inverse = np.linalg.inv(design.T @ design)
    intercept, slope = inverse @ design.T @ np.ones(len(t))
    residuals = 1.0 - design @ [intercept, slope]
    variance = float(residuals @ residuals) / (len(t) - 2)
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(t) - 2) * math.sqrt(max(variance * inverse[1, 1], 0.0))
    return Slope(round(float(slope), 15), float(half), float(intercept))
