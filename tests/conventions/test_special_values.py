"""The tape and compiled code at special values, for every line of the table of primitives: both modes, orders 1 and 2.

Each engine is the other's oracle, and limits that mathematics knows are those of both. The tape computes arrays and
numbers apart: where Python's numbers raise there is no derivative, and arrays go on.
"""

import ctypes
import linecache
import math
import warnings

import mpmath
import numpy as np
import pytest
import scipy.special
from numba import njit
from support.oracle import assert_same

import dualrev as dr
from dualrev import math as dm
from dualrev.rules.library.special import addresses
from dualrev.rules.primitives import PRIMITIVES
from dualrev.rules.scipy import NAMES as SCIPY
from dualrev.rules.scipy import UNKNOWN
from dualrev.scipy import special

inf, nan = math.inf, math.nan
GRID = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 1e-200, 1e200, 5e-324, inf, -inf, nan]
UNARY = [*GRID, 0.5, 1e-310, 1e308, -1e308, 30.0, -800.0, 800.0]
#: Python's operators; other lines are called by numpy's names, or by those of `math`.
OPERATORS = {"add": "a + b", "sub": "a - b", "mul": "a * b", "div": "a / b", "pow": "a ** b", "mod": "a % b"}
OPERATORS |= {"floordiv": "a // b", "neg": "-x", "pos": "+x", "abs": "abs(x)"}
#: Whether SciPy has -inf for gamma(-0.0), as `math` in compiled code. An older one takes -0.0 for 0.0, and what is made
#: of its value differs.
SIGNED = scipy.special.gamma(-0.0) < 0.0
#: SciPy's names for arrays of them.
OF_MATH = {"erf": "erf", "erfc": "erfc", "gamma": "gamma", "lgamma": "gammaln"}


def text(name):
    """A line as code, of numbers and of arrays."""
    if name in OPERATORS:
        return OPERATORS[name]
    line = PRIMITIVES[name]
    return f"{'math.' + name if name in OF_MATH else 'np.' + line.ufunc}({', '.join(line.parameters)})"


NAMES = [name for name, line in PRIMITIVES.items() if name in OPERATORS or name in OF_MATH or line.ufunc]
ONE = [name for name in NAMES if len(PRIMITIVES[name].parameters) == 1]
TWO = [name for name in NAMES if len(PRIMITIVES[name].parameters) == 2]


def compiled(names, parameters):
    """One numba function for many lines, with a branch for each: they are compiled together."""
    branches = [f"    if k == {k}:\n        return {text(name)}\n" for k, name in enumerate(names)]
    source, file = f"def f({parameters}, k):\n{''.join(branches)}    return 0.0\n", f"<special values of {parameters}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names_of = {"np": np, "math": math}
    exec(compile(source, file, "exec"), names_of)
    return njit(error_model="numpy")(names_of["f"])


ENGINES = {1: (ONE, compiled(ONE, "x")), 2: (TWO, compiled(TWO, "a, b"))}


def on_the_tape(name, arrays):
    """The line as a Python function of arrays, or of numbers."""
    if arrays and name in OF_MATH:
        return getattr(scipy.special, OF_MATH[name])
    parameters = ", ".join(PRIMITIVES[name].parameters)
    return eval(f"lambda {parameters}: {text(name)}", {"np": np, "math": dm})


def of_arrays(name, points):
    """First derivatives in both modes, and second ones, of all points at once: a row for each point."""
    f, xs = on_the_tape(name, True), tuple(map(np.array, zip(*points, strict=True)))
    n = len(xs)
    total = lambda *xs: np.sum(f(*xs))  # noqa: E731
    every = tuple(range(n))
    ones, zeros = np.ones(len(points)), np.zeros(len(points))
    directions = [tuple(ones if j == k else zeros for j in every) for k in every]
    first = np.stack(dr.grad(total, every)(*xs), 1)
    forward = np.stack([dr.jvp(f, xs, t)[1] for t in directions], 1)
    second = np.stack([np.stack(dr.jvp(dr.grad(total, every), xs, t)[1], 1) for t in directions], 1)
    return first, forward, second.reshape(len(points), -1)


