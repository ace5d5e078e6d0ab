"""The meaning of a Delta, and Lemma 10 of Krawiec et al. 2022: eval agrees with it, for each of our three evals."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages import ordered_map as om
from stages.calculus import Machine, parse_program
from stages.calculus.deltas.table import DELTAS
from stages.calculus.language.values import Made, Tree
from stages.relatives.deltas import delta, delta_array, delta_map
from stages.relatives.deltas.delta_data import Add, Let, OneHot, Scale, Var, Zero
from stages.relatives.deltas.meaning import bound, free, meaning, one_hots

A = 3  # the dimension of the vectors
FREE = 4  # the ids below may be free

NUMBERS = st.integers(-9, 9)


def random_delta(rng, known, fresh, depth):
    """A Delta whose free variables are known ids; each Let binds the next fresh id."""
    kind = rng.choice(["Zero", "Var", "Var", "Scale", "Add", "Let"]) if depth else rng.choice(["Zero", "Var", "Var"])
    if kind == "Let":
        i = next(fresh)
        u = random_delta(rng, known, fresh, depth - 1)
        return Let(i, u, random_delta(rng, [*known, i], fresh, depth - 1))
    part = lambda: random_delta(rng, known, fresh, depth - 1)  # noqa: E731
    return {
        "Zero": Zero,
        "Var": lambda: Var(rng.choice(known)),
        "Scale": lambda: Scale(rng.randint(-4, 4), part()),
        "Add": lambda: Add(part(), part()),
    }[kind]()


deltas = st.integers(0, 2**32).map(
    lambda seed: random_delta(random.Random(seed), list(range(FREE)), iter(range(FREE, 10_000)), 6)
)
vectors = st.lists(st.tuples(*[NUMBERS] * A), min_size=FREE, max_size=FREE).map(lambda vs: dict(enumerate(vs)))
maps = st.lists(NUMBERS, min_size=FREE, max_size=FREE).map(lambda xs: dict(enumerate(xs)))


def by_map(s, u, m):
    """delta_map's eval, Fig. 11."""
    root = None
    for i, x in m.items():
        root = om.insert_with(lambda old, new: new, root, i, x)
    return dict(om.items(delta_map.evaluate(s, u, root)))


CALCULUS = Machine(DELTAS["delta-map"].wrap(parse_program(r"\(x : R). x")))


def made(u):
    """A Delta as the calculus has it."""
    fields = [made(x) if isinstance(x, tuple) else float(x) if isinstance(u, Scale) else x for x in u]
    return Made(type(u).__name__, tuple(fields))


def by_calculus(s, u, m):
    """The calculus' eval, a program that Wrap makes."""
    root = None
    for i, x in m.items():
        root = om.insert_with(lambda old, new: new, root, i, float(x))
    found = CALCULUS.apply(CALCULUS.environment["eval"], made(u), float(s), Tree(root))
    return dict(om.items(found.root))


def lemma_10_holds(evaluate, s, u, g, m):
    """s [[u]] g = sum over a in FV(u) of ((eval s u m)(a) - m(a)) g(a), exactly: the numbers are whole."""
    after = evaluate(s, u, m)
    left = tuple(s * x for x in meaning(u, g, A))
    right = tuple(sum((after.get(i, 0) - m.get(i, 0)) * g[i][k] for i in free(u)) for k in range(A))
    assert left == right
    assert not set(after) & set(bound(u))  # what is bound inside has been taken out again
    assert all(after[i] == m[i] for i in set(m) - free(u))


@pytest.mark.parametrize("evaluate", [by_map, by_calculus])
@settings(max_examples=150, deadline=None)
@given(s=NUMBERS, u=deltas, g=vectors, m=maps)
def test_lemma_10_eval_agrees_with_the_meaning(evaluate, s, u, g, m):
    lemma_10_holds(evaluate, s, u, g, m)
    lemma_10_holds(evaluate, s, u, g, {})


@settings(max_examples=50, deadline=None)
@given(s=st.fractions(), u=deltas, g=vectors, m=maps)
def test_lemma_10_for_fractions(s, u, g, m):
    lemma_10_holds(by_map, s, u, g, m)


