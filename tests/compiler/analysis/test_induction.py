"""Induction variables: ints that each iteration changes by the same amount, or negates, are computed, not recorded."""

import numpy as np
import pytest
from numba import boolean, int64, njit
from support.incore import gradient
from support.oracle import assert_same

import dualrev as dr
from dualrev.compiler.analysis.ssa import Versions
from dualrev.compiler.analysis.values.induction import progressions
from dualrev.compiler.ir.core.atoms import Comparison, Constant, Operator, Var
from dualrev.compiler.ir.core.nodes import Copy, Discrete, Function, While
from dualrev.compiler.runtime import falling, rising

A = np.linspace(0.3, 1.7, 24)


@njit
def counted(a, x, n):
    i = 0
    while i < n:
        x = np.sin(x) * a[i]
        i += 1
    return x * i


@njit
def from_the_end(a, x, n):
    i = len(a) - 1
    while i >= n:
        x = np.sin(x) * a[i]
        i -= 2
    return x * a[i]


@njit
def by_an_argument(a, x, n):
    i = n
    for _ in range(3):
        x = np.sin(x) * a[i] * a[-i]
        i = n + i
    return x


@njit
def before_the_test(a, x, n):
    i = -1
    while True:
        i += 1
        if i >= n:
            break
        x = np.sin(x) * a[i]
    return x * a[i]


@njit
def alternating(a, x, n):
    sign, other = 1, n
    for i in range(2, 9):
        if sign > 0:
            x = np.sin(x) * a[i]
        else:
            x = np.cos(x) * a[i + sign]
        x *= other
        sign, other = -sign, -other
    return x


@njit
def ends_early(a, x, n):
    i, k = 0, 1
    while True:
        x = np.sin(x) * a[i]
        k += 3
        if x < 0.2 or i > n:
            break
        i += 1
        x *= a[k]
    return x * a[k]


@njit
def nested(a, x, n):
    i = 0
    while i < n:
        k = i
        while k < n:
            x = np.sin(x) * a[k]
            k += 1
        i += 1
        for j in range(i, n):
            x = np.cos(x) * a[k - j + i]
            k -= 1
    return x


@njit
def changing(a, x, n):
    """Counters that are not inductive: the step varies, two updates, an update in a branch, another type."""
    i, step, twice, some, small = 0, 1, 0, 0, np.uint64(0)
    while i < n:
        x = np.sin(x) * a[i] * a[twice] * a[some] * a[small]
        i += step
        step += 1
        twice += 1
        twice += 1
        if x > 0.3:
            some += 1
        small += np.uint64(1)
    return x


@njit
def by_twos(a, x, n):
    k = 1
    for i in range(0, n, 2):
        x = np.sin(x) * a[i] * a[k]
        k += 1
    return x


@njit
def flat(a, x, n):
    """Positions in a matrix that lies flat, in one of a fixed width, and in a stack of such."""
    k, back, deep = 0, len(a) - 1, 0
    for _ in range(3):
        for _ in range(n):
            x = np.sin(x) * a[k] * a[back]
            k += 1
            back -= 1
            for _ in range(1, 2):
                x = np.cos(x) * a[deep]
                deep += 1
    return x * a[k]


@njit
def triangles(a, x, n):
    """Positions in packed triangular matrices: below the diagonal, with it, above it, and with a corner cut off."""
    below, lower, upper, cut, begin = 0, 0, 0, 1, 2
    for i in range(n):
        for _ in range(i):
            x = np.sin(x) * a[below]
            below += 1
        for j in range(i + 1):
            x = np.cos(x) * a[lower] * a[j]
            lower += 1
        for _ in range(i, n):
            x = np.sin(x) * a[upper]
            upper += 1
        for _ in range(i - 2):
            x = np.cos(x) * a[cut]
            cut += 1
        for _ in range(2 + i, n - 1):
            x = np.sin(x) * a[begin]
            begin += 1
    return x * a[upper]


@njit
def diagonals(a, x, n):
    """The rows of a packed matrix, each with its diagonal after it, from the third row on."""
    k, down, start = 3, 23, n - 2
    for i in range(start, n):
        for _ in range(start, i):
            x = np.sin(x) * a[k]
            k += 1
            down -= 2
        x = np.cos(x) * a[k] * a[down]
        k += 1
        down -= 1
        for j in range(2):
            x = np.sin(x) * a[k - j]
            k += 2
    return x * a[k]


@njit
def in_a_while(a, x, n):
    i, k = 0, 0
    while i < n:
        for _ in range(2):
            x = np.sin(x) * a[k]
            k += 1
        i += 1
    return x * a[k]