def of_numbers(name, point):
    """The same of Python's numbers; None where the value raises what Python raises."""
    f, every = on_the_tape(name, False), tuple(range(len(point)))
    try:
        if isinstance(f(*point), complex):  # a power that is not real is an error under differentiation
            return None
    except (ArithmeticError, ValueError):
        return None
    units = [tuple(map(float, t)) for t in np.eye(len(point))]
    forward = [dr.jvp(f, point, t)[1] for t in units]
    return np.array(dr.grad(f, every)(*point)), np.array(forward), np.ravel(dr.hessian(f, every)(*point))


def of_compiled_code(name, point):
    names, f = ENGINES[len(point)]
    k, every = names.index(name), tuple(range(len(point)))
    units = [(*map(float, t), None) for t in np.eye(len(point))]
    forward = [dr.jvp(f, (*point, k), t)[1] for t in units]
    return np.array(dr.grad(f, every)(*point, k)), np.array(forward), np.ravel(dr.hessian(f, every)(*point, k))


def same(a, b):
    """Up to rounding, which an exponent such as 1e200 does not come through; and of huge ones, infinity or not."""
    return np.isclose(a, b, rtol=1e-9, atol=1e-15, equal_nan=True)


def is_a_zero_tangent(name, point, order, tape, fast):
    """Whether compiled code has NaN because a known tangent of 0 met an operand or a partial that is not finite.

    The tangents here are unit vectors: with two arguments, one of them does not move. In first derivatives this is only
    so where an argument is infinite or NaN, in second ones of a quotient, and beside NaN (docs/conventions.md).
    """
    if order == 1:
        met = len(point) > 1 and not np.all(np.isfinite(point))
    else:
        met = name == "div" or (name == "logaddexp" and np.any(np.isnan(point)))
    return met & np.isnan(fast) & ~np.isnan(tape)


def points_of(name):
    if name not in ONE:
        return [(a, b) for a in GRID for b in GRID]
    return [(x,) for x in UNARY if SIGNED or name != "gamma" or math.copysign(1.0, x) > 0.0 or x != 0.0]


def subnormal_divisor(name, point):
    """Compiled code multiplies with the reciprocal of a divisor, which overflows for a subnormal one."""
    return name == "div" and 0.0 < abs(point[1]) < 1e-308


@pytest.mark.parametrize("name", NAMES)
def test_the_engines_agree(name):
    with np.errstate(all="ignore"):
        points = points_of(name)
        for k, (point, tape) in enumerate(zip(points, zip(*of_arrays(name, points), strict=True), strict=True)):
            fast = of_compiled_code(name, point)
            numbers = of_numbers(name, point) if k % 7 == 0 or name in ONE else None
            for mode, (order, a, b) in enumerate(zip((1, 1, 2), tape, fast, strict=True)):
                if not subnormal_divisor(name, point):
                    agree = same(a, b) | is_a_zero_tangent(name, point, order, a, b)
                    assert np.all(agree), (name, point, order, a, b)
                if numbers is not None:
                    assert np.all(same(a, numbers[mode])), (name, point, order, a, numbers[mode])


