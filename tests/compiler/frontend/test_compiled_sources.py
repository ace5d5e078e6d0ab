"""The code that is differentiated is the code that numba compiles: sources, decorators, options, frozen values."""

import enum
import functools
import inspect
import itertools
import linecache
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba import boolean, float32, float64, int32, int64, njit
from numba.core.errors import TypingError
from support.oracle import assert_same

import dualrev as dr
from dualrev.errors import ScalarError, UnsupportedError

approx = pytest.approx
numbers = itertools.count()

# Decorators


def doubled(f):
    """A decorator below njit: what numba compiles is `twice`."""
    inner = njit(f)

    @functools.wraps(f)
    def twice(x):
        return 2.0 * inner(x)

    return twice


@njit
@doubled
def cube(x):
    return x * x * x


def test_the_function_is_differentiated_and_not_the_one_that_it_wraps():
    assert cube(3.0) == 54.0
    assert dr.value_and_grad(cube)(3.0) == (54.0, 54.0)
    assert dr.vjp(cube, 3.0)[1](1.0) == (54.0,)
    assert dr.jvp(cube, (3.0,), (1.0,)) == (54.0, 54.0)
    assert "def value_and_grad_twice(x)" in dr.derivative_source(cube, 3.0)


@njit
def calls_cube(x):
    return cube(x) * x


def test_a_called_function_is_not_the_one_that_it_wraps():
    assert dr.value_and_grad(calls_cube)(3.0) == approx((calls_cube(3.0), 8.0 * 27.0))


def names_swapped(y, x):
    return x


def other_default(x, y=7.0):
    return x


@njit
@functools.wraps(names_swapped)
def swapped(x, y):
    return 2.0 * x + 3.0 * y


@njit
@functools.wraps(other_default)
def defaulted(x, y=2.0):
    return x * y


@pytest.mark.parametrize("f", [swapped, defaulted])
def test_parameters_that_are_those_of_the_wrapped_function_are_refused(f):
    """Numba calls the first one y: swapped(1, 10) is 23 there, and 32 in Python."""
    with pytest.raises(UnsupportedError, match=r"its parameters are x, y, and inspect\.signature.*has others"):
        dr.value_and_grad(f)(1.0, 10.0)


@njit
def square(x):
    return x * x


@njit
@functools.wraps(square)
def wraps_a_dispatcher(x):
    return 5.0 * x


def test_a_wrapped_dispatcher_is_not_mistaken_for_its_wrapper():
    """Numba lets the two share their compiled code; dualrev found the derivative of the one at the other."""
    assert dr.value_and_grad(square)(3.0) == (9.0, 6.0)
    for call in (dr.grad(wraps_a_dispatcher), lambda x: dr.vjp(wraps_a_dispatcher, x)):
        with pytest.raises(UnsupportedError, match="it wraps another numba function"):
            call(3.0)
    assert dr.value_and_grad(square)(3.0) == (9.0, 6.0)


def in_python(x):
    return 5.0 * x


in_python.__wrapped__ = square


@numba.extending.overload(in_python)
def _in_python(x):
    return lambda x: 5.0 * x


@njit
def calls_python(x):
    return in_python(x)


def test_a_python_function_that_wraps_a_numba_function_is_not_that():
    """It was taken for what dualrev.lift makes; numba calls what is registered for it."""
    assert calls_python(3.0) == 15.0
    assert dr.value_and_grad(calls_python)(3.0) == (15.0, 5.0)


def test_a_wrapped_derivative_is_a_function_of_its_own():
    slope = dr.grad(square)

    @functools.wraps(slope)
    def g(x):
        return 2.0 * slope(x)

    g.__dict__ = {k: v for k, v in g.__dict__.items() if k == "derivative_of"}
    made = njit(g)
    assert made(3.0) == 12.0
    with pytest.raises(UnsupportedError, match="tape"):
        dr.grad(dr.lift(slope))(3.0)


# Text


