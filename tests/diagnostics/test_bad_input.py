"""Wrong, odd and unusual input, in every stage: what is refused says why and where, what is not refused is right."""

import cmath
import copy
import functools
import math
import operator
import pickle
import subprocess
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dualrev
from dualrev.errors import ArgumentError, ConversionError, CotangentError, HashError, LeafError, OutputError
from stages import STAGES

ROOT = Path(__file__).resolve().parents[2]
inf, nan = math.inf, math.nan


@pytest.fixture(params=STAGES)
def vjp(request):
    return STAGES[request.param].vjp


def grad(vjp, f, *primals):
    """The value, and the derivatives with respect to all arguments."""
    y, pullback = vjp(f, *primals)
    return y, *pullback(1.0)


def line(f, number=1):
    """How a message names a line of a function, counted from its `def`."""
    return f"at {f.__code__.co_filename}:{f.__code__.co_firstlineno + number}: `"


def same(a, b):
    """Equal numbers, with NaN equal to itself and 0.0 different from -0.0."""
    return repr(a) == repr(b)


# what the function returns


@pytest.mark.parametrize(
    ("y", "shown"),
    [
        (None, "None (type NoneType)"),
        (3, "3 (type int)"),
        (True, "True (type bool)"),
        ("text", "'text' (type str)"),
        ([], "[] (type list)"),
        ((1, None), "(1, None) (type tuple)"),
        (np.arange(2), "array([0, 1]) (type ndarray)"),
        (math.sin, "<built-in function sin> (type builtin_function_or_method)"),
    ],
)
def test_a_value_without_a_real_scalar_is_refused(vjp, y, shown):
    with pytest.raises(OutputError) as caught:
        vjp(lambda x: y, 1.0)
    assert f"the function returned {shown}, which holds no real scalar" in str(caught.value)


def test_a_function_that_forgets_to_return_is_told_so(vjp):
    def f(x):
        x * x

    with pytest.raises(OutputError, match=r"has no derivative\. Write `return y` at its end"):
        vjp(f, 1.0)


def test_a_generator_and_a_function_are_no_derivatives(vjp):
    def numbers(x):
        yield x

    with pytest.raises(OutputError, match="type generator"):
        vjp(numbers, 1.0)
    with pytest.raises(OutputError, match="type function"):
        vjp(lambda x: lambda: x, 1.0)


def test_a_function_beside_a_number_passes_through(vjp):
    (y, returned), pullback = vjp(lambda x: (x * x, len), 3.0)
    assert (y, returned) == (9.0, len)
    assert pullback((1.0, None)) == (6.0,)


@pytest.mark.parametrize("y", [1j, np.ma.array([1.0]), {1.0}])
def test_a_value_that_is_neither_real_nor_constant_is_refused(vjp, y):
    with pytest.raises(LeafError):
        vjp(lambda x: [x, y], 1.0)


def test_a_constant_has_the_derivative_zero(vjp):
    assert grad(vjp, lambda x: 5.0, 1.0) == (5.0, 0.0)
    assert grad(vjp, lambda x: dualrev.value(x) * 2.0, 1.0) == (2.0, 0.0)


# what the pullback gets


@pytest.mark.parametrize("wrong", [None, "1.0", 1j, True, [1.0], (1.0,), {"a": 1.0}, np.ones(1)])
def test_a_wrong_cotangent_of_a_number_is_refused_and_the_next_one_works(vjp, wrong):
    _, pullback = vjp(lambda x: x * x, 3.0)
    with pytest.raises(CotangentError, match=r"the pullback was given .* where the function's value has a real scalar"):
        pullback(wrong)
    assert pullback(1.0) == (6.0,)


@pytest.mark.parametrize(
    "wrong",
    [
        1.0,
        None,
        [(1.0, 1.0), np.ones(2), None],
        {"a": (1.0, 1.0), "b": np.ones(2)},
        {"a": (1.0, 1.0), "b": np.ones(2), "n": 0.0},
        {"a": (1.0, 1.0), "b": np.ones(3), "n": None},
        {"a": (1.0, 1.0), "b": [1.0, 1.0], "n": None},
        {"a": [1.0, 1.0], "b": np.ones(2), "n": None},
        {"a": (1.0,), "b": np.ones(2), "n": None},
        {"a": (1.0, None), "b": np.ones(2), "n": None},
        {"a": (1.0, 1.0), "c": np.ones(2), "n": None},
    ],
)
def test_a_wrong_cotangent_of_nested_data_is_refused_and_the_next_one_works(vjp, wrong):
    _, pullback = vjp(lambda x: {"a": (x, 2.0 * x), "b": np.array([x, x * x]), "n": 3}, 3.0)
    with pytest.raises(CotangentError):
        pullback(wrong)
    assert pullback({"a": (1.0, 10.0), "b": np.array([100.0, 1000.0]), "n": None}) == (6121.0,)


