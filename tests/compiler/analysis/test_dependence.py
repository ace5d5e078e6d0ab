"""Dependence analysis against brute force: what it says of two accesses holds in every run of small random programs."""

import contextlib
import itertools
import random

import numba
import numpy as np
import pytest
from fuzzing.running import load
from numba import njit

from dualrev.compiler.analysis.dependence import Dependence
from dualrev.compiler.analysis.ssa import Versions
from dualrev.compiler.driver.emit import core_program
from dualrev.compiler.ir.core import interpret
from dualrev.compiler.ir.core.nodes import For, Load, Store, While
from dualrev.compiler.ir.core.traverse import statements

VECTOR, MATRIX = np.arange(9.0), np.arange(20.0).reshape(4, 5)


class Trace:
    """Accesses of a run: the statement, the address, the indices, and the iteration of each loop around it."""

    def __init__(self, f):
        self.loops = {id(s.body): s for s in statements(f.body) if isinstance(s, (For, While))}
        self.around = []
        self.rows = []
        self.count = 0

    def watch(self, monkeypatch):
        block, statement = interpret._Run.block, interpret._Run.statement

        def watched_block(run, body):
            loop = self.loops.get(id(body))
            self.count += 1
            self.around += [] if loop is None else [(loop, self.count)]
            try:
                block(run, body)
            finally:
                if loop is not None:
                    self.around.pop()

        def watched_statement(run, s):
            if isinstance(s, (Load, Store)):
                array, index = run.atom(s.array), [int(run.expr(i)) for i in s.index]
                if not all(-size <= i < size for i, size in zip(index, array.shape, strict=True)):
                    return run.bind(s.target, 0.0) if isinstance(s, Load) else None  # no element: no access
                places = [i + size if i < 0 else i for i, size in zip(index, array.shape, strict=True)]
                address = array.__array_interface__["data"][0] + sum(map(int.__mul__, places, array.strides))
                self.rows.append((s, address, index, dict(self.around)))
            return statement(run, s)

        monkeypatch.setattr(interpret._Run, "block", watched_block)
        monkeypatch.setattr(interpret._Run, "statement", watched_statement)


def agrees(f, args, monkeypatch):
    """Check all answers about a function in a run; how often each was given."""
    core, program = core_program(f, tuple(map(numba.typeof, args)))
    trace = Trace(core)
    with monkeypatch.context() as patch:
        trace.watch(patch)
        with contextlib.suppress(IndexError):  # of a view; what was touched before, was
            program.run(core, args)
    dependence = Dependence(Versions(core))
    given = dict.fromkeys(["never", "always", "may", "natural"], 0)
    access = {s: dependence.access(s) for s in statements(core.body) if isinstance(s, (Load, Store))}
    for s, _, index, _ in trace.rows:
        for i, x in zip(index, s.index, strict=True):
            natural = dependence.is_nonnegative(s, x)
            given["natural"] += natural
            assert not natural or i >= 0
    for (s, here, _, mine), (t, there, _, others) in itertools.product(trace.rows, trace.rows):
        common = [loop for loop in mine if loop in others]
        other = next((loop for loop in common if mine[loop] != others[loop]), None)
        asked = [{"within": loop} for loop in common if all(mine[x] == others[x] for x in common[: common.index(loop)])]
        asked.append({} if other is None else {"across": other})
        for loops in asked:
            answer = dependence.same_element(access[s], access[t], **loops)
            given[answer] += 1
            assert answer == "may" or (answer == "always") == (here == there), (s, t, loops)
    return given


# Chosen programs


@njit
def neighbours(a, n):
    for i in range(1, n - 1):
        a[i] = a[i - 1] + a[i + 1]


@njit
def downwards(a, n):
    for i in range(n - 2, -1, -1):
        a[i] = a[i + 1]


@njit
def diagonals(m, n):
    for i in range(n):
        m[i, i] = 1.0
        for j in range(i):
            m[i, j] = m[j, i]


@njit
def transposed(m, n):
    t = m.T
    for i in range(n):
        for j in range(i + 1, n):
            t[i, j] = m[i, j]


