"""Conditions on the truth value of a number, a container or an array, alone and joined by `and`, `or` and `not`."""

import linecache
from collections import namedtuple

import numpy as np
import pytest
from numba import float64, njit
from numba.experimental import jitclass
from numba.typed import List

import dualrev as dr
from dualrev.errors import UnsupportedError

V = np.array([1.5, 2.0, 3.0])
Pair = namedtuple("Pair", "first second")


@jitclass([("a", float64)])
class Box:
    def __init__(self, a):
        self.a = a


#: How t is made, and whether it is true.
VALUES = {
    "a tuple": ("t = (x[0], x[1])", True),
    "an empty tuple": ("t = ()", False),
    "a named tuple": ("t = Pair(x[0], 1.0)", True),
    "an item of a tuple": ("t = ((x[0],), 1.0)[0]", True),
    "a list": ("t = [x[0], x[1]]", True),
    "a list that shrank": ("t = [x[0]]\nt.pop()", False),
    "a typed list": ("t = List()\nt.append(x[0])", True),
    "a list of arrays": ("t = [x, x * 2.0]", True),
    "a dict without items": ("t = {1: x[0]}\nt.pop(1)", False),
    "a string": ("t = 'a'", True),
    "an array": ("t = x[:1]", True),
    "an array of 0": ("t = np.arange(1)", False),
    "an array without axes": ("t = np.array(x[0] - 1.5)", False),
    "a complex number": ("t = complex(0.0, x[0])", True),
    "None": ("t = None", False),
}
#: Conditions of t, with what they are of its truth: those of `if`, of conditional expressions, and of `while`.
TESTS = {"not t": lambda t: not t, "t and k < 2": lambda t: t}
CHOICES = {"t": lambda t: t, "square(x[2]) > 10.0 or not t": lambda t: not t}
LOOPS = {"t": lambda t: t, "k < 2 and not t": lambda t: not t}


@njit
def square(y):
    return y * y


def made(body, name):
    text = "def f(x):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space = {"np": np, "List": List, "Pair": Pair, "Box": Box, "square": square}
    exec(compile(text, name, "exec"), space)
    return njit(space["f"])


@pytest.mark.filterwarnings("ignore::numba.NumbaPendingDeprecationWarning", "ignore::numba.NumbaTypeSafetyWarning")
@pytest.mark.parametrize("name", VALUES)
def test_a_condition_asks_for_the_truth(name):
    value, truth = VALUES[name]
    lines = [value, "k, s = 0, x[0]"]
    lines += [f"if {condition}:\n    s *= 2.0" for condition in TESTS]
    lines += [f"s *= 3.0 if {condition} else 1.0" for condition in CHOICES]
    lines += [f"while {condition}:\n    s *= 5.0\n    k += 1\n    if k:\n        break\nk = 0" for condition in LOOPS]
    wanted = 1.0
    for factor, conditions in ((2.0, TESTS), (3.0, CHOICES), (5.0, LOOPS)):
        for of in conditions.values():
            wanted *= factor if of(truth) else 1.0
    value, gradient = dr.value_and_grad(made("\n".join([*lines, "return s"]), f"<the truth of {name}>"))(V)
    assert value == 1.5 * wanted
    assert list(gradient) == [wanted, 0.0, 0.0]


def test_a_loop_ends_when_its_list_is_empty():
    f = made(
        "t = [x[0], x[1]]\nt.append(x[2])\ns = 0.0\nwhile t:\n    s += t.pop() * (1.0 + len(t))\nreturn s", "<pop>"
    )
    assert list(dr.grad(f)(V)) == [1.0, 2.0, 3.0]


def test_the_truth_of_several_numbers_is_numbas_error():
    f = made("if x:\n    return x[0]\nreturn x[1]", "<several>")
    for call in (f, dr.grad(f)):
        with pytest.raises(ValueError, match="more than one element is ambiguous"):
            call(V)


@pytest.mark.parametrize("loop", ["if", "while"])
def test_an_object_as_a_condition_is_refused(loop):
    f = made(f"t = Box(x[0])\n{loop} t:\n    return x[0]\nreturn x[1]", f"<object, {loop}>")
    with pytest.raises(UnsupportedError, match=f"`{loop} t:`: this use of the object t"):
        dr.grad(f)(V)
