"""SciPy's values with the derivatives of traced expressions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.eager.arrays.complex.pairs import is_complex
from dualrev.eager.arrays.linear_algebra.matrices import rule
from dualrev.eager.arrays.memory.storage import holds_duals, innermost, plain, real_array
from dualrev.eager.tape.tape import Tape
from dualrev.implicit.solution import constant
from dualrev.scipy.calls import fitted, is_plain, without_duals

__all__ = ["valued", "valued_by"]


def valued(value: Any, traced: Any) -> Any:
    """Return `value`, a plain number or array, with the derivatives of `traced`, which broadcasts to its shape.

    Both are the same function, computed in two ways that differ by rounding errors or the tolerance of a solver.
    """
    if is_plain(traced):
        return value
    if is_complex(traced) or np.iscomplexobj(value):
        traced, value = traced + 0j, np.asarray(value) + 0j
    else:
        traced = np.broadcast_to(real_array(traced), np.shape(value))
        if not isinstance(innermost([traced]), Tape):  # a stage of the paper, which has no rules for arrays
            return traced if np.ndim(value) else traced[()]

    def compute(u: Any) -> Any:
        """Return the value, with the derivatives of runs further out."""
        if not is_plain(u):
            return valued(value, u)
        if np.iscomplexobj(value):
            return value
        return np.array(plain(value), dtype=float) if np.ndim(value) else np.float64(value)

    made = rule(compute, lambda xs, ys, gs: [gs[0]], lambda xs, ys, ts: [ts[0]], traced)
    return made if np.ndim(value) or not holds_duals(made) else made[()]


def valued_by(original: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a traced version of SciPy's function: the values are SciPy's; plain arguments go to SciPy alone.

    Where SciPy returns a tuple, the version returns a tuple of as many; what it returns as plain data is a constant.
    """

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        """Return f with the values of the original."""
        with_rule = fitted(original, f)

        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            """Call SciPy's function, and f if arguments are traced."""
            if is_plain(args, kwargs):
                args, kwargs = without_duals((args, kwargs))
                return original(*args, **kwargs)
            fixed, options = constant((args, kwargs))
            value = original(*fixed, **options)
            traced = with_rule(*args, **kwargs)
            if isinstance(value, tuple):
                made = tuple(map(valued, value, traced))
                return value._make(made) if hasattr(value, "_make") else made
            return valued(value, traced)

        return call

    return decorate
