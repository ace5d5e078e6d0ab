"""The order in which things happen, and names: each of these has been, or might have been, a wrong gradient."""

import math

import numpy as np
from numba import njit
from support.case import case

import dualrev as dr

A = np.array([0.5, -1.2, 0.8, 2.0])
WEIGHTS = np.array([1.0, 2.0])


@njit
def touch(a):
    a[0] = a[0] * 3.0
    return a[1]


@case(A)
@njit
def a_callee_that_writes_an_operand(a):
    """The old element is read before the call; so are the operands at its left."""
    a[0] += touch(a)
    s = a[0] + touch(a) * a[0]
    a[1:3] *= touch(a)
    return s * a[0] * a[1]


@case(A, 0.7)
@njit
def expressions_of_names_that_are_bound_again(a, x):
    a, b = a * 2.0, a * 3.0 * x
    x, c = 2.0 * x, a * x
    s = 0.0
    for y in a:
        a = a * 1.5
        s += y * a[0]
    return np.sum(a * b) * x + np.sum(c) * s


@case(A, -3, 0.3)
@case(A, 2, 0.3)
@njit
def conditions_with_effects(a, n, x):
    """A chain ends with the first comparison that fails; a target that the condition reads."""
    s = a[3]
    if 0 <= n < touch(a) + 4.0:
        s = a[0] * a[n]
    ok = x > 0.1
    ok = touch(a) > 3.0 or ok
    y = touch(a) if ok else a[0]
    return a[0] * x * s + y * (1 if n > 0 else x)


@case(A)
@njit
def names_of_functions(a):
    """Variables that are called as functions are, and as the compiler's own variables."""
    max, sum, abs, len, k, d_a = a[0], 0.0, a[1], 4, 1.0, 2.0
    result, tape, trips, float = a[1], a[2], 3, 0.5
    for range_ in range(len):
        sum += a[range_] * abs
        if a[range_] > max:
            max = a[range_]
    while trips > 0:
        tape = math.sin(tape * result) + max
        trips -= 1
        if tape > 5.0:
            break
    return sum * max * k * d_a * float * tape


@case(A, 0.5)
@njit
def overlapping_assignments(a, x):
    """Assignments read before they write, as numpy's do; `a[1:] += a[:-1]` does not in numba, and is not compared."""
    a[1:] = a[:-1] * x
    a[:2] = a[2:]
    b = a
    b += x
    c = b * 2.0
    c -= b[::-1] * a
    a[:2], a[2:] = a[2:] * x, a[:2] * a[2:]
    return np.sum(a * a * c)


@njit
def three(a, b, c=2.0):
    return a * b + c


@njit
def weighted(a, b=WEIGHTS, scale=None):
    if scale is None:
        s = 2.0
    else:
        s = scale
    return a * b[1] * s


lifted = dr.lift(three)


@case((1.0, 2.0), 0.5)
@njit
def arguments_from_tuples(t, x):
    """* before tuples, in calls of all kinds; defaults that are arrays or None; a function that is lifted."""
    s = three(*t) * three(x, *t) + three(*t, x) + three(*(x, t[0])) + math.hypot(*t) + max(*t) * x + min(*t, x)
    return s + weighted(x) * weighted(x, scale=3.0) + lifted(x, t[1])


@case(A, 1)
@njit
def quotients_with_remainders(a, k):
    q, r = divmod(a[3], 0.7)
    i, j = divmod(7, k + 1)
    return q * r * a[0] + i * j * a[1]


@case((A, 0.5), 0.25)
@njit
def parameters_with_names_of_functions(min, _t):
    a, x = min
    return a[0] * x * _t


@case(0.3, 0.7)
@njit
def targets_inside_of_targets(x, y):
    """Nested assignment targets: the right side is evaluated before the first name changes."""
    z = x * y
    (x, y), z = (y, x * z), x
    z, (y, x) = y, (x, z)
    (x, (y, z)), w = (z, (x, y)), z * 2.0
    return 2.0 * x + 3.0 * y * z + 5.0 * z * w


@case(((0.3, 0.7), 1.1))
@njit
def a_tuple_that_is_unpacked_into_its_own_name(t):
    (x, y) = t
    u = (x, (y, 2.0))
    u, v = u
    t, w = t
    return u[0] * u[1] + 3.0 * v[0] * v[1] + t[0] * w * t[1]


@njit
def next_place(v):
    """It writes where it is asked for a place."""
    v[0] = v[0] * 2.0 + 0.5
    return int(v[0]) % 2


@case(np.array([0.3, 1.7]), 0.4)
@njit
def effects_in_the_index_of_a_target(v, x):
    """Python: the index, the old element, the right-hand side, the store."""
    v[next_place(v)] -= x + v[0]
    s = v[0] * v[1]
    v[next_place(v)] += next_place(v) * v[0]
    v[next_place(v)] = v[0] * x
    v[next_place(v) : 1 + next_place(v)] *= v[0]
    return v[0] * v[1] + v[1] + s


@case(np.array([0.3, 1.7, 0.9]), 0.4)
@njit
def effects_among_indices_and_slices(v, x):
    s = v[next_place(v)] * v[0] + v[next_place(v) : 2 + next_place(v)][0] * v[1]
    w = np.full(shape=1 + next_place(v), fill_value=v[0])
    u = np.full(fill_value=v[0], shape=1 + next_place(v))
    return s + x * w[0] + u[0] * v[0] + touch(v[next_place(v) :]) * v[0]


@njit
def both(v):
    return v[0], touch(v), v[0], (touch(v), v[0])


@case(np.array([0.3, 1.7, 0.9]), 0.4)
@njit
def effects_among_arguments_and_results(v, x):
    a, b, c, (d, e) = both(v)
    s = three(v[0], touch(v), c=v[0]) + three(c=v[0], a=touch(v), b=v[0] * x)
    t = (v[0], touch(v), v[0])
    m = max(v[0], touch(v), v[0] * 0.5) + np.array([v[0], touch(v), v[0]])[2]
    return a * b + c * d * e + s * x + t[0] * t[1] * t[2] + m


@case(np.array([0.3, 1.7, 0.9]), 0.4)
@njit
def effects_among_conditions(v, x):
    s = 0.0
    if (v[0] < touch(v) and v[0] > 0.5) or touch(v) > v[0]:
        s += v[0]
    if not (v[0] < touch(v) < v[0] + 9.0):
        s += v[0] * x
    s += v[0] if touch(v) > v[0] else x * v[0]
    for k in range(int(v[0]) % 2, 2 + int(touch(v)) % 2):
        s += v[k] * v[0]
    while touch(v) < v[0] - 500.0:
        s += v[0] * 1e-3
        v[0] *= 0.01
    a = b = v[0] * touch(v) * v[0]
    v[1] = v[next_place(v)] = c = s * 1e-3
    return s + a * b * 1e-6 + v[1] * c * x
