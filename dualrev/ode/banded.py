"""LU decomposition of band matrices, with partial pivoting, for real and complex numbers.

A matrix of n rows, with `below` diagonals below the main one and `above` diagonals above, is stored by rows: element
(i, j) is a[i, j - i + below]. A row has 2 below + above + 1 places, because exchanging rows moves elements to the
right. A full matrix has below = above = n - 1.

Source: G. Golub, C. Van Loan, "Matrix Computations", fourth edition, 4.3.
"""

from __future__ import annotations

from numba import njit

__all__ = ["factor", "solve_factored"]


@njit
def factor(a, below, above, pivots):
    """Replace a by its factors, and write the exchanges of rows into pivots; return whether a is regular."""
    n = len(a)
    for k in range(n):
        p, bottom, right = k, min(n, k + below + 1), min(n, k + below + above + 1)
        for i in range(k + 1, bottom):
            if abs(a[i, k - i + below]) > abs(a[p, k - p + below]):
                p = i
        pivots[k] = p
        if p != k:
            for j in range(k, right):
                moved = a[k, j - k + below]
                a[k, j - k + below] = a[p, j - p + below]
                a[p, j - p + below] = moved
        if a[k, below] == 0.0:
            return False
        for i in range(k + 1, bottom):
            ratio = a[i, k - i + below] / a[k, below]
            a[i, k - i + below] = ratio
            if ratio != 0.0:
                for j in range(k + 1, right):
                    a[i, j - i + below] -= ratio * a[k, j - k + below]
    return True


@njit
def solve_factored(a, below, above, pivots, b):
    """Replace b, a vector, by the solution x of a x = b."""
    n = len(a)
    for k in range(n):
        p = pivots[k]
        moved = b[k]
        b[k] = b[p]
        b[p] = moved
        for i in range(k + 1, min(n, k + below + 1)):
            b[i] -= a[i, k - i + below] * b[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, min(n, k + below + above + 1)):
            b[k] -= a[k, j - k + below] * b[j]
        b[k] /= a[k, below]
