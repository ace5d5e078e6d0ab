"""`scipy.sparse`: matrices with traced entries, and linear systems with them (`linalg`).

`coo_array`, `csr_array`, `csc_array` and `diags_array` are SciPy's; for traced entries they return a `Sparse`, which
has products with vectors, `.T` and `.toarray()`, and which the solvers of dualrev.scipy.sparse.linalg take. Positions
of entries are constants; entries at the same position are added. Every other name is SciPy's own.

>>> import dualrev as dr
>>> import numpy as np
>>> def first(d):
...     a = csr_array((d, ([0, 1], [0, 1])), shape=(2, 2))
...     return linalg.spsolve(a, np.ones(2))[0]
>>> dr.grad(first)(np.array([2.0, 4.0]))
array([-0.25,  0.  ])
"""

from typing import Any

from scipy import sparse as _sparse

from dualrev.scipy.sparse import linalg
from dualrev.scipy.sparse.matrices import Sparse, coo_array, csc_array, csr_array, diags_array

__all__ = ["Sparse", "coo_array", "csc_array", "csr_array", "diags_array", "linalg"]


def __getattr__(name: str) -> Any:
    return getattr(_sparse, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_sparse)})