@pytest.mark.parametrize("indented", [False, True])
def test_a_definition_in_a_block_or_a_class_is_found(tmp_path, monkeypatch, indented):
    text = "from numba import njit\n"
    text += (
        "class Holder:\n    if True:\n        @staticmethod\n        @njit\n"
        "        def f(x):\n            return x * x * x\n        second = 1\nf = Holder.f\n"
        if indented
        else "if True:\n  for k in (2.0, 3.0):\n    @njit\n    def f(x):\n        return x * x * x\n"
    )
    file = tmp_path / f"in_blocks_{indented}.py"
    file.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    f = __import__(file.stem).f
    assert dr.value_and_grad(f)(3.0) == (27.0, 27.0)


def test_code_under_the_name_of_another_file_is_refused(tmp_path):
    """Same name, same line, other code: what exec runs may name any file."""
    file = tmp_path / "another.py"
    file.write_text("@njit\ndef f(x):\n    return x * x\n")
    names = {"njit": njit}
    exec(compile("@njit\ndef f(x):\n    return x * x * x\n", str(file), "exec"), names)
    assert names["f"](3.0) == 27.0
    with pytest.raises(UnsupportedError, match="is not the one that it was made from"):
        dr.grad(names["f"])(3.0)


SAME_BYTES = {
    "keyword-only parameters": ("def f(x, *, y):\n    return x - y\n", "def f(x, y):\n    return x - y\n"),
    "the type in a set": (
        "def f(x, y):\n    return x if y in {1, 2} else y\n",
        "def f(x, y):\n    return x if y in {1.0, 2} else y\n",
    ),
}


@pytest.mark.parametrize("case", SAME_BYTES)
def test_code_of_the_same_bytes_is_not_the_same(tmp_path, case):
    was, now = SAME_BYTES[case]
    file = tmp_path / "same.py"
    file.write_text(now)
    names = {}
    exec(compile(was, str(file), "exec"), names)
    with pytest.raises(UnsupportedError, match="is not the one that it was made from"):
        dr.grad(njit(names["f"]))(3.0, 1.0)


def test_a_changed_assert_statement_is_noticed(tmp_path):
    """Functions with assert statements were believed, since pytest compiles them in its own way."""
    file = tmp_path / "asserting.py"
    text = "def f(x):\n    assert x > 0.0\n    return x * x\n"
    file.write_text(text)
    names, others = {}, {}
    exec(compile(text, str(file), "exec"), names)
    assert dr.value_and_grad(njit(names["f"]))(3.0) == (9.0, 6.0)
    exec(compile(text.replace("x * x", "x * 3"), str(file), "exec"), others)
    with pytest.raises(UnsupportedError, match="is not the one that it was made from"):
        dr.grad(njit(others["f"]))(3.0)


