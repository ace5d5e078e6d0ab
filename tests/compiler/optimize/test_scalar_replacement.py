"""Scalar replacement (optimize/scalar_replacement.py): loop-carried elements of shadows become scalars."""

import math
import random
from pathlib import Path

import numpy as np
import pytest
from fuzzing.running import about, load
from numba import njit
from support.incore import gradient
from support.oracle import assert_same
from support.twin import twin

import dualrev as dr
from dualrev.compiler.ir.core.traverse import statements, writes


def relayed(function) -> int:
    """Count the array elements that a function in core carries as scalars."""
    return len({x for s in statements(function.body) for x in writes(s) if x.name == "kept_{k}"})


def values(size: int = 4) -> np.ndarray:
    return np.random.default_rng(size).uniform(0.2, 1.5, (size, size))


@njit
def recurrence(x):
    y = np.zeros(len(x))
    y[0] = x[0, 0]
    for t in range(1, len(x)):
        y[t] = math.sin(y[t - 1]) * x[t, 0] + x[t, 1]
    return y[-1] * y[1]


@njit
def table(x):
    n, m = x.shape
    t = np.zeros((n + 1, m + 1))
    for i in range(n):
        for j in range(m):
            t[i + 1, j + 1] = x[i, j] + max(t[i, j], 0.9 * t[i + 1, j], t[i, j + 1] * x[i, 0])
    return t[n, m]


@njit
def from_one(x):
    """A table that is filled from index 1, with its border before the loops."""
    n, m = x.shape
    t = np.ones((n + 1, m + 1))
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            t[i, j] = x[i - 1, j - 1] * t[i - 1, j - 1] + 0.5 * t[i, j - 1] * t[i - 1, j]
    return t[n, m]


@njit
def two(x):
    """Two arrays, updated in place, each with its own recurrence."""
    a, b = x[0].copy(), x[1].copy()
    for _ in range(2):
        for k in range(1, len(a)):
            a[k] = a[k] * a[k - 1] + b[k - 1]
            b[k] = math.cos(b[k - 1]) + a[k]
    return a[-1] * b[-1] + a[2]


@njit
def downwards(x):
    """The solution by a matrix with two diagonals: the rounds of the function go down, those of its reverse up."""
    y = x[0].copy()
    for k in range(len(y) - 2, -1, -1):
        y[k] = y[k] - x[1, k] * y[k + 1]
    return y[0] * y[1]


@njit
def added_to(x):
    """An update in place that subtracts from an element before the iteration reads it."""
    y, total = x[0].copy(), 0.0
    for k in range(len(y) - 2, -1, -1):
        y[k] -= x[1, k] * y[k + 1]
        total += y[k] * y[k]
    return total


@njit
def columns(x):
    """The first index counts."""
    t = x.copy()
    for j in range(1, t.shape[1]):
        for i in range(1, t.shape[0]):
            t[i, j] += t[i - 1, j] * t[i - 1, j - 1]
    return t[-1, -1]


@njit
def around(x):
    """An index of -1 in the first iteration: the last element, which the loop also changes."""
    t = x[0].copy()
    for _ in range(2):
        for j in range(len(t)):
            t[j] = t[j - 1] * x[1, j]
            t[-1] += t[j] * x[2, j]
    return t[1] * t[-1]


@njit
def overlapping(x):
    """A store to a view of the array that the loop reads: one element has two indices."""
    y = x[0].copy()
    z = y[1:]
    for k in range(len(z)):
        z[k] = z[k] * y[k] + x[1, k]
    return z[-1]


@njit
def in_branches(x):
    y = x[0].copy()
    for k in range(1, len(y)):
        if x[1, k] > 0.8:
            y[k] = y[k - 1] * x[1, k]
        else:
            y[k] += y[k - 1]
    return y[-1]


@njit
def no_rounds(x):
    """A loop without iterations, whose first element does not exist."""
    y = x[0].copy()
    for k in range(10**6, 10**6 - len(x)):
        y[k + 1] = y[k] * x[0, 0]
    return y[0] * y[1]


