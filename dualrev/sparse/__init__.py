"""Sparse Jacobians and Hessians, as SciPy's arrays: the pattern of one is found, coloured, and computed by colours.

patterns.py          where a derivative can be other than zero
colouring.py         which columns, or rows, are computed together
compressed.py        where each entry stands in what is computed
missing_entries.py   entries that a pattern lacks
matrix_products.py   the products with a derivative: on the tape, or compiled
matrices.py          the public functions
"""

from dualrev.sparse.matrices import sparse_hessian, sparse_jacobian

__all__ = ["sparse_hessian", "sparse_jacobian"]
