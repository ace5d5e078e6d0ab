"""The persistent ordered map against a dict; that nothing ever changes; its balance; its costs, counted."""

import math
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stages import ordered_map
from stages.ordered_map import find, insert_with, items, pop_max, singleton, size, union_with

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # no test depends on times

DELTA = 3
KEYS = st.integers(-20, 20)  # few enough to collide
VALUES = st.text("abc", max_size=2)
DICTS = st.dictionaries(KEYS, VALUES, max_size=25)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), KEYS, VALUES),
        st.tuples(st.just("union"), DICTS, st.booleans()),
        st.just(("pop",)),
    ),
    max_size=40,
)


def join(old, new):
    """Neither commutative nor idempotent: shows the order of f's arguments, and how often f was called."""
    return f"({old}{new})"


def from_dict(d):
    t = None
    for key, value in d.items():
        t = insert_with(join, t, key, value)
    return t


def union_of_dicts(a, b):
    return {key: join(a[key], b[key]) if key in a and key in b else {**a, **b}[key] for key in {**a, **b}}


def perform(t, model, operation):
    """One operation on the map and on the dict."""
    match operation:
        case "insert", key, value:
            return insert_with(join, t, key, value), union_of_dicts(model, {key: value})
        case "union", other, True:
            return union_with(join, t, from_dict(other)), union_of_dicts(model, other)
        case "union", other, False:
            return union_with(join, from_dict(other), t), union_of_dicts(other, model)
        case ("pop",) if t is not None:
            *highest, rest = pop_max(t)
            assert highest == [max(model), model[max(model)]]
            return rest, {key: value for key, value in model.items() if key != max(model)}
    return t, model


def depth(t):
    return 0 if t is None else 1 + max(depth(t.left), depth(t.right))


def deepest(n):
    """No path of a tree of n nodes is longer: every subtree has at most 3/4 of the nodes of the one above it."""
    return 2 + math.log(n + 1) / math.log(4 / 3)


def check_invariants(t):
    """The order of the keys, the sizes, the balance."""
    keys = [key for key, _ in items(t)]
    assert keys == sorted(set(keys))
    todo = [t]
    while todo:
        node = todo.pop()
        if node is None:
            continue
        left, right = size(node.left), size(node.right)
        assert node.size == left + right + 1
        assert left + right <= 1 or (left <= DELTA * right and right <= DELTA * left)
        todo += [node.left, node.right]
    assert depth(t) <= deepest(size(t))


@patient
@given(OPERATIONS)
def test_every_sequence_of_operations_does_what_it_does_to_a_dict(operations):
    t, model = None, {}
    for operation in operations:
        t, model = perform(t, model, operation)
        assert list(items(t)) == sorted(model.items())
        assert size(t) == len(model)


@patient
@given(OPERATIONS)
def test_order_sizes_and_balance_hold_after_every_operation(operations):
    t, model = None, {}
    for operation in operations:
        t, model = perform(t, model, operation)
        check_invariants(t)


@patient
@given(OPERATIONS)
def test_old_versions_never_change(operations):
    t, model, versions = None, {}, []
    for operation in operations:
        t, model = perform(t, model, operation)
        versions.append((t, sorted(model.items())))
    for version, expected in versions:
        assert list(items(version)) == expected
        check_invariants(version)


@patient
@given(DICTS, KEYS)
def test_find_answers_the_value_or_the_default(d, key):
    absent = object()
    assert find(from_dict(d), key, absent) is d.get(key, absent)
    assert find(from_dict(d), key) == d.get(key)


@patient
@given(DICTS, DICTS)
def test_union_applies_f_once_to_the_values_of_a_and_b_in_this_order(a, b):
    calls = []

    def f(x, y):
        calls.append((x, y))
        return join(x, y)

    t = union_with(f, from_dict(a), from_dict(b))
    assert dict(items(t)) == union_of_dicts(a, b)
    assert sorted(calls) == sorted((a[key], b[key]) for key in a.keys() & b.keys())


@patient
@given(DICTS, DICTS, DICTS)
def test_union_is_associative(a, b, c):
    def f(x, y):
        return x + y  # associative, not commutative

    a, b, c = map(from_dict, (a, b, c))
    left, right = union_with(f, union_with(f, a, b), c), union_with(f, a, union_with(f, b, c))
    assert list(items(left)) == list(items(right))


@patient
@given(DICTS)
def test_the_empty_map_is_the_unit_of_union(d):
    t = from_dict(d)
    assert union_with(join, t, None) is t
    assert union_with(join, None, t) is t


@patient
@given(DICTS, KEYS, VALUES)
def test_insert_is_union_with_a_singleton(d, key, value):
    t = from_dict(d)
    inserted, united = insert_with(join, t, key, value), union_with(join, t, singleton(key, value))
    assert list(items(inserted)) == list(items(united))


