"""Numba functions among the arguments of calls: no address of this process is in the code, so that it is cached."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

import dualrev as dr
from dualrev.ode.compiling import solving

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
import warnings
from numba import njit
import dualrev as dr

@njit
def halved(x):
    return 0.5 * x

@njit
def count(f, x):
    n = 0
    while x > 1.0:
        x = f(x)
        n += 1
    return n

@njit
def loss(x):
    return x ** count(halved, x)

warnings.simplefilter("error")
gradient = dr.grad(loss)
print(gradient(6.0), sum(gradient.stats.cache_hits.values()))
"""


def test_a_derivative_that_passes_a_function_is_loaded_in_another_process(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    env = {"DUALREV_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT), "PATH": ""}
    for hits in (0, 1):
        done = subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert done.stdout.split() == ["108.0", str(hits)]


@njit("float64(float64)")
def sine(x):
    return math.sin(x)


@njit("float64(float64)")
def cosine(x):
    return math.cos(x)


@njit
def repeated(f, x):
    """A loop, so that LLVM does not make it a part of its callers."""
    for k in range(len(x)):
        for _ in range(k):
            x[k] = f(x[k])
    return x


taking = solving(repeated.py_func)


@njit
def by_numba(x):
    return repeated(sine, x)


@njit
def by_type(x):
    return taking(sine, x.copy()) + taking(f=cosine, x=x)


def test_numba_can_cache_what_passes_a_function_without_its_address():
    x = np.linspace(0.1, 1.0, 4)
    assert by_type(x.copy()).tolist() == (repeated(sine, x.copy()) + repeated(cosine, x.copy())).tolist()
    for f, depends in ((by_numba, True), (by_type, False)):
        f(x.copy())
        (compiled,) = f.overloads.values()
        assert compiled.library.has_dynamic_globals is depends


@solving
def given_back(f):
    return f


@solving
def either(f, g, x):
    """A first-class function."""
    fs = (f, g)
    return fs[int(x > 0.0)](x)


@pytest.mark.filterwarnings("ignore:First-class function type")
def test_the_address_comes_back_where_numba_needs_it():
    @njit
    def returned():
        return given_back(sine)

    @njit
    def chosen(x):
        return either(sine, cosine, x)

    assert returned() is sine
    assert chosen(1.0) == math.cos(1.0)
    assert chosen(-1.0) == math.sin(-1.0)


@njit
def index_of_largest(f, g, x):
    return 0 if f(x) > g(x) else 1


@njit
def largest(x):
    return (x * x, 3.0 * x)[index_of_largest(sine, cosine, x)]


@pytest.mark.parametrize(("x", "slope"), [(0.5, 3.0), (1.0, 2.0)])
def test_a_call_without_derivative_takes_functions(x, slope):
    assert dr.grad(largest)(x) == slope