@pytest.mark.parametrize("right", [2, 2.0, np.float32(2), np.int64(2), np.array(2.0)])
def test_every_real_number_is_a_cotangent(vjp, right):
    assert vjp(lambda x: x * x, 3.0)[1](right) == (12.0,)


def test_a_pullback_gives_the_same_answer_every_time(vjp):
    _, pullback = vjp(lambda x, ys: (x * ys[0], x * x), 3.0, [2.0, 5.0])
    answers = [pullback(ct) for ct in [(1.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 0.0)]]
    assert answers == [(2.0, [3.0, 0.0]), (6.0, [0.0, 0.0]), (2.0, [3.0, 0.0]), (2.0, [3.0, 0.0])]


def test_what_the_caller_does_to_the_answers_changes_no_later_answer(vjp):
    y, pullback = vjp(lambda xs: [2.0 * x for x in xs], [1.0, 2.0])
    y.append("more")
    pullback([1.0, 1.0])[0].clear()
    assert pullback([1.0, 1.0]) == ([2.0, 2.0],)


# what the function gets


@pytest.mark.parametrize(
    "primals",
    [(), (2,), (True,), ("a",), (None,), ([1, 2],), (np.arange(3),), ((),), ({},), (1, "b"), (Fraction(1, 2),)],
)
def test_arguments_without_a_real_scalar_are_refused(vjp, primals):
    with pytest.raises(ArgumentError, match="nothing to differentiate with respect to") as caught:
        vjp(lambda *xs: 1.0, *primals)
    cure = (
        "x.astype(float) for the array x"
        if any(isinstance(x, np.ndarray) for x in primals)
        else "2.0 where you wrote 2"
    )
    assert f" Write {cure}." in str(caught.value)


def test_the_function_is_not_called_if_its_arguments_are_refused(vjp):
    called = []
    with pytest.raises(ArgumentError):
        vjp(called.append, 2)
    assert called == []


def test_an_int_among_the_arguments_is_a_constant(vjp):
    y, pullback = vjp(lambda x, n: x**n, 3.0, 2)
    assert (y, pullback(1.0)) == (9.0, (6.0, None))


@pytest.mark.parametrize("x", [1j, np.ones(2, complex), np.ma.array([1.0]), np.zeros(1, [("x", float)]), {1.0}])
def test_arguments_that_are_neither_real_nor_constant_are_refused(vjp, x):
    with pytest.raises(LeafError):
        vjp(lambda a, b: a, 1.0, x)


def mutate_list(xs):
    y = xs[0] * xs[1]
    xs[0] = 0.0
    xs.append(y)
    xs[2][0] = y
    return y


def mutate_dict(d):
    y = d["a"] * d["b"][0]
    d["a"] = None
    d["b"].clear()
    del d["b"]
    d["new"] = y
    return y


def mutate_array(xs):
    y = xs[0] * xs[1]
    xs[0] = 0.0
    xs *= 2.0
    xs.sort()
    return y


def mutate_deque(xs):
    y = xs.popleft() * xs.pop()
    xs.append(y)
    return y


def mutate_objects(xs):
    y = xs[0] * xs[1][0]
    xs[1][0] = xs[0] = None
    return y


OBJECTS = np.array([2.0, None], dtype=object)
OBJECTS[1] = [3.0]


