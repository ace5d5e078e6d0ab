"""Sets that are joined: what is in one set is what a path of joins connects."""

import random

import pytest

from dualrev.compiler.ir.union_find import Sets


def connected(pairs, x):
    """All that joins connect with x, by going along them."""
    found, todo = {x}, [x]
    while todo:
        at = todo.pop()
        for a, b in pairs:
            for here, there in ((a, b), (b, a)):
                if here == at and there not in found:
                    found.add(there)
                    todo.append(there)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_a_set_is_what_joins_connect(seed):
    draw, sets, pairs = random.Random(seed), Sets(), []
    for _ in range(12):
        pairs.append((draw.randrange(16), draw.randrange(16)))
        sets.join(*pairs[-1])
        for x in range(16):
            together = connected(pairs, x)
            assert {y for y in range(16) if sets.same(x, y)} == together
            assert {sets.find(y) for y in together} == {sets.find(x)} <= together


def test_what_was_never_joined_is_alone():
    sets = Sets()
    assert sets.find("a") == "a"
    assert sets.same("a", "a")
    assert not sets.same("a", "b")


def test_the_second_gives_the_representative():
    sets = Sets()
    sets.join("a", "b")
    sets.join("c", "a")
    assert {sets.find(x) for x in "abc"} == {"b"}
