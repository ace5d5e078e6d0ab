"""Sparse matrices with traced entries: the entries, their rows and their columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse as _sparse

from dualrev.eager.arrays.memory.record import sum_of_rows
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import InPlaceOf, is_plain, like, without_duals

__all__ = ["Sparse", "coo_array", "csc_array", "csr_array", "diags_array"]


class Sparse(InPlaceOf):
    """Sparse matrix whose entries may be traced.

    Args:
        data: Entries, of shape (k,).
        rows: Row of each entry, of shape (k,). Entries at the same position are added.
        columns: Column of each entry, of shape (k,).
        shape: Numbers of rows and columns.

    >>> a = Sparse(np.array([2.0, 3.0]), np.array([0, 1]), np.array([1, 0]), (2, 2))
    >>> a @ np.array([1.0, 10.0]), a.T.toarray()
    (array([20.,  3.]), array([[0., 3.],
           [2., 0.]]))
    """

    _original = _sparse.csr_array
    _cure = "a.data, a.rows and a.columns, or a.toarray()"
    ndim, dtype = 2, np.dtype(float)

    def __init__(self, data: Any, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> None:
        self.data, self.rows, self.columns, self.shape = data, rows, columns, shape

    @property
    def T(self) -> Sparse:  # noqa: N802 - SciPy's name
        """Transpose of the matrix."""
        return Sparse(self.data, self.columns, self.rows, self.shape[::-1])

    def __matmul__(self, x: Any) -> Any:
        x = real_array(x)
        if x.shape != self.shape[1:]:
            raise UnsupportedError("a product of a sparse matrix with anything but a vector", "one for every column")
        return sum_of_rows(self.data * x[self.columns], self.rows, self.shape[0])

    def toarray(self) -> Any:
        """Return the matrix as a dense array."""
        places = self.rows * self.shape[1] + self.columns
        return sum_of_rows(self.data, places, self.shape[0] * self.shape[1]).reshape(self.shape)

    def asformat(self, format: str | None, copy: bool = False) -> Sparse:
        """Return the matrix itself: it has one format."""
        return self

    def tocsc(self, copy: bool = False) -> Sparse:
        """Return the matrix itself: it has one format."""
        return self

    tocsr = tocoo = tocsc

    def plain(self) -> Any:
        """Return SciPy's matrix of the plain values."""
        return _sparse.csc_array((plain(self.data), (self.rows, self.columns)), shape=self.shape)

    def __repr__(self) -> str:
        return f"<dualrev.scipy.sparse.Sparse of shape {self.shape} with {len(self.rows)} entries>"


def _refused(symbol: str) -> Callable[..., Any]:
    def operator(self: Sparse, *others: Any) -> Any:
        """Raise UnsupportedError: SciPy's matrices have the operator."""
        raise UnsupportedError(
            f"the operator {symbol} of a sparse matrix",
            "sparse.Sparse(c * a.data, a.rows, a.columns, a.shape) for c * a, or it with a.toarray()",
        )

    return operator


for _symbol, _names in (
    ("+", ("__add__", "__radd__")),
    ("-", ("__sub__", "__rsub__", "__neg__")),
    ("*", ("__mul__", "__rmul__")),
    ("/", ("__truediv__",)),
    ("**", ("__pow__",)),
):
    for _name in _names:
        setattr(Sparse, _name, _refused(_symbol))


def _constructor(original: Callable[..., Any], axis: int | None) -> Callable[..., Any]:
    """Return a constructor of SciPy's; `axis` is 0 if the second form of its argument goes by rows, 1 if by columns."""

    @like(original)
    def make(given: Any, shape: Any = None, dtype: Any = None, copy: bool = False) -> Any:
        """Sparse array: a `Sparse` for traced entries, SciPy's own for plain ones."""
        if isinstance(given, Sparse):
            return given
        if is_plain(given):
            return original(without_duals(given), shape=shape, dtype=dtype, copy=copy)
        if not isinstance(given, tuple):
            return _of_dense(real_array(given), shape)
        data, *places = given
        data = real_array(data)
        ones = original((np.ones(data.shape), *places), shape=shape)
        if len(places) == 1:
            rows, columns = map(np.asarray, places[0])
        else:
            inner, starts = map(np.asarray, places)
            outer = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            rows, columns = (outer, inner) if axis == 0 else (inner, outer)
        return Sparse(data, rows, columns, ones.shape)

    return make


def _of_dense(x: Any, shape: Any) -> Sparse:
    """Return a matrix with all entries of an array, also those that are 0: they have derivatives."""
    if x.ndim != 2 or (shape is not None and tuple(shape) != x.shape):
        raise UnsupportedError(f"a sparse array of an array of shape {x.shape}", "an array of two axes")
    rows, columns = np.indices(x.shape)
    return Sparse(np.reshape(x, -1), rows.ravel(), columns.ravel(), x.shape)


coo_array = _constructor(_sparse.coo_array, None)
csr_array = _constructor(_sparse.csr_array, 0)
csc_array = _constructor(_sparse.csc_array, 1)


@like(_sparse.diags_array)
def diags_array(diagonals: Any, /, *, offsets: Any = 0, shape: Any = None, **options: Any) -> Any:
    """Sparse array of diagonals: a `Sparse` for traced ones, SciPy's own for plain ones."""
    one = np.ndim(offsets) == 0
    some = [real_array(x) for x in ([diagonals] if one and np.ndim(diagonals[0]) == 0 else diagonals)]
    if all(map(is_plain, some)):
        return _sparse.diags_array(without_duals(diagonals), offsets=offsets, shape=shape, **options)
    data = np.concatenate([np.atleast_1d(x) for x in some])
    ends = np.cumsum([x.size for x in some])
    numbers = [np.arange(end - x.size, end) + 1 for x, end in zip(some, ends, strict=True)]
    offsets = [offsets] if one else offsets
    made = _sparse.diags_array(numbers, offsets=offsets, shape=shape, dtype=np.int64).tocoo()
    rows, columns = made.coords
    kept = made.data > 0
    return Sparse(data[made.data[kept] - 1], rows[kept], columns[kept], made.shape)