@patient
@given(DICTS)
def test_popping_until_empty_gives_the_keys_from_the_highest_down(d):
    t, popped = from_dict(d), []
    while t is not None:
        key, value, t = pop_max(t)
        popped.append((key, value))
        check_invariants(t)
    assert popped == sorted(d.items(), reverse=True)


@pytest.mark.parametrize("n", [1, 10, 1000, 5000])
@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
def test_no_order_of_insertions_unbalances_the_map(n, order):
    check_invariants(built(n, order))


def test_f_that_raises_leaves_both_maps_as_they_were():
    def f(x, y):
        raise ZeroDivisionError

    a, b = from_dict({1: "a", 2: "b", 3: "c"}), from_dict({2: "d", 4: "e"})
    with pytest.raises(ZeroDivisionError):
        union_with(f, a, b)
    with pytest.raises(ZeroDivisionError):
        insert_with(f, a, 2, "x")
    assert dict(items(a)) == {1: "a", 2: "b", 3: "c"}
    assert dict(items(b)) == {2: "d", 4: "e"}


# costs, in nodes made and in keys compared


class Counter:
    """How many nodes were made since the last reset, and how many comparisons of its keys."""

    def __init__(self, monkeypatch):
        self.made = self.compared = 0
        node = ordered_map.Node

        def counting(*fields):
            self.made += 1
            return node(*fields)

        monkeypatch.setattr(ordered_map, "Node", counting)

    def reset(self):
        self.made = self.compared = 0

    def key(self, n):
        return CountedKey(n, self)


class CountedKey:
    def __init__(self, n, counter):
        self.n, self.counter = n, counter

    def __eq__(self, other):
        self.counter.compared += 1  # one for every node on the way
        return self.n == other.n

    def __lt__(self, other):
        return self.n < other.n

    __hash__ = None


@pytest.fixture
def counter(monkeypatch):
    return Counter(monkeypatch)


def built(n, order="shuffled", key=lambda k: k, seed=0):
    keys = list(range(n))
    if order == "descending":
        keys.reverse()
    elif order == "shuffled":
        random.Random(seed).shuffle(keys)
    t = None
    for k in keys:
        t = insert_with(join, t, key(2 * k), "")  # even keys, so that there is room in between
    return t


SIZES = [1, 16, 256, 4096]


@pytest.mark.parametrize("order", ["ascending", "shuffled"])
@pytest.mark.parametrize("n", SIZES)
def test_insert_takes_logarithmic_work(counter, n, order):
    t = built(n, order, counter.key)
    for k in {-1, 0, 1, n // 2, n, n + 1, 2 * n - 2, 2 * n}:
        counter.reset()
        insert_with(join, t, counter.key(k), "")
        assert counter.compared <= deepest(n)
        assert counter.made <= 3 * deepest(n) + 1  # a rotation makes three nodes


@pytest.mark.parametrize("order", ["ascending", "shuffled"])
@pytest.mark.parametrize("n", SIZES)
def test_find_takes_logarithmic_work(counter, n, order):
    t = built(n, order, counter.key)
    for k in {-1, 0, 1, n, 2 * n - 2, 2 * n}:
        counter.reset()
        find(t, counter.key(k))
        assert counter.compared <= deepest(n)


@pytest.mark.parametrize("order", ["ascending", "shuffled"])
@pytest.mark.parametrize("n", SIZES)
def test_pop_max_takes_logarithmic_work_at_every_size_on_the_way_down(counter, n, order):
    t = built(n, order)
    while t is not None:
        counter.reset()
        *_, t = pop_max(t)
        assert counter.made <= 3 * deepest(size(t) + 1)


@pytest.mark.parametrize("n", [1024, 8192])
@pytest.mark.parametrize("m", [1, 4, 32, 256, 1024])
@pytest.mark.parametrize("where", ["spread", "low", "high", "duplicates"])
def test_union_of_m_into_n_takes_m_log_n_over_m_work(counter, m, n, where):
    large = built(n, key=counter.key)
    step = n // m
    keys = {
        "spread": [2 * step * k + 1 for k in range(m)],
        "low": [-2 * k - 1 for k in range(m)],
        "high": [2 * n + k for k in range(m)],
        "duplicates": [2 * step * k for k in range(m)],
    }[where]
    small = None
    for k in keys:
        small = insert_with(join, small, counter.key(k), "")
    bound = m * math.log2(n / m + 1)
    for a, b in [(large, small), (small, large)]:
        counter.reset()
        united = union_with(join, a, b)
        assert counter.made <= 10 * bound + 10
        assert counter.compared <= 5 * bound + 10
        check = [key.n for key, _ in items(united)]
        assert check == sorted({*range(0, 2 * n, 2), *keys})


def test_insert_shares_all_but_the_way_down():
    t = built(1000)
    before = {id(node) for node in nodes(t)}
    new = [node for node in nodes(insert_with(join, t, 501, "")) if id(node) not in before]
    assert len(new) <= 3 * deepest(1000)


def nodes(t):
    todo = [t]
    while todo:
        node = todo.pop()
        if node is not None:
            yield node
            todo += [node.left, node.right]
