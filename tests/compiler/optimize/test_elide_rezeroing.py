"""Elided zeros of shadows that the next iteration overwrites (optimize/elide_rezeroing.py)."""

import math
import random
from pathlib import Path

import numpy as np
import pytest
from fuzzing.running import about, load
from numba import njit
from support.incore import gradient
from support.oracle import assert_same

import dualrev as dr
from dualrev.compiler.driver.passes import LISTS
from dualrev.compiler.ir.core.atoms import Constant
from dualrev.compiler.ir.core.nodes import Store
from dualrev.compiler.ir.core.traverse import statements
from dualrev.compiler.ir.pass_manager import PassManager, Settings


@njit
def filled(x, n):
    """Every element, and all of them are read."""
    t, s = np.zeros(n), 0.5
    for _ in range(3):
        for i in range(n):
            t[i] = s * x[i]
        for i in range(n):
            s += t[i] * t[i]
    return s


@njit
def fewer_read(x, n):
    """The last element is written and never read."""
    t, s = np.zeros(n), 0.5
    for _ in range(3):
        for i in range(n):
            t[i] = s * x[i]
        for i in range(n - 1):
            s += t[i] * x[i + 1]
    return s


@njit
def first_apart(x, n):
    """The first element has a statement of its own."""
    t, s = np.zeros(n), 0.5
    for _ in range(3):
        t[0] = s * s
        for i in range(1, n):
            t[i] = s * x[i]
        for i in range(n):
            s += t[i] * x[i]
    return s


@njit
def twice(x, n):
    """Two phases in an iteration, with different elements."""
    t, s = np.zeros(n), 0.5
    for _ in range(2):
        for i in range(n):
            t[i] = s * x[i]
        for i in range(1, n):
            s += t[i - 1] * x[i]
        for i in range(n):
            t[i] = x[i] * x[i] * s
        for i in range(1, n):
            s += t[i - 1] * t[i - 1]
    return s


@njit
def matrix(x, n):
    t, s = np.zeros((2, n)), 0.5
    for _ in range(2):
        for i in range(n):
            for j in range(2):
                t[j, i] = s * x[i] + j
        for j in range(2):
            for i in range(n):
                s += t[j, i] * x[i]
    return s


@njit
def triangle(x, n):
    """Sums in a register, of which the last has no term."""
    t, s = np.zeros(n), 0.5
    for _ in range(2):
        for i in range(n):
            t[i] = s * x[i]
        for i in range(n):
            for j in range(i + 1, n):
                s += t[i] * x[j]
    return s


@njit
def branching(x, n):
    """A branch inside of the inner loops of the reverse sweep."""
    t, s = np.zeros(n), 0.5
    for k in range(3):
        for i in range(n):
            t[i] = s * x[i]
        for i in range(n):
            s += t[i] * x[i] if x[i] > 0.0 else t[i] * t[i]
        if k == 1:
            s *= x[0]
    return s


@njit
def longer_and_longer(x, n):
    """The elements depend on the outer counter."""
    t, s = np.zeros(n), 0.5
    for k in range(n):
        for i in range(k + 1):
            t[i] = s * x[i]
        for i in range(k + 1):
            s += t[i] * t[i]
    return s


@njit
def stencil(x, n):
    """The reverse sweep first adds to some elements, then to others."""
    t, s = np.zeros(n), 0.5
    for _ in range(2):
        for i in range(n):
            t[i] = s * x[i]
        for i in range(1, n - 1):
            s += t[i - 1] * t[i + 1]
    return s


@njit
def carried(x, n):
    """The last element comes from the iteration before."""
    t, s = np.ones(n), 0.5
    for _ in range(3):
        for i in range(n - 1):
            t[i] = s * x[i]
        for i in range(n):
            s += t[i] * t[i]
        t[n - 1] = t[n - 1] * s
    return s


@njit
def read_afterwards(x, n):
    t, s = np.zeros(n), 0.5
    for _ in range(3):
        for i in range(n):
            t[i] = s * x[i]
        for i in range(n):
            s += t[i] * x[i]
    for i in range(n):
        s += t[i] * t[i]
    return s


@njit
def last(x, n):
    """A negative index."""
    t, s = np.zeros(n), 0.5
    for _ in range(2):
        for i in range(n):
            t[i] = s * x[i]
        s += t[-1] * t[-1]
    return s


@njit
def scattered(x, n):
    t, s = np.zeros(n), 0.5
    for _ in range(2):
        for i in range(n):
            t[(2 * i) % n] = s * x[i]
        for i in range(n):
            s += t[i] * x[i]
    return s


@njit
def updated(x, n):
    """Elements that are replaced by what is computed of them."""
    t, s = np.zeros(n), 0.5
    for _ in range(2):
        for i in range(n):
            t[i] = s * x[i]
        for i in range(n):
            t[i] = math.sin(t[i]) * t[i]
        for i in range(n):
            s += t[i] * x[i]
    return s


@njit
def part(x, n):
    """A view of the array."""
    t, s = np.zeros((2, n)), 0.5
    for _ in range(2):
        for i in range(n):
            t[0, i] = s * x[i]
        row = t[0]
        for i in range(n):
            s += row[i] * x[i]
    return s


