"""Calls: what is passed and returned, recursion, functions as arguments, closures."""

import math

import numpy as np
from numba import njit
from support.case import case

A = np.array([0.5, -1.2, 0.8, 2.0])
M = np.array([[2.0, -1.0, 0.5], [0.3, 1.5, -0.7], [1.0, 0.2, 0.9]])


@njit
def square(x):
    return x * x


@njit
def cube(x):
    y = square(x)
    return y * x


@njit
def affine(x, slope=2.0, shift=0.5, times=1):
    for _ in range(times):
        x = slope * x + shift
    return x


@njit
def scale_in_place(a, factor):
    for i in range(len(a)):
        a[i] *= factor


@njit
def norm_and_unit(a):
    size = math.sqrt(np.sum(a * a))
    return size, a / size, (a[0], len(a))


@njit
def part(a, start):
    return a[start:]


@njit
def sign_or_none(x):
    if x > 1.0:
        return 3.0
    if x > 0.0:
        return x * x
    return -x


@case(0.7, 1.3)
@njit
def calls(x, y):
    """By position, by keyword and by default; nested; the same function with other kinds of arguments."""
    a = affine(x)
    b = affine(y, shift=x * y)
    c = affine(slope=a, x=b)
    d = affine(x, y, 1.0, 3) + affine(y, times=2)
    e = affine(3, 2, 1)
    return square(cube(a)) * b + c * d + cube(square(x) + e) + square(4) * x


@case(A, 0.7)
@njit
def a_callee_that_writes(a, x):
    """The callee returns nothing and changes its argument: an array, a part of one, a row, an array made here."""
    b = a * 2.0
    scale_in_place(a, x)
    scale_in_place(b, a[1])
    scale_in_place(a[1:3], a[0])
    m = np.ones((2, 4)) * x
    scale_in_place(m[1], b[2])
    scale_in_place(b[::2], m[1, 0])
    return np.sum(a * b) + np.sum(m * m)


@case(A)
@njit
def callees_with_several_results(a):
    """Several results, arrays and a tuple among them; a view of the argument that is written afterwards."""
    size, unit, (first, n) = norm_and_unit(a)
    tail = part(a, 1)
    tail[0] = size * unit[2]
    part(part(a, 1), 1)[1] *= first
    return np.dot(a, unit) * n + tail[0] * a[3]


@case(A, 5)
@njit
def the_same_callee_in_a_loop(a, n):
    """Called many times, with values that are carried, in both branches, and as an argument of itself."""
    s = 0.3
    for i in range(n):
        if i % 2:
            s = affine(s, a[i % 4], times=i)
        else:
            s = affine(affine(s, 0.5), sign_or_none(a[i % 4]), square(s))
        while s > 3.0:
            s = sign_or_none(s * 0.25)
    return s * sign_or_none(s)


@njit
def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half * x if n % 2 else half * half


@njit
def tree(x, depth):
    if depth == 0:
        return math.sin(x)
    left = tree(x * 0.9, depth - 1)
    return left * tree(x + left, depth - 1) + x


@case(0.7, 11)
@case(-1.1, 0)
@njit
def recursion(x, n):
    """Powers by squaring, and a tree where the second branch depends on the first."""
    return power(x, n) * tree(x, 3)


@njit
def is_even(x, n):
    if n == 0:
        return x
    return is_odd(x * x, n - 1) + x


@njit
def is_odd(x, n):
    if n == 0:
        return 2.0 * x
    return is_even(math.cos(x), n - 1) * x


@case(0.7, 5)
@njit
def mutual_recursion(x, n):
    return is_even(x, n) * is_odd(x, n - 1)


@njit
def minors(a, row, used):
    """The determinant by its first row: the columns in use are marked, and freed again."""
    n = a.shape[0]
    if row == n:
        return 1.0
    total, sign = 0.0, 1.0
    for j in range(n):
        if used[j]:
            continue
        used[j] = 1
        total += sign * a[row, j] * minors(a, row + 1, used)
        used[j] = 0
        sign = -sign
    return total


