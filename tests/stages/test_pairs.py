"""The paper's products: every function as an equation; how deep they are; what an update shares."""

import math
import subprocess
import sys
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dualrev.tree import flatten_scalars
from stages import pairs

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # no test depends on times

ROOT = Path(__file__).resolve().parents[2]
DEEP = 20_000

NUMBERS = st.integers(-100, 100).map(float)  # sums of these are exact, so that + is associative
ARRAYS = st.lists(NUMBERS, max_size=5).map(lambda xs: np.array(xs, dtype=float))
DATA = st.recursive(
    st.one_of(NUMBERS, st.integers(), st.none(), st.text(max_size=2), ARRAYS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.tuples(inner, inner),
        st.tuples(inner),
        st.dictionaries(st.text("abc", max_size=2), inner, max_size=4),
        st.lists(inner, max_size=3).map(deque),
    ),
    max_leaves=15,
)
#: Products as `of` makes them, and any others.
PRODUCTS = st.one_of(
    DATA.map(lambda x: pairs.of(*reversed(flatten_scalars(x)))),
    st.recursive(st.one_of(NUMBERS, st.just(())), lambda inner: st.tuples(inner, inner), max_leaves=15),
)


def shape(c):
    """The product with its scalars left out."""
    return tuple(map(shape, c)) if isinstance(c, tuple) else "R"


def refilled(c, numbers):
    """A product of the same type with these scalars."""
    return tuple(refilled(half, numbers) for half in c) if isinstance(c, tuple) else next(numbers)


def depth(c):
    """The number of pairs above the deepest scalar or unit, without recursion."""
    deepest, todo = 0, [(c, 0)]
    while todo:
        c, above = todo.pop()
        deepest = max(deepest, above)
        if isinstance(c, tuple):
            todo.extend((half, above + 1) for half in c)
    return deepest


def halves(path):
    """The way from the root down."""
    found = []
    while path is not None:
        found.append(path.half)
        path = path.up
    return found[::-1]


@patient
@given(DATA)
def test_scalars_of_of_structure_xs_are_xs(x):
    xs, structure = flatten_scalars(x)
    assert pairs.scalars(pairs.of(structure, xs)) == xs


@patient
@given(DATA)
def test_of_makes_only_scalars_units_and_pairs(x):
    def check(c):
        assert isinstance(c, float) or c == () or len(c) == 2
        if isinstance(c, tuple):
            for half in c:
                check(half)

    xs, structure = flatten_scalars(x)
    check(pairs.of(structure, xs))


@patient
@given(PRODUCTS)
def test_paths_lead_to_the_scalars_from_left_to_right(c):
    assert [x for x, _ in pairs.paths(c)] == pairs.scalars(c)
    ways = [halves(path) for _, path in pairs.paths(c)]
    assert ways == sorted(ways)
    for x, path in pairs.paths(c):
        found = c
        for half in halves(path):
            found = found[half]
        assert found is x


@patient
@given(PRODUCTS)
def test_a_path_remembers_the_siblings(c):
    for _, path in pairs.paths(c):
        here, siblings, up = c, [], path
        for half in halves(path):
            siblings.append(here[1 - half])
            here = here[half]
        while up is not None:
            assert up.sibling is siblings.pop()
            up = up.up


@patient
@given(PRODUCTS)
def test_zeros_has_the_shape_of_c_and_zeros_for_scalars(c):
    zero = pairs.zeros(c)
    assert shape(zero) == shape(c)
    assert pairs.scalars(zero) == [0.0] * len(pairs.scalars(c))


@patient
@given(PRODUCTS)
def test_c_plus_zero_is_c(c):
    assert pairs.add(c, pairs.zeros(c)) == c
    assert pairs.add(pairs.zeros(c), c) == c


@patient
@given(PRODUCTS, st.randoms(use_true_random=False))
def test_addition_is_pointwise_commutative_and_associative(a, random):
    b, c = (refilled(a, iter([float(random.randint(-9, 9)) for _ in pairs.scalars(a)])) for _ in range(2))
    total = pairs.add(a, b)
    assert shape(total) == shape(a)
    assert pairs.scalars(total) == [x + y for x, y in zip(pairs.scalars(a), pairs.scalars(b), strict=True)]
    assert total == pairs.add(b, a)
    assert pairs.add(total, c) == pairs.add(a, pairs.add(b, c))


