"""Sparse Jacobians and Hessians as SciPy's sparse arrays: find the pattern, color it, compute one product per color.

patterns.py          which entries of a derivative can be other than zero
colouring.py         which columns, or rows, are computed together
compressed.py        where each entry stands in the products
missing_entries.py   entries that a pattern lacks
matrix_products.py   products with a derivative: on the tape, or compiled
matrices.py          the public functions

>>> import numpy as np
>>> import dualrev as dr
>>> dr.sparse_jacobian(lambda x: x * x)(np.array([1.0, 2.0])).nnz
2
"""

from dualrev.sparse.matrices import sparse_hessian, sparse_jacobian

__all__ = ["sparse_hessian", "sparse_jacobian"]


def __dir__() -> list[str]:
    return __all__
