"""Functions that are passed on by way of a variable: which one it is, its type tells, and a name leads to it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from numba.extending import overload

import dualrev as dr
from dualrev.errors import CotangentError, UnsupportedError

ROOT = Path(__file__).parents[3]


@njit
def square(x):
    return x * x


@njit
def apply(f, x):
    return f(x)


@njit
def twice(f, x):
    return apply(f, apply(f, x))


@njit
def pair(n):
    return square, n


@njit
def single():
    return square


@njit
def with_default(x, f=square):
    return apply(f, x)


@njit
def by_another_name(x):
    f = square
    return twice(f, x)


@njit
def in_a_tuple(x):
    t = (square, 3)
    return apply(t[0], x) * t[1]


@njit
def from_a_call(x):
    t = pair(3)
    return apply(t[0], x) * t[1]


@njit
def returned(x):
    return apply(single(), x)


@njit
def returned_by_a_function_that_is_passed(x):
    return apply(apply(returning, 1.0), x)


@njit
def returning(x):
    return square


@njit
def by_default(x):
    return with_default(x)


@pytest.mark.parametrize(
    "f", [by_another_name, in_a_tuple, from_a_call, returned, returned_by_a_function_that_is_passed, by_default]
)
@pytest.mark.filterwarnings("ignore:First-class function type")
def test_a_variable_may_hold_the_function(f):
    right = {by_another_name: 32.0, in_a_tuple: 12.0, from_a_call: 12.0}.get(f, 4.0)
    assert dr.value_and_grad(f)(2.0) == (f(2.0), right)
    assert dr.jvp(f, (2.0,), (1.0,)) == (f(2.0), right)


@njit
def among_arguments(t, x):
    return apply(t[0], x) + apply(t[1][1], x)


@njit
def beside_its_own(x, f):
    fs = (f, square)
    return apply(fs[0], x) + apply(fs[1], x)


@pytest.mark.filterwarnings("ignore:First-class function type")
def test_an_argument_may_hold_the_function():
    cube = njit(lambda x: x * x * x)
    assert dr.grad(among_arguments, 1)((cube, (1, square)), 2.0) == 16.0
    assert dr.grad(beside_its_own)(2.0, cube) == 16.0


def chosen(x):
    """A function that the rest of numba's code does not name."""


@overload(chosen)
def _chosen(x):
    return lambda x: square


@njit
def by_an_overload(x):
    return apply(chosen(x), x)


@njit
def named_where_it_is_passed(x):
    return apply(square, x)


@pytest.mark.filterwarnings("ignore:First-class function type")
def test_a_function_that_nothing_names_is_refused():
    with pytest.raises(UnsupportedError, match=r"holds the function square .* Write square where it is passed"):
        dr.grad(by_an_overload)(2.0)
    assert dr.grad(named_where_it_is_passed)(2.0) == 4.0


PROGRAM = """
import numpy as np
from numba import njit

import dualrev as dr

@njit(cache=True)
def square(x):
    return x * x

@njit(cache=True)
def apply(f, x):
    return f(x)

@njit(cache=True)
def pair(n):
    return square, n

@njit(cache=True)
def f(t, x):
    g = pair(2)
    return apply(g[0], x) + apply(t[0], x) * g[1]

if __name__ == "__main__":
    gradient = dr.grad(f, 1)
    print(gradient((square, 1), 3.0), sum(gradient.stats.cache_hits.values()))
"""


def test_another_process_finds_the_function_again(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    environment = {**os.environ, "DUALREV_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path / "numba")
    printed = [
        subprocess.run(
            [sys.executable, "-W", "ignore", path], env=environment, capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert printed == [["18.0", "0"], ["18.0", "1"]]


@njit
def times_first(x):
    return x * x[0]


@njit
def pulled(x):
    _, pull = dr.vjp(times_first, x)
    return pull([1.0, 2.0])[0]


def test_a_list_is_no_cotangent_of_an_array():
    """Numba's own typing of `array[...] = list` stumbles where a derivative of the pullback is made."""
    x = np.array([1.0, 2.0])
    for call in (lambda: pulled(x), lambda: dr.jacrev(pulled)(x)):
        with pytest.raises(TypingError, match=r"list\(float64\).* where the function's value has an array with 1 axes"):
            call()
    with pytest.raises(CotangentError, match="the function's value has"):
        dr.vjp(times_first, x)[1]([1.0, 2.0])
