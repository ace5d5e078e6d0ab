"""`scipy.sparse.linalg`: spsolve, splu and iterative solvers (cg, gmres, ...) with derivatives of A x = b in A and b.

    A x = b        pull(g) = (-w x^T at A's entries, w),  A^T w = g            push(dA, db) = A^-1 (db - dA x)

The same solver, with the same tolerances, solves the systems of the derivative. A is a sparse array of SciPy, a dense
one, a LinearOperator (which is a constant, and has rmatvec where the solver is not for symmetric matrices), or a
`Sparse`, whose entries are traced. If an iterative solver does not converge, the derivative raises SolutionError. Every
other name is SciPy's own.

>>> import dualrev as dr
>>> from scipy import sparse
>>> a = sparse.csc_array([[4.0, 1.0], [1.0, 3.0]])
>>> dr.grad(lambda b: spsolve(a, b)[0])(np.ones(2)).round(6)
array([ 0.272727, -0.090909])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse as _sparse
from scipy.sparse import linalg as _linalg

from dualrev.eager.arrays.complex.pairs import is_complex
from dualrev.eager.arrays.memory.record import by_rule
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, plain, real_array
from dualrev.errors import SolutionError, UnsupportedError
from dualrev.scipy.calls import is_plain, like, without_duals
from dualrev.scipy.sparse.matrices import Sparse

__all__ = ["bicg", "bicgstab", "cg", "cgs", "factorized", "gcrotmk", "gmres", "lgmres", "minres", "splu", "spsolve"]
__all__ += ["tfqmr"]


def __getattr__(name: str) -> Any:
    return getattr(_linalg, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_linalg)})


#: solver(a, b, turned) solves a x = b; `turned` says that a is the transpose of the matrix that was given.
Solver = Callable[[Any, Any, bool], Any]


class _System:
    """Linear system A x = b with a solver of SciPy's; the entries of a matrix are arguments of the solution."""

    def __init__(self, solver: Solver, a: Any, transposed: _System | None = None, symmetric: bool = False) -> None:
        self._solver, self._a = solver, a
        self._turned, self._other = transposed is not None, self if symmetric else transposed

    @property
    def transposed(self) -> _System:
        """The system of the transpose."""
        if self._other is None:
            self._other = _System(self._solver, self._a.T, self)
        return self._other

    def solve(self, data: Any, b: Any) -> Any:
        """Return the solution for these entries and this right-hand side."""
        if not holds_duals(data) and not holds_duals(b):
            return self._solver(self._matrix(plain(data)), plain(b), self._turned)
        a = self._a

        def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
            """Return -w x^T at the entries of A, and w, where A^T w = g."""
            w = self.transposed.solve(xs[0], gs[0])
            return [-(w[a.rows] * ys[0][a.columns]) if isinstance(a, Sparse) else 0.0 * xs[0], w]

        def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
            """Return A^-1 (db - dA x)."""
            right = np.zeros(len(ys[0])) if ts[1] is None else ts[1]
            if ts[0] is not None and isinstance(a, Sparse):
                right = right - Sparse(ts[0], a.rows, a.columns, a.shape) @ ys[0]
            return [self.solve(xs[0], right)]

        return by_rule(self.solve, pull, push, data, b)

    def _matrix(self, data: Any) -> Any:
        if not isinstance(self._a, Sparse):
            return self._a
        return Sparse(data, self._a.rows, self._a.columns, self._a.shape).plain()


def _refuse_complex(a: Any, b: Any) -> None:
    for what, x in (("a linear system with a complex matrix", a), ("a complex right-hand side", b)):
        if is_complex(x) or getattr(getattr(x, "dtype", None), "kind", "") == "c":
            raise UnsupportedError(what, "the real and the imaginary part as one system")


def _entries(a: Any) -> Any:
    """Return a matrix as a `Sparse` one, and an operator unchanged."""
    if isinstance(a, (Sparse, _linalg.LinearOperator)):
        return a
    if _sparse.issparse(a):
        found = a.tocoo()
        rows, columns = found.coords
        return Sparse(found.data.astype(float), rows, columns, found.shape)
    dense = real_array(a)
    rows, columns = (x.ravel() for x in np.indices(dense.shape))
    return Sparse(np.ravel(dense), rows, columns, dense.shape)


def _solved(original: Callable[..., Any], solver: Solver, a: Any, b: Any) -> Any:
    """Return the solution, with its derivative."""
    name = original.__name__
    _refuse_complex(a, b)
    b = real_array(b)
    if b.ndim != 1:
        raise UnsupportedError(
            f"scipy.sparse.linalg.{name} of several right-hand sides", "a call for each: b is a vector"
        )
    a = _entries(a)
    symmetric = original in _SYMMETRIC and isinstance(a, _linalg.LinearOperator)  # which may lack rmatvec then
    return _System(solver, a, symmetric=symmetric).solve(a.data if isinstance(a, Sparse) else np.zeros(0), b)


def _is_constant(a: Any, b: Any) -> bool:
    entries = a.data if isinstance(a, Sparse) else a
    return not any(map(holds_duals, (entries, b)))


