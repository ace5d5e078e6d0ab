"""np.linalg.eig and eigvals of matrices that need not be symmetric, with their rules (rule_definitions.py).

Source of the rules: M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation", 2008; the vectors have the length 1. Numba raises ValueError where an eigenvalue is complex.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

import numpy as np

from dualrev.rules.library.linalg.factors import diagonal, over_gaps
from dualrev.rules.library.linalg.matrices import inverse_turned, product, scaled_columns, turned
from dualrev.rules.library.njit_internal import inner
from dualrev.rules.library.rule_definitions import define

__all__ = ["eig", "eigvals"]


@inner
def eig(a):
    """np.linalg.eig."""
    w, v = np.linalg.eig(a)
    return w, turned(v.T)


@inner
def eig_fwd(a):
    """Both, for the value and for the rule."""
    w, v = eig(a)
    return (w, v), (w, v)


@inner
def eig_bwd(residuals, ct):
    """The transpose of push."""
    (w, v), (gw, gv) = residuals, ct
    t = turned(v)
    p = product(t, _without_length(v, gv))
    inner = over_gaps(p, w, p != 0.0, 1.0)
    for k in range(len(w)):
        inner[k, k] = gw[k]
    return (product(inverse_turned(v), product(inner, t)),)


@inner
def eig_push(primals, y, tangents):
    """With p = inv(v) da v: dw = diag(p), dv = v (p / gaps), less what would change the columns' length, which is 1."""
    w, v = y
    p = product(product(turned(inverse_turned(v)), tangents[0]), v)
    return diagonal(p), _without_length(v, product(v, over_gaps(p, w, p != 0.0, 1.0)))


@inner
def _without_length(v, x):
    """Columns of x without their components along the columns of v."""
    made = np.empty(v.shape, v.dtype)
    for j in range(v.shape[1]):
        along = np.sum(v[:, j] * x[:, j])
        for i in range(v.shape[0]):
            made[i, j] = x[i, j] - along * v[i, j]
    return made


define(eig, eig_fwd, eig_bwd, eig_push)


@inner
def eigvals(a):
    """np.linalg.eigvals."""
    return np.linalg.eigvals(a)


@inner
def eigvals_fwd(a):
    """The values; the vectors wait until they are asked for."""
    return eigvals(a), a


@inner
def eigvals_bwd(a, ct):
    """The transpose of push."""
    _, v = eig(a)
    return (product(inverse_turned(v), turned(scaled_columns(v, ct))),)


@inner
def eigvals_push(primals, w, tangents):
    """dw = diag(inv(v) da v)"""
    _, v = eig(primals[0])
    return diagonal(product(product(turned(inverse_turned(v)), tangents[0]), v))


define(eigvals, eigvals_fwd, eigvals_bwd, eigvals_push)
