"""Loops: what they run over, how they end, and what is carried from step to step."""

import math

import numpy as np
from numba import njit
from support.case import case

A = np.array([0.5, -1.2, 0.8, 2.0, -0.3])
M = np.array([[0.5, -1.2, 0.8], [1.5, 0.3, -0.7], [0.2, 0.9, 1.1]])


@case(0.7, 0, 7, 2)
@case(0.7, 7, -2, -3)
@case(0.7, 3, 3, 1)
@case(0.7, 5, 2, 1)
@njit
def ranges(x, start, stop, step):
    """Any start, stop and step; the variable after the loop, and changed in it; empty ranges."""
    s, i = x, 100
    for i in range(start, stop, step):
        s = s * x + i * math.sin(s)
    for j in range(stop):
        j = j * j
        s += j * x
    for k in range(4, -1, -1):
        s = s * 0.5 + x * k
    for k in range(1, 6, 2):
        s = s * x - k
    return s * i * k


@case(A, M)
@njit
def over_arrays(a, m):
    """The elements of an array, the rows of a matrix and the elements of a row."""
    s = 1.0
    for x in a:
        s = s * 0.5 + x * x * s
    for row in m:
        s += row[0] * row[2]
        for y in row:
            s += y * s * 0.1
    for row in m.T:
        row[1] *= s
    return s * x + m[1, 1] * m[1, 2]


@case(A, np.array([1.5, 0.25, -0.5]), M)
@njit
def enumerate_and_zip(a, b, m):
    """With and without a start, one inside of the other, over parts and rows; the shortest ends a zip."""
    s = 0.0
    for i, x in enumerate(a):
        s += i * x * x
    for i, x in enumerate(a[1:], 3):
        s += x / i
    for x, y in zip(a, b):  # noqa: B905 - numba has no strict
        s += x * y * s
    for i, (x, y) in enumerate(zip(a[::-1], b)):  # noqa: B905
        s = s * 0.5 + x / (y + i)
    for i, row in enumerate(m):
        row[i] += s
        s += row[i] * row[0]
    for k, x, row in zip(range(5), b, m):  # noqa: B905
        s += k * x * row[1]
    return s


@case(9.0)
@case(0.3)
@njit
def while_loops(x):
    """Newton's iteration with a tolerance and a limit; a loop that may not run; a loop on a flag."""
    y, n = x, 0
    while abs(y * y - x) > 1e-13 * x and n < 50:
        y = 0.5 * (y + x / y)
        n += 1
    z = y
    while z > 2.0:
        z = z / 1.7
    going, k = True, 0
    while going:
        k += 1
        z = z * y + k
        going = not (z > 5.0 or k >= 3)
    return y * z


@case(A, 0.5)
@case(A, 5.0)
@case(-np.abs(A), 0.5)
@njit
def breaks_and_continues(a, limit):
    """break and continue in nested loops, behind values that are carried; else where nothing broke."""
    s = 1.0
    for i in range(len(a)):
        if a[i] < -1.0:
            continue
        t = a[i] * s
        for j in range(i, len(a)):
            if a[j] > 1.9:
                t *= 2.0
                break
            if j % 2:
                continue
            t += a[j] * a[i]
        else:
            t = t * t
        s += t
        if s > limit:
            s *= a[0]
            break
    else:
        s = s * 3.0
    n = 0
    while n < 4:
        n += 1
        if a[n] < 0.0:
            continue
        s = math.sin(s) + a[n]
        if n == 3:
            break
    else:
        s *= 7.0
    return s * s


@case(M, 1.0)
@case(M, 100.0)
@case(M, -1.0)
@njit
def returns_from_inside(m, limit):
    """A return in a while inside of a for inside of a for, in a branch, and at the end."""
    s = 0.25
    if limit < 0.0:
        return s * m[0, 0]
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            x = m[i, j]
            while x > 0.34:
                s = s * x + x
                if s > limit:
                    return s * x + m[0, 1]
                x = x * 0.5
        s = s * m[i, i]
    return s


@case(A, 3)
@njit
def a_state_machine(a, passes):
    """A state machine: an int that chooses the next action, a flag, and a counter that ends the loop."""
    state, i, acc, out, seen = 0, 0, 0.0, 1.0, False
    while passes > 0:
        x = a[i]
        if state == 0:
            acc = acc + x
            state = 1 if x > 0 else 2
        elif state == 1:
            acc *= x + 0.5
            state = 2 if not seen else 0
            seen = not seen
        else:
            out += acc * acc
            acc = 0.1 * x
            state = 0
        i += 1
        if i == len(a):
            i = 0
            passes -= 1
    return out * acc


@case(9.25)
@case(3.25)
@njit
def trip_counts_from_data(x):
    """How often a loop runs is computed from x, and so is what the next one runs over."""
    n = int(x)
    y, steps = x, 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
            y = y * 0.5
        else:
            n = 3 * n + 1
            y = y * 1.5 + 0.25 * math.cos(y)
        steps += 1
    for k in range(steps % 7):
        for j in range(k):
            y += 0.01 * y * j
    return y