mp = mpmath.mp
#: At poles, at the ends of domains and at infinity: the first derivatives, and the second ones (row by row).
LIMITS = [
    ("sqrt", (0.0,), (inf,), (-inf,)),
    ("sqrt", (inf,), (0.0,), (0.0,)),
    ("cbrt", (0.0,), (inf,), (-inf,)),
    ("cbrt", (-0.0,), (inf,), (inf,)),
    ("cbrt", (-inf,), (0.0,), (0.0,)),
    ("log", (0.0,), (inf,), (-inf,)),
    ("log1p", (inf,), (0.0,), (0.0,)),
    ("asin", (1.0,), (inf,), (inf,)),
    ("asin", (-1.0,), (inf,), (-inf,)),
    ("acos", (1.0,), (-inf,), (-inf,)),
    ("acos", (-1.0,), (-inf,), (inf,)),
    ("atan", (inf,), (0.0,), (0.0,)),
    ("atan", (-inf,), (0.0,), (0.0,)),
    ("tanh", (inf,), (0.0,), (0.0,)),
    ("asinh", (-inf,), (0.0,), (0.0,)),
    ("acosh", (1.0,), (inf,), (-inf,)),
    ("acosh", (inf,), (0.0,), (0.0,)),
    ("atanh", (1.0,), (inf,), (inf,)),
    ("atanh", (-1.0,), (inf,), (-inf,)),
    ("exp", (-inf,), (0.0,), (0.0,)),
    ("exp", (inf,), (inf,), (inf,)),
    ("erf", (inf,), (0.0,), (0.0,)),
    ("erfc", (-inf,), (0.0,), (0.0,)),
    ("gamma", (inf,), (inf,), (inf,)),
    ("div", (2.0, inf), (0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    ("div", (inf, 2.0), (0.5, -inf), (0.0, -0.25, -0.25, inf)),
    ("div", (2.0, 0.0), (inf, -inf), (0.0, -inf, -inf, inf)),
    ("hypot", (inf, 3.0), (1.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    ("hypot", (3.0, -inf), (0.0, -1.0), (0.0, 0.0, 0.0, 0.0)),
    ("atan2", (inf, 3.0), (0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    ("atan2", (3.0, inf), (0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    ("pow", (0.0, 2.5), (0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    ("pow", (0.0, 1.5), (0.0, 0.0), (inf, 0.0, 0.0, 0.0)),
    ("pow", (0.0, 0.5), (inf, 0.0), (-inf, -inf, -inf, 0.0)),
    ("pow", (0.0, -1.0), (-inf, -inf), (inf, inf, inf, inf)),
    ("pow", (inf, 1.5), (inf, inf), (0.0, inf, inf, inf)),
    ("pow", (inf, -0.5), (0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    ("pow", (0.5, inf), (0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    ("pow", (2.5, -inf), (0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    ("pow", (1e-20, 0.0), (0.0, math.log(1e-20)), (0.0, 1e20, 1e20, math.log(1e-20) ** 2)),
]
OF_MPMATH = {"log1p": lambda x: mp.log(1 + x), "div": lambda a, b: a / b, "pow": mp.power}
OF_MPMATH["cbrt"] = lambda x: mp.sign(x) * mp.cbrt(abs(x))


def near(x, name):
    """A number that is almost x, inside of the domain."""
    if math.isinf(x):
        return mp.sign(x) * (mp.mpf(10) ** 60 if name not in ("erf", "erfc", "gamma", "exp", "tanh") else 10**4)
    shift = mp.mpf(10) ** -60 * (-1 if name in ("asin", "acos", "atanh") and x > 0 else 1)
    return (
        x + math.copysign(1.0, x) * shift if x == 0.0 else x + shift if abs(x) == 1.0 and name != "pow" else mp.mpf(x)
    )


@pytest.mark.parametrize(("name", "point", "first", "second"), LIMITS)
def test_derivatives_are_their_limits(name, point, first, second):
    n = len(point)
    f = OF_MPMATH.get(name) or getattr(mp, name)
    orders = [tuple(int(j == k) for j in range(n)) for k in range(n)]
    orders += [tuple(a + b for a, b in zip(u, v, strict=True)) for u in orders for v in orders]
    with mp.workdps(900):
        at = tuple(near(x, name) for x in point)
        known = [
            mp.diff(f, at if n > 1 else at[0], order if n > 1 else order[0], h=mp.mpf(10) ** -250) for order in orders
        ]
    for limit, value in zip((*first, *second), known, strict=True):
        if math.isinf(limit):
            assert mp.sign(value) == math.copysign(1.0, limit), (limit, value)
            assert abs(value) > 30, (limit, value)
        else:
            assert abs(value - limit) <= 1e-9 * abs(limit) + 1e-15, (limit, value)
    with np.errstate(all="ignore"):
        tape = [u[0] for u in of_arrays(name, [point])]
        fast, numbers = of_compiled_code(name, point), of_numbers(name, point)
    for mode, expected in enumerate((first, first, second)):
        assert np.all(same(tape[mode], expected)), (mode, tape[mode])
        assert numbers is None or np.all(same(numbers[mode], expected)), (mode, numbers[mode])
        excluded = is_a_zero_tangent(name, point, (1, 1, 2)[mode], tape[mode], fast[mode])
        assert np.all(same(fast[mode], expected) | excluded), (mode, fast[mode])


ROOT = "np.sum(np.where(x > 0, np.sqrt(x), 0.0))"
TABLE = "np.array([-1.0, 0.0, 2.0]), np.array([1.0, 3.0, 4.0])"
#: Functions of arrays, elements, and the gradient.
OF_ARRAYS = [
    ("np.sum(x)", [inf, nan, -inf], [1.0, 1.0, 1.0]),
    ("np.prod(x)", [inf, 2.0, 3.0], [6.0, inf, inf]),
    ("np.prod(x)", [0.0, 2.0, 3.0], [6.0, 0.0, 0.0]),
    ("np.prod(x)", [nan, 2.0, 3.0], [6.0, nan, nan]),
    ("np.max(x)", [inf, inf, 1.0], [0.5, 0.5, 0.0]),
    ("np.max(x)", [nan, 5.0, nan], [0.5, 0.0, 0.5]),
    ("np.min(x)", [-inf, 5.0, 1.0], [1.0, 0.0, 0.0]),
    ("np.sum(np.maximum(x, 1.0))", [nan, -inf, inf], [1.0, 0.0, 1.0]),
    ("np.sum(np.clip(x, -1.0, 1.0))", [nan, -inf, 0.5], [1.0, 0.0, 1.0]),
    ("np.linalg.norm(x)", [inf, 2.0, 3.0], [1.0, 0.0, 0.0]),
    ("np.linalg.norm(x)", [2.0, -inf, 0.5], [0.0, -1.0, 0.0]),
    ("np.linalg.norm(x)", [inf, 2.0, -inf], [nan, 0.0, nan]),
    ("np.linalg.norm(x)", [inf, nan, 1.0], [nan, nan, nan]),
    ("np.percentile(x, 30.0)", [nan, 2.0, 3.0], [1.0, 0.0, 0.0]),
    ("np.quantile(x, 0.5)", [2.0, nan, 0.5], [0.0, 1.0, 0.0]),
    ("np.std(x)", [3.0, 3.0, 3.0], [nan, nan, nan]),
    ("np.nanstd(x)", [nan, nan, 1.0], [0.0, 0.0, 0.0]),
    ("np.nanmean(x)", [nan, 2.0, inf], [0.0, 0.5, 0.5]),
    ("np.nanmax(x)", [nan, -inf, -inf], [0.0, 0.5, 0.5]),
    ("np.nanmin(x)", [inf, nan, inf], [0.5, 0.0, 0.5]),
    ("np.nanmin(x)", [2.0, nan, 3.0], [1.0, 0.0, 0.0]),
    ("np.nanmax(x)", [nan, nan, nan], [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]),
    ("np.sum(np.vander(x, 3))", [inf, 2.0, 3.0], [inf, 5.0, 7.0]),
    (ROOT, [0.0, 4.0, inf], [0.0, 0.25, 0.0]),
    (f"np.sum(np.interp(x, {TABLE}))", [inf, -inf, 0.0], [0.0, 0.0, 0.5]),
]


@pytest.fixture(scope="module")
def many_of_arrays():
    texts = [*dict.fromkeys(text for text, _, _ in OF_ARRAYS)]
    branches = [f"    if k == {k}:\n        return {text}\n" for k, text in enumerate(texts)]
    source, file = f"def f(x, k):\n{''.join(branches)}    return 0.0\n", "<special values of arrays>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names_of = {"np": np}
    exec(compile(source, file, "exec"), names_of)
    return texts, names_of["f"], njit(names_of["f"])


@pytest.mark.parametrize(("text", "elements", "expected"), OF_ARRAYS)
def test_functions_of_arrays(many_of_arrays, text, elements, expected):
    texts, plain, f = many_of_arrays
    k, x = texts.index(text), np.array(elements)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # "All-NaN slice encountered"
        for g in (plain, f):
            assert_same(dr.grad(g)(x, k), np.array(expected), rtol=1e-12)


def test_norms_of_lines_with_infinite_elements():
    x = np.array([[1.0, 2.0], [inf, 3.0]])
    with np.errstate(all="ignore"):
        found = dr.grad(lambda x: np.sum(np.linalg.norm(x, axis=1)))(x)
        assert_same(found, np.array([[1.0 / math.sqrt(5.0), 2.0 / math.sqrt(5.0)], [1.0, 0.0]]), rtol=1e-12)
        assert np.all(np.isnan(dr.grad(lambda x: np.linalg.norm(x, -1))(np.full(3, -inf))))  # 0**-1: no error


def test_what_does_not_move_takes_no_part_in_a_convolution():
    x, w = np.array([inf, 2.0, 3.0]), np.array([1.0, -1.0])
    found = dr.jvp(lambda x, w: np.sum(np.convolve(x, w, "valid")), (x, w), (np.ones(3), np.zeros(2)))[1]
    assert found == 0.0


#: The poles of these, where a derivative by the other argument may be NaN (docs/conventions.md), are not compared.
OF_GAMMA = {"beta", "binom", "poch"}
OF_SCIPY = ["gammaln", "psi", *SCIPY]
AT_EVERY_SAVE = {"gammaln", "ndtr", "xlogy", "y1", "gammainc"}
ORDERS = {"stdtr": [(1.0,), (4.5,)], "betainc": [(1.0, 2.0), (3.0, 0.5), (1.0, 1.0)]}
ORDERS |= {"hyp1f1": [(0.0, 2.0), (1.5, 2.0)], "hyp2f1": [(0.0, 1.0, 2.0), (1.5, 0.5, 2.0)]}


def points_of_scipy(name, count):
    """Special values of the arguments that are differentiated, for some orders."""
    orders = ORDERS.get(name) or [(0.0,), (1.0,), (2.0,)] if UNKNOWN.get(name) else [()]
    moving = count - len(orders[0])
    values = [*GRID, 0.5, 2.0, 30.0] if moving == 1 else [0.0, 1.0, 2.0, 2.5, inf, nan]
    many = [(x,) for x in values] if moving == 1 else [(x, y) for x in values for y in values]
    return [(*order, *x) for order in orders for x in many]


@pytest.fixture(scope="module")
def pointers():
    """SciPy's functions as numba code calls them."""
    known = {a.name: ctypes.CFUNCTYPE(*[ctypes.c_double] * (a.arity + 1))(a.address) for a in addresses()}
    return {name: known[name] for name in OF_SCIPY if name in known}


@pytest.mark.parametrize(
    "name", [name if name in AT_EVERY_SAVE else pytest.param(name, marks=pytest.mark.slow) for name in OF_SCIPY]
)
def test_special_functions_are_the_same_on_both_engines(pointers, name):
    if name not in pointers:
        pytest.skip("this SciPy has no address for it")
    count, unknown = len(pointers[name].argtypes), UNKNOWN.get(name, ())
    parameters = ", ".join("abcd"[:count])
    source, file = f"def f({parameters}):\n    return g({parameters})\n", f"<special values of {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names_of = {"g": pointers[name]}
    exec(compile(source, file, "exec"), names_of)
    f, original = njit(error_model="numpy")(names_of["f"]), getattr(scipy.special, name)
    moving = tuple(k for k in range(count) if k not in unknown)
    gradient, hessian = dr.grad(f, moving), dr.hessian(f, moving)
    with np.errstate(all="ignore"):
        for point in points_of_scipy(name, count):
            constants, xs = point[: count - len(moving)], [np.array([point[k]]) for k in moving]
            total = lambda *xs, constants=constants: np.sum(original(*constants, *xs))  # noqa: E731
            every = tuple(range(len(moving)))
            first = np.ravel(dr.grad(total, every)(*xs))
            second = np.ravel(dr.hessian(total, every)(*xs))
            units = [tuple(np.array([float(j == k)]) for j in every) for k in every]
            assert np.all(same(first, [dr.jvp(total, tuple(xs), t)[1] for t in units])), (point, first)
            assert np.all(same(gradient(*point), first)), (point, gradient(*point), first)
            if name not in OF_GAMMA or (np.all(np.isfinite(point)) and 0.0 not in point):
                assert np.all(same(np.ravel(hessian(*point)), second)), (point, hessian(*point), second)


#: A function of SciPy, its last argument, the first derivative by that and the second one, the arguments before it.
OF_SCIPY_LIMITS = [
    ("gamma", 0.0, -inf, inf),
    *([("gamma", -0.0, -inf, -inf)] if SIGNED else []),
    ("gammaln", 0.0, -inf, inf),
    ("gammaln", -1.0, nan, inf),
    ("psi", 0.0, inf, -inf),
    ("psi", -0.0, inf, inf),
    ("rgamma", inf, 0.0, 0.0),
    ("ndtr", inf, 0.0, 0.0),
    ("ndtr", -inf, 0.0, 0.0),
    ("log_ndtr", inf, 0.0, 0.0),
    ("log_ndtr", -inf, inf, -1.0),
    ("log_ndtr", -1e200, 1e200, -1.0),
    ("ndtri", 0.0, inf, -inf),
    ("erfinv", 1.0, inf, inf),
    ("erfcx", inf, 0.0, 0.0),
    ("dawsn", inf, 0.0, 0.0),
    ("dawsn", -inf, 0.0, 0.0),
    ("logit", 0.0, inf, -inf),
    ("logit", 1.0, inf, inf),
    ("entr", 0.0, inf, -inf),
    ("i1", 1e308, inf, inf),
    ("i0e", inf, 0.0, 0.0),
    ("i1e", -inf, 0.0, 0.0),
    ("y0", 0.0, inf, -inf),
    ("y1", 0.0, inf, -inf),
    ("k0", 0.0, -inf, inf),
    ("k1", 0.0, -inf, inf),
    ("k0e", 0.0, -inf, inf),
    ("k1e", 0.0, -inf, inf),
    ("yv", 0.0, -inf, inf, -1.0),
    ("yn", 0.0, inf, -inf, 2.0),
    ("iv", 0.0, inf, -inf, 0.5),
    ("ive", 0.0, 0.0, inf, 1.5),
    ("kve", 0.0, -inf, inf, 0.5),
    ("expi", 0.0, inf, -inf),
    ("expi", inf, inf, inf),
    ("exp1", 0.0, -inf, inf),
    ("gammainc", 0.0, 0.0, 1.0, 2.0),
    ("gammainc", 0.0, 1.0, -1.0, 1.0),
    ("gammaincc", inf, 0.0, 0.0, 3.0),
    ("betainc", 0.0, 0.0, 6.0, 2.0, 2.0),
    ("betainc", 1.0, 0.0, -6.0, 2.0, 2.0),
    ("betainc", 0.5, 1.0, 0.0, 1.0, 1.0),
    ("stdtr", -inf, 0.0, 0.0, 4.5),
    ("hyp1f1", inf, 0.0, 0.0, 0.0, 2.0),
    ("xlogy", 0.0, inf, -inf, 2.0),
    ("xlogy", 0.0, 0.0, 0.0, 0.0),
    ("xlog1py", -1.0, inf, -inf, 2.0),
    ("rel_entr", 0.0, 0.0, 0.0, 0.0),
    ("rel_entr", 0.0, -inf, inf, 1.0),
    ("kl_div", 0.0, 1.0, 0.0, 0.0),
    ("boxcox", 2.0, 0.25, -0.25, 0.0),
    ("boxcox", 0.0, inf, -inf, 0.0),
]


@pytest.mark.parametrize("limit", OF_SCIPY_LIMITS, ids=str)
def test_special_functions_have_their_limits(limit):
    name, x, first, second, *before = limit
    f = lambda x: np.sum(getattr(scipy.special, name)(*before, x))  # noqa: E731
    x = np.array([x])
    with np.errstate(all="ignore"):
        assert_same(dr.grad(f)(x), np.array([first]), rtol=1e-12)
        assert_same(dr.hessian(f)(x), np.array([[second]]), rtol=1e-12)
        assert_same(np.asarray(dr.jvp(f, (x,), (np.ones(1),))[1]), np.asarray(first), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "f", "order"),
    [
        ("log_ndtr", lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2), -1),
        ("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), 1),
        ("dawsn", lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), 1),
    ],
)
def test_far_out_the_digits_are_there(name, f, order):
    """The terms of these cancel far from 0: both derivatives by mpmath."""
    x = np.array([25.9, 26.1, 100.0, 3e4, 1e9, 1e30]) * order
    total = lambda x: np.sum(getattr(scipy.special, name)(x))  # noqa: E731
    first, second = dr.grad(total)(x), np.diag(dr.hessian(total)(x))
    for k, u in enumerate(x):
        with mp.workdps(150 if abs(u) < 1e5 else 1000 if abs(u) < 1e10 else 30):
            if abs(u) < 1e5:
                known = [mp.diff(f, mp.mpf(u), n) for n in (1, 2)]
            else:  # the leading terms
                far = {"log_ndtr": (abs(u), -1.0), "erfcx": (-1 / mp.sqrt(mp.pi) / u**2, 2 / mp.sqrt(mp.pi) / u**3)}
                known = far.get(name, (-0.5 / u**2, 1.0 / u**3))
        rtol = 1e-7 if abs(u) < 26.0 else 1e-12  # the formula for smaller numbers cancels
        np.testing.assert_allclose([first[k], second[k]], [float(v) for v in known], rtol=rtol)


def test_functions_of_boxes_have_one_mixed_derivative():
    """At (0, 1) too, where a rule in one order saw 0 and in the other one NaN."""
    at = np.array([0.0]), np.array([1.0])
    with np.errstate(all="ignore"):
        found = dr.hessian(lambda a, b: np.sum(scipy.special.boxcox(a, b)), (0, 1))(*at)
        assert (found[0][1].item(), found[1][0].item(), found[1][1].item()) == (-inf, -inf, -2.0)
        found = dr.hessian(lambda a, b: np.sum(scipy.special.xlogy(a, b)), (0, 1))(np.zeros(1), np.zeros(1))
        assert (found[0][1].item(), found[1][0].item()) == (inf, inf)


def test_sums_of_exponentials_at_infinity():
    """As logaddexp, and with SciPy's values: softmax was NaN and 0 where SciPy's is NaN."""
    x = np.array([[inf, 0.0, 1.0], [0.0, 1.0, 2.0], [inf, inf, nan], [inf, -inf, -inf], [-inf, -inf, 0.0]])
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for name in ("logsumexp", "softmax", "log_softmax"):
            value, pullback = dr.vjp(lambda x, name=name: getattr(special, name)(x, axis=1), x)
            assert_same(value, getattr(scipy.special, name)(x, axis=1), rtol=1e-12)
            if name == "logsumexp":
                (slopes,) = pullback(np.ones(5))
    finite = scipy.special.softmax(x[1])
    expected = np.array([[1.0, 0.0, 0.0], finite, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert_same(slopes[[0, 1, 3, 4]], expected, rtol=1e-12)


@njit
def products(x, k):
    return np.prod(x) if k == 0 else np.cumprod(x)[2]


def test_products_of_special_elements():
    """Each derivative is the product of the others, on the tape in both modes and in reverse mode of compiled code.

    In forward mode, and in second derivatives, compiled code has that or NaN: an element that is not finite may meet a
    tangent that is a known zero (docs/conventions.md).
    """
    values = [0.0, -0.0, 2.0, inf, -inf, nan, 1e200]
    gradient, hessian = dr.grad(products), dr.hessian(products)
    with np.errstate(all="ignore"):
        for x in (np.array([a, b, c]) for a in values for b in values for c in values):
            first = np.array([x[1] * x[2], x[0] * x[2], x[0] * x[1]])
            second = np.array([[0.0, x[2], x[1]], [x[2], 0.0, x[0]], [x[1], x[0], 0.0]])
            for k, f in enumerate((np.prod, lambda x: np.cumprod(x)[2])):
                for found in (dr.grad(f)(x), dr.jacfwd(f)(x), gradient(x, k)):
                    assert np.all(same(found, first)), (x, found)
                for found in (dr.hessian(f)(x), dr.jacfwd(dr.jacfwd(f))(x)):
                    assert np.all(same(found, second)), (x, found)
                forward = np.array([dr.jvp(products, (x, k), (t, None))[1] for t in np.eye(3)])
                for found, expected in ((forward, first), (hessian(x, k), second)):
                    assert np.all(same(found, expected) | np.isnan(found)), (x, found)
                    if np.all(np.isfinite((*x, *first))):
                        assert np.all(same(found, expected)), (x, found)