def test_assert_statements_count_as_python_counts_them(tmp_path):
    """With -O, f had none, and its gradient had them."""
    (tmp_path / "asserting.py").write_text(
        "from numba import njit\nimport dualrev as dr\n"
        "@njit\ndef f(x):\n    assert x > 0.0, 'positive'\n    return x * x\n"
        "print(f(-3.0), *dr.value_and_grad(f)(-3.0))\n"
    )
    for options, expected in ((["-O"], "9.0 9.0 -6.0\n"), ([], "")):
        done = subprocess.run([sys.executable, *options, "asserting.py"], cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout == expected
        assert ("AssertionError: positive" in done.stderr) == (not expected)


def test_lambdas_are_read_where_they_stand():
    by = 3.0
    first, second = njit(lambda x: x * x), njit(lambda x: x**3 * by)
    outer = njit(lambda x, y: first(x) * second(y) + (x if x > y else y))  # fmt: skip
    assert dr.grad(first)(3.0) == 6.0
    assert dr.grad(second)(2.0) == 36.0
    assert dr.grad(outer, (0, 1))(1.0, 2.0) == (48.0, 37.0)
    with pytest.raises(UnsupportedError, match="several lambda expressions"):
        dr.grad((lambda: njit(lambda x: x * x))())(3.0)  # which of the two it is, is not looked at


# Options


@njit(locals={"k": int64, "h": float32, "unused": int64})
def with_locals(x):
    k = x * 1.5
    h = x / 3.0
    return k * x + h * x


@njit(locals={"k": int64})
def with_a_local_of_two_versions(x):
    k = x * 1.5
    if x > 1.0:
        k = x * 2.7
    return k * x


class Pipeline(numba.core.compiler.Compiler):
    """Another compiler."""


@njit(pipeline_class=Pipeline)
def otherwise_compiled(x):
    return x * x


@numba.jit(forceobj=True)
def in_object_mode(x):
    return x * 2**70


REFUSED = {
    "locals": (with_a_local_of_two_versions, 2.5),
    "pipeline_class": (otherwise_compiled, 2.5),
    "forceobj": (in_object_mode, 2.5),
}


@pytest.mark.parametrize("option", REFUSED)
def test_options_with_which_numba_computes_something_else_are_refused(option):
    f, x = REFUSED[option]
    for call in (dr.grad(f), lambda x: dr.jvp(f, (x,), (x,)), lambda x: dr.vjp(f, x)):
        with pytest.raises(UnsupportedError, match=rf"@njit\({option}=\.\.\.\) cannot be differentiated") as caught:
            call(x)
        line = inspect.getsourcelines(f.py_func)[1]
        assert f"{__file__}:{line + 1}:" in str(caught.value)


@njit
def calls_with_locals(x):
    return with_locals(x) * x + with_a_local_of_two_versions(x)


def test_a_called_function_s_options_are_refused():
    with pytest.raises(UnsupportedError, match="locals"):
        dr.grad(calls_with_locals)(2.5)


def test_locals_are_converted_where_they_are_assigned():
    """k is 3 and has no derivative; h is a float32, which shows in the value. Numba converts one version of a name."""
    value, slope = dr.value_and_grad(with_locals)(2.5)
    assert value == with_locals(2.5) != with_locals.py_func(2.5)
    assert slope == approx(3.0 + 2.0 * 2.5 / 3.0, rel=1e-7)


def with_options(**options):
    @njit(**options)
    def f(a):
        s = 0.0
        for i in range(len(a)):
            s += np.sin(a[i]) * a[0]
        return s

    return f


KEPT = [
    {"debug": True},
    {"no_rewrites": True},
    {"forceinline": True},
    {"nogil": True, "boundscheck": True},
    {"looplift": True},
]


@pytest.mark.parametrize("options", KEPT, ids=str)
def test_options_that_are_kept(options):
    f, a = with_options(**options), np.array([0.3, 0.5])
    value, slope = dr.value_and_grad(f)(a)
    assert value == f(a)
    expected = np.array([np.sin(a).sum() + a[0] * np.cos(a[0]), a[0] * np.cos(a[1])])
    assert_same(slope, expected, rtol=1e-14)
    text = dr.derivative_source(f, a)
    for option in options:
        assert (f"{option}=True" in text) == (option != "looplift")


@njit(inline="always")
def inlined(x):
    return np.sin(x) * x


@njit
def calls_inlined(x):
    return inlined(x) * 2.0


@njit(inline="always")
def inverse(y):
    return 1.0 / y


@njit
def calls_inverse(x, y):
    return inverse(y) * x


@njit(error_model="numpy")
def calls_inverse_of_another_model(x, y):
    return inverse(y) * x


def test_inlined_functions_that_use_numpy():
    slope = np.cos(2.5) * 2.5 + np.sin(2.5)
    assert dr.value_and_grad(inlined)(2.5) == approx((inlined(2.5), slope))
    assert dr.value_and_grad(calls_inlined)(2.5) == approx((calls_inlined(2.5), 2.0 * slope))


def test_the_derivative_of_an_inlined_function_is_called_from_numba():
    """Numba copied the placeholder that stands for it."""
    d = dr.grad(inlined)

    @njit
    def caller(x):
        return d(x) + 1.0

    assert caller(2.5) == approx(np.cos(2.5) * 2.5 + np.sin(2.5) + 1.0)


def test_an_inlined_function_keeps_its_error_model():
    """Emitted code has numpy's, and numba copied the function into that: infinity, where f raises."""
    assert dr.value_and_grad(calls_inverse)(3.0, 2.0) == approx((1.5, 0.5))
    for f in (calls_inverse, dr.grad(calls_inverse)):
        with pytest.raises(ZeroDivisionError):
            f(3.0, 0.0)


@njit(inline="always", fastmath=True)
def twice_inverse(y):
    return inverse(y) * 2.0


@njit(error_model="numpy", fastmath={"contract"}, boundscheck=True)
def calls_inlined_with_other_options(x, a):
    return twice_inverse(x) + a[1] * inlined(x) + inverse(x)


@njit(inline="always", boundscheck=True)
def element(a, k):
    return a[k]


@njit
def calls_element(a, k):
    return element(a, k) * a[0]


def test_an_inlined_function_has_the_options_of_its_caller():
    """Numba copies it; also where the caller itself is copied."""
    assert dr.value_and_grad(calls_inverse_of_another_model)(3.0, 0.0)[0] == np.inf
    assert dr.grad(calls_inverse_of_another_model, 1)(3.0, 2.0) == -0.75
    f, a = calls_inlined_with_other_options, np.array([1.0, 3.0])
    slope = 3.0 * (np.cos(2.5) * 2.5 + np.sin(2.5)) - 3.0 / 2.5**2
    assert dr.value_and_grad(f)(2.5, a) == approx((f(2.5, a), slope))
    assert dr.jvp(f, (2.5, a), (1.0, np.zeros(2)))[1] == approx(slope)
    assert f(0.0, a) == dr.value_and_grad(f)(0.0, a)[0] == np.inf
    with pytest.raises(IndexError):
        dr.grad(f)(2.5, a[:1])
    assert_same(dr.grad(calls_element)(a, 1), np.array([3.0, 1.0]))


def test_what_may_be_copied_is_refused_where_the_options_differ():
    """A cost model decides; and generators, which become a part of the loop here, and not in numba."""

    @njit(inline=lambda expr, caller, callee: True)
    def perhaps(x):
        return 1.0 / x

    @njit(error_model="python")
    def parts(x):
        yield 1.0 / x

    @njit(error_model="numpy")
    def f(x):
        return perhaps(x)

    @njit(error_model="numpy")
    def g(x):
        s = 0.0
        for y in parts(x):
            s += y
        return s

    with pytest.raises(UnsupportedError, match=r"numba may copy it into its caller .* whose error_model is another"):
        dr.grad(f)(2.0)
    with pytest.raises(UnsupportedError, match="becomes a part of this function, whose error_model is another"):
        dr.grad(g)(2.0)


# Signatures


@njit(float32(float64))
def shortened(x):
    return x * 1.1


@njit(int64(float64))
def truncated(x):
    return x * 1.5


@njit(float64(int64))
def of_an_int(x):
    return x * 1.5


@njit(float64(float64, float64))
def of_floats(x, y):
    return x / y * x


@njit
def calls_shortened(x):
    return shortened(x) * x


@njit
def truncates(x):
    return of_an_int(x) * x


@njit
def converts_ints(x, n):
    total = 0.0
    for k in range(1, n):
        total += of_floats(2, k) * of_floats(x, k + 1)
    return total


@njit(int32(float64[:], float64))
def place(x, at):
    k = 0
    while k < len(x) - 2 and x[k + 1] <= at:
        k += 1
    return k


@njit(boolean(float64))
def is_positive(x):
    return int(x > 0.0)


@njit
def interpolated(x, y, at):
    k = place(x, at)
    return (y[k] + (y[k + 1] - y[k]) * (at - x[k]) / (x[k + 1] - x[k])) * (2.0 if is_positive(at) else x[0])


def test_what_a_signature_says_is_converted():
    """Real numbers keep their derivative, others have none: truncates(2.5) is 2 * 1.5 * 2.5."""
    for f, slope in ((shortened, 1.1), (calls_shortened, 2.2 * 2.5), (truncates, 3.0)):
        assert dr.value_and_grad(f)(2.5) == (f(2.5), approx(slope, rel=1e-6))
        assert dr.jvp(f, (2.5,), (1.0,)) == (f(2.5), approx(slope, rel=1e-6))
    with pytest.raises(ScalarError, match="a value of numba type int64"):
        dr.grad(truncated)(2.5)
    x = np.linspace(0.0, 1.0, 5)
    value, slopes = dr.value_and_grad(interpolated, (1, 2))(x, x**2, 0.3)
    assert value == interpolated(x, x**2, 0.3)
    assert slopes == (approx(np.array([0.0, 1.6, 0.4, 0.0, 0.0])), approx(1.5))


def test_ints_are_converted_to_the_floats_that_a_signature_says():
    value, slope = dr.value_and_grad(converts_ints)(0.7, 4)
    assert value == approx(converts_ints(0.7, 4), rel=1e-15)
    step = 1e-6
    assert slope == approx((converts_ints(0.7 + step, 4) - converts_ints(0.7 - step, 4)) / (2.0 * step), rel=1e-8)


class Mode(enum.IntEnum):
    """An IntEnum with two members."""

    SLOW = 1
    FAST = 2


FAST = Mode.FAST


@njit
def by_mode(a, mode):
    if mode == FAST:
        return a[FAST] * a[0]
    if mode == Mode.SLOW:
        return a[Mode.SLOW]
    return a[0]


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_members_of_an_int_enum_are_ints(mode):
    a = np.array([0.3, 0.5, 0.7])
    try:
        expected = by_mode(a, mode)
    except TypingError:
        pytest.skip("this numba takes no members for indices")
    value, slope = dr.value_and_grad(by_mode)(a, mode)
    assert value == expected
    assert_same(slope, [np.array([1.0, 0, 0]), np.array([0, 1.0, 0]), np.array([0.7, 0, 0.3])][mode], rtol=0)


# What is frozen, and when


def world(**names):
    """Return a module with a function f of x, a callee g and a constant K, which tests exchange."""
    text = "@njit\ndef g(x):\n    return x * x\n@njit\ndef f(x):\n    return K * g(x)\n"
    return module_of(text, K=3.0, **names)


def module_of(text, **names):
    """A notebook's cell that has been run."""
    file = f"<ipython-input-{next(numbers)}-frozen>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    made = {"__name__": "cells", "njit": njit, "np": np, **names}
    exec(compile(text, file, "exec"), made)
    return made


def cubic():
    return module_of("@njit\ndef g(x):\n    return x * x * x\n")["g"]


@pytest.mark.parametrize("called_before", [True, False])
def test_recompiling_a_function_recompiles_its_derivatives(called_before):
    """After f.recompile() with another g, f was 24 and its gradient 12."""
    names = world()
    f = names["f"]
    d = dr.value_and_grad(f)
    assert d(2.0) == (12.0, 12.0)
    assert not called_before or f(2.0) == 12.0
    names["g"] = cubic()
    assert d(2.0) == (12.0, 12.0)
    f.recompile()
    assert (d(2.0), dr.vjp(f, 2.0)[1](1.0), f(2.0)) == ((24.0, 36.0), (36.0,), 24.0)


CHANGES = {
    "a number": ("K", 5.0),
    "a called function": ("g", cubic()),
    "an array": ("K", np.array([5.0])),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("transform", ["value_and_grad", "vjp", "jvp"])
def test_what_changed_since_f_was_compiled_is_refused(change, transform):
    """f froze the one value, and its gradient the other one: both went on without a word."""
    names = world()
    f = names["f"]
    assert f(2.0) == 12.0
    names.update([CHANGES[change]])
    calls = {
        "value_and_grad": lambda: dr.value_and_grad(f)(2.0),
        "vjp": lambda: dr.vjp(f, 2.0)[1](1.0),
        "jvp": lambda: dr.jvp(f, (2.0,), (1.0,)),
    }
    with pytest.raises(UnsupportedError, match=rf"`{CHANGES[change][0]}` was changed after numba had compiled it"):
        calls[transform]()
    assert f(2.0) == 12.0
    if change != "an array":
        f.recompile()
        found = dr.value_and_grad(f)(2.0)
        assert found[0] == f(2.0) == (20.0 if change == "a number" else 24.0)


def test_what_changed_since_the_derivative_was_compiled_is_compiled_anew():
    names = world()
    f, d = names["f"], dr.value_and_grad(names["f"])
    assert d(2.0) == (12.0, 12.0)
    names["K"] = 5.0
    assert d(2.0) == (12.0, 12.0)  # frozen, as in numba
    assert f(2.0) == 20.0
    assert d(2.0) == (20.0, 20.0)


def test_a_callee_that_was_compiled_before_the_change_is_refused():
    """A callee compiled before a constant changed is refused: f would call the old code."""
    names = module_of("@njit\ndef g(x):\n    return K * x\n@njit\ndef f(x):\n    return g(x) * x\n", K=2.0)
    f, g = names["f"], names["g"]
    assert g(3.0) == 6.0
    names["K"] = 5.0
    with pytest.raises(UnsupportedError, match=r"numba function g cannot be .*Write g\.recompile\(\)"):
        dr.grad(f)(3.0)
    g.recompile()
    assert dr.value_and_grad(f)(3.0) == (f(3.0), 30.0) == (45.0, 30.0)
    names["K"] = 7.0
    g.recompile()
    assert (f(3.0), dr.value_and_grad(f)(3.0)) == (45.0, (45.0, 30.0))  # both have the old g
    with pytest.raises(UnsupportedError, match=r"numba function f .*`what|what a function that it calls freezes"):
        dr.grad(f)(3.0)
    f.recompile()
    assert (f(3.0), dr.value_and_grad(f)(3.0)) == (63.0, (63.0, 42.0))


def test_an_array_that_is_written_in_place_is_another_one():
    table = np.array([2.0, 3.0])
    names = module_of("@njit\ndef f(x):\n    return TABLE[0] * x\n", TABLE=table)
    f = names["f"]
    assert f(1.0) == 2.0
    table[0] = 5.0
    assert f(1.0) == 2.0
    with pytest.raises(UnsupportedError, match="`TABLE` was changed"):
        dr.grad(f)(1.0)
    f.recompile()
    assert (f(1.0), dr.grad(f)(1.0)) == (5.0, 5.0)


def test_other_types_of_arguments_may_have_other_values():
    names = module_of("@njit\ndef f(x):\n    return K * x[0]\n", K=2.0)
    f, one, other = names["f"], np.ones(2), np.ones((2, 2))[:, 0]
    assert f(one) == 2.0
    names["K"] = 3.0
    assert f(other) == 3.0
    assert dr.grad(f)(other)[0] == 3.0
    with pytest.raises(UnsupportedError, match="`K` was changed"):
        dr.grad(f)(one)


@njit("float64(float64[::1], int64)")
def declared_and_recursive(x, k):
    return x[k] if k == 0 else x[k] * declared_and_recursive(x, k - 1)


def test_a_recursive_function_with_a_signature_is_compiled_before_its_name_is_there():
    """Its own name is no value that changed."""
    assert dr.grad(declared_and_recursive)(np.array([2.0, 3.0, 5.0]), 2).tolist() == [15.0, 10.0, 6.0]


def test_defining_everything_again_is_no_change():
    text = "K = 2.0\n@njit\ndef g(x):\n    return K * x\n@njit\ndef f(x):\n    return g(x) * x\n"
    names = module_of(text)
    for _ in range(2):
        assert names["f"](3.0) == 18.0
        assert dr.value_and_grad(names["f"])(3.0) == (18.0, 12.0)
        exec(compile(text, names["f"].py_func.__code__.co_filename, "exec"), names)


# Values


@njit
def scaled(x, y, k=3):
    return x * y * k, x


@pytest.mark.parametrize("transform", ["vjp", "jvp"])
def test_the_source_of_a_pullback_needs_no_cotangent(transform):
    text = dr.derivative_source(scaled, 2.0, 3.0, transform=transform)
    assert f"def {transform}_scaled(x, y, k, " in text
    compile(text, transform, "exec")
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        dr.derivative_source(scaled, 2.0, transform=transform)


KERNELS = (
    """
@register_jitable
def rate(x):
    return RATE * x

@vectorize(["float64(float64)"])
def kernel(x):
    return rate(x)

@njit
def f(x):
    return kernel(x) * x
""",
    """
@cfunc("float64(float64)")
def kernel(x):
    return RATE * x

@njit
def f(x):
    return kernel(x) * x
""",
)


@pytest.mark.parametrize("text", KERNELS)
def test_a_global_of_what_numba_compiles_without_telling_is_refused(text):
    """It may have been changed since, and f and its gradient would differ."""
    head = "import numpy as np\nfrom numba import cfunc, guvectorize, njit, vectorize\n"
    head += "from numba.extending import register_jitable\nRATE = 2.0\n"
    f = module_of(head + text.replace("@njit\n", "RATE = 5.0\n\n@njit\n"))["f"]
    with pytest.raises(UnsupportedError, match=r"numba has frozen the global RATE in it.*Write RATE as an argument"):
        dr.grad(f)(3.0)


UFUNCS = """
import math
import numpy as np
from numba import guvectorize, njit, vectorize
RATE, PAIR, TABLE = 2.0, (1.5, 4), np.array([3.0, 0.5])

@njit
def helper(x):
    return math.sin(x) * RATE

def made(slope):
    @vectorize(["float64(float64)"])
    def inner(x):
        return slope * x * x
    return inner

squared = made(3.0)

@vectorize(["float64(float64)"])
def eager(x):
    return RATE * x + PAIR[1] * x * x + TABLE[0] * x**3 + helper(x)

@vectorize
def lazy(x):
    return RATE * x * x

@guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
def general(x, out):
    for i in range(len(x)):
        out[i] = (lambda: RATE)() * x[i] * x[0]

@njit
def f(x):
    a, b = np.full(2, x), np.empty(2)
    general(a, b)
    return eager(x) * lazy(x) + b[1] + squared(x)
"""


def difference(f, x, eps=1e-5):
    return (f(x + eps) - f(x - eps)) / (2.0 * eps)


def test_kernels_of_ufuncs_may_read_globals_that_nobody_has_changed():
    """Numbers, tuples and arrays, in the kernel, a closure and what it calls."""
    module = module_of(UFUNCS)
    assert dr.grad(module["f"])(1.3) == pytest.approx(difference(module["f"], 1.3), rel=1e-7)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ("RATE = 5.0", ""),
        ("RATE = 5.0\nhelper.recompile()", "general"),
        ("PAIR = (1.5, 5)", "eager"),
        ("TABLE[0] = 4.0", "eager"),
        ("TABLE = 'no array'", "eager"),
        ("@njit\ndef helper(x):\n    return x", "eager"),
        ("squared._dispatcher.py_func.__closure__[0].cell_contents = 4.0", "inner"),
    ],
)
def test_a_kernel_is_refused_where_what_it_froze_has_changed(change, name):
    """Its derivative would have another value than numba's kernel."""
    module = module_of(UFUNCS + "\n" + change + "\n")
    with pytest.raises(UnsupportedError, match=rf"{name}.*was changed after numba had compiled it"):
        dr.grad(module["f"])(1.3)


