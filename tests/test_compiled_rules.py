"""stop_gradient, custom_vjp, custom_jvp and checkpoint in numba functions: the same as the tape does with f.py_func."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from compiled.twin import twin
from numba import njit
from oracle import assert_same

import dualrev as dr
from dualrev.errors import LoopError, UnsupportedError


class Pair(NamedTuple):
    number: float
    array: np.ndarray
    count: int


def same(found, expected):
    """Equal numbers in equal structures."""
    assert type(found) is type(expected) or np.isscalar(expected)
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    elif expected is not None:
        assert_same(np.asarray(found), np.asarray(expected), rtol=1e-10, floor=1e-11)


# stop_gradient


@njit
def with_constants(x, v, p):
    y = dr.stop_gradient(x) * x
    w = dr.stop_gradient(v * x)
    w[0] = 2.0
    z = dr.stop_gradient((x, v, p))
    v[1] = 3.0  # z has copies
    total = 0.0
    for i in range(len(v)):
        total += w[i] * v[i] + z[2].array[i] * p.array[i] * p.number * z[2].number * z[2].count + z[1][i] * z[0] * x
    if dr.stop_gradient(x) > 0.0:
        total += np.sin(dr.stop_gradient(x) * x)
    x = dr.stop_gradient(x)
    return y + total * x


def constants():
    return 0.7, np.array([1.0, 2.0, 3.0]), Pair(1.5, np.array([0.3, 0.2, 0.1]), 2)


def test_constants_are_constants_in_both_modes():
    twin = with_constants.py_func

    def of_tape(x, v, p):
        return twin(x, dr.numpy.array(v), p)

    assert with_constants(*constants()) == twin(*constants())
    same(
        dr.value_and_grad(with_constants, (0, 1, 2))(*constants()), dr.value_and_grad(of_tape, (0, 1, 2))(*constants())
    )
    tangents = 1.0, np.ones(3), Pair(0.5, np.ones(3), None)
    same(dr.jvp(with_constants, constants(), tangents), dr.jvp(of_tape, constants(), tangents))


def test_constants_are_constants_in_second_derivatives():
    @njit
    def f(x, v):
        return x * x * dr.stop_gradient(x * v[0]) * np.sum(dr.stop_gradient(v) * v * v)

    args = 0.7, np.array([1.0, 2.0, 3.0])
    same(dr.hessian(f, (0, 1))(*args), dr.hessian(f.py_func, (0, 1))(*args))
    same(dr.hvp(f)(0.7, 1.0, args[1]), dr.hvp(f.py_func)(0.7, 1.0, args[1]))


def test_constants_are_values_in_numba_functions_that_are_not_differentiated():
    @njit
    def f(x):
        return dr.stop_gradient(x)

    a, counts = np.ones(2, np.float32), np.arange(3)
    made = f((1, True, None, a, Pair(2.0, a, 3), counts))
    assert made[:3] == (1, True, None)
    assert made[3].dtype == np.float32
    assert not np.shares_memory(made[3], a)
    assert type(made[4]) is Pair
    assert not np.shares_memory(f.py_func(a), a)


# checkpoint


@dr.checkpoint
@njit
def block(u, rates):
    v = u.copy()
    for i in range(1, len(u) - 1):
        v[i] = u[i] + rates[0] * (u[i - 1] - 2.0 * u[i] + u[i + 1]) - rates[1] * u[i] ** 3
    return v, np.sum(v)


@dr.checkpoint
@njit
def in_place(u, w, rate):
    for i in range(1, len(u) - 1):
        w[i] = u[i] + rate * (u[i - 1] - 2.0 * u[i] + u[i + 1])
    for i in range(1, len(u) - 1):
        u[i] = w[i] * np.cos(w[i])


@dr.checkpoint
@njit
def numbers(x, y):
    for _ in range(5):
        x = x + 0.1 * x * y * x
    return x, x * y


@njit
def of_blocks(u, rate, n):
    x, total, w = rate, 0.0, u.copy()
    for _ in range(n):
        in_place(u, w, rate)
        u[3] *= u[4]
        w, s = block(u, (rate, 0.1))
        x, y = numbers(x, s)
        total += s * y
    return total + np.sum(u * w)


def test_checkpoints_change_no_derivative():
    args = lambda: (np.linspace(0.0, 1.0, 8) ** 2, 0.2, 4)  # noqa: E731
    assert of_blocks(*args()) == of_blocks.py_func(*args())
    expected = dr.value_and_grad(twin(of_blocks), (0, 1))(*twin_args(args()))
    same(dr.value_and_grad(of_blocks, (0, 1))(*args()), expected)
    source = dr.derivative_source(of_blocks, *args())
    assert "def in_place_again_reverse(" in source
    assert source.count("runtime.keep(tape, u.copy())") == 1  # in_place changes it


def twin_args(args):
    return tuple(dr.numpy.array(x) if isinstance(x, np.ndarray) else x for x in args)


def test_checkpoints_in_second_derivatives():
    @njit
    def f(x, n):
        y = 0.5 * x
        for _ in range(n):
            x, z = numbers(x, y)
            y = y * 0.9 + 0.01 * z
        return x * y

    same(dr.hessian(f)(0.3, 4), dr.hessian(twin(f))(0.3, 4))
    assert "numbers_tangent_again_reverse" in dr.derivative_source(f, 0.3, 4, transform="hessian")


def test_a_checkpoint_for_python_and_the_tape():
    x, y = dr.vjp(lambda x: numbers(x, 0.5)[1] * x, 0.3)
    expected, pull = dr.vjp(lambda x: numbers.py_func(x, 0.5)[1] * x, 0.3)
    assert x == pytest.approx(expected, rel=1e-15)
    assert y(1.0)[0] == pytest.approx(pull(1.0)[0], rel=1e-15)
    assert numbers(0.3, 0.5) == numbers.py_func(0.3, 0.5)
    assert pickle.loads(pickle.dumps(numbers)) is numbers


def test_a_checkpoint_returns_new_arrays():
    @dr.checkpoint
    @njit
    def same_array(u):
        return u

    @njit
    def f(u):
        return np.sum(same_array(u) * u)

    message = r"the call of .*same_array, a checkpoint cannot be differentiated: an array that it returns may share"
    with pytest.raises(UnsupportedError, match=message):
        dr.grad(f)(np.ones(3))


# Loops


@njit
def heat(k, u, r):
    v = u.copy()
    for i in range(1, len(u) - 1):
        v[i] = u[i] + r[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1]) + 0.01 * k * u[i] ** 2
    return v


heated = dr.checkpoint(heat, loop=2)


@njit
def temperature(u, r, n):
    u = heated(n, u, r)
    return np.sum(u * u)


@njit
def temperature_of_all(u, r, n):
    for k in range(n):
        u = heat(k, u, r)
    return np.sum(u * u)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 50])
def test_a_loop_in_blocks_is_a_loop(n):
    u, r = np.linspace(0.0, 1.0, 6) ** 2, np.linspace(0.1, 0.3, 6)
    found = dr.value_and_grad(temperature, (0, 1))(u, r, n)
    same(found, dr.value_and_grad(temperature_of_all, (0, 1))(u, r, n))
    if n == 7:
        same(found, dr.value_and_grad(twin(temperature_of_all), (0, 1))(*twin_args((u, r, n))))


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_loop_of_a_python_function(levels):
    calls = []

    def step(k, state, rate):
        calls.append(k)
        x, n = state
        return x + rate * x * x / (1 + k), n + 1

    run = dr.checkpoint(step, loop=levels)
    assert run(0, (0.5, 0), 0.1) == (0.5, 0)
    calls.clear()
    found = dr.grad(lambda x, rate: run(30, (x, 0), rate)[0], (0, 1))(0.5, 0.1)
    assert len(calls) == 30 * (levels + 1)

    def plain(x, rate):
        state = x, 0
        for k in range(30):
            state = step(k, state, rate)
        return state[0]

    assert found == pytest.approx(dr.grad(plain, (0, 1))(0.5, 0.1), rel=1e-14)


def test_what_cannot_be_the_step_of_a_loop():
    for levels in (-1, 1.5, True):
        with pytest.raises(LoopError, match="loop is the number of levels"):
            dr.checkpoint(heat, loop=levels)
    with pytest.raises(LoopError, match="a step takes its number"):
        dr.checkpoint(lambda *args: args, loop=1)


MEMORY = """
import resource, sys
import numpy as np
import dualrev as dr
from numba import njit