def _usual(a: Any) -> Any:
    return a.plain() if isinstance(a, Sparse) else plain(a) if isinstance(a, RealArray) else a


@like(_linalg.spsolve)
def spsolve(A: Any, b: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N803 - SciPy's name
    """Solution of a sparse system by elimination, with its derivative: see `dualrev.scipy.sparse.linalg`."""
    if _is_constant(A, b):
        return _linalg.spsolve(_usual(A), without_duals(b), *args, **kwargs)

    def solver(a: Any, v: Any, turned: bool) -> Any:
        """Solve on plain numbers; SolutionError if the matrix is singular."""
        x = _linalg.spsolve(a, v, *args, **kwargs)
        if not np.isfinite(x).all():
            raise SolutionError(_linalg.spsolve, "the matrix is singular, or not finite")
        return x

    return _solved(_linalg.spsolve, solver, A, b)


class Factors:
    """Factors of a sparse matrix, which `splu` returns: one elimination serves all systems and their derivatives.

    Args:
        a: The matrix.
        factors: SciPy's factors of its plain values.
    """

    def __init__(self, a: Any, factors: Any) -> None:
        self._of_scipy, self._a, self._data = factors, a, a.data if isinstance(a, Sparse) else np.zeros(0)

        def solver(a: Any, v: Any, turned: bool) -> Any:
            """Solve with SciPy's factors, or with their transpose."""
            return factors.solve(v, "T" if turned else "N")

        self._system = _System(solver, a)

    def __repr__(self) -> str:
        return f"<factors of a matrix of shape {self._of_scipy.shape}, by dualrev.scipy.sparse.linalg.splu>"

    def __getattr__(self, name: str) -> Any:
        if name in ("L", "U") and not is_plain(self._data):
            why = "SciPy's factors are plain numbers"
            raise UnsupportedError.call(f"splu(a).{name}, where a is being differentiated,", why, "splu(a).solve(b)")
        return getattr(self._of_scipy, name)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Return the solution of a x = rhs, a vector or a matrix; with trans="T" or "H", of the transpose."""
        if is_plain(rhs, self._data):
            return self._of_scipy.solve(without_duals(rhs), trans)
        _refuse_complex(self._a, rhs)
        system, rhs = self._system if trans == "N" else self._system.transposed, real_array(rhs)
        if rhs.ndim == 2:
            return np.stack([system.solve(self._data, rhs[:, k]) for k in range(rhs.shape[1])], axis=1)
        return system.solve(self._data, rhs)


@like(_linalg.splu)
def splu(A: Any, *args: Any, **kwargs: Any) -> Factors:  # noqa: N803 - SciPy's name
    """Factors of a sparse matrix, for several systems, with derivatives: see `dualrev.scipy.sparse.linalg`."""
    return Factors(A, _linalg.splu(_usual(A), *args, **kwargs))


@like(_linalg.factorized)
def factorized(A: Any) -> Callable[[Any], Any]:  # noqa: N803 - SciPy's name
    """Solver of systems with one sparse matrix, whose factors it keeps, with derivatives."""
    return splu(A if isinstance(A, Sparse) else _sparse.csc_array(A)).solve


def _iteration(original: Callable[..., Any]) -> Callable[..., Any]:
    @like(original)
    def call(A: Any, b: Any, x0: Any = None, **options: Any) -> tuple[Any, Any]:  # noqa: N803 - SciPy's name
        """Solution of a sparse system by iterations, with its derivative: see `dualrev.scipy.sparse.linalg`."""
        options = without_duals(options)
        if _is_constant(A, b):
            made: tuple[Any, Any] = original(_usual(A), without_duals(b), x0=without_duals(x0), **options)
            return made
        whole, preconditioner = _entries(A), options.pop("M", None)
        quiet = {k: v for k, v in options.items() if k not in ("callback", "callback_type")}
        first = True

        def solver(a: Any, v: Any, turned: bool) -> Any:
            """Run SciPy's solver; SolutionError if it does not converge."""
            nonlocal first
            given = {**options, "x0": None if x0 is None else plain(real_array(x0))} if first else quiet
            first = False
            m = _turned(preconditioner) if turned and original not in _SYMMETRIC else preconditioner
            x, info = original(a, v, M=m, **given)
            if info:
                raise SolutionError(original, f"SciPy's solver returns info={info}: it has not converged")
            return x

        return _solved(original, solver, whole, b), 0

    return call


_SYMMETRIC = (_linalg.cg, _linalg.minres)


def _turned(m: Any) -> Any:
    """Return the transpose of a preconditioner; None, which only takes more steps, for an operator that has none."""
    if not isinstance(m, _linalg.LinearOperator):
        return None if m is None else m.T
    try:
        m.rmatvec(np.zeros(m.shape[0]))
    except NotImplementedError:
        return None
    return m.T


cg = _iteration(_linalg.cg)
gmres = _iteration(_linalg.gmres)
bicgstab = _iteration(_linalg.bicgstab)
minres = _iteration(_linalg.minres)
bicg, cgs, tfqmr = map(_iteration, (_linalg.bicg, _linalg.cgs, _linalg.tfqmr))
gcrotmk, lgmres = map(_iteration, (_linalg.gcrotmk, _linalg.lgmres))
