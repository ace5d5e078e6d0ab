"""`RBFInterpolator` with derivatives by the data, the smoothing and the points.

The coefficients of the radial functions and of the polynomial solve one symmetric linear system; SciPy's values differ
by rounding errors only, as the scaling of the polynomial cancels. At a data point, a kernel whose derivative
does not exist, the first of "linear" and the second of "thin_plate_spline", contributes 0 to that derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import interpolate as _interpolate

from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.implicit.solution import constant
from dualrev.scipy.bsplines import real_data
from dualrev.scipy.piecewise import with_arguments
from dualrev.scipy.values import valued

__all__ = ["RBFInterpolator"]


def _power(exponent: float, sign: float) -> Callable[[Any], Any]:
    """Return sign * s**exponent, whose derivative at 0 is taken as 0."""

    def kernel(s: Any) -> Any:
        """Return the function of squared distances."""
        nothing = plain(s) == 0.0
        return np.where(nothing, 0.0, sign * np.where(nothing, 1.0, s) ** exponent)

    return kernel


def _thin_plate(s: Any) -> Any:
    """Return r^2 log r, of squared distances."""
    there = np.where(plain(s) == 0.0, 1.0, s)
    return 0.5 * there * np.log(there)


#: Kernels as functions of squared distances.
_KERNELS: dict[str, Callable[[Any], Any]] = {
    "linear": _power(0.5, -1.0),
    "thin_plate_spline": _thin_plate,
    "cubic": _power(1.5, 1.0),
    "quintic": _power(2.5, -1.0),
    "multiquadric": lambda s: -np.sqrt(s + 1.0),
    "inverse_multiquadric": lambda s: 1.0 / np.sqrt(s + 1.0),
    "inverse_quadratic": lambda s: 1.0 / (s + 1.0),
    "gaussian": lambda s: np.exp(-s),
}


class _Radial:
    """Interpolant of data or at points that are traced; `real` is SciPy's, with plain data."""

    def __init__(self, real: Any, of: dict[str, Any]) -> None:
        self._real, self._of = real, of

    def __call__(self, x: Any) -> Any:
        """Return the values at the points x, of shape (number of points, dimensions)."""
        value, real = self._real(constant(x)), self._real
        if real.neighbors is not None:
            raise UnsupportedError.call(
                "scipy.interpolate.RBFInterpolator with neighbors of numbers that are being differentiated",
                "its choice of neighbours jumps",
                "RBFInterpolator without neighbors",
            )
        x, y = real_array(x) + 0.0, real_array(self._of["y"]) + 0.0
        d = np.reshape(real_data(self._of["d"], "RBFInterpolator"), (len(y), -1))
        epsilon = 1.0 if self._of["epsilon"] is None else self._of["epsilon"]
        kernel = _KERNELS[real.kernel]
        low, high = np.min(plain(y), axis=0), np.max(plain(y), axis=0)
        shift, scale = (high + low) / 2.0, np.where(high == low, 1.0, (high - low) / 2.0)

        def radial(u: Any) -> Any:
            """Return the kernel of each point and each data point."""
            return kernel(np.sum((epsilon * (u[:, None, :] - y)) ** 2, axis=-1))

        def polynomial(u: Any) -> Any:
            """Return the monomials at each point."""
            u = (u - shift) / scale
            parts = [np.prod(np.stack([u[:, k] ** int(p) for k, p in enumerate(row)]), axis=0) for row in real.powers]
            return np.stack(parts, axis=1) if parts else np.zeros((len(u), 0))

        of_data = polynomial(y)
        count = of_data.shape[1]
        smoothing = np.broadcast_to(real_array(self._of["smoothing"]) + 0.0, (len(y),))
        top = np.concatenate([radial(y) + np.diag(smoothing), of_data], axis=1)
        matrix = np.concatenate([top, np.concatenate([of_data.T, np.zeros((count, count))], axis=1)])
        right = np.concatenate([d, np.zeros((count, d.shape[1]))])
        made = np.concatenate([radial(x), polynomial(x)], axis=1) @ np.linalg.solve(matrix, right)
        return valued(value, np.reshape(made, np.shape(value)))


RBFInterpolator = with_arguments(_interpolate.RBFInterpolator, _Radial)
