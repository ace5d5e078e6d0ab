"""LAPACK's solution of linear systems, called as numba calls it.

Numba's own np.linalg.solve takes seconds to compile for each pair of layouts, half of it for the text of an error.
"""

# mypy: disable-error-code="no-untyped-def"
from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np import linalg

from dualrev.rules.library.linalg.matrices import turned
from dualrev.rules.library.njit_internal import inner

__all__ = ["solve_rows", "solved_rows"]

_PIVOTS: Any = linalg.F_INT_nptype


def _gesv(matrix, pivots, rows):
    """LAPACK's gesv, and whether it failed: the columns of a matrix are those of Fortran, so they are rows here."""
    try:
        rows[:] = np.linalg.solve(matrix.T, rows.T).T
    except np.linalg.LinAlgError:
        return 1
    return 0


@type_callable(_gesv)
def _type_gesv(context: Any) -> Any:
    def typer(matrix: Any, pivots: Any, rows: Any) -> Any:
        """Type the call: an int, the status of LAPACK."""
        linalg._check_homogeneous_types("solve", matrix, rows)
        return types.int64

    return typer


@lower_builtin(_gesv, types.Array, types.Array, types.Array)
def _lower_gesv(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    linalg.ensure_lapack()
    kind = ord(linalg.get_blas_kind(signature.args[0].dtype, "solve"))
    a, p, b = (context.make_array(t)(context, builder, x) for t, x in zip(signature.args, args, strict=True))
    count, n = cgutils.unpack_tuple(builder, b.shape)
    char, size, address = ir.IntType(8), ir.IntType(64), ir.IntType(8).as_pointer()
    parameters = [char, size, size, address, size, address, address, size]
    gesv = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), parameters), "numba_xgesv")
    data = [builder.bitcast(x.data, address) for x in (a, p, b)]
    failed = builder.call(gesv, [char(kind), n, count, data[0], n, data[1], data[2], n])
    return builder.sext(failed, size)


@inner
def _check_finite(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if not np.isfinite(a[i, j]):
                raise np.linalg.LinAlgError("Array must not contain infs or NaNs.")


@inner
def solve_rows(a, rows):
    """Put the solution of a x = row in the place of each of the rows, which are C-contiguous; errors are numba's."""
    n = rows.shape[1]
    matrix = turned(a)
    _check_finite(matrix)
    _check_finite(rows)
    if a.shape[0] != n or a.shape[1] != n:
        raise np.linalg.LinAlgError("Incompatible array sizes, system is not dimensionally valid.")
    if not _solved(matrix, rows):
        raise np.linalg.LinAlgError("Matrix is singular to machine precision.")


@inner
def solved_rows(a, rows):
    """The same for a square matrix, without errors: NaN goes on, and the rows are NaN if the matrix is singular."""
    if not _solved(turned(a), rows):
        rows[:] = np.nan


@inner
def _solved(matrix, rows):
    n = rows.shape[1]
    pivots = np.empty(n, _PIVOTS)
    failed = n > 0 and _gesv(matrix, pivots, rows) != 0
    return not failed and matrix.size + pivots.size >= 0  # they live until here