@pytest.mark.parametrize(
    ("f", "data"),
    [
        (mutate_list, [2.0, 3.0, [1.0]]),
        (mutate_dict, {"a": 2.0, "b": [3.0]}),
        (mutate_array, np.array([2.0, 3.0])),
        (mutate_array, np.array([2.0, 3.0], np.float32)),
        (mutate_deque, deque([2.0, 3.0])),
        (mutate_objects, OBJECTS),
    ],
    ids=lambda x: getattr(x, "__name__", type(x).__name__),
)
def test_a_function_that_changes_its_argument_changes_not_the_callers(vjp, f, data):
    before = copy.deepcopy(data)
    y, pullback = vjp(f, data)
    (ct,) = pullback(1.0)
    assert same(data, before)
    assert type(ct) is type(data)
    assert y == 6.0
    assert next(iter(ct.values() if isinstance(ct, dict) else ct)) == 3.0


def test_what_the_caller_changes_after_the_call_changes_no_derivative(vjp):
    xs, array = [2.0, 3.0], np.array([5.0])
    _, pullback = vjp(lambda xs, array: xs[0] * xs[1] * array[0], xs, array)
    xs.clear()
    array[0] = 0.0
    cts = pullback(1.0)
    assert same(cts, ([15.0, 10.0], np.array([6.0])))


def test_a_discrete_argument_arrives_as_itself(vjp):
    numbers, opaque = np.arange(3), object()

    def f(x, *rest):
        assert rest[0] is numbers
        assert rest[1] is opaque
        return x

    assert vjp(f, 1.0, numbers, opaque)[1](1.0) == (1.0, None, None)


# what would lose the derivative

ARRAY_OF_FLOATS = np.zeros(3)


def use_math(x):
    return math.sin(x)


def use_float(x):
    return float(x)


def use_complex(x):
    return complex(x)


def use_cmath(x):
    return cmath.exp(x)


def use_pickle(x):
    return pickle.dumps(x)


def use_pickle_on_nested_data(x):
    return pickle.dumps({"a": [x]})


def use_an_element(x):
    ARRAY_OF_FLOATS[0] = x


def use_a_slice(x):
    ARRAY_OF_FLOATS[:] = x


def use_a_slice_of_variable_bounds(x):  # from Python 3.14 on, other slices are stored by an element's instruction
    ARRAY_OF_FLOATS[: len(ARRAY_OF_FLOATS) - 1] = x


def use_a_conversion(x):
    return np.array([x, 1.0]).astype(float)


def use_fsum(x):
    return math.fsum([x, x])


def use_percent(x):
    return "%.2f" % x  # noqa: UP031 - the operator is what is tested


@pytest.mark.parametrize(
    ("f", "conversion"),
    [
        (use_math, "float()"),
        (use_float, "float()"),
        (use_complex, "complex()"),
        (use_cmath, "complex()"),
        (use_pickle, "pickling"),
        (use_pickle_on_nested_data, "pickling"),
        (use_an_element, "storing"),
        (use_a_slice, "storing"),
        (use_a_slice_of_variable_bounds, "storing"),
        (use_a_conversion, "float()"),
        (use_fsum, "float()"),
        (use_percent, "float()"),
    ],
)
def test_a_conversion_to_a_plain_number_is_refused_where_it_stands(vjp, f, conversion):
    with pytest.raises(ConversionError) as caught:
        vjp(f, 1.0)
    text = str(caught.value)
    what = "in an array of plain numbers " if conversion == "storing" else ""
    of = "storing a" if conversion == "storing" else f"{conversion} of a"
    assert text.startswith(f"{of} number that is being differentiated {what}{line(f)}")
    assert ("`from dualrev import math`" in text) is (conversion == "float()" and f is not use_float)
    assert ("Leave float(...) out" in text) is (f is use_float)
    assert ("Write `u = dualrev.numpy.array(ARRAY_OF_FLOATS)`" in text) is (conversion == "storing")
    assert "write dualrev.value(x)" in text
    assert not ARRAY_OF_FLOATS.any()


def test_adding_into_an_array_of_floats_is_refused_with_the_cure(vjp):
    def f(x):
        array = np.zeros(2)
        array += x
        return array

    with pytest.raises(ConversionError, match=r"dualrev\.value"):
        vjp(f, 1.0)


def use_a_dict(x):
    return {x: 1.0}


def use_a_set(x):
    return len({x})


def use_hash(x):
    return hash(x)


def use_a_tuple_as_key(x):
    return {}.get((1, x))


@functools.lru_cache
def cached(x):
    return x * x


def use_a_cache(x):
    return cached(x)