@case(0.3, np.array([0.9, 0.1]), 0)
@case(0.3, np.array([0.9, 0.1]), 4)
@njit
def loops_that_may_not_run(x, a, n):
    """A name that is bound before, in and after a loop of no steps; loops over nothing."""
    y = x
    for i in range(n):
        y = y * a[i % 2]
        for _ in range(i, 1):
            a[1] *= y
    for z in a[2:]:
        y = z
    while n > 100:
        y = 0.0
        n -= 1
    return y * a[1] + x * a[0]


@case(np.array([1.0, 0.0]), 0.05, 12)
@njit
def arrays_carried_by_a_loop(v, dt, n):
    """Arrays bound again in each step: Euler's steps, with a branch that damps, and what came two steps before."""
    x = np.zeros(2)
    before = x
    for k in range(n):
        a = -4.0 * x - 0.3 * v
        if v[0] < 0.3:
            a = a * 0.5
        before, x, v = x, x + dt * v, v + dt * a
        if k % 5 == 4:
            v = v.copy()
            v[1] = v[1] + before[0] * x[1]
    return np.sum(x * x) + np.dot(v, before)


@case(A, 4)
@njit
def four_deep(a, n):
    """Loops in loops in loops, with carried values at every depth that are overwritten and needed."""
    s = 0.5
    for i in range(n):
        p = a[i]
        for j in range(i):
            q = p * a[j]
            for k in range(j, n, 2):
                r = q * a[k] + s
                for m in range(k % 2 + 1):
                    r = math.sin(r) * p + m
                    s = 0.9 * s + 0.1 * r * r
                q = q + r * a[k]
            p *= q
        s += p
    return s


@case(A, np.array([2, 0, 2, -1]), np.array([True, False, True, True]))
@njit
def indices_and_flags_from_arrays(a, places, flags):
    """Int arrays as indices, negative ones too, and an array of bools as conditions."""
    s, counts = 0.0, np.zeros(5, np.int64)
    for i in range(len(places)):
        k = places[i]
        counts[k] += 1
        if flags[i]:
            s += a[k] * counts[k] * a[places[0]]
            a[k] = s
    best = 0
    for i in range(1, len(a)):
        if a[i] > a[best]:
            best = i
    return s * a[best] * counts.sum()


@njit
def rising(u, steps, by=2.0):
    w = u
    for k in range(steps):
        if k == 1:
            yield w + A[0] * u
            continue
        w = w * u
        yield math.sin(w) * by
    if u > 0.0:
        yield u


@njit
def in_pairs(a):
    for y in rising(a[0], 3):
        yield y, a[1] * y
    return


@case(np.array([0.9, 1.4]))
@njit
def generators(x):
    """With several `yield`s, one that goes over another, enumerated, left by continue and return; one for a default."""
    s, k = 0.0, 7
    for y in rising(x[0], 4):
        if y < 0.0:
            continue
        s += y * k
        for i, (u, v) in enumerate(in_pairs(x), 1):
            if i == 2:
                continue
            s += u * v * i
    for y in rising(steps=2, u=x[1], by=3):
        if y > 100.0:
            return s
        s *= y
    return s


@case(np.array([0.5, -1.2, 0.8, 2.0, -0.3]), 0.7)
@njit
def many_conditions(a, x):
    """Ten conditions in an iteration, eight of which share a word on the tape."""
    s = 0.4
    for i in range(len(a)):
        s = min(max(0.9 * s, x * a[i]), 1.9 + a[i])
        s = max(min(0.8 * s, x + a[i]), -1.7 * x)
        s = min(max(1.1 * s, x - a[i]), 1.5 * x)
        s = max(min(0.7 * s, 0.3 * a[i]), -1.3 + x * a[i])
        s = min(max(1.2 * s, 0.2 * a[i]), 1.4)
    return s * x


@case(1.3, 4)
@case(1.3, 1)
@njit
def first_bound_in_a_branch(x, n):
    """A float, a tuple, an int and a bool, in nested loops, by a counter and by a flag, with early exits."""
    s, seen = 0.0, False
    for i in range(n):
        for j in range(3):
            if i == 0 and j == 0:
                z, t = x, (x, 0.3 * x)
                k = 1
            elif j == 1:
                z = z * 0.5 * x
            else:
                t = (t[1] * z, t[0] + x)
                k += 1
                if k > 6:
                    continue
            s += z * z * t[0] * k
        if not seen:
            w, b, seen = z * x, i % 2 == 0, True
        else:
            b = not b
            w = w * x if b else math.sin(w)
            if s > 1e3:
                return s * w
        s += w * w
    else:
        s = s * x
    return s * w + z


@case(A, 4)
@njit
def arrays_first_bound_in_a_branch(a, n):
    """A copy, a view of it, and a Fortran array, which later iterations write to."""
    s, i = 0.0, 0
    while i < n:
        if i == 0:
            u = a.copy()
            v = u[1:]
            f = np.outer(a, a[:2]).T
        else:
            for k in range(len(v)):
                v[k] = v[k] * v[k] * a[k]
            f[1, i] = f[1, i - 1] * u[i] + f[0, i]
        s += np.sum(u * u) * f[1, i]
        i += 1
    return s