@njit
def evens_and_odds(a, n):
    for i in range(n // 2):
        a[2 * i] = a[2 * i + 1]


@njit
def backwards(a, n):
    v = a[::-1]
    for i in range(n):
        v[i] = a[n - 1 - i]


@njit
def far(a, n):
    """The counters themselves are large; what is 4 times as large wraps around."""
    for i in range(2**61, 2**61 + 3):
        a[i - 2**61] = 1.0
        a[i * 4 - 2**61 * 4] = 2.0


@njit
def counted(a, n):
    k = 0
    while k < n:
        a[k] = a[k - 1]
        k += 1


@njit
def another_array_each_time(a, n):
    v = a[1:]
    for i in range(n - 2):
        v[i] = 1.0
        v = a if i % 2 else a[1:]


def answers(f, args):
    """Answers for the last store of a function against each access before it, in one iteration and in two."""
    core, _ = core_program(f, tuple(map(numba.typeof, args)))
    dependence = Dependence(Versions(core))
    some = [s for s in statements(core.body) if isinstance(s, (Load, Store))]
    (last,) = [s for s in some if isinstance(s, Store)][-1:]
    loop = dependence.versions.enclosing_loops(dependence.versions.region_of[last])[-1]
    a = dependence.access(last)
    return [
        (dependence.same_element(a, b), dependence.same_element(a, b, across=loop))
        for b in map(dependence.access, some)
    ]


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (neighbours, [("never", "may"), ("never", "may"), ("always", "never")]),
        (downwards, [("never", "may"), ("always", "never")]),
        (evens_and_odds, [("never", "never"), ("always", "never")]),
        (backwards, [("may", "may"), ("always", "never")]),
        (counted, [("may", "may"), ("always", "may")]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_it_answers(f, expected):
    assert answers(f, (VECTOR.copy(), 9)) == expected


@pytest.mark.parametrize("n", [0, 1, 3, 4])
@pytest.mark.parametrize(
    "f",
    [neighbours, downwards, evens_and_odds, backwards, far, counted, another_array_each_time, diagonals, transposed],
)
def test_chosen_programs(f, n, monkeypatch):
    of = MATRIX if f in (diagonals, transposed) else VECTOR
    agrees(f, (of.copy(), n), monkeypatch)


# Random programs

LOW, HIGH = ["0", "0", "1", "2", "k", "-1", "-2"], ["n", "n", "n - 1", "n + 1", "3", "2 * n", "len(a)"]
UP, DOWN = ["1", "1", "1", "2", "3", "abs(k)"], ["-1", "-1", "-2", "k"]
INDICES = [
    *["i", "i + 1", "i - 1", "n - 1 - i", "2 * i", "2 * i + 1", "i + j", "i - j", "j", "j + 1", "3 * i + j", "i // 2"],
    *["i % 3", "0", "1", "-1", "k", "k + 1", "p", "p + 1", "max(i, j)", "min(i, j)", "i * j", "-i", "n - i", "q[i]"],
    *["(i if i < j else j)", "abs(k)", "i & 3", "len(a) - 1", "m.shape[0] - 1", "i + k", "j + k"],
]
VECTORS = [
    "a",
    "a",
    "a",
    "a[1:]",
    "a[::-1]",
    "a[k:]",
    "a[n - 3:]",
    "a[::2]",
    "a[-3:]",
    "m[1]",
    "m[i]",
    "m[:, j]",
    "u",
    "u[1:]",
]
MATRICES = ["m", "m", "m.T", "m[1:]", "m[:, ::-1]", "m[::2, 1:]", "m[::-1].T"]


def source(rng):
    """A random nest of two loops with views, a position that is counted, and accesses to two arrays."""
    level = rng.choice([1, 2])
    lines = ["def f(a, m, q, n, k):", "    i = j = p = 0", "    s = 0.0", "    u = np.zeros(n)"]
    lines += [f"    u = {rng.choice(VECTORS[:9])}"] * rng.randrange(2)

    def access(space):
        if rng.random() < 0.6:
            lines.append(f"{space}v = {rng.choice(VECTORS)}")
            index = rng.choice(INDICES)
            lines.append(f"{space}v[{index}] = s" if rng.random() < 0.5 else f"{space}s += v[{index}]")
        else:
            lines.append(f"{space}w = {rng.choice(MATRICES)}")
            index = f"{rng.choice(INDICES)}, {rng.choice(INDICES)}"
            lines.append(f"{space}w[{index}] = s" if rng.random() < 0.5 else f"{space}s += w[{index}]")

    def bounds(more=()):
        if rng.random() < 0.7:
            return ", ".join(map(rng.choice, ([*LOW, *more], HIGH, UP)))
        return ", ".join(map(rng.choice, (HIGH, [*LOW, *more], DOWN)))

    lines.append(f"    for i in range({bounds()}):")
    for _ in range(rng.randrange(1, 4)):
        access("        ")
    if level == 2:
        lines.append(f"        for j in range({bounds(['i', 'i', 'i + 1'])}):")
        for _ in range(rng.randrange(1, 4)):
            access("            ")
        lines += ["            p += 1"] * rng.randrange(2)
    lines += [f"        {rng.choice(['p += 1', 'p += k', 'p = i', 'p = 2 * p'])}"] * rng.randrange(2)
    lines.append("    return s")
    return "\n".join(lines)


def random_program(seed, folder, monkeypatch):
    rng = random.Random(seed)
    text = source(rng)
    n, k = rng.choice([3, 4, 5]), rng.choice([-2, -1, 1, 2])
    f = load(f"import numpy as np\nfrom numba import njit\n\n\n@njit\n{text}\n", str(folder)).f
    args = VECTOR.copy(), MATRIX.copy(), np.array([2, 0, -1, 1, 1, 3, 0, 2, 1]), n, k
    try:
        return agrees(f, args, monkeypatch)
    except AssertionError as error:
        raise AssertionError(f"{text}\n n = {n}, k = {k}") from error


def total(seeds, folder, monkeypatch):
    given = [random_program(seed, folder, monkeypatch) for seed in seeds]
    return {key: sum(row[key] for row in given) for key in given[0]}


def test_random_programs(tmp_path, monkeypatch):
    given = total(range(50), tmp_path, monkeypatch)
    assert min(given.values()) > 200, given


@pytest.mark.slow
def test_many_random_programs(tmp_path, monkeypatch):
    given = total([*range(50, 150), *range(1000, 3000)], tmp_path, monkeypatch)
    assert min(given.values()) > 5_000, given
