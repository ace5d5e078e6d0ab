"""LU decomposition of band matrices, with partial pivoting, for real and complex numbers.

A matrix of n rows, with `below` diagonals below the main one and `above` diagonals above, is stored by rows: element
(i, j) is a[i, j - i + below]. A row has 2 below + above + 1 places, because exchanging rows moves elements to the
right. A full matrix has below = above = n - 1.

Source: G. Golub, C. Van Loan, "Matrix Computations", fourth edition, 4.3.
"""

from __future__ import annotations

from dualrev.ode.compiling import within

__all__ = ["factor", "solve_factored"]


@within
def factor(a, below, above, pivots):
    """Replace a by its factors, and write the exchanges of rows into pivots; return whether a is regular."""
    n = len(a)
    for k in range(n):
        p, bottom, width = k, min(n, k + below + 1), min(n, k + below + above + 1) - k
        largest = abs(a[k, below])
        for i in range(k + 1, bottom):
            size = abs(a[i, k - i + below])
            if size > largest:
                p, largest = i, size
        pivots[k] = p
        top = a[k, below:]  # from column k on: LLVM vectorises loops over rows that begin at 0
        if p != k:
            other = a[p, k - p + below :]
            for m in range(width):
                moved = top[m]
                top[m] = other[m]
                other[m] = moved
        if top[0] == 0.0:
            return False
        for i in range(k + 1, bottom):
            row = a[i, k - i + below :]
            ratio = row[0] / top[0]
            row[0] = ratio
            if ratio != 0.0:
                for m in range(1, width):
                    row[m] -= ratio * top[m]
    return True


@within
def solve_factored(a, below, above, pivots, b):
    """Replace b, a vector, by the solution x of a x = b."""
    n = len(a)
    for k in range(n):
        p = pivots[k]
        solved = b[p]
        b[p] = b[k]
        b[k] = solved
        for i in range(k + 1, min(n, k + below + 1)):
            b[i] -= a[i, k - i + below] * solved
    for k in range(n - 1, -1, -1):
        row, width = a[k, below:], min(n, k + below + above + 1) - k
        one, other = b[k], 0.0  # two sums, which do not wait for one another
        for m in range(1, width - 1, 2):
            one -= row[m] * b[k + m]
            other -= row[m + 1] * b[k + m + 1]
        if width % 2 == 0:
            one -= row[width - 1] * b[k + width - 1]
        b[k] = (one + other) / row[0]
