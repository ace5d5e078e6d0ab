"""SciPy's values with the derivatives of traced expressions."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualrev.eager.arrays.complex.pairs import is_complex
from dualrev.eager.arrays.linear_algebra.matrices import rule
from dualrev.eager.arrays.memory.storage import holds_duals, plain, real_array
from dualrev.scipy.calls import is_plain

__all__ = ["valued"]


def valued(value: Any, traced: Any) -> Any:
    """Return `value`, a plain number or array, with the derivatives of `traced`, which has its shape.

    Both are the same function, computed in two ways that differ by rounding errors and the tolerance of a solver.
    """
    if is_plain(traced):
        return value
    if not is_complex(traced):
        traced = np.broadcast_to(real_array(traced), np.shape(value))

    def compute(u: Any) -> Any:
        """Return the value, with the derivatives of runs further out."""
        if is_complex(u) or is_complex(value):
            return value if is_plain(u) else valued(value, u)
        return valued(value, u) if holds_duals(u) else _floating(value)

    made = rule(compute, lambda xs, ys, gs: [gs[0]], lambda xs, ys, ts: [ts[0]], traced)
    return made if np.ndim(value) or is_complex(made) else made[()]


def _floating(value: Any) -> Any:
    return np.array(plain(value), dtype=float) if np.ndim(value) else np.float64(value)
