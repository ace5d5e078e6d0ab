"""Inline hints (codegen/inline_hints.py): which functions of an emitted module are inlined into their callers."""

import numba
from numba import njit

from dualrev.compiler.codegen.inline_hints import LINES, LOOP, copied
from dualrev.compiler.driver.emit import emit


def lines(n, *calls):
    """Return n lines, of which one calls each function in `calls`."""
    return [*(f"x = {f}(x)" for f in calls), *["x += 1.0"] * (n - len(calls))]


def test_all_copies_together_are_at_most_so_long():
    functions = {"a": lines(LINES // 2), "b": lines(LINES // 2 + 1), "f": lines(4, "a", "b", "a", "b")}
    assert copied(functions, "ab") == ["a"]


def test_a_loop_counts_as_several_lines():
    functions = {"a": ["for i in range(3):", *lines(LINES - LOOP)], "f": lines(1, "a")}
    assert copied(functions, "a") == []
    functions["a"] = functions["a"][:-1]
    assert copied(functions, "a") == ["a"]


def test_what_is_copied_into_a_function_counts_there():
    functions = {"a": lines(LINES // 2), "b": lines(LINES // 2 + 1, "a"), "f": lines(1, "b")}
    assert copied(functions, "ab") == ["a"]
    assert copied(functions, "b") == ["b"]


def test_others_are_not_copied_and_one_that_nothing_calls_may_be():
    assert copied({"a": lines(1), "f": lines(1, "a")}, "f") == ["f"]


def test_functions_that_call_one_another_are_not_copied():
    assert copied({"a": lines(2, "b"), "b": lines(2, "a"), "f": lines(1, "b")}, "ab") == []
    assert copied({"a": lines(2, "a"), "f": lines(1, "a")}, "a") == []


@njit
def short(x):
    if x < 0.0:  # what raises is no part of its callers: optimize/inline.py
        raise ValueError
    return x * x


@njit
def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


@njit
def several(x):
    return short(x) + power(x, 3)


def test_recursive_functions_are_not_copied():
    source = emit(several, "grad", 0, (numba.float64,)).source
    assert "forceinline=True)\ndef short_reverse(" in source
    assert source.count("forceinline") == 1
    assert "def power_reverse(" in source


@njit(forceinline=True)
def own(x):
    if x < 0.0:
        raise ValueError
    return x * x


@njit
def calls_own(x):
    return own(x) * own(x + 1.0)


def test_the_option_of_the_users_is_not_written_twice():
    assert emit(calls_own, "grad", 0, (numba.float64,)).source.count("forceinline") == 1
