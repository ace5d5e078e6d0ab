"""Writing in place: overwritten inputs, values that are overwritten and needed, aliases, buffers and exchanges."""

import math

import numpy as np
from numba import njit
from support.case import case

A = np.array([0.5, -1.2, 0.8, 2.0, -0.3])
B = np.array([1.1, 0.4, -0.6, 0.9, 1.3])
M = np.array([[0.5, -1.2, 0.8], [1.5, 0.3, -0.7], [0.2, 0.9, 1.1]])
SPD = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.4], [0.5, -0.4, 2.0]])


@case(A, 3)
@njit
def squares_again_and_again(x, n):
    """Elements that are overwritten many times by functions of themselves."""
    for _ in range(n):
        for i in range(len(x)):
            x[i] = x[i] * x[i] - 0.5
            x[i] *= math.cos(x[i])
            x[i - 1] += 0.1 * x[i]
    return x[0] * x[-1] + x[2]


@case(A, B)
@njit
def augmented_assignments(a, b):
    """Augmented assignments to elements, slices and arrays, by every operator; an alias sees them, a copy does not."""
    alias, copied = a, a.copy()
    a += b
    a *= b[1]
    a -= 0.5
    a /= 2.0
    a[1:3] *= a[2:4]
    a[0] **= 3
    a[4] -= a[0] * a[1]
    a[::2] += b[::2] * alias[1]
    alias[3] /= 1.5
    b += a
    b *= b
    return np.sum(alias * b) + np.dot(copied, a)


@case(A, B, 0.5)
@case(A, B, -0.5)
@njit
def arrays_chosen_by_a_branch(x, y, c):
    """b is x or y, or a new array: what is written to it is written to what it is."""
    b = x if c > 0 else y
    b[0] = x[1] * y[2]
    b[1] *= b[0]
    if c < 0.0:
        d = x
    else:
        d = y * c
    d[2] = d[2] * b[1] + x[0]
    d += b
    return np.sum(x * y) + d[3] * c


@case(np.array([0.0, 0.8, 1.5, 0.9, 0.2, 0.1]), 0.3, 5)
@case(np.array([0.0, 0.8, 1.5, 0.9, 0.2, 0.1]), 0.3, 4)
@njit
def heat_with_two_buffers(u, alpha, steps):
    """Two arrays that change their roles in every step; the caller's array is one of them."""
    a, b = u, np.zeros_like(u)
    for _ in range(steps):
        for i in range(1, len(a) - 1):
            b[i] = a[i] + alpha * (a[i + 1] - 2.0 * a[i] + a[i - 1]) * a[i]
        a, b = b, a
    return np.sum(a * a) + u[2] * b[3]


@case(A, 4)
@njit
def overlapping_parts(a, n):
    """Assignments to overlapping slices, which evaluate their right side first, and the same element by element."""
    for _ in range(n):
        a[1:] = a[:-1] * 0.5 + a[1:]
        a[:-1] += a[1:] * 0.1
        for i in range(1, len(a)):
            a[i] = a[i - 1] * 0.5 + a[i]
        a[::-1][:2] = a[:2] * a[2]
    return np.sum(a * a)


@case(A)
@njit
def prefix_sums_and_products(x):
    """Scans in place: forward, backward, and a difference that undoes one."""
    y = x.copy()
    for i in range(1, len(x)):
        x[i] += x[i - 1]
        y[i] *= y[i - 1]
    for i in range(len(x) - 2, -1, -1):
        y[i] = y[i] + y[i + 1] * x[i]
    for i in range(len(x) - 1, 0, -1):
        x[i] -= x[i - 1] * 0.5
    return np.dot(x, y)