@njit
def quicksort(a, low, high):
    if low < high:
        pivot, i = a[high], low
        for j in range(low, high):
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        quicksort(a, low, i - 1)
        quicksort(a, i + 1, high)


@njit
def sum_of_halves(a):
    if len(a) == 1:
        return a[0] * a[0]
    k = len(a) // 2
    left = sum_of_halves(a[:k])
    a[k] *= left
    return left + sum_of_halves(a[k:])


@case(M)
@njit
def a_determinant_by_minors(a):
    return minors(a, 0, np.zeros(len(a), np.int64))


@case(np.array([3.0, 1.0, 2.2, 0.5, 4.0]))
@njit
def recursion_on_arrays(a):
    """Recursion that exchanges elements in place, and one on parts of an array that writes to them."""
    quicksort(a, 0, len(a) - 1)
    s = sum_of_halves(a)
    return s * a[0] + a[2] * a[4]


@njit
def newton(g, slope, x, steps):
    for _ in range(steps):
        x = x - g(x) / slope(x)
    return x


@njit
def twice(g, x):
    return g(g(x))


@case(square, 0.7, 3)
@case(cube, 0.7, 3)
@njit
def functions_as_arguments(g, x, n):
    """A function that is passed on, called in a loop, and chosen among several at compile time."""
    for _ in range(n):
        x = g(x) * 0.9 + 0.1
    return twice(g, x) + twice(sign_or_none, x) * newton(square, cube, x, 2)


def make_polynomial(scale, exponent, weights, inner):
    """Closure values of all kinds: a float, an int, an array and a function; and what is made of them."""
    shift = scale * 0.5

    @njit
    def term(x, k):
        return weights[k] * inner(x) ** exponent

    @njit
    def polynomial(x):
        s = shift
        for k in range(len(weights)):
            s = s * x * scale + term(x, k)
        return s

    return polynomial


closures = case(0.7, name="closures")(make_polynomial(1.5, 2, np.array([0.5, -1.0, 2.0]), square))
case(0.7, name="closures_again")(make_polynomial(-0.5, 3, np.array([1.0, 0.25]), math.exp))

INNER = make_polynomial(2.0, 2, np.array([1.0, 0.5]), cube)
STEP = square


@case(0.7)
@njit
def functions_of_the_module(x):
    """A closure and another name of a function, at the top of the file."""
    return INNER(x) * STEP(x) + STEP(INNER(x))


@njit(inline="always")
def inlined(x, y):
    if x > y:
        return x * y
    return y


@njit(fastmath=True)
def relaxed(a):
    s = 0.0
    for x in a:
        s += x * x
    return s


@case(A, 0.7)
@njit
def callees_with_options(a, x):
    """Callees that numba inlines, or compiles with options of their own."""
    s = inlined(a[0], x) + inlined(a[3], x) * relaxed(a)
    a[1] = inlined(x, s)
    return relaxed(a) * s


@njit
def derivative_of(state, rates):
    change = np.empty_like(state)
    change[0] = rates[0] * state[0] - rates[1] * state[0] * state[1]
    change[1] = rates[2] * state[0] * state[1] - rates[3] * state[1]
    return change


@njit
def runge_kutta(g, state, rates, h):
    k1 = g(state, rates)
    k2 = g(state + 0.5 * h * k1, rates)
    k3 = g(state + 0.5 * h * k2, rates)
    k4 = g(state + h * k3, rates)
    return state + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


@case(np.array([1.0, 0.5]), np.array([1.1, 0.4, 0.1, 0.4]), 0.1, 6)
@njit
def predators_and_prey(state, rates, h, n):
    """A solver that takes the equation as a function, a loop that binds the state again, and the path kept."""
    path = np.empty((n, 2))
    for i in range(n):
        path[i] = state
        state = runge_kutta(derivative_of, state, rates, h)
    return np.sum(path[:, 0] * path[:, 1]) + state[0]