def nest(u):
    """The bindings and the body of a nest of Lets; other Lets are moved to it, as runDelta makes none inside."""
    match u:
        case Let(i, v, body):
            (first, v), (second, body) = nest(v), nest(body)
            return [*first, (i, v), *second], body
        case Scale(r, v):
            binds, v = nest(v)
            return binds, Scale(r, v)
        case Add(v, w):
            (first, v), (second, w) = nest(v), nest(w)
            return [*first, *second], Add(v, w)
    return [], u


@settings(max_examples=150, deadline=None)
@given(s=NUMBERS, u=deltas, g=vectors)
def test_lemma_10_for_the_array_of_bindings(s, u, g):
    """Section 5.3.3: the bindings lie in an array, by their ids, and the loop goes through it backwards."""
    binds, body = nest(u)
    ids = {i: FREE + k for k, (i, _) in enumerate(binds)}
    m = delta_array.alloc(FREE + len(binds))
    delta_array.evaluate(s, renamed(body, ids), m)
    for i in reversed(range(FREE, len(m))):
        if m[i] is not None:
            delta_array.evaluate(m[i], renamed(binds[i - FREE][1], ids), m)
    right = tuple(sum((m[i] or 0) * g[i][k] for i in range(FREE)) for k in range(A))
    assert tuple(s * x for x in meaning(u, g, A)) == right


def renamed(u, ids):
    match u:
        case Var(i):
            return Var(ids.get(i, i))
        case Scale(r, v):
            return Scale(r, renamed(v, ids))
        case Add(v, w):
            return Add(renamed(v, ids), renamed(w, ids))
    return u


@settings(max_examples=100, deadline=None)
@given(s=NUMBERS, seed=st.integers(0, 2**32), m=st.lists(NUMBERS, min_size=A, max_size=A))
def test_fig_8_eval_adds_the_meaning(s, seed, m):
    """eval_2 s u m = m + s [[u]], where OneHot stands for the one-hot itself."""

    def closed(depth):
        rng_kind = rng.choice(["Zero", "OneHot", "Scale", "Add"]) if depth else "OneHot"
        if rng_kind == "Scale":
            return Scale(rng.randint(-4, 4), closed(depth - 1))
        if rng_kind == "Add":
            return Add(closed(depth - 1), closed(depth - 1))
        return Zero() if rng_kind == "Zero" else OneHot(rng.randrange(A))

    rng = random.Random(seed)
    u = closed(5)
    expected = [x + s * y for x, y in zip(m, meaning(u, {}, A), strict=True)]
    assert delta.evaluate(s, u, list(m)) == expected


def test_lemma_10_needs_bound_ids_that_the_map_does_not_have():
    """The paper leaves the condition out: a number at a bound id is taken for a contribution to it."""
    u = Let(2, Var(0), Var(2))
    assert meaning(u, one_hots(2), 2) == (1, 0)
    assert by_map(1, u, {0: 0}) == {0: 1}
    assert by_map(1, u, {0: 0, 2: 7}) == {0: 8}  # not 1
    twice = Add(Let(2, Var(0), Var(1)), Var(2))  # bound here, free there
    assert meaning(twice, {**one_hots(2), 2: (5, 5)}, 2) == (5, 6)
    assert by_map(1, twice, {2: 7}) == {0: 7, 1: 1, 2: 1}


def test_meanings_by_hand():
    g = one_hots(2)
    assert meaning(Zero(), g, 2) == (0, 0)
    assert meaning(Add(Scale(Fraction(1, 2), Var(0)), Var(1)), g, 2) == (Fraction(1, 2), 1)
    assert meaning(Let(2, Var(0), Let(2, Add(Var(2), Var(1)), Var(2))), g, 2) == (1, 1)  # the inner one hides the outer
    assert meaning(OneHot(1), {}, 2) == (0, 1)
    with pytest.raises(KeyError):
        meaning(Var(7), g, 2)
    with pytest.raises(TypeError, match="no Delta: 3"):
        meaning(3, g, 2)


def test_the_meaning_of_a_long_program():
    u = Var(0)
    for i in range(1, 3000):
        u = Let(3000 - i, Scale(1, Var(0)), u)
    assert meaning(u, one_hots(1), 1) == (1,)