def test_kernels_that_are_compiled_later_freeze_what_is_there_then():
    """Each call of f freezes what its derivative has."""
    module = module_of(UFUNCS.replace("eager(x) * lazy(x) + b[1] + squared(x)", "lazy(x)").replace("general(a, b)", ""))
    f = module["f"]
    assert dr.grad(f)(1.0) == 4.0
    exec("RATE = 5.0", module)
    with pytest.raises(UnsupportedError, match="was changed"):
        dr.grad(f)(np.float32(1.0))


def test_ufuncs_themselves_have_derivatives():
    """Ufuncs have first and second derivatives, directly and in a numba function that calls them."""
    module = module_of(UFUNCS)
    lazy, general, x = module["lazy"], module["general"], np.array([0.5, 2.0])
    assert dr.grad(lazy)(0.7) == pytest.approx(difference(lazy, 0.7), rel=1e-7)
    assert dr.hvp(lazy)(0.7, 2.0) == 8.0
    value, pullback = dr.vjp(lazy, x)
    assert value.tolist() == lazy(x).tolist()
    assert pullback(np.array([1.0, 3.0]))[0].tolist() == [2.0, 24.0]
    assert dr.jacobian(general, outputs=1)(x, np.zeros(2)).tolist() == [[2.0, 0.0], [4.0, 1.0]]
    assert dr.grad(dr.lift(lazy))(0.7) == dr.grad(lazy)(0.7)
    assert "RATE" in dr.derivative_source(lazy, 0.7)
    dr.check_grads(lazy, (0.7,), order=2)