@njit
def ending(x, n):
    """A loop that ends early."""
    t, s = np.zeros(n), 0.5
    for _ in range(2):
        for i in range(n):
            t[i] = s * x[i]
        for i in range(n):
            s += t[i] * x[i]
            if s > 2.0:
                break
    return s


@njit
def in_a_while(x, n):
    t, s, k = np.zeros(n), 0.5, 0
    while k < 3:
        for i in range(n - 1, -1, -1):
            t[i] = s * x[i]
        for i in range(n - 1, -1, -1):
            s += t[i] * t[i]
        k += 1
    return s


#: program -> the zeros that go, and the additions that become stores
PROGRAMS = {
    filled: (1, 1),
    fewer_read: (1, 1),
    first_apart: (2, 1),
    twice: (2, 2),
    matrix: (1, 1),
    triangle: (1, 1),
    branching: (0, 0),
    longer_and_longer: (0, 1),
    stencil: (0, 0),
    carried: (0, 0),
    read_afterwards: (0, 0),
    last: (0, 0),
    scattered: (0, 0),
    updated: (0, 0),
    part: (0, 0),
    ending: (0, 0),
    in_a_while: (1, 1),
}


def arguments(n):
    return np.random.default_rng(0).normal(size=n), n


def stores(f, left_out=()):
    """The stores of zeros in the gradient, and those of other numbers; and the gradient."""
    made, found = gradient(f, arguments(5), (0,), PassManager(LISTS, Settings(frozenset(left_out), verify=True)))
    all_ = [s for s in statements(made.body) if isinstance(s, Store) and s.op == "="]
    zeros = [s for s in all_ if s.value == Constant(0.0)]
    return len(zeros), len(all_) - len(zeros), found


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_which_zeros_go_and_what_is_stored(f):
    zeros, others, found = stores(f)
    zeros_without, others_without, found_without = stores(f, ["elide-rezeroing"])
    assert (zeros_without - zeros, others - others_without) == PROGRAMS[f]
    assert_same(found, found_without)
    assert_same(found[0], dr.grad(f.py_func)(*arguments(5)))


@pytest.mark.parametrize("f", [first_apart, fewer_read, triangle], ids=lambda f: f.__name__)
def test_the_compiled_gradient_is_that_of_the_tape(f):
    back = dr.value_and_grad(f)
    for n in (1, 2, 5):
        assert_same(back(*arguments(n)), dr.value_and_grad(f.py_func)(*arguments(n)))


def test_both_modes_to_second_order():
    dr.check_grads(filled, arguments(2), argnums=0, order=2)


def program(seed):
    """The lines of a random function that fills, changes and reads two arrays in a loop."""
    rng = random.Random(seed)
    ranges = ["range(n)", "range(n)", "range(n)", "range(1, n)", "range(n - 1)", "range(n - 1, -1, -1)", "range(k, n)"]

    def part(kinds):
        t, loop, by = rng.choice("tu"), rng.choice(ranges), rng.choice(["", "", "- 1", "+ 1"])
        if by and rng.random() < 0.8:
            loop = "range(1, n)" if by == "- 1" else "range(n - 1)"
        elif by:
            loop, by = "range(n)", ""
        match rng.choice(kinds):
            case "fill":
                return [f"for i in {loop}:", f"    {t}[i{by}] = s * x[i]"]
            case "read":
                return [
                    f"for i in {loop}:",
                    f"    s += 0.1 * {t}[i{by}] * {rng.choice(['x[i]', 't[i]', 'u[i]', '1.5'])}",
                ]
            case "sums":
                return ["for i in range(n):", "    for j in range(i + 1, n):", f"        s += 0.1 * {t}[i] * x[j]"]
            case "point":
                return [f"{t}[{rng.choice(['0', 'n - 1', '1'])}] = s * x[0]"]
            case "change":
                return [f"for i in {loop}:", f"    {t}[i] = {rng.choice(['t', 'u'])}[i] * x[i]"]
            case _:
                return [f"for i in {loop}:", "    if x[i] > 0.0:", f"        s += 0.1 * {t}[i]"]

    parts = [part(["fill"]), *(part(["fill", "read", "read", "sums", "point", "change", "if"]) for _ in range(4))]
    parts += [part(["read", "sums"])]
    lines = ["def f(x, n):", "    s = 0.5", "    t, u = np.zeros(n), np.ones(n)", "    for k in range(3):"]
    lines += ["        " + line for lines_ in parts for line in lines_]
    return [*lines, "    return s * s"]


@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 60), marks=pytest.mark.slow)], ids=len)
def test_random_programs(seeds, tmp_path):
    changed = 0
    for seed in seeds:
        source = "\n".join(program(seed))
        f = load("import numpy as np\nfrom numba import njit\n\n\n@njit\n" + source, str(Path(tmp_path))).f
        with about(source):
            zeros, others, found = stores(f)
            zeros_without, others_without, found_without = stores(f, ["elide-rezeroing"])
            changed += (zeros, others) != (zeros_without, others_without)
            assert_same(found, found_without)
            assert_same(found[0], dr.grad(f.py_func)(*arguments(5)), rtol=1e-9, floor=1e-9)
    assert changed > len(seeds) // 8
