"""Complex numbers among primals and tangents of dispatchers, as Python gives them: flatten_leaves refuses them."""

from __future__ import annotations

import numpy as np

from dualrev.compiler.types.aliases import NumbaType, UserValue
from dualrev.errors import TangentError

__all__ = ["alike", "apart", "holds_complex", "zero_tangent"]


def holds_complex(x: UserValue) -> bool:
    """Whether a value holds complex numbers."""
    if isinstance(x, tuple):
        return any(map(holds_complex, x))
    return isinstance(x, (complex, np.complexfloating)) or (isinstance(x, np.ndarray) and x.dtype.kind == "c")


def apart(x: UserValue) -> UserValue:
    """Copy the arrays in a value."""
    if isinstance(x, tuple):
        return _rebuilt(x, [apart(y) for y in x])
    return x.copy("K") if isinstance(x, np.ndarray) else x


def alike(x: UserValue, t: UserValue) -> UserValue:
    """Convert a tangent to the types of its primal; TangentError if it does not fit."""
    if isinstance(x, tuple):
        if not isinstance(t, tuple) or len(t) != len(x):
            raise TangentError(t, f"a tuple with {len(x)} entries")
        return _rebuilt(x, [alike(y, s) for y, s in zip(x, t, strict=True)])
    if isinstance(x, np.ndarray) and x.dtype.kind in "fc":
        if np.shape(t) != x.shape or np.asarray(t).dtype.kind not in "biuf" + x.dtype.kind:
            raise TangentError(t, f"an array of shape {x.shape}")
        return np.asarray(t, x.dtype)
    if isinstance(x, (complex, float, np.floating, np.complexfloating)):
        kinds = (int, float, np.integer, np.floating)
        if not isinstance(t, kinds if isinstance(x, (float, np.floating)) else (*kinds, complex, np.complexfloating)):
            raise TangentError(t, "a real scalar" if isinstance(x, (float, np.floating)) else "a complex number")
        kind: NumbaType = type(x)
        return kind(t)
    return 0.0 if t is None else t


def zero_tangent(x: UserValue) -> UserValue:
    """Zero tangent of a value, in its structure."""
    if isinstance(x, tuple):
        return _rebuilt(x, list(map(zero_tangent, x)))
    return np.zeros_like(x) if isinstance(x, np.ndarray) and x.dtype.kind in "fc" else alike(x, 0.0)


def _rebuilt(x: UserValue, parts: list[UserValue]) -> UserValue:
    return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
