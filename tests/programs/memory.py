"""Functions that raise, recurse or take much memory; `python -m programs.memory NAME ...` runs programs below in turn.

The programs are for processes of their own: a limit on the memory, a crash, or a fork concerns nobody else there.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from pathlib import Path

import numpy as np
from numba import njit

import dualrev as dr

PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0


def resident(place: int = 1) -> float:
    """The megabytes of this process in memory, or its address space with place 0. On Linux only."""
    return int(Path("/proc/self/statm").read_text().split()[place]) * PAGE / 1e6


@njit
def steps(x, n):
    """A loop that records a word in every iteration; its length is known."""
    s = 0.0
    for _ in range(n):
        x = np.sin(x) + 0.5
        s += x * x
    return s


@njit
def rounds(x, n):
    """The same, and the length is not known."""
    s = 0.0
    i = 0
    while i < n:
        x = np.sin(x) + 0.5
        s += x * x
        i += 1
    return s


@njit
def rebound(x, n):
    """A loop that records an array in every iteration."""
    a = np.ones(1000)
    s = 0.0
    for _ in range(n):
        a = a * x
        s += a[3] * a[5]
    return s


@njit
def overwritten(a, b):
    """It has shadows, and a word for every element."""
    s = 0.0
    for i in range(len(a)):
        a[i] = a[i] * a[i]
        s += a[i] * b[i]
    return s


@njit
def squares(a, b):
    """It only has shadows."""
    s = 0.0
    for i in range(len(a)):
        s += a[i] * a[i] * b[i]
    return s


@njit
def deep(x, n):
    """Recursion: f takes less of the stack than its derivatives."""
    if n == 0:
        return x
    return np.sin(x + 0.001 * deep(x * 0.99999, n - 1))


@njit
def mutual(x, n):
    """The same by way of another function."""
    if n == 0:
        return x
    return np.sin(other(x, n - 1)) * 0.5 + x


@njit
def other(x, n):
    """The second of two functions that call each other."""
    return mutual(x * 0.9999, n) * 1.01 if n > 0 else x


@njit
def asserts(x, n, z):
    """It is here since pytest gives functions with an assert other code."""
    for k in range(n):
        assert k < 1000 or z > 0.0, "too far"
        x = np.sin(x)
    return x


def limited() -> None:
    """Under a limit on the address space: MemoryErrors of every kind, and then gradients that need little."""
    import resource

    functions = [steps, rounds, rebound, overwritten]
    large = np.ones(4_000_000)
    many = [(0.7, 10**8), (0.7, 10**8), (0.7, 10**5), (large, large.copy())]
    few = [(0.7, 50), (0.7, 50), (0.7, 50), (np.arange(5.0), np.ones(5))]

    def fresh(args: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(x.copy() if isinstance(x, np.ndarray) and len(x) < 100 else x for x in args)

    before = [repr(dr.value_and_grad(f)(*fresh(args))) for f, args in zip(functions, few, strict=True)]
    limit = int((resident(0) + 40.0) * 1e6)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for f, args in zip(functions, many, strict=True):
        failed = 0
        for _ in range(20):
            try:
                dr.value_and_grad(f)(*args)
            except MemoryError:
                failed += 1
        print(f.__name__, failed)
    print(before == [repr(dr.value_and_grad(f)(*fresh(args))) for f, args in zip(functions, few, strict=True)])


def recursion() -> None:
    """Depths that f reaches and its derivatives may not: an error, and the process goes on."""
    for f in (deep, mutual):
        assert np.isfinite(f(1.0, 100_000))
        for g in (dr.grad(f), lambda x, n, f=f: dr.jvp(f, (x, n), (1.0, None))[1]):
            for n in (1_000_000, 100_000, 1_000):
                try:
                    found = "finite" if np.isfinite(g(1.0, n)) else "wrong"
                except RecursionError as e:
                    found = str(e)
                print(f.__name__, n, found)


def large_stack() -> None:
    """In a thread with a larger stack the same depth has a gradient; the next thread's stack is small again."""
    found: list[object] = []

    def work() -> None:
        try:
            found.append(dr.grad(deep)(1.0, 100_000))
        except RecursionError:
            found.append("refused")

    for size in (256, 1, 256):
        threading.stack_size(size * 2**20)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    print(found[0] == found[2] == dr.grad(deep)(1.0, 1_000), found[1])


def forked() -> None:
    """A child that is made between two gradients, after one that has failed."""
    gradient = dr.grad(rounds)
    here = gradient(0.7, 1000)
    with contextlib.suppress(RecursionError):
        dr.grad(deep)(1.0, 1_000_000)
    child = os.fork()
    same = gradient(0.7, 1000) == here
    if child == 0:
        os._exit(7 if same else 1)
    print(same, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def recorded() -> None:
    """The bytes of memory that a recorded value takes during the call, and after it."""
    from bench.measuring.memory import memory

    gradient, n = dr.grad(rounds), 12_000_000  # more than a thread keeps
    gradient(0.7, 1000)
    before = memory("VmRSS")
    gradient(0.7, n)
    print((memory("VmHWM") - before) / n, (memory("VmRSS") - before) / n)


def shadowed() -> None:
    """The same of an argument's element that is read, and of one that is overwritten."""
    from bench.measuring.memory import memory

    n = 10_000_000  # more than a thread keeps, and so large that malloc gives them back at once
    for f in (squares, overwritten):
        gradient = dr.grad(f, (0, 1))
        gradient(np.ones(5), np.ones(5))
        a, b = np.ones(n), np.ones(n)
        before = memory("VmRSS")
        made = gradient(a, b)
        print((memory("VmHWM") - before) / n, (memory("VmRSS") - before) / n, sum(x.nbytes for x in made) / n)
        del a, b, made


@njit
def marching(x, n):
    rows = np.zeros((n, 100))
    rows[0, 7] = x
    for i in range(1, n):
        rows[i] = rows[i - 1]
        rows[i, i % 100] *= x
    return np.sum(rows[n - 1])


def marched() -> None:
    """Pages that are new to the process in each of four gradients, whose array and its shadow have 4,000."""
    import resource

    gradient = dr.grad(marching)
    print(gradient(1.01, 1000))
    for _ in range(4):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        gradient(1.01, 10_000)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"program {name}")
        globals()[name]()