@njit
def other_counts(a, x, n):
    """Inner loops that end early, whose length is no sum, counts down or doubles, and a number that starts anew."""
    early, product, down, double, anew, passed = 0, 0, 0, 0, 0, 1
    for i in range(n):
        anew = i
        for _ in range(i + 1):
            x = np.sin(x) * a[early] * a[anew]
            anew += 1
            if x > 0.4:
                break
            early += 1
        for _ in range(i * i // 2):
            x = np.cos(x) * a[product]
            product += 1
        for _ in range(i, 0, -1):
            x = np.sin(x) * a[down]
            down += 1
        for _ in range(i + i):
            x = np.cos(x) * a[double]
            double += 1
        for _ in range(passed):
            x = np.sin(x) * a[passed]
        passed = 3 - passed
    return x


@njit
def recursive(a, x, n):
    if n == 0:
        return x
    i = n
    total = 0.0
    while i > 0:
        total += recursive(a, np.sin(x) * a[i], n - 1) * a[i]
        i -= 1
    return total


RECORDED = [
    ends_early,
    nested,
    changing,
    by_twos,
    other_counts,
]  # something is, all the same, such as how often a loop has run
PROGRAMS = [
    *[counted, from_the_end, by_an_argument, before_the_test, alternating, ends_early, nested, changing, by_twos],
    *[flat, triangles, diagonals, in_a_while, other_counts],
]


@pytest.mark.parametrize("f", [*PROGRAMS, recursive], ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_the_tape(f):
    compiled, tape = dr.value_and_grad(f, (0, 1)), dr.value_and_grad(f.py_func, (0, 1))
    for n in (0, 1, 2, 5) if f is not recursive else (0, 1, 3):
        assert_same(compiled(A.copy(), 0.7, n), tape(A.copy(), 0.7, n), rtol=1e-12, types=False)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_both_sweeps_in_core(f):
    _, (by_a, by_x) = gradient(f, (A.copy(), 0.7, 5), (0, 1))
    expected = dr.grad(f.py_func, (0, 1))(A.copy(), 0.7, 5)
    assert_same((by_a, float(by_x)), expected, rtol=1e-12, types=False)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_such_numbers_are_not_recorded(f):
    text = dr.derivative_source(f, A, 0.7, 5, argnums=(0, 1))
    assert ("runtime.bits(" in text) == (f in RECORDED)


def test_second_derivatives():
    for f in (counted, alternating):
        expected = dr.grad(dr.grad(f.py_func, 1), 1)(A.copy(), 0.7, 5)
        assert_same(dr.hessian(f, 1)(A.copy(), 0.7, 5), expected, rtol=1e-10, types=False)


@pytest.mark.parametrize("first", [-7, -2, -1, 0, 1, 3, 6])
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_rounds_of_inner_loops(count, first):
    assert rising(count, first) == sum(max(first + k, 0) for k in range(count))
    assert falling(count, first) == sum(max(first - k, 0) for k in range(count))


@njit
def scaled_counts(a, b, n, m, start):
    k, s = start, 0.0
    for i in range(m, n):
        for _ in range(i - 3, m + 2):
            s += a[k] * b[i] * np.sin(s)
            k += 1
        for j in range(m - 3, i):
            s += a[k] * b[j] * np.sin(s)
            k += 1
    return s


@pytest.mark.parametrize(("n", "m", "start"), [(6, 0, 0), (6, 2, 3), (2, 4, 1), (7, 5, 0), (0, 0, 2)])
def test_counters_that_do_not_begin_with_0(n, m, start):
    a, b = np.linspace(0.2, 1.3, 60), np.linspace(1.5, 0.3, 12)
    compiled, tape = dr.value_and_grad(scaled_counts, (0, 1)), dr.value_and_grad(scaled_counts.py_func, (0, 1))
    assert_same(compiled(a, b, n, m, start), tape(a, b, n, m, start), rtol=1e-12, types=False)


def test_what_the_test_of_a_while_changes_is_no_progression_after_it():
    """A variable that a while's test changes is no progression after the loop: the test runs once more."""
    k, n, test, x = (Var(name, kind) for name, kind in zip("kntx", (int64, int64, boolean, int64), strict=True))
    one, zero = Constant(1, int64), Constant(0, int64)
    more = Discrete(k, Operator("+", (k, one)), 1)
    ask = Discrete(test, Comparison(("<",), (k, n)), 1)
    for before, body in (((more, ask), ()), ((ask,), (more,))):
        loop = While(before, test, body, (), 1)
        versions = Versions(Function("f", (n,), (Copy(k, zero, 1), loop, Copy(x, k, 1)), x, True))
        found = progressions(versions)
        assert versions.headers[loop][k] in found
        assert (versions.afters[loop][k] in found) == (before == (ask,))