PROGRAMS = {recurrence: 1, table: 1, from_one: 1, two: 2, downwards: 1, columns: 1, around: 1, overlapping: 0}
PROGRAMS |= {added_to: 1, in_branches: 0, no_rounds: 1}


@pytest.mark.parametrize(("f", "count"), PROGRAMS.items(), ids=lambda x: getattr(x, "__name__", str(x)))
def test_gradients_are_those_of_the_tape(f, count):
    function, found = gradient(f, (values(),), (0,))
    assert relayed(function) == count
    assert_same(found[0], dr.grad(twin(f))(values()))


@pytest.mark.parametrize("f", [table, two, around])
def test_numba_agrees(f):
    assert_same(dr.grad(f)(values()), dr.grad(twin(f))(values()))


class Table:
    """The lines of a random function that fills a table in loops; its indices may be -1."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.counters = ["i", "j"]
        self.offsets = self.rng.choice([[0, -1], [0, 1], [0, -1, 1]])
        self.strange = self.rng.choice([0.0, 0.1, 0.3])

    def lines(self) -> list[str]:
        shape = "(n + 1, m + 1)" if 1 in self.offsets else self.rng.choice(["(n, m)", "(n + 1, m + 1)", "(n, m + 1)"])
        made = ["def f(x):", "    n, m = x.shape", f"    t, total = np.ones({shape}), 0.0"]
        if self.rng.random() < 0.3:
            made.append("    n, m = n - 1, m - 1")
        outer, inner = (self.range(n) for n in "nm")
        made += [f"    for i in {outer}:", f"        for j in {inner}:"]
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            made.append(" " * 12 + self.statement())
        return [*made, "    return total + t[0, 0] * t[-1, -1] + np.sum(t)"]

    def range(self, stop: str) -> str:
        return self.rng.choice([f"range({stop})", f"range({stop})", f"range(1, {stop})", f"range({stop} - 1, 0, -1)"])

    def statement(self) -> str:
        rest = f"0.5 * {self.element()} * {self.term()} + x[i % 2, j % 2]"
        if self.rng.random() < self.strange:
            return self.rng.choice([f"total += {rest}", f"if x[0, j % 2] > 0.6: {self.element()} = {rest}"])
        return f"{self.element()} {self.rng.choice(['=', '=', '+='])} {rest}"

    def term(self) -> str:
        return self.rng.choice([self.element(), f"math.sin({self.element()})", "x[j % 2, i % 2]"])

    def element(self) -> str:
        return f"t[{', '.join(self.index(x) for x in self.counters)}]"

    def index(self, counter: str) -> str:
        if self.rng.random() < self.strange:
            return self.rng.choice(["0", "-1", "1", *self.counters])
        n = self.rng.choice(self.offsets)
        return f"{counter} {'+' if n > 0 else '-'} {abs(n)}" if n else counter


def numbers(seed: int, folder: Path) -> int:
    """Assert that the gradient equals the tape's, and count the scalars. Programs with an IndexError are skipped."""
    text = "\n".join(["import math", "import numpy as np", "from numba import njit", "", "@njit", *Table(seed).lines()])
    f, x = load(text, str(folder)).f, values(1 + seed % 3)[:, : 2 + seed % 2]
    x = np.ascontiguousarray(np.resize(x, (2 + seed % 2, 2 + seed // 2 % 2)))
    try:
        expected = dr.grad(twin(f))(x)
    except IndexError:
        return 0
    function, found = gradient(f, (x,), (0,))
    with about(f"seed {seed}:\n{text}"):
        assert_same(found[0], expected)
    return relayed(function)


def test_random_tables(tmp_path):
    """With some numbers in place of elements, so that it is a test of something."""
    assert sum(numbers(seed, tmp_path) for seed in range(40)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("first", range(40, 4000, 60))
def test_more_random_tables(first, tmp_path):
    for seed in range(first, first + 60):
        numbers(seed, tmp_path)
