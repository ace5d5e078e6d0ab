"""docs/conventions.md is true: its examples run, and its table agrees with the table of primitives."""

import doctest
import math
import re
from pathlib import Path

import numpy as np
import pytest
from support.pages import table

import dualrev as dr
from dualrev.rules.primitives import PRIMITIVES

PAGE = Path(__file__).parents[2] / "docs" / "conventions.md"


def test_the_examples_run():
    """The errors on the page are Python's own, whose words differ between versions."""
    found = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert found.failed == 0
    assert found.attempted >= 20


@pytest.mark.parametrize(
    ("f", "plain", "x"), [(lambda x: 1.0 / x, lambda x: 1.0 / x, 0.0), (dr.math.log, math.log, -1.0)]
)
def test_an_error_of_python_s_keeps_its_words(f, plain, x):
    with pytest.raises(ArithmeticError if x == 0.0 else ValueError) as expected:
        plain(x)
    with pytest.raises(expected.type) as found:
        dr.grad(f)(x)
    assert str(found.value) == str(expected.value)


#: How the page writes a partial derivative.
SAID = {"1.0": "1 (as JAX)", "0.0": "0", "0.5": "one half each", "inf": "inf", "nan": "NaN"}


@pytest.mark.parametrize(
    ("name", "point", "expected"),
    [
        ("abs", (0.0,), (1.0,)),
        ("sign", (0.0,), (0.0,)),
        ("maximum", (2.0, 2.0), (0.5, 0.5)),
        ("minimum", (2.0, 2.0), (0.5, 0.5)),
        ("sqrt", (0.0,), (math.inf,)),
        ("cbrt", (0.0,), (math.inf,)),
        ("atan2", (0.0, 0.0), (math.nan, math.nan)),
        ("hypot", (0.0, 0.0), (math.nan, math.nan)),
        ("floor", (2.0,), (0.0,)),
        ("round", (0.5,), (0.0,)),
        ("acosh", (1.0,), (math.inf,)),
        ("asin", (1.0,), (math.inf,)),
    ],
)
def test_the_conventions_at_kinks_are_edges_of_the_table(name, point, expected):
    assert str(PRIMITIVES[name].edges[point]) == str(expected)
    (row,) = [row for row in table(PAGE, "kinks") if name in re.findall(r"\w+", row[0])]
    assert row[2].startswith(SAID[str(expected[0])])


@pytest.mark.parametrize(
    ("name", "point", "expected"),
    [
        ("acos", (1.0,), (-math.inf,)),
        ("pow", (3.0, 0.0), (0.0, math.log(3.0))),  # x**0
        ("pow", (0.0, 0.0), (0.0, 0.0)),
        ("pow", (0.0, 2.0), (0.0, 0.0)),  # 0**y
        ("pow", (-2.0, 3.0), (12.0, math.nan)),  # x**n, x < 0
        ("mod", (4.0, 2.0), (1.0, -2.0)),  # the quotient that the value was computed with
        ("fmod", (-3.0, 2.0), (1.0, 1.0)),
        ("remainder", (-3.5, 2.0), (1.0, 2.0)),
    ],
)
def test_what_the_page_says_of_other_lines(name, point, expected):
    assert str(PRIMITIVES[name].edges[point]) == str(expected)


def test_second_derivatives_of_powers_of_arrays_and_complex_numbers_with_the_exponent_zero():
    expected = [[0.0, 0.5], [0.5, math.log(2.0) ** 2]]
    for f in (lambda p: p[0] ** p[1], lambda p: np.sum(p[:1] ** p[1:]), lambda p: ((p[0] + 0j) ** p[1]).real):
        for second in (dr.hessian, lambda f: dr.jacfwd(dr.jacfwd(f))):
            np.testing.assert_allclose(second(f)(np.array([2.0, 0.0])), expected, atol=1e-15)
    assert dr.hessian(lambda x: np.sum(np.vander(x, 3)))(np.array([0.0])) == 2.0  # x**2 + x + x**0