@pytest.mark.parametrize("f", [use_a_dict, use_a_set, use_hash, use_a_tuple_as_key, use_a_cache])
def test_a_number_as_a_key_is_refused_where_it_stands(vjp, f):
    with pytest.raises(HashError) as caught:
        vjp(f, 1.0)
    text = str(caught.value)
    assert text.startswith(f"a number that is being differentiated was used as a key {line(f)}")
    assert "Use dualrev.value(x) for the key" in text


def test_the_cures_work(vjp):
    def f(x):
        table = {dualrev.value(x): x}
        return dualrev.math.sin(x) + np.sin(x) + math.sin(dualrev.value(x)) + table[2.0]

    assert grad(vjp, f, 2.0) == (pytest.approx(3 * math.sin(2.0) + 2.0), pytest.approx(2 * math.cos(2.0) + 1.0))


def test_a_copy_of_a_number_is_the_number(vjp):
    def f(x):
        nested = copy.deepcopy({"a": [x]})
        assert nested["a"][0] is copy.copy(x) is copy.deepcopy(x) is x
        return nested["a"][0] * x

    assert grad(vjp, f, 3.0) == (9.0, 6.0)


def test_a_number_that_is_being_differentiated_is_no_index(vjp):
    with pytest.raises(TypeError):
        vjp(lambda x: [1.0, 2.0][x], 1.0)
    with pytest.raises(TypeError):
        vjp(lambda x: sum(range(x)), 1.0)


# exceptions of the function itself


@pytest.mark.parametrize("exception", [ValueError, KeyError, ZeroDivisionError, StopIteration, KeyboardInterrupt])
def test_an_exception_in_the_function_arrives_and_the_next_call_works(vjp, exception):
    raised = exception("mine")

    def f(x):
        x = x * x
        raise raised

    with pytest.raises(exception) as caught:
        vjp(f, 3.0)
    assert caught.value is raised
    assert grad(vjp, lambda x: x * x, 3.0) == (9.0, 6.0)


def test_an_exception_inside_a_nested_derivative_leaves_the_outer_one_right(vjp):
    def f(x):
        def fail(y):
            raise ValueError(y * x)

        try:
            vjp(fail, 2.0)
        except ValueError:
            return x * x
        return 0.0 * x

    assert grad(vjp, f, 3.0) == (9.0, 6.0)