@case(SPD)
@njit
def cholesky_in_place(a):
    """The factor over the lower triangle of the matrix, by loops; the logarithm of the determinant."""
    n = a.shape[0]
    for j in range(n):
        for k in range(j):
            a[j, j] -= a[j, k] * a[j, k]
        a[j, j] = math.sqrt(a[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
    s = 0.0
    for i in range(n):
        s += 2.0 * math.log(a[i, i]) + a[i, 0]
    return s


@case(M + 2.0 * np.eye(3), np.array([1.0, -2.0, 0.5]))
@njit
def elimination_with_pivots(a, b):
    """Gauss's elimination in place: rows are exchanged element by element where data say so."""
    n = len(b)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if p != k:
            for j in range(n):
                a[k, j], a[p, j] = a[p, j], a[k, j]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k:] -= f * a[k, k:]
            b[i] -= f * b[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            b[i] -= a[i, j] * b[j]
        b[i] /= a[i, i]
    return b[0] * b[1] + b[2]


@case(SPD, np.array([1.0, -2.0, 0.5]), 1e-14, argnums=(0, 1))
@njit
def gauss_seidel(a, b, tolerance):
    """Sweeps until nothing moves: each unknown uses the new values of those before it."""
    x = np.zeros_like(b)
    moved, sweeps = 1.0, 0
    while moved > tolerance and sweeps < 40:
        sweeps += 1
        moved = 0.0
        for i in range(len(b)):
            s = b[i]
            for j in range(len(b)):
                if j != i:
                    s -= a[i, j] * x[j]
            new = s / a[i, i]
            moved = max(moved, abs(new - x[i]))
            x[i] = new
    return x[0] * x[1] + x[2] ** 2


@case(A, B)
@njit
def fill_and_clear(a, b):
    """Whole arrays and parts become a number, or another array; what was there has no part any more."""
    a[0] = a[1] * b[0]
    c = a.copy()
    a[:] = b
    b[1:3] = c[0]
    b[3] = 7.0
    c[:] = 0.0
    c[1] = a[2] * b[3]
    a[2:] = 1.0
    a.fill(b[1])
    b[:2] = a[3:]
    return np.sum(a * b) + np.sum(c) + b[4] * b[0]


@case(M)
@njit
def rows_as_views(m):
    """A row as a local name that moves from row to row; rows exchanged by way of a copy; a row from a row."""
    for i in range(3):
        row = m[i]
        for j in range(3):
            row[j] = row[j] * row[j - 1] + 0.1
    saved = m[0].copy()
    m[0] = m[2]
    m[2] = saved * m[1]
    last = m[0]
    last += m[1]
    last = m[1]
    last[:2] = last[1:] * 2.0
    first, second = m[0], m[1]
    first[0], second[0] = second[1], first[1]
    return np.sum(m * m) + last[0]


@case(M)
@njit
def exchanged_views(m):
    """numpy exchanges no rows this way: both are views, and the first is overwritten before it is read."""
    m[0], m[1] = m[1], m[0]
    return np.sum(m * np.arange(9.0).reshape(3, 3) * m)


@case(0.4, 6)
@njit
def arrays_made_in_a_loop(x, n):
    """A new array in every step, some of them kept; shapes that depend on the step."""
    kept = np.zeros((n, n))
    total = 0.0
    last = np.ones(1)
    for k in range(1, n):
        a = np.zeros(k)
        for i in range(k):
            a[i] = x * (i + 1) + last[i % len(last)]
        a[0] *= np.sum(a)
        kept[k, :k] = a * 0.1
        if k % 2:
            last = a
        total += a[k // 2]
    return total * np.sum(kept) + np.sum(last)


@case(np.array([0.3, 0.0, 0.9, 0.5, 0.1, 0.7]), 4)
@njit
def a_coupled_map_lattice(x, n):
    """Cells that look at their neighbours on a ring, in place and from a copy, with a rule chosen by the data."""
    for step in range(n):
        old = x.copy()
        for i in range(len(x)):
            near = 0.5 * (old[i - 1] + old[(i + 1) % len(x)])
            if near > 0.45:
                x[i] = 0.9 * near * (1.0 - old[i])
            elif step % 2 == 0:
                x[i] += 0.3 * near
    return np.sum(x * x) + x[0] * old[1]


@case(np.array([3.0, 1.0, 2.2, 0.5, 4.0]))
@njit
def a_sort_in_place(x):
    """Insertion by shifting, with a condition that is short-circuited, and bubbles by exchange."""
    y = x.copy()
    for i in range(1, len(x)):
        v, j = x[i], i
        while j > 0 and x[j - 1] > v:
            x[j] = x[j - 1]
            j -= 1
        x[j] = v
    for end in range(len(y) - 1, 0, -1):
        for i in range(end):
            if y[i] < y[i + 1]:
                y[i], y[i + 1] = y[i + 1], y[i]
    s = 0.0
    for i in range(len(x)):
        s += x[i] ** 2 * y[i] * (i + 1)
    return s


@case(A, B)
@njit
def dynamic_time_warping(a, b):
    """A table filled row by row with the least of three neighbours."""
    n, m = len(a), len(b)
    table = np.full((n + 1, m + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = a[i - 1] - b[j - 1]
            table[i, j] = d * d + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    return table[n, m]


@case(np.array([2.0, 1.0, 0.5]), 0.2, 7)
@njit
def a_ring_buffer(buffer, gain, steps):
    """A buffer that is read and overwritten in turn, by a pointer; the sum of what was there."""
    out, head = 0.0, 0
    for _ in range(steps):
        old = buffer[head]
        head = (head + 1) % 3
        buffer[head - 1] = old * 0.5 + gain * buffer[head] ** 2
        out += old * old
    return out + buffer[0] * buffer[1] * buffer[2]


@case(A, B)
@case(A, B, argnums=(1,))
@njit
def an_argument_bound_again(a, b):
    """The caller's array is written before the name means another array, and not afterwards."""
    a[0] = b[1] * a[1]
    a = a * b
    a[1] = 3.0 * a[0]
    b, c = a, b
    b[2] = c[2] * c[3]
    c[3] = b[2]
    return np.sum(a * c)


@case(A, B)
@njit
def a_procedure_with_a_result_in_an_argument(out, x):
    """out is overwritten before it is read: its gradient is zero."""
    for i in range(len(x)):
        out[i] = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            out[i] += x[i] * x[j] / (i + j + 1)
    return np.sum(out * x)


@case(np.array([3, 1, 2]), A)
@njit
def an_int_array_changed(places, a):
    """Indices that are overwritten while they are in use."""
    s = 0.0
    for i in range(3):
        k = places[i]
        s += a[k] * a[i]
        places[i] = (k + 1) % 3
        a[places[i]] *= s
        places[(i + 1) % 3] -= 1
    return s * a[places[0]]
