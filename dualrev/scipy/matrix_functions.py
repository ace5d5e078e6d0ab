"""Functions of matrices: `expm`, `sqrtm`, `logm`, powers and trigonometric functions, for `dualrev.scipy.linalg`.

The Fréchet derivative of f at a in the direction e is the block of f([[a, e], [0, a]]) above the diagonal. Its
adjoint takes a cotangent g to (f'(a)[g^H])^H, as trace(x f'(a)[e]) = trace(f'(a)[x] e).

Source: N. Higham, "Functions of Matrices", 2008, chapters 3 and 10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import linalg as _linalg

from dualrev.eager.arrays.complex.pairs import is_complex, real_part
from dualrev.eager.arrays.linear_algebra.matrices import adjoint, of_matrices, rule
from dualrev.eager.arrays.memory.storage import plain
from dualrev.implicit.solution import constant
from dualrev.scipy.calls import instead_of, is_plain, one_matrix
from dualrev.scipy.matrix_equations import solve_sylvester
from dualrev.scipy.values import valued

__all__ = [
    "coshm",
    "cosm",
    "expm",
    "fractional_matrix_power",
    "logm",
    "sinhm",
    "sinm",
    "sqrtm",
    "tanhm",
    "tanm",
]


@instead_of(_linalg.sqrtm)
def sqrtm(A: Any) -> Any:  # noqa: N803 - SciPy's name
    """Square root of a matrix, complex where the matrix has no real one.

    Its derivative solves dx x + x dx = da.

    >>> sqrtm(np.diag([4.0, 9.0])).round(6)
    array([[2., 0.],
           [0., 3.]])
    """
    a = of_matrices(A)
    if not is_complex(a) and np.iscomplexobj(_linalg.sqrtm(plain(a))):
        a = a + 0j

    def pull(xs: Any, ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Solve the Sylvester equation with the adjoint of the root."""
        y = adjoint(ys[0])
        return [solve_sylvester(y, y, gs[0])]

    def push(xs: Any, ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Solve the Sylvester equation with the root."""
        return [solve_sylvester(ys[0], ys[0], ts[0])]

    return rule(sqrtm, pull, push, a)


@instead_of(_linalg.expm)
def expm(A: Any) -> Any:  # noqa: N803 - SciPy's name
    """Matrix exponential of a matrix (n, n), or of each of a stack (..., n, n).

    >>> expm(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    a = of_matrices(A)
    a = np.reshape(a, (1, 1)) if a.ndim < 2 and a.size == 1 else a

    def pull(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
        """Return the derivative at the adjoint of a, in the direction of the cotangent."""
        return [_expm_frechet(adjoint(xs[0]), gs[0])]

    def push(xs: Sequence[Any], ys: Any, ts: Sequence[Any]) -> list[Any]:
        """Return the derivative at a, in the direction of the tangent."""
        return [_expm_frechet(xs[0], ts[0])]

    return rule(expm, pull, push, a)


def _expm_frechet(a: Any, e: Any) -> Any:
    """Return the derivative of expm at a, in the direction e."""
    if a.ndim == 2 and isinstance(a, np.ndarray) and isinstance(e, np.ndarray):
        return _linalg.expm_frechet(a, e, compute_expm=False)
    n = a.shape[-1]
    above, below = np.concatenate([a, e], axis=-1), np.concatenate([np.zeros_like(a), a], axis=-1)
    return expm(np.concatenate([above, below], axis=-2))[..., :n, n:]


def _of_blocks(f: Callable[[Any], Any], a: Any, e: Any) -> Any:
    """Return the derivative of f at a, in the direction e."""
    n = a.shape[-1]
    above, below = np.concatenate([a, e], axis=-1), np.concatenate([0.0 * a, a], axis=-1)
    made = f(np.concatenate([above, below], axis=-2))[..., :n, n:]
    return made if is_complex(a) or is_complex(e) else real_part(made)


def _function(original: Callable[..., Any], a: Any, *options: Any) -> Any:
    """Return a function of SciPy of a matrix, by the block of a block matrix."""
    a = one_matrix(original.__name__, a)
    if not is_complex(a) and np.iscomplexobj(original(plain(a) + 0.0, *options)):
        a = a + 0j

    def f(x: Any) -> Any:
        """Apply the function, where x may be traced by runs further out."""
        return original(x, *options) if is_plain(x) else _function(original, x, *options)

    def pull(xs: Sequence[Any], ys: Any, gs: Sequence[Any]) -> list[Any]:
        """Return the adjoint of the derivative at a, in the direction of the cotangent's adjoint."""
        return [adjoint(_of_blocks(f, xs[0], adjoint(gs[0])))]

    def push(xs: Sequence[Any], ys: Any, ts: Sequence[Any]) -> list[Any]:
        """Return the derivative at a, in the direction of the tangent."""
        return [_of_blocks(f, xs[0], ts[0])]

    return rule(f, pull, push, a)


@instead_of(_linalg.logm)
def logm(A: Any) -> Any:  # noqa: N803 - SciPy's name
    """Logarithm of a matrix, complex where the matrix has no real one.

    >>> logm(np.eye(2))
    array([[0., 0.],
           [0., 0.]])
    """
    return _function(_linalg.logm, A)


@instead_of(_linalg.fractional_matrix_power)
def fractional_matrix_power(A: Any, t: Any) -> Any:  # noqa: N803 - SciPy's name
    """Power of a matrix, differentiated by the matrix and by the exponent.

    >>> fractional_matrix_power(np.diag([4.0, 9.0]), 0.5).round(6)
    array([[2., 0.],
           [0., 3.]])
    """
    if is_plain(t):
        return _function(_linalg.fractional_matrix_power, A, t)
    made = expm(t * (logm(A) if not is_plain(A) else _linalg.logm(constant(A))))
    value = _linalg.fractional_matrix_power(constant(A), constant(t))
    return valued(value, made if np.iscomplexobj(value) else real_part(made))


def _elementary(original: Callable[..., Any], what: str) -> Any:
    """Return a function of a matrix without options."""

    @instead_of(original)
    def call(A: Any) -> Any:  # noqa: N803 - SciPy's name
        return _function(original, A)

    call.__name__ = call.__qualname__ = original.__name__
    call.__doc__ = f"{what} of a matrix (n, n)."
    return call


cosm = _elementary(_linalg.cosm, "Cosine")
sinm = _elementary(_linalg.sinm, "Sine")
tanm = _elementary(_linalg.tanm, "Tangent")
coshm = _elementary(_linalg.coshm, "Hyperbolic cosine")
sinhm = _elementary(_linalg.sinhm, "Hyperbolic sine")
tanhm = _elementary(_linalg.tanhm, "Hyperbolic tangent")