@pytest.mark.parametrize(
    ("f", "x", "exception"),
    [
        (lambda x: 1.0 / x, 0.0, ZeroDivisionError),
        (lambda x: x // 0.0, 1.0, ZeroDivisionError),
        (lambda x: x % 0, 1.0, ZeroDivisionError),
        (lambda x: x**-1, 0.0, ZeroDivisionError),
        (lambda x: dualrev.math.log(x), 0.0, ValueError),
        (lambda x: dualrev.math.sqrt(x), -1.0, ValueError),
        (lambda x: x**0.5, -1.0, ValueError),
        (lambda x: dualrev.math.exp(x), 1000.0, OverflowError),
        (lambda x: int(x), nan, ValueError),
        (lambda x: round(x), inf, OverflowError),
    ],
)
def test_outside_of_its_domain_an_operation_raises_what_it_raises_on_floats(vjp, f, x, exception):
    with pytest.raises(exception):
        vjp(f, x)
    assert grad(vjp, lambda x: x * x, 3.0) == (9.0, 6.0)


# NaN and infinities


@pytest.mark.parametrize(
    ("f", "x", "y", "dx"),
    [
        (lambda x: x + inf, 1.0, inf, 1.0),
        (lambda x: x - inf, inf, nan, 1.0),
        (lambda x: x * inf, 2.0, inf, inf),
        (lambda x: x * inf, 0.0, nan, inf),
        (lambda x: x * nan, 1.0, nan, nan),
        (lambda x: x * 2.0, nan, nan, 2.0),
        (lambda x: 0.0 * x, inf, nan, 0.0),
        (lambda x: x / inf, 1.0, 0.0, 0.0),
        (lambda x: 1.0 / x, inf, 0.0, -0.0),
        (lambda x: x * x, -inf, inf, -inf),
        (lambda x: -x, -inf, inf, -1.0),
        (lambda x: abs(x), -inf, inf, -1.0),
        (lambda x: x * 1e308 * 10.0, 1.0, inf, inf),
        (lambda x: dualrev.math.exp(x), -inf, 0.0, 0.0),
        (lambda x: dualrev.math.exp(x), inf, inf, inf),
        (lambda x: dualrev.math.log(x), inf, inf, 0.0),
        (lambda x: dualrev.math.sqrt(x), 0.0, 0.0, inf),
        (lambda x: dualrev.math.atan(x), inf, math.pi / 2, 0.0),
        (lambda x: dualrev.math.maximum(x, 0.0), nan, nan, None),
        (lambda x: x if x == x else 7.0 * x, nan, nan, 7.0),
        (lambda x: x if x < inf else 3.0 * x, inf, inf, 3.0),
    ],
)
def test_nan_and_infinities_flow_by_ieee(vjp, f, x, y, dx):
    found, derivative = grad(vjp, f, x)
    assert same(found, y)
    if dx is not None:
        assert same(derivative + 0.0, dx + 0.0)  # without the sign of a zero, which sums may lose


def test_an_infinite_partial_of_what_is_not_used_makes_no_nan(vjp):
    def f(x, y):
        dualrev.math.sqrt(x)  # its partial derivative is infinite at 0
        return [x * y, 2.0 * y]

    assert vjp(f, 0.0, 3.0)[1]([1.0, 1.0]) == (3.0, 2.0)


@pytest.mark.parametrize("ct", [inf, -inf, nan])
def test_a_cotangent_may_be_infinite_or_nan(vjp, ct):
    _, pullback = vjp(lambda x, y: x * 2.0, 3.0, 4.0)
    assert same(pullback(ct)[0], ct)


# threads


def test_calls_from_several_threads_at_once_are_right(vjp):
    def power(n):
        def f(x, ys):
            y = 1.0
            for _ in range(n):
                y = y * x
            return y + sum(ys)

        return f

    def run(n):
        y, pullback = vjp(power(n), 1.5, [1.0] * n)
        return y, pullback(2.0)

    def expected(n):
        return pytest.approx(1.5**n + n), (pytest.approx(2.0 * n * 1.5 ** (n - 1)), [2.0] * n)

    jobs = [1 + k % 20 for k in range(100)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, jobs)) == [expected(n) for n in jobs]


def test_one_pullback_may_be_called_from_several_threads(vjp):
    _, pullback = vjp(lambda xs: sum(x * x for x in xs), [float(k) for k in range(20)])
    with ThreadPoolExecutor(8) as pool:
        for k, answer in enumerate(pool.map(pullback, range(50))):
            assert answer == ([2.0 * k * x for x in range(20)],)


# a number that is being differentiated behaves as the plain number


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: bool(x), True),
        (lambda x: bool(x - x), False),
        (lambda x: not x, False),
        (lambda x: int(x), 2),
        (lambda x: int(-x), -2),
        (lambda x: round(x), 3),
        (lambda x: round(x, 1), 2.7),
        (lambda x: round(-x), -3),
        (lambda x: math.floor(x), 2),
        (lambda x: math.floor(-x), -3),
        (lambda x: math.ceil(x), 3),
        (lambda x: math.trunc(-x), -2),
        (lambda x: x == 2.71, True),
        (lambda x: x != 2.71, False),
        (lambda x: x == x + 0.0, True),
        (lambda x: x < 3, True),
        (lambda x: operator.lt(3, x), False),
        (lambda x: x <= 2.71 <= x, True),
        (lambda x: x > x, False),
        (lambda x: x >= x - 1, True),
        (lambda x: operator.eq(2.71, x), True),
        (lambda x: x == "2.71", False),
        (lambda x: x is None, False),
        (lambda x: x in [1.0, 2.71], True),
        (lambda x: [x, x].index(2.71), 0),
        (lambda x: np.float64(3.0) > x, True),
        (lambda x: x < np.float32(3.0), True),
        (lambda x: Fraction(5, 2) < x, True),
        (lambda x: x > Fraction(5, 2), True),
        (lambda x: x < Decimal("2.8"), True),
        (lambda x: np.isnan(x), False),
        (lambda x: np.isfinite(x), True),
        (lambda x: f"{x:.1f}", "2.7"),
        (lambda x: f"{x}", "2.71"),
        (lambda x: f"{x:>8.3f}|{x:e}", "   2.710|2.710000e+00"),
        (lambda x: format(x, ".0%"), "271%"),
        (lambda x: f"{-x}".startswith("-"), True),
        (lambda x: "{:.2f}".format(x), "2.71"),  # noqa: UP032 - the method is what is tested
    ],
)
def test_what_is_piecewise_constant_is_a_plain_value(vjp, f, expected):
    seen = []

    def g(x):
        seen.append(f(x))
        return x

    assert grad(vjp, g, 2.71) == (2.71, 1.0)
    assert seen == [expected]
    assert type(seen[0]) in (type(expected), np.bool_)


