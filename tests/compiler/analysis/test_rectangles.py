"""Rectangles of array elements (analysis/rectangles.py): what two of them have in common."""

import itertools

import pytest

from dualrev.compiler.analysis.rectangles import Interval, are_apart, covers, difference, hull
from dualrev.compiler.analysis.values.linear_bounds import Form, Number, constant, plus, single

N = Number(1, None, [constant(2)])  # n >= 2
FORMS = {k: constant(k) for k in range(4)} | {f"n{k:+}": plus(single(N), constant(k)) for k in (-1, 0, 1)}


def interval(lower, upper):
    return (Interval(FORMS[lower], FORMS[upper]),)


def elements(a, n):
    """The elements of a rectangle of intervals, for a value of n."""

    def value(f: Form) -> int:
        return f.constant + n * f.factors.get(N, 0)

    return set(itertools.product(*(range(value(x.lower), value(x.upper)) for x in a)))


INTERVALS = [interval(*bounds) for bounds in itertools.product(FORMS, FORMS)]
PLANES = [(*a, *b) for a in INTERVALS[::9] for b in INTERVALS[::5]]


@pytest.mark.parametrize("several", [INTERVALS, PLANES], ids=["intervals", "planes"])
def test_every_answer_is_right_for_all_numbers(several):
    for a, b in itertools.product(several, several[::3]):
        known, rest = hull(a, b), difference(a, b)
        for n in (2, 3, 5):
            x, y = elements(a, n), elements(b, n)
            assert x >= y or not covers(a, b)
            assert x.isdisjoint(y) or not are_apart(a, b)
            assert known is None or elements(known, n) >= x | y
            assert (set() if rest is None else elements(rest, n)) >= x - y


@pytest.mark.parametrize(
    ("a", "b", "rest"),
    [
        (interval(0, "n+0"), interval(0, "n+0"), None),
        (interval(0, "n+0"), interval(1, "n+0"), interval(0, 1)),
        (interval(0, "n+0"), interval(0, "n-1"), interval("n-1", "n+0")),
        (interval(0, 1), interval(0, 1), None),
        (
            (*interval(0, 2), *interval(0, "n+0")),
            (*interval(0, 2), *interval(1, "n+0")),
            (*interval(0, 2), *interval(0, 1)),
        ),
    ],
)
def test_what_is_left(a, b, rest):
    assert difference(a, b) == rest
