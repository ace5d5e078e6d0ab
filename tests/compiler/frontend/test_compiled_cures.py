"""The cures that refusals name: applied, each gives a function that has its derivative."""

import enum
import linecache
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pytest
from numba import float64, int64, njit
from support.oracle import assert_same

import dualrev as dr
from dualrev.errors import UnsupportedError

V, M = np.array([1.5, 2.0, 3.0]), np.array([[1.0, 0.3], [0.2, 2.0]])


class Kind(enum.Enum):
    SLOW = 1
    FAST = 2


@dataclass(frozen=True)
class Cure:
    """A function that is refused, words of the cure, and the function with the cure; `options` are those of @njit."""

    refused: str
    words: str
    cured: str
    args: tuple[Any, ...] = (1.5,)
    options: tuple[tuple[str, Any], ...] = ()
    before: str = ""  # what stands above the function
    cured_before: str = ""


SUM = "s = 0\nfor i in range(3):\n    s = {}\nreturn s * x"
CURES = {
    "locals of a float": Cure(
        SUM.format("s + x"),
        "s = np.float64(...) wherever it is assigned, and @njit without s in its locals",
        SUM.replace("s = 0", "s = np.float64(0)").format("np.float64(s + x)"),
        options=(("locals", {"s": float64}),),
    ),
    "locals of an int": Cure(
        SUM.format("s + x"),
        "s = np.int64(...) wherever it is assigned",
        SUM.replace("s = 0", "s = np.int64(0)").format("np.int64(s + x)"),
        options=(("locals", {"s": int64}),),
    ),
    "locals of a parameter": Cure(
        "return x * x",
        "x = np.float64(x) as the first line",
        "x = np.float64(x)\nreturn x * x",
        options=(("locals", {"x": float64}),),
    ),
    "locals of an array": Cure(
        "w = x * 2.0\nreturn np.sum(w * w)",
        "@njit without w in its locals",
        "w = x * 2.0\nreturn np.sum(w * w)",
        (V,),
        options=(("locals", {"w": float64[::1]}),),
    ),
    "finfo": Cure(
        "t = (np.finfo(x), 1.0)\nreturn x * t[0].eps * 1e16",
        "its numbers as globals, as EPS = np.finfo(...).eps",
        "return x * EPS * 1e16",
        cured_before="EPS = np.finfo(np.float64).eps",
    ),
    "a complex64": Cure(
        "return x * C.real",
        "a complex128",
        "return x * C.real",
        before="C = np.complex64(2.0)",
        cured_before="C = np.complex128(2.0)",
    ),
    "a format": Cure("return x * len(f'{3:d}')", "str(x)", "return x * len(str(3))"),
    "several lambdas": Cure(
        "g = lambda y: y\ng = lambda y: y * y\nreturn g(x)",
        "a name for each function",
        "g = lambda y: y\nh = lambda y: y * y\nreturn h(x)",
    ),
    "a generator expression": Cure(
        "return sum(y * y for y in x)", "a loop", "s = 0.0\nfor y in x:\n    s += y * y\nreturn s", (V,)
    ),
    "an assignment expression": Cure(
        "return (y := x * x) + y", "the assignment on a line of its own", "y = x * x\nreturn y + y"
    ),
    "an import": Cure(
        "import math\nreturn math.sin(x)",
        "it at the top of the module",
        "return math.sin(x)",
        cured_before="import math",
    ),
    "a starred list": Cure(
        "return [x, *[x]][1]", "an array (np.empty)", "a = np.empty(2)\na[:] = x\nreturn a[1]"
    ),
    "a second name": Cure(
        "l = [x]\nk = l\nk.append(2.0)\nreturn l[0] * l[1]",
        "an array (np.empty) and its length",
        "l = np.empty(2)\nl[0] = x\nn = 1\nl[n] = 2.0\nn += 1\nreturn l[0] * l[1]",
    ),
    "a global list": Cure(
        "return x * L[0]",
        "it is no number, array, tuple or numba function. Write one of these",
        "return x * L[0]",
        before="L = [2.0]",
        cured_before="L = (2.0,)",
    ),
    "a plain function": Cure(
        "return g(x)",
        "@njit above its definition",
        "return g(x)",
        before="def g(x):\n    return x * x",
        cured_before="@njit\ndef g(x):\n    return x * x",
    ),
    "an axis": Cure("return np.sum(x, n)[0]", "", "return np.sum(x, 0)[0]", (M,), before="", cured_before="n = 0"),
    "a complex argument that is written": Cure(
        "x[0] = x[0] * 2.0\nreturn abs(x[0])", "own = x.copy(), and own in its place",
        "own = x.copy()\nown[0] = own[0] * 2.0\nreturn abs(own[0])", (V + 1j,),
    ),
    "a slice of a.flat": Cure(
        "x.flat[:] = 2.0 * x[0]\nreturn x[1]", "a loop",
        "y = x[0]\nfor k in range(x.size):\n    x.flat[k] = 2.0 * y\nreturn x[1]", (V,),
    ),
    "a slice of a.flat that is read": Cure(
        "return x.flat[1:][0] * x[0]", "a.ravel()[i:j]", "return x.ravel()[1:][0] * x[0]", (V,),
    ),
    "a slice of a list becomes an array": Cure(
        "l = [x[0], x[0], x[1]]\nl[0:2] = x[:2]\nreturn l[0]", "an array",
        "l = np.array([x[0], x[0], x[1]])\nl[0:2] = x[:2]\nreturn l[0]", (V,),
    ),
    "records in a tuple": Cure(
        "return np.sum(np.concatenate((x, x))['a'])", "its fields", "return np.sum(np.concatenate((x['a'], x['a'])))",
        (np.array([(1.0,), (2.0,)], dtype=[("a", float)]),),
    ),
}  # fmt: skip


