"""The table's partial derivatives far from where programs are: tiny, huge, at the end of a domain, not finite.

References are mpmath's derivatives, with 60 digits. Both engines and both modes agree, also where these are not finite.
"""

import importlib.util
import math

import mpmath
import numpy as np
import pytest
from support.oracle import assert_same

import dualrev as dr
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES

mp = mpmath.mp
POINTS = [
    5e-324,
    2.3e-308,
    1e-200,
    1e-17,
    1e-8,
    0.3,
    1.0 - 1e-9,
    1.0,
    1.0 + 1e-9,
    2.5,
    18.0,
    36.0,
    300.0,
    1e8,
    1e17,
    1e200,
]
REFERENCES = {
    **{
        name: getattr(mp, name) for name in ["sqrt", "cbrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "erf"]
    },
    **{name: getattr(mp, name) for name in ["asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"]},
    **{name: getattr(mp, name) for name in ["erfc", "gamma", "hypot", "atan2"]},
    "exp2": lambda x: mp.power(2, x),
    "log2": lambda x: mp.log(x, 2),
    "log10": mp.log10,
    "lgamma": mp.loggamma,
    "expit": lambda x: 1 / (1 + mp.exp(-x)),
    "abs": abs,
    "pow": mp.power,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "logaddexp": lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
}
#: Of these, a tiny change of the argument changes the derivative much more: digits are lost before the table is asked.
SENSITIVE = {
    "sin",
    "cos",
    "tan",
    "gamma",
    "lgamma",
    "exp",
    "exp2",
    "expm1",
    "sinh",
    "cosh",
    "erf",
    "erfc",
    "pow",
    "tanh",
}


def partials(line, xs):
    """The partial derivatives as the table has them."""
    names = dict(zip(line.parameters, xs, strict=True))
    names["y"] = eval(line.value, {**FUNCTIONS, "inf": math.inf, "nan": math.nan}, names)
    return [eval(text, {**FUNCTIONS, "inf": math.inf, "nan": math.nan}, names) for text in line.partials]


def points(line):
    """Arguments of both signs, in pairs of different sizes for functions of two."""
    both = [s * x for x in POINTS for s in (1.0, -1.0)]
    if line.name in ("pow", "lgamma"):  # of a negative number they are real, or continuous, at some points only
        both = POINTS
    if line.name == "hypot":  # a subnormal value has no digits left
        both = [x for x in both if abs(x) > 1e-300]
    if len(line.partials) == 1:
        return [(x,) for x in both]
    return [(x, y) for x in both[::3] for y in both[1::4]]


@pytest.mark.parametrize("name", REFERENCES)
def test_partials_have_all_digits_where_they_are_finite(name):
    line, f = PRIMITIVES[name], REFERENCES[name]
    seen = 0
    for xs in points(line):
        try:
            found = partials(line, xs)
        except (ArithmeticError, ValueError):
            continue  # outside of the domain, or infinite
        for k, value in enumerate(found):
            expected = derivative(f, xs, k)
            if expected is None or not math.isfinite(expected) or abs(expected) < 1e-290:
                continue
            seen += 1
            spread = 4.0 * abs(xs[0]) if name in SENSITIVE and abs(xs[0]) > 1.0 else 1.0
            if name == "pow":  # the rounding of b - 1, times the logarithm of a
                spread = max(spread, 750.0)
            assert value == pytest.approx(expected, rel=2e-15 * max(4.0, spread)), (xs, k)
    assert seen >= 4


def derivative(f, xs, k):
    """The k-th partial derivative, with 60 digits; None where there is none, or it is not real."""
    with mp.workdps(60):
        try:
            step = abs(mp.mpf(xs[k])) * mp.mpf(10) ** -20
            at = [mp.mpf(x) for x in xs]
            above, below = list(at), list(at)
            above[k] += step
            below[k] -= step
            slope = (f(*above) - f(*below)) / (2 * step)
            return float(slope) if mp.im(slope) == 0 else None
        except (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.ComplexResult, mpmath.libmp.NoConvergence):
            return None


UNARY = [line for line in PRIMITIVES.values() if line.ufunc and len(line.partials) == 1]
EDGES = np.array([0.0, -0.0, *POINTS, *(-x for x in POINTS), math.inf, -math.inf, math.nan])


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """A numba function with a row for each function of one argument."""
    lines = ["import numpy as np", "from numba import njit", "", "@njit", "def everything(x):"]
    lines.append(f"    y = np.empty(({len(UNARY)}, x.shape[1]))")
    lines.append("    for j in range(x.shape[1]):")
    lines += [f"        y[{k}, j] = np.{line.ufunc}(x[{k}, j])" for k, line in enumerate(UNARY)]
    file = tmp_path_factory.mktemp("extreme") / "everything_of_one_argument.py"
    file.write_text("\n".join([*lines, "    return y", ""]), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.everything


def test_both_engines_and_modes_agree_at_extreme_values(everything):
    x = np.repeat(EDGES[None, :], len(UNARY), axis=0)
    ones = np.ones_like(x)
    value, pullback = dr.vjp(everything, x)
    (backwards,), (again, forwards) = pullback(ones), dr.jvp(everything, (x,), (ones,))
    assert np.array_equal(value, again, equal_nan=True)
    for k, line in enumerate(UNARY):
        with np.errstate(all="ignore"):
            expected, slopes = dr.jvp(getattr(np, line.ufunc), (EDGES,), (np.ones_like(EDGES),))
        assert_same(value[k], expected, rtol=1e-14)
        for found in (backwards[k], forwards[k]):
            for at, one, other in zip(EDGES, found, slopes, strict=True):
                assert one == pytest.approx(other, rel=1e-13, nan_ok=True), (line.name, at)
