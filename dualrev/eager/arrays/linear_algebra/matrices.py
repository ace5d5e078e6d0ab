"""Building blocks of the rules of numpy.linalg, for real and for complex matrices.

A rule is written with the adjoint, which is the transpose for real matrices. The cotangent g of a complex value y says
that the result changes by Re sum(conj(g) dy): so the transpose of a product with a matrix is one with its adjoint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dualrev.eager.arrays.complex.pairs import as_parts, is_complex, is_one_complex, values
from dualrev.eager.arrays.linear_algebra.products import transposed
from dualrev.eager.arrays.memory.record import by_rule
from dualrev.eager.arrays.memory.storage import innermost, real_array
from dualrev.eager.tape.tape import Tape
from dualrev.errors import UnsupportedError

__all__ = [
    "adjoint",
    "asked_for",
    "at_ties",
    "columns",
    "conjugated",
    "from_lower",
    "half_lower",
    "of_lower",
    "of_matrices",
    "over_gaps",
    "quotient",
    "rounding",
    "rule",
]


def rule(compute: Callable[..., Any], pull: Any, push: Any, *args: Any) -> Any:
    """`by_rule`, where xs, ys, gs and ts are complex for arguments and values that are."""
    if any(map(is_complex, args)):
        from dualrev.eager.arrays.complex.rules import by_rule_of_parts  # real code has no need of it

        return by_rule_of_parts(compute, pull, push, *args)
    run = innermost([real_array(u) for u in args])
    if run is not None and not isinstance(run, Tape):
        raise UnsupportedError("numpy.linalg in a stage of the paper", "it as loops, or use the default engine")
    return by_rule(compute, pull, push, *args)


def of_matrices(x: Any) -> Any:
    """Real or complex matrices as one array."""
    return as_parts(x) if is_complex(x) else real_array(x)


def conjugated(x: Any) -> Any:
    """The complex conjugate; what is real, unchanged."""
    return np.conj(x) if is_one_complex(x) else x


def adjoint(x: Any) -> Any:
    """The conjugate transpose of the last two axes."""
    return transposed(conjugated(x))


def columns(x: Any) -> Any:
    """Numbers, one array of them per matrix, as factors of the matrix's columns."""
    return x[..., None, :]


def half_lower(x: Any) -> Any:
    """The lower triangle, with half of the diagonal."""
    n = x.shape[-1]
    return x * (np.tril(np.ones((n, n))) - 0.5 * np.eye(n))


# numpy reads only the lower triangle of a symmetric (Hermitian) matrix, and of the diagonal the real part: the
# derivatives by the entries above the diagonal are 0.


def from_lower(x: Any) -> Any:
    """The Hermitian matrix that is read."""
    half = half_lower(x)
    return half + adjoint(half)


def of_lower(s: Any) -> Any:
    """The transpose of it, for a cotangent that need not be Hermitian."""
    return half_lower(s + adjoint(s))


def quotient(p: Any, q: Any) -> Any:
    """p / q, and 0 where both are 0: what does not depend on vectors that have no derivative has one."""
    nothing = values(q) == 0.0
    if not np.any(nothing):
        return p / q
    return p * np.where(nothing, np.where(values(p) == 0.0, 0.0, np.inf), 1.0 / np.where(nothing, 1.0, q))


# The vectors of a repeated eigenvalue have no derivative: infinite or NaN, where the result depends on them. It does
# where the cotangents turn one of them to another, even if both turns cancel: (v f(w)) v^T has a derivative, of which
# the cotangents do not tell. Where f(w) is 0 at a tie, the cotangent of v is 0, too, as for a function of w alone: then
# the cotangents do not even tell that there is a turn (docs/conventions.md).


def asked_for(p: Any, g: Any) -> Any:
    """The pairs of vectors v that a cotangent g turns to each other, by more than a rounding error: of p = v^H g."""
    size = np.max(np.abs(values(g)), axis=(-2, -1), keepdims=True, initial=0.0)
    turned = np.abs(values(p)) > 4.0 * p.shape[-1] * np.spacing(size)
    return turned | transposed(turned)


def over_gaps(p: Any, w: Any, asked: Any = None) -> Any:
    """p / gaps, where gaps[i, j] = w[j] - w[i]; at ties, no number for the pairs that are asked for, 0 for others."""
    return at_ties(p, w[..., None, :] - w[..., :, None], w, asked)


def at_ties(p: Any, gaps: Any, w: Any, asked: Any = None) -> Any:
    """p / gaps off the diagonal, where the w that are equal up to a rounding error are taken as equal."""
    itself = np.eye(w.shape[-1], dtype=bool)
    apart = np.abs(values(w)[..., None, :] - values(w)[..., :, None])
    tied = ~itself & (apart <= rounding(w)[..., None])
    factor = np.where(itself, 0.0, 1.0)
    if asked is not None:
        factor = np.where(tied, np.where(asked, np.nan, 0.0), factor)
    return quotient(p * factor, np.where(tied | itself, 0.0, gaps))


def rounding(w: Any) -> Any:
    """Bound of LAPACK's rounding errors, one for each matrix, by its largest number."""
    size = np.max(np.abs(values(w)), axis=-1, keepdims=True, initial=0.0)
    return 4.0 * np.shape(values(w))[-1] * np.spacing(size)
