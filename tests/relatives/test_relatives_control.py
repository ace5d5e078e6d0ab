"""shift and reset by greenlets, without derivatives."""

import math
import threading

import numpy as np
import pytest

from stages.relatives.continuations import control, shift_reset
from stages.relatives.continuations.control import ControlError, reset, shift


def test_shift_and_reset():
    assert reset(lambda: 5) == 5
    assert reset(lambda: 1 + shift(lambda k: 7)) == 7  # what is left is dropped
    assert reset(lambda: 1 + shift(lambda k: k(7))) == 8
    assert 100 + reset(lambda: 1 + shift(lambda k: 10 * k(7))) == 180
    assert reset(lambda: "a" + shift(lambda k: "b" + k("c"))) == "bac"
    assert reset(lambda: 2 * shift(lambda k: 1 + k(3)) + shift(lambda k: 10 * k(4))) == 1 + 10 * (2 * 3 + 4)
    assert reset(lambda: shift(lambda k: 1 + shift(lambda j: 10 * j(2)))) == 30  # a shift in a body
    assert reset(lambda: 1 + reset(lambda: 2 * shift(lambda k: k(3) + 1))) == 8  # the nearest reset
    assert reset(lambda: 1 + shift(lambda k: reset(lambda: 2 * k(3)))) == 8


def test_the_equations_of_shift_and_reset():
    """Kameyama and Hasegawa 2003, those that need k once."""
    v, e = 3, lambda x: 2 * x + 1
    assert reset(lambda: v) == v
    assert reset(lambda: shift(lambda k: k(v))) == v  # shift (\k. k e) = e
    assert reset(lambda: e(shift(lambda k: 10 * k(v)))) == 10 * reset(lambda: e(v))
    assert reset(lambda: shift(lambda k: reset(lambda: e(v)))) == reset(lambda: shift(lambda k: e(v)))


def test_a_continuation_outlives_its_reset():
    k = reset(lambda: 1 + shift(lambda k: k))
    assert k(5) == 6

    def leaves(tree):  # the tree's leaves one by one: a generator, by continuations
        for branch in tree:
            leaves(branch) if isinstance(branch, tuple) else shift(lambda k, leaf=branch: (leaf, k))

    found, going = [], reset(lambda: leaves(((1, 2), (3, (4,)))))
    while going is not None:
        leaf, k = going
        found.append(leaf)
        going = k()
    assert found == [1, 2, 3, 4]


def test_a_continuation_is_called_once():
    with pytest.raises(ControlError, match="a second time: it is one-shot"):
        reset(lambda: 1 + shift(lambda k: k(1) + k(2)))
    k = reset(lambda: 1 + shift(lambda k: k))
    assert k(1) == 2
    with pytest.raises(ControlError, match="second time"):
        k(1)


def test_shift_without_reset():
    with pytest.raises(ControlError, match="without a reset"):
        shift(lambda k: 1)
    with pytest.raises(ControlError, match="of its level"):
        reset(lambda: shift(lambda k: 1, "another"), "one")


def test_levels():
    """Shift belongs to the reset of its level, and captures those in between."""
    seen = []

    def inner():
        a = shift(lambda k: ["to the outer", k("a")], "outer")
        b = shift(lambda k: ["to the inner", k("b")], "inner")
        seen.append((a, b))
        return a + b

    assert reset(lambda: ["rest", reset(inner, "inner")], "outer") == [
        "to the outer",
        ["rest", ["to the inner", "ab"]],
    ]
    assert seen == [("a", "b")]


def test_a_continuation_of_something_that_waits_cannot_be_called():
    kept = []

    def inner():
        shift(lambda k: kept.append(k) or shift(lambda j: kept[0](1), "outer"), "inner")

    with pytest.raises(ControlError, match="not around this call"):
        reset(lambda: reset(inner, "inner"), "outer")


def test_a_continuation_stays_in_its_thread():
    k = reset(lambda: 1 + shift(lambda k: k))
    found = []

    def work():
        with pytest.raises(ControlError, match="in another thread"):
            k(1)
        found.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True]
    assert k(1) == 2


def test_10_000_shifts_wait_at_once():
    order = []

    def body(k, i):
        k(i)
        order.append(i)

    reset(lambda: [shift(lambda k, i=i: body(k, i)) for i in range(10_000)])
    assert order == list(range(9_999, -1, -1))


def test_exceptions_pass_the_bodies_that_wait_and_reach_the_caller_of_reset():
    seen = []

    def body(k, i):
        try:
            return k(i)
        except ZeroDivisionError:
            seen.append(i)
            raise
        finally:
            seen.append("end")

    def f():
        shift(lambda k: body(k, 1))
        shift(lambda k: body(k, 2))
        return 1 / 0

    with pytest.raises(ZeroDivisionError):
        reset(f)
    assert seen == [2, "end", 1, "end"]

    def caught(k):
        with pytest.raises(ZeroDivisionError):
            k(1)
        return "caught"

    assert reset(lambda: 1 / (shift(caught) - 1)) == "caught"


def test_a_traceback_shows_where_it_was_raised_not_what_it_passed():
    def f():
        for i in range(10_000):
            shift(lambda k, i=i: k(i))
        raise ValueError("here")

    with pytest.raises(ValueError, match="here") as found:
        reset(f)
    names = [entry.name for entry in found.traceback]
    assert names[0].startswith("test_a_traceback")
    assert names[-1] == "f"
    assert len(names) < 8


def test_what_is_dropped_is_left():
    left = []

    def f():
        try:
            return shift(lambda k: 42)
        finally:
            left.append(True)

    for _ in range(100):
        assert reset(f) == 42
    assert len(left) == 100


def test_one_context_for_all():
    def f():
        with np.errstate(divide="ignore"):
            shift(lambda k: k(1))
            return np.float64(1.0) / 0.0  # no warning

    assert reset(f) == math.inf
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        reset(lambda: shift(lambda k: k(np.float64(1.0) / 0.0)))


def test_without_greenlet_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(control, "greenlet", None)
    with pytest.raises(ImportError, match=r"pip install greenlet, or 'dualrev\[relatives\]'"):
        shift_reset.vjp(lambda x: x * x, 1.0)