def function_of(body, before, options, file):
    text = f"{before}\ndef f(x):\n" + "\n".join(f"    {line}" for line in body.split("\n")) + "\n"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space = {"np": np, "njit": njit, "numba": numba}
    exec(compile(text, file, "exec"), space)
    return njit(**options)(space["f"])


@pytest.mark.filterwarnings("ignore::numba.NumbaPendingDeprecationWarning", "ignore::numba.NumbaTypeSafetyWarning")
@pytest.mark.parametrize("name", CURES)
def test_the_cure_of_a_refusal_works(name):
    cure = CURES[name]
    with pytest.raises(UnsupportedError) as refused:
        dr.grad(function_of(cure.refused, cure.before, dict(cure.options), f"<refused: {name}>"))(*cure.args)
    assert f"{cure.words}" in str(refused.value)
    f = function_of(cure.cured, cure.cured_before, {}, f"<cured: {name}>")
    x = cure.args[0]
    gradient = dr.grad(f)(x.copy() if isinstance(x, np.ndarray) else x)
    if isinstance(x, np.ndarray) and x.dtype.names:
        np.testing.assert_array_equal(gradient["a"], [2.0, 2.0])
        return
    h, steps = 1e-6, np.ndindex(np.shape(x))
    for k in steps:  # along the real axis, as the gradient by complex numbers counts it
        e = np.zeros(np.shape(x), dtype=np.result_type(x))
        e[k] = h
        slope = (f(x + e) - f(x - e)) / (2.0 * h) if np.shape(x) else (f(x + h) - f(x - h)) / (2.0 * h)
        assert np.real(np.asarray(gradient)[k]) == pytest.approx(slope, rel=1e-7, abs=1e-9)


def test_values_of_an_enum_need_none():
    """Enum members need no derivative, in variables, arguments, lists and classes."""

    @njit
    def f(x, k):
        held = Kind.SLOW if x > 5.0 else Kind.FAST
        found = [Kind.SLOW, Kind.FAST]
        return x * held.value + x * k.value + x * found[1].value + x * Kind["FAST"].value + (x if k == held else 0.0)

    for k in Kind:
        assert_same(dr.grad(f)(1.5, k), 6.0 + k.value + (k is Kind.FAST), rtol=1e-14)
    assert_same(dr.jvp(f, (1.5, Kind.SLOW), (1.0, None))[1], 7.0)
