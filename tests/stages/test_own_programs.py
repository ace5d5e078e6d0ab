"""Programs outside of the corpus, in all algorithms, against forward-mode dual numbers that share no code with them.

Central differences check the dual numbers.
"""

from __future__ import annotations

import functools
import sys

import pytest
from programs.own import CASES, Dual
from programs.own.data import Body

import dualrev as dr
from stages import STAGES, LimitReached, count
from stages.relatives import RELATIVES


def read(data):
    """The floats, and dual numbers, of nested data in order."""
    match data:
        case float() | Dual():
            return [data]
        case dict():
            return read([data[key] for key in sorted(data)])
        case list() | tuple():
            return [x for part in data for x in read(part)]
        case Body():
            return read((data.at, data.speed, data.mass))
    return []


def built(data, numbers):
    """The same nested data with other numbers, which an iterator yields."""
    match data:
        case float():
            return next(numbers)
        case dict():
            made = {key: built(data[key], numbers) for key in sorted(data)}
            return {key: made[key] for key in data}
        case tuple() | list():
            return type(data)(built(part, numbers) for part in data)
        case Body():
            return Body(*built((data.at, data.speed, data.mass), numbers))
    return data


def plain(v):
    return (v.x, v.t) if isinstance(v, Dual) else (v, 0.0)


def exactly(numbers):
    """These numbers; from Python 3.12 on, up to what `sum` of floats corrects, and sums of other numbers do not."""
    return numbers if sys.version_info < (3, 12) else pytest.approx(numbers, rel=1e-14)


@functools.cache
def expected(name):
    """The value, and the Jacobian by rows, of forward mode; checked by central differences."""
    f, primals = CASES[name]
    xs = read(primals)
    value = f(*built(primals, iter(xs)))
    columns = []
    for k in range(len(xs)):
        y = read(f(*built(primals, iter([Dual(x, float(k == j)) for j, x in enumerate(xs)]))))
        assert [plain(v)[0] for v in y] == exactly(read(value))
        columns.append([plain(v)[1] for v in y])
        h = 1e-5
        up, down = (read(f(*built(primals, iter([x + s * (k == j) for j, x in enumerate(xs)])))) for s in (h, -h))
        assert columns[-1] == pytest.approx([(a - b) / (2.0 * h) for a, b in zip(up, down, strict=True)], 1e-6, 1e-6)
    return value, list(zip(*columns, strict=True))


#: The public API, and all algorithms that take programs in Python's own style.
ALGORITHMS = {"dualrev": dr, **STAGES, **{name: module for name, module in RELATIVES.items() if name != "cps"}}
SHARING_LOST = ("naive", "delta")  # exponential where values are shared
LIMIT = 20_000


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", CASES)
def test_value_and_all_partial_derivatives_are_those_of_dual_numbers(name, algorithm):
    f, primals = CASES[name]
    value, jacobian = expected(name)
    try:
        if algorithm in SHARING_LOST:
            count(algorithm, f, *primals, limit=LIMIT)
        y, pullback = ALGORITHMS[algorithm].vjp(f, *primals)
    except LimitReached:
        pytest.skip("it shares too much")
    except getattr(ALGORITHMS[algorithm], "REFUSALS", ()):
        assert algorithm == "lantern"
        pytest.skip("it decides by a number")
    assert built(y, iter(read(value))) == value
    assert read(y) == exactly(read(value))
    for j, row in enumerate(jacobian):
        one_hot = built(y, iter([float(j == k) for k in range(len(jacobian))]))
        assert read(pullback(one_hot)) == pytest.approx(row, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_forward_mode_gives_the_columns(name):
    f, primals = CASES[name]
    _, jacobian = expected(name)
    for k, column in enumerate(zip(*jacobian, strict=True)):
        one_hot = built(primals, iter([float(j == k) for j in range(len(read(primals)))]))
        tangents = tuple(None if isinstance(part, int) else part for part in one_hot)
        _, found = dr.jvp(f, primals, tangents)
        assert read(found) == pytest.approx(column, rel=1e-10, abs=1e-10)
