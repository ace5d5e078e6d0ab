"""Refusals of compiled gradients: every message says where, what and why, and what to write instead."""

import ctypes
import linecache
import re
from dataclasses import dataclass
from fractions import Fraction

import numba
import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from programs.refusals import REFUSALS, without_source

import dualrev as dr
from dualrev.errors import ArgumentError, ArgumentNumberError, LeafError, OutputError, ScalarError, UnsupportedError

compiled = pytest.mark.skipif(not hasattr(dr, "derivative_source"), reason="the compiler does not exist yet")
every_refusal = pytest.mark.parametrize("case", REFUSALS, ids=[case.function.__name__ for case in REFUSALS])

#: Functions that numba refuses as well.
NOT_NUMBA = {
    "a_global_statement",
    "a_starred_target",
    "a_deletion",
    "a_generator_expression",
    "a_call_of_plain_python",
}


def check_message(text, places, words):
    """It names one of the places, a word of each group, and a remedy."""
    assert any(place + ":" in text or text.rstrip().endswith(place) for place in places), (text, places)
    for group in words:
        assert any(word.strip("[]").lower() in text.lower() for word in group.split("|")), (text, group)
    assert "Write " in text, text


@pytest.mark.slow
@every_refusal
def test_numba_takes_what_is_refused(case):
    assert case.places()
    if case.function.__name__ in NOT_NUMBA:
        with pytest.raises((NumbaError, UnsupportedBytecodeError)):
            case.function(*case.arguments())
    else:
        assert isinstance(case.function(*case.arguments()), float | complex)


@compiled
@every_refusal
@pytest.mark.parametrize("transformed", [dr.grad, dr.value_and_grad])
def test_a_gradient_is_refused(case, transformed):
    """At the first call at the latest, and at the second one too."""
    for _ in range(2):
        with pytest.raises(UnsupportedError) as caught:
            transformed(case.function, case.argnums)(*case.arguments())
        check_message(str(caught.value), case.places(), case.words)


def is_real_array(x):
    return isinstance(x, np.ndarray) and x.dtype.kind in "fc"


@compiled
@every_refusal
def test_pullbacks_tangents_and_sources_are_refused(case):
    args = case.arguments()
    tangents = tuple(x if isinstance(x, (float, tuple)) or is_real_array(x) else None for x in args)
    for call in (
        lambda: dr.vjp(case.function, *args),
        lambda: dr.jvp(case.function, args, tangents),
        lambda: dr.derivative_source(case.function, *args),
    ):
        with pytest.raises((UnsupportedError, LeafError)) as caught:
            call()
        if isinstance(caught.value, LeafError):  # jvp looks at its primals first, as on the tape
            continue
        check_message(str(caught.value), case.places(), case.words)


@compiled
@pytest.mark.parametrize("name", ["a_list_that_is_sorted_by_a_key", "a_neighbour", "an_index_array"])
def test_the_message_survives_a_call_from_numba(name):
    """Inside of njit numba may wrap the error in its own."""
    case = next(case for case in REFUSALS if case.function.__name__ == name)

    def call_from_numba():
        gradient = dr.grad(case.function)

        @njit
        def caller(*args):
            return gradient(*args)

        return caller(*case.arguments())

    with pytest.raises((UnsupportedError, NumbaError)) as caught:
        call_from_numba()
    check_message(str(caught.value), case.places(), case.words)


@compiled
def test_a_refusal_in_a_callee_names_the_line_of_the_callee():
    case = next(case for case in REFUSALS if case.function.__name__ == "an_iterator")
    callee = case.function

    @njit
    def outer(a):
        return callee(a) * 2.0

    with pytest.raises(UnsupportedError) as caught:
        dr.grad(outer)(np.array([2.0, 1.0]))
    check_message(str(caught.value), case.places(), case.words)


@compiled
@pytest.mark.parametrize("f", without_source(), ids=lambda f: f.__name__)
def test_a_function_without_source_says_so(f):
    with pytest.raises(UnsupportedError, match=r"source.*Write ") as caught:
        dr.grad(f)(0.7)
    assert f.__name__ in str(caught.value)


# What is asked for in the wrong way


@njit
def product(x, n):
    return x * n


@njit
def twice(a):
    return a * 2


@njit
def whole(x):
    return int(x * 3.0)


@njit
def nothing(a):
    a[0] = 1.0


@compiled
@pytest.mark.parametrize("argnums", [1, (0, 1)])
def test_an_int_argument_is_not_differentiated(argnums):
    with pytest.raises(ArgumentError, match="real scalar"):
        dr.grad(product, argnums)(2.0, 3)


@compiled
def test_int_arguments_only():
    with pytest.raises(ArgumentError, match="real scalar"):
        dr.grad(product)(2, 3)
    with pytest.raises(ArgumentError, match="real scalar"):
        dr.vjp(product, 2, 3)


@compiled
@pytest.mark.parametrize("argnums", [2, -3, (0, 0), (), 0.5])
def test_argnums_that_name_no_argument(argnums):
    with pytest.raises((ArgumentNumberError, TypeError), match=r"argnums|int"):
        dr.grad(product, argnums)(2.0, 3)