@njit
def heat(k, u, r):
    v = u.copy()
    for i in range(1, len(u) - 1):
        v[i] = u[i] + r[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
    return v

run = dr.checkpoint(heat, loop=2)

@njit
def f(u, r, n):
    u = run(n, u, r)
    return np.sum(u * u)

cells, steps = map(int, sys.argv[1:])
u, r = np.random.default_rng(0).normal(size=cells), np.full(cells, 0.2)
gradient = dr.grad(f, (0, 1))
gradient(u[:9].copy(), r[:9].copy(), 5)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gradient(u, r, steps)
print(before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak():
    """The most memory that this process had since the peak was reset, in MB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the peak of the memory cannot be reset")
def test_the_memory_of_a_loop_grows_with_the_root_of_its_steps():
    """All states would take 400 MB, and their cotangents as much again."""
    u, r = np.linspace(0.0, 1e-3, 20000), np.full(20000, 0.2)
    gradient = dr.value_and_grad(temperature, (0, 1))
    gradient(u[:9].copy(), r[:9].copy(), 5)
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    gradient(u, r, 2500)
    assert peak() - before < 60


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes there")
def test_a_heat_equation_of_many_cells_and_steps_fits_into_a_gigabyte(tmp_path):
    """All states would take 8 GB."""
    file = tmp_path / "heat.py"
    file.write_text(MEMORY)
    run = subprocess.run([sys.executable, file, str(10**5), str(10**4)], capture_output=True, text=True, check=True)
    before, after = map(int, run.stdout.split())
    assert after - before < 500 * 1000
    assert after < 1000 * 1000
