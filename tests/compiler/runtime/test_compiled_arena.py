"""A thread keeps a tape's memory for its next tape, also with nested calls, threads, failures and forks."""

import functools
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same

import dualrev as dr

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nothing is kept on Windows")

STEPS = 2_500_000  # 40 MB on the tape


@njit
def swings(x, n):
    v = 0.0
    for _ in range(n):
        v -= 0.001 * np.sin(x)
        x += 0.001 * v
        if not np.isfinite(x):
            raise ValueError("it left")
    return x


swings_gradient = dr.value_and_grad(swings)


@njit
def outer(x, n, m):
    y, slope = swings_gradient(x, m)
    for _ in range(n):
        x = np.sin(x) * y
    return x + slope


def faults(run):
    """How many pages are new to the process when it runs."""
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    run()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_the_next_tape_has_the_pages_of_the_last_one():
    first = swings_gradient(1.0, STEPS)
    assert faults(lambda: swings_gradient(1.0, STEPS)) < 100  # the tape has 10,000
    assert_same(swings_gradient(1.0, STEPS), first, rtol=0.0)


def test_shorter_and_longer_tapes_follow_one_another():
    expected = {n: swings_gradient(1.0, n) for n in (0, 3, 1000, 100_000)}
    for n in (1000, 100_000, 3, 1000, 0, 100_000):
        assert_same(swings_gradient(1.0, n), expected[n], rtol=0.0)


def test_a_failure_gives_its_memory_back():
    expected = swings_gradient(1.0, STEPS)
    with pytest.raises(ValueError, match="it left"):
        swings_gradient(np.inf, STEPS)
    assert faults(lambda: swings_gradient(1.0, STEPS)) < 100
    with pytest.raises(MemoryError, match="does not fit"):
        dr.grad(outer)(1.0, 2**61, 3)
    assert_same(swings_gradient(1.0, STEPS), expected, rtol=0.0)


def test_a_call_inside_of_another_one_has_memory_of_its_own():
    gradient = dr.grad(outer)
    alone = gradient(0.7, 1000, 1000)
    for _ in range(3):
        swings_gradient(1.0, 50_000)
        assert_same(gradient(0.7, 1000, 1000), alone, rtol=0.0)
    eps = 1e-6
    difference = (outer(0.7 + eps, 10, 1000) - outer(0.7 - eps, 10, 1000)) / (2.0 * eps)
    assert_same(gradient(0.7, 10, 1000), difference, rtol=1e-6)


def test_threads_have_a_block_each():
    gradient = dr.value_and_grad(njit(nogil=True)(swings.py_func))
    starts = np.linspace(0.1, 1.0, 16)
    expected = [gradient(x, 20_000) for x in starts]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert_same(list(pool.map(lambda x: gradient(x, 20_000), starts)), expected, rtol=0.0)


def ending_threads():
    swings_gradient(1.0, STEPS)
    before = resident()
    for _ in range(20):
        thread = threading.Thread(target=swings_gradient, args=(1.0, STEPS))
        thread.start()
        thread.join()
    return resident() - before


def large_tape():
    swings_gradient(1.0, 100)
    before = resident()
    swings_gradient(1.0, 4 * STEPS)
    return resident() - before


@functools.cache
def growth():
    """The bytes by which a process grows, which does nothing else meanwhile: by a large tape, and by threads."""
    code = "import test_compiled_arena as t; print(t.large_tape(), t.ending_threads())"
    folders = [Path(__file__).parents[k] for k in (3, 2, 0)]
    paths = {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | paths, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(zip((large_tape, ending_threads), map(int, done.stdout.split()), strict=True))


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the resident memory is read from /proc")
@pytest.mark.parametrize(("run", "most"), [(ending_threads, 5 * 16 * STEPS), (large_tape, 64 * 2**20)])
def test_memory_is_freed(run, most):
    """Memory is freed: a thread's at its end, and a tape that is too large to keep at the end of its call."""
    assert growth()[run] < most


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_goes_on():
    expected = swings_gradient(1.0, 10_000)
    child = os.fork()
    if child == 0:
        os._exit(0 if swings_gradient(1.0, 10_000) == expected else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert_same(swings_gradient(1.0, 10_000), expected, rtol=0.0)