@compiled
@pytest.mark.parametrize(("f", "x"), [(twice, np.ones(2)), (whole, 2.5), (nothing, np.ones(2))])
def test_a_gradient_is_that_of_one_real_number(f, x):
    with pytest.raises((ScalarError, OutputError), match=r"scalar-valued|no real scalar"):
        dr.grad(f)(x)


@compiled
@pytest.mark.parametrize(("f", "x"), [(whole, 2.5), (nothing, np.ones(2))])
def test_a_pullback_needs_a_real_result(f, x):
    with pytest.raises(OutputError, match="no real scalar"):
        dr.vjp(f, x)


class Frame:
    """A table with `to_numpy`, as pandas and polars have it."""

    def __init__(self, x):
        self.x = x

    def to_numpy(self):
        return np.array([self.x])


class Buffer(ctypes.c_double * 2):
    """As the arrays of JAX: numba knows its memory, and no operation on it."""

    def __array__(self, dtype=None, copy=None):
        return np.array(list(self))


@dataclass
class Point:
    x: float


@njit
def first_times(a, x):
    return a[0] * x


@compiled
@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaPendingDeprecationWarning")
@pytest.mark.parametrize(
    ("a", "words"),
    [
        ({"a": 1.0}, "argument 0 of .*first_times, a value of type dict.*Write a named tuple"),
        (np.ones(2, ">f8"), r"no arrays of dtype '>f8'.*Write np.asarray\(x, float\)"),
        (np.ones(2, ">i4"), r"no arrays of dtype '>i4'.*Write np.asarray\(x, int\)"),
        (np.ones(2, ">c16"), r"no arrays of dtype '>c16'.*Write np.asarray\(x, complex\)"),
        (np.ones(2, object), r"no arrays of dtype '\|O'.*Write np.asarray\(x, float\)"),
        (np.ones(2, np.float16), r"no arrays of dtype '<f2'.*Write np.asarray\(x, float\)"),
        ((1.0, np.ones(2, np.float16)), r"a value of type tuple.*Write numbers, arrays of floats, and tuples"),
        (np.ma.ones(2), r"does not know numpy.*MaskedArray.*Write np.asarray\(x\)"),
        (Frame(1.0), r"of type test_compiled_refusals.Frame,.*Write x.to_numpy\(\)"),
        (Buffer(1.0, 2.0), r"of type test_compiled_refusals.Buffer,.*Write np.asarray\(x\)"),
        (Point(1.0), r"of type test_compiled_refusals.Point,.*Write a named tuple with these fields"),
        (Fraction(1, 2), r"of type fractions.Fraction,.*Write float\(x\)"),
        (np.float16(2.0), r"of type numpy.float16,.*Write float\(x\)"),
        (np.longdouble(2.0), r"of type numpy.longdouble,.*Write float\(x\)"),
        (np.clongdouble(2.0), r"of type numpy.clongdouble,.*Write complex\(x\)"),
    ],
    ids=lambda x: "" if isinstance(x, str) else type(x).__name__,
)
def test_an_argument_that_numba_or_the_compiler_does_not_take(a, words):
    for derivative in (dr.grad(first_times), dr.grad(first_times, 1), lambda *args: dr.vjp(first_times, *args)):
        with pytest.raises(UnsupportedError, match=words):
            derivative(a, 2.0)


@compiled
def test_print_has_no_derivative_or_is_refused(capfd):
    @njit
    def speaks(x):
        print(x)
        return x * x

    try:
        gradient = dr.grad(speaks)(3.0)
    except UnsupportedError as error:
        assert "print" in str(error)  # noqa: PT017
    else:
        assert gradient == 6.0
        assert capfd.readouterr().out == "3.0\n"


@compiled
def test_the_error_is_part_of_the_api():
    assert dr.UnsupportedError is UnsupportedError


@njit
def first_of(d):
    return d[1]


USES_OF_CONTAINERS = {
    "d.update(d)": ".update() of a dict of floats",
    "y = first_of(d)": "this use of a dict of floats",
    "e = d": "a second name for a dict of floats",
    "s.remove((x, 1.0))": ".remove() of a list of tuples",
    "k = s.count((x, 1.0))": ".count() of a list of tuples",
}


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("line", USES_OF_CONTAINERS)
def test_a_container_is_refused_at_the_line_of_the_use_that_is_not_known(line, typed):
    """It was refused where it is made, which is no fault of that line."""
    d = "Dict.empty(numba.int64, numba.float64)\n    d[1] = x" if typed else "{1: x}"
    text = f"def f(x):\n    d = {d}\n    s = [(x, 1.0)]\n    z = d[1] + s[0][0]\n    {line}\n    return z * x\n"
    file = f"<{line} {typed}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space = {"numba": numba, "Dict": numba.typed.Dict, "first_of": first_of}
    exec(compile(text, file, "exec"), space)
    with pytest.raises(UnsupportedError, match=re.escape(f"`{line}`: {USES_OF_CONTAINERS[line]}")):
        dr.grad(njit(space["f"]))(1.5)