def test_a_fraction_may_be_compared_for_equality_from_the_left(vjp):
    assert grad(vjp, lambda x: 2.0 * x if Fraction(1, 2) == x else x, 0.5) == (1.0, 2.0)


def test_the_text_of_a_number_is_that_of_its_value(vjp):
    """A program may use its length; only repr says what it is."""
    seen = []
    y, _ = vjp(lambda x: seen.append((str(x), f"{x}", "%s" % x)) or x, 2.5)  # noqa: UP031
    assert seen == [("2.5", "2.5", "2.5")]
    assert y == 2.5


def test_repr_shows_the_value(vjp):
    def f(x):
        assert "2.5" in repr(x)
        assert "2.5" in str([x])
        return x

    vjp(f, 2.5)


@pytest.mark.parametrize(
    ("f", "y", "dx", "dy"),
    [
        # sorting and choosing, at (3, 2)
        (lambda x, y: sorted([x, y])[0], 2.0, 0.0, 1.0),
        (lambda x, y: sorted([x, 2.5, y], reverse=True)[0], 3.0, 1.0, 0.0),
        (lambda x, y: sorted([x, y], key=lambda u: -u)[0], 3.0, 1.0, 0.0),
        (lambda x, y: min(x, y), 2.0, 0.0, 1.0),
        (lambda x, y: max([x, y, 2.5]), 3.0, 1.0, 0.0),
        (lambda x, y: max(x, 4.0), 4.0, 0.0, 0.0),
        (lambda x, y: max((x, "b"), (y, "a"))[0], 3.0, 1.0, 0.0),
        (lambda x, y: np.sort(np.array([x, y]))[0], 2.0, 0.0, 1.0),
        # folds
        (lambda x, y: sum([x, y, x]), 8.0, 2.0, 1.0),
        (lambda x, y: sum([x, y], start=1.0), 6.0, 1.0, 1.0),
        (lambda x, y: sum(u * u for u in (x, y)), 13.0, 6.0, 4.0),
        (lambda x, y: math.prod([x, y, x]), 18.0, 12.0, 9.0),
        (lambda x, y: functools.reduce(lambda u, v: u * v, [x, y]), 6.0, 2.0, 3.0),
        (lambda x, y: np.sum(np.array([x, y])) + np.dot([x, y], [1.0, 10.0]), 28.0, 2.0, 11.0),
        # operators of more than two results or arguments
        (lambda x, y: abs(y - x), 1.0, 1.0, -1.0),
        (lambda x, y: divmod(x, y)[0], 1.0, 0.0, 0.0),
        (lambda x, y: divmod(x, y)[1], 1.0, 1.0, -1.0),
        (lambda x, y: divmod(7.0, y)[1], 1.0, 0.0, -3.0),
        (lambda x, y: divmod(x, 2)[1], 1.0, 1.0, 0.0),
        (lambda x, y: pow(x, y), 9.0, 6.0, 9.0 * math.log(3.0)),
        (lambda x, y: pow(x, 2), 9.0, 6.0, 0.0),
        (lambda x, y: pow(2, y), 4.0, 0.0, 4.0 * math.log(2.0)),
        (lambda x, y: x**y**2, 81.0, 108.0, 324.0 * math.log(3.0)),
        (lambda x, y: +x - -y, 5.0, 1.0, 1.0),
        # numpy's scalars on either side
        (lambda x, y: np.float64(2.0) * x, 6.0, 2.0, 0.0),
        (lambda x, y: x * np.float64(2.0), 6.0, 2.0, 0.0),
        (lambda x, y: np.float32(2.0) * x + y * np.float32(3.0), 12.0, 2.0, 3.0),
        (lambda x, y: np.int64(2) * x + y * np.int64(3), 12.0, 2.0, 3.0),
        (lambda x, y: np.bool_(True) * x + y * np.bool_(True), 5.0, 1.0, 1.0),
        (lambda x, y: np.float64(6.0) / x, 2.0, -2.0 / 3.0, 0.0),
        (lambda x, y: x / np.float64(6.0), 0.5, 1.0 / 6.0, 0.0),
        (lambda x, y: np.float64(2.0) ** y, 4.0, 0.0, 4.0 * math.log(2.0)),
        (lambda x, y: x ** np.float64(2.0), 9.0, 6.0, 0.0),
        (lambda x, y: np.float64(7.0) - x - np.float16(1.0), 3.0, -1.0, 0.0),
        (lambda x, y: np.float64(7.0) // x, 2.0, 0.0, 0.0),
        (lambda x, y: np.float64(7.0) % x, 1.0, -2.0, 0.0),
        (lambda x, y: x % np.float64(2.0), 1.0, 1.0, 0.0),
        (lambda x, y: divmod(x, np.float64(2.0))[1], 1.0, 1.0, 0.0),
        (lambda x, y: np.array(2.0) * x, 6.0, 2.0, 0.0),
        # fractions and bools
        (lambda x, y: Fraction(1, 2) * x + y * Fraction(1, 4), 2.0, 0.5, 0.25),
        (lambda x, y: Fraction(1, 2) + x - Fraction(1, 2), 3.0, 1.0, 0.0),
        (lambda x, y: x / Fraction(1, 2), 6.0, 2.0, 0.0),
        (lambda x, y: Fraction(6, 1) / x, 2.0, -2.0 / 3.0, 0.0),
        (lambda x, y: x ** Fraction(2, 1), 9.0, 6.0, 0.0),
        (lambda x, y: Fraction(2, 1) ** y, 4.0, 0.0, 4.0 * math.log(2.0)),
        (lambda x, y: divmod(Fraction(7, 1), x)[1], 1.0, -2.0, 0.0),
        (lambda x, y: x * True + y * False, 3.0, 1.0, 0.0),
    ],
)
def test_python_and_numpy_arithmetic_is_differentiated(vjp, f, y, dx, dy):
    assert grad(vjp, f, 3.0, 2.0) == (pytest.approx(y), pytest.approx(dx), pytest.approx(dy))


def test_divmod_of_a_numpy_scalar_by_a_number_is_differentiated(vjp):
    assert grad(vjp, lambda y: divmod(np.float64(7.0), y)[1], 2.0) == (1.0, -3.0)


def test_the_square_of_numpy_is_differentiated(vjp):
    assert grad(vjp, lambda x: np.square(x), 3.0) == (9.0, 6.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + Decimal(1),
        lambda x: Decimal(1) * x,
        lambda x: x ** Decimal(2),
        lambda x: x * 1j,
        lambda x: 1j * x,
        lambda x: 1j**x,
        lambda x: divmod(x, 1j),
        lambda x: x * np.complex128(1j),
        lambda x: np.complex64(1j) + x,
        lambda x: x + "a",
        lambda x: "a" * x,
        lambda x: x + None,
        lambda x: x * [1.0],
        lambda x: [1.0] * x,
        lambda x: pow(x, 2, 5),
        lambda x: x < "a",
        lambda x: x < 1j,
        lambda x: dualrev.math.sin("a"),
        lambda x: dualrev.math.atan2(x, "a"),
        lambda x: dualrev.math.atan2(Decimal(1), x),
        lambda x: x @ x,
        lambda x: x & 1,
        lambda x: x(),
        lambda x: x[0],
        lambda x: len(x),
        lambda x: [*x],
    ],
)
def test_what_is_no_real_number_is_refused_with_a_type_error(vjp, f):
    with pytest.raises(TypeError):
        vjp(f, 2.0)


# depth


def test_programs_of_many_steps_are_given_back_to_memory_safely():
    """In a process of its own: if an interpreter's deallocation recursed, it would take the tests down with it."""
    program = """
from stages import STAGES

def f(x):
    for _ in range(50_000):
        x = x + 1.0
    return x

for stage in STAGES.values():
    y, pullback = stage.vjp(f, 1.0)
    assert (y, pullback(2.0)) == (50_001.0, (2.0,))
    del pullback
print("done")
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")