@patient
@given(PRODUCTS, NUMBERS)
def test_one_hot_is_z_at_its_place_and_zero_elsewhere(c, z):
    for i, (_, path) in enumerate(pairs.paths(c)):
        hot = pairs.one_hot(path, z)
        assert shape(hot) == shape(c)
        assert pairs.scalars(hot) == [z if j == i else 0.0 for j in range(len(pairs.scalars(c)))]


@patient
@given(PRODUCTS)
def test_c_is_the_sum_of_the_one_hots_of_its_scalars(c):
    total = pairs.zeros(c)
    for x, path in pairs.paths(c):
        total = pairs.add(total, pairs.one_hot(path, x))
    assert total == c


@patient
@given(PRODUCTS, NUMBERS)
def test_update_path_z_c_is_c_plus_one_hot_path_z(c, z):
    for _, path in pairs.paths(c):
        assert pairs.update(path, z, c) == pairs.add(c, pairs.one_hot(path, z))


@patient
@given(PRODUCTS, NUMBERS)
def test_update_shares_everything_off_the_way(c, z):
    for _, path in pairs.paths(c):
        old, new = c, pairs.update(path, z, c)
        for half in halves(path):
            assert new[1 - half] is old[1 - half]
            old, new = old[half], new[half]


def test_a_single_scalar_is_its_own_product():
    xs, structure = flatten_scalars(2.5)
    assert pairs.of(structure, xs) == 2.5
    assert list(pairs.paths(2.5)) == [(2.5, None)]
    assert pairs.zeros(2.5) == 0.0
    assert pairs.add(2.5, 1.0) == 3.5
    assert pairs.one_hot(None, 4.0) == 4.0
    assert pairs.update(None, 4.0, 2.5) == 6.5


def test_what_holds_no_scalar_has_no_part_in_the_product():
    xs, structure = flatten_scalars([1, (), 2.0, None, np.zeros(0), {}, [3.0, "a"], [()]])
    assert pairs.of(structure, xs) == (2.0, 3.0)
    assert pairs.of(flatten_scalars([1, {}])[1], []) == ()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 1000, 1024, 1025])
@pytest.mark.parametrize("container", [list, tuple, deque, np.array])
def test_a_flat_list_of_n_is_log_n_deep(n, container):
    xs, structure = flatten_scalars(container([1.0] * n))
    assert depth(pairs.of(structure, xs)) == math.ceil(math.log2(n))


def linked(n):
    cells = None
    for k in range(n):
        cells = (float(k), cells)
    return cells


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_a_linked_list_of_n_is_n_minus_1_deep(n):
    xs, structure = flatten_scalars(linked(n))
    assert depth(pairs.of(structure, xs)) == n - 1


def test_a_product_that_is_20_000_deep_needs_no_recursion():
    xs, structure = flatten_scalars(linked(DEEP))
    c = pairs.of(structure, xs)
    assert depth(c) == DEEP - 1
    assert pairs.scalars(c) == xs
    assert pairs.scalars(pairs.zeros(c)) == [0.0] * DEEP
    assert pairs.scalars(pairs.add(c, c)) == [2.0 * x for x in xs]
    *_, (_, last) = pairs.paths(c)
    expected = [0.0] * (DEEP - 1) + [3.0]
    assert pairs.scalars(pairs.one_hot(last, 3.0)) == expected
    assert pairs.scalars(pairs.update(last, 3.0, pairs.zeros(c))) == expected


def test_deep_products_and_paths_are_given_back_to_memory_safely():
    """In a process of its own: if an interpreter's deallocation recursed, it would take the tests down with it."""
    program = f"""
from stages import pairs
c = ()
for k in range({DEEP}):
    c = (1.0, c)
*_, (_, last) = pairs.paths(c)
c = pairs.update(last, 1.0, c)
del c
last = None
print("done")
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")
