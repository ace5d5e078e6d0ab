"""Claims of the paper about each stage, as exact counts and as programs of real size."""

import math

import numpy as np
import pytest

import dualrev as dr
from dualrev import math as dm
from dualrev.eager.numbers.overload import function
from dualrev.rules.primitives import Primitive
from stages import STAGES, LimitReached, count, ordered_map, pairs, sharing, trace
from stages.programs import PROGRAMS, wide_inputs

ALL = list(STAGES)
AFTER_NAIVE = ALL[1:]


def gradient(stage, f, *primals):
    y, pullback = STAGES[stage].vjp(f, *primals)
    return y, pullback(1.0)


def doublings(x, n):
    for _ in range(n):
        x = x + x
    return x


def chain(x, n):
    for _ in range(n):
        x = dm.sin(x)
    return x


# ---- 1: sharing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ALL)
def test_doublings_call_every_backpropagator_once_but_in_naive_2_to_the_n_times(stage):
    counts = count(stage, doublings, 1.5, 10)
    assert counts.created == 11
    assert counts.calls == (2**11 - 1 if stage == "naive" else 11)
    assert gradient(stage, doublings, 1.5, 10) == (1.5 * 1024, (1024.0, None))


@pytest.mark.parametrize("stage", AFTER_NAIVE)
def test_a_thousand_doublings(stage):
    f = PROGRAMS["scaled_doublings"].function
    y, (ct, none) = gradient(stage, f, 0.75, 1000)
    assert (y, ct, none) == (0.75, 1.0, None)


@pytest.mark.parametrize("stage", AFTER_NAIVE)
def test_the_number_of_calls_is_linear_in_the_number_of_doublings(stage):
    assert [count(stage, doublings, 1.0, n).calls for n in (1, 10, 100, 1000)] == [2, 11, 101, 1001]


# ---- 2: the order of calls -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", AFTER_NAIVE)
def test_section_4_resolves_each_backpropagator_once_from_the_highest_id(stage):
    program = PROGRAMS["section4"]
    assert trace(stage, program.function, *program.make(1, 0)) == [(3, 1.0), (2, 2.0), (1, 9.0), (0, 55.0)]


def test_section_4_in_naive_calls_f2_twice_and_f1_five_times():
    program = PROGRAMS["section4"]
    calls = [i for i, _ in trace("naive", program.function, *program.make(1, 0))]
    assert [calls.count(i) for i in (3, 2, 1, 0)] == [1, 1, 2, 5]


# ---- 3: wide and deep inputs -----------------------------------------------------------------------------------------


def wide_counts(stage, n, t):
    return count(stage, PROGRAMS["wide"].function, *wide_inputs(n, t, 0))


def deep_counts(stage, n):
    program = PROGRAMS["deep"]
    return count(stage, program.function, *program.make(n, 0))


def test_staged_touches_the_whole_input_at_every_operation():
    n, t = 300, 30
    assert wide_counts("staged", n, t).scalars >= n * t


def test_cayley_touches_the_whole_input_once():
    n, t = 1000, 100
    # one zero of n scalars, and one scalar for each of the 2 t inputs that are used
    assert wide_counts("cayley", n, t).scalars <= n + 2 * t
    # the way to a scalar in a balanced input of n scalars is log n long
    assert wide_counts("cayley", n, t).pairs <= 2 * t * math.ceil(math.log2(2 * n))


@pytest.mark.parametrize("stage", ["sparse", "arrays", "collectorless", "lists", "contrib", "tape", "parallel"])
def test_from_sparse_on_no_whole_cotangent_is_touched(stage):
    counts = wide_counts(stage, 1000, 100)
    assert (counts.scalars, counts.pairs) == (0, 0)


def test_naive_and_staged_are_quadratic_in_a_wide_input():
    for stage in ("naive", "staged"):
        small, large = (wide_counts(stage, n, n // 10).scalars for n in (200, 400))
        assert 3.8 <= large / small <= 4.2


def test_cayley_walks_down_a_deep_input_for_every_scalar():
    for n in (50, 100, 200, 400):
        # the k-th of n cells is k pairs below the root
        assert n * (n + 1) / 2 <= deep_counts("cayley", n).pairs <= n * (n + 10) / 2 + n


def test_sparse_takes_n_log_n_for_a_deep_input():
    for n in (50, 100, 200, 400, 800):
        counts = deep_counts("sparse", n)
        assert n * math.log2(n) <= counts.map_steps <= 12 * n * math.log2(n)
        assert counts.pairs == 0


@pytest.mark.parametrize("stage", ["arrays", "collectorless", "lists", "contrib", "tape", "parallel"])
def test_arrays_take_constant_time_for_each_operation(stage):
    works = [deep_counts(stage, n).work for n in (100, 200, 400, 800)]
    per_cell = [(b - a) / n for a, b, n in zip(works, works[1:], (100, 200, 400), strict=False)]
    assert len(set(per_cell)) == 1  # exactly so many steps for every further cell
    assert deep_counts(stage, 100).map_steps == 0


# ---- 4: sharing structures -------------------------------------------------------------------------------------------


def test_fig_10_a_closures_refer_to_shared_closures():
    found = sharing("collectorless", lambda x, y: x * (x + y), 3.0, 2.0)
    assert all(s.closure for s in found)
    assert [(s.id, s.value, s.refers) for s in found] == [
        (0, 3.0, ()),
        (1, 2.0, ()),
        (2, 5.0, ((1.0, 0), (1.0, 1))),
        (3, 15.0, ((5.0, 0), (3.0, 2))),
    ]


@pytest.mark.parametrize("stage", ["lists", "contrib", "tape"])
def test_fig_10_b_contributions_refer_by_id(stage):
    found = sharing(stage, lambda x, y: x * (x + y), 3.0, 2.0)
    assert not any(s.closure for s in found)
    assert [(s.id, list(s.refers)) for s in found] == [
        (0, []),
        (1, []),
        (2, [(1.0, 0), (1.0, 1)]),
        (3, [(5.0, 0), (3.0, 2)]),
    ]


@pytest.mark.parametrize("stage", ["lists", "contrib"])
def test_fig_10_b_the_contributions_are_the_same_lists_in_memory(stage):
    seen = {}

    def f(x, y):
        z = x + y
        seen.update(x=x, z=z, w=x * z)
        return seen["w"]

    STAGES[stage].vjp(f, 3.0, 2.0)
    (_, (_, x_list)), (_, (_, z_list)) = seen["w"].d
    assert x_list is seen["x"].d
    assert z_list is seen["z"].d


# ---- 5: real sizes ---------------------------------------------------------------------------------------------------

LARGE = 20_000


@pytest.mark.parametrize("stage", ALL)
def test_a_chain_of_20_000_unary_operations(stage):
    y, (ct, _) = gradient(stage, chain, 1.0, LARGE)
    expected, x = 1.0, 1.0
    for _ in range(LARGE):
        expected *= math.cos(x)
        x = math.sin(x)
    assert y == x
    assert ct == pytest.approx(expected, rel=1e-9)  # 20,000 roundings, in another order


@pytest.mark.parametrize("stage", AFTER_NAIVE)
def test_a_chain_of_20_000_binary_operations(stage):
    def f(x, y):
        for _ in range(LARGE // 2):
            x = x * 0.5 + y
        return x

    _, (dx, dy) = gradient(stage, f, 1.0, 3.0)
    assert dx == 0.5 ** (LARGE // 2)
    assert dy == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("stage", ALL)
def test_an_input_of_20_000_scalars(stage):
    _, (ct,) = gradient(stage, lambda xs: xs[0] * xs[-1], [2.0] + [1.0] * (LARGE - 2) + [3.0])
    assert len(ct) == LARGE
    assert (ct[0], ct[-1], sum(map(abs, ct))) == (3.0, 2.0, 5.0)


@pytest.mark.parametrize("stage", ["cayley", "sparse", "arrays", "collectorless", "contrib", "tape"])
def test_an_input_of_20_000_scalars_all_used(stage):
    # naive and staged build a whole cotangent for each of them: 20,000 squared
    n = LARGE if stage not in ("cayley", "sparse") else LARGE // 4  # a logarithm in Python
    _, (ct,) = gradient(stage, lambda xs: sum(x * x for x in xs), np.arange(n, dtype=float))
    np.testing.assert_array_equal(ct, 2.0 * np.arange(n))


@pytest.mark.parametrize("stage", ALL)
def test_an_output_of_20_000_scalars(stage):
    y, pullback = STAGES[stage].vjp(lambda x: [x * 2.0] * LARGE, 1.5)
    assert y == [3.0] * LARGE
    assert pullback([1.0] * LARGE) == (2.0 * LARGE,)


@pytest.mark.parametrize("stage", ["sparse", "arrays", "collectorless", "lists", "contrib", "tape", "parallel"])
def test_a_linked_list_of_5_000_cells(stage):
    program = PROGRAMS["deep"]
    cells, *rest = program.make(5_000, 0)
    y, (ct, *_) = gradient(stage, program.function, cells, *rest)
    seen = 0
    while ct is not None:
        ct, seen = ct.next, seen + 1
    assert seen == 5_000
    assert math.isfinite(y)


# ---- counting itself -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ALL)
def test_counting_leaves_the_stage_alone(stage):
    modules = (STAGES[stage], ordered_map, pairs)
    before = [dict(vars(module)) for module in modules]
    plain = STAGES[stage].Dual.__init__
    count(stage, doublings, 1.0, 3)
    assert [dict(vars(module)) for module in modules] == before
    assert STAGES[stage].Dual.__init__ is plain


def test_a_limit_stops_an_exponential_count():
    with pytest.raises(LimitReached, match=r"more than 10,000 steps"):
        count("naive", doublings, 1.0, 40, limit=10_000)


def test_counts_of_one_operation_are_those_of_the_rules():
    # by hand for x * y: 2 inputs and 1 operation; the operation and both inputs are called
    counts = {stage: count(stage, lambda x, y: x * y, 3.0, 2.0) for stage in ALL}
    assert all((c.created, c.calls) == (3, 3) for c in counts.values())
    # naive: the sum starts from a zero of 2 scalars; two one-hots of 2 scalars each, added up
    assert counts["naive"].scalars == 2 + 2 * (2 + 2)
    # arrays: 1 call of the output, 2 calls of the operation, 2 one-hots
    assert counts["arrays"].array_writes == 5
    assert counts["collectorless"].array_writes == counts["lists"].array_writes == 3
    # tape: 2 empty rows, 1 row of 2 partials, 2 ids and its end; seed and 2 contributions, each with its mark
    assert counts["tape"].array_writes == 2 + 5 + 2 * 3


@pytest.mark.parametrize("stage", ALL)
def test_counts_are_the_same_each_time(stage):
    program = PROGRAMS["rotate"]
    primals = program.make(1, 0)
    assert count(stage, program.function, *primals) == count(stage, program.function, *primals)


def test_a_scalar_that_is_not_reached_is_not_called():
    def f(x):
        unused = dm.sqrt(x)  # an infinite partial derivative at 0, which 0 times would make NaN
        return x * 2.0 if unused == 0.0 else x

    for stage in ALL:
        assert gradient(stage, f, 0.0)[1] == (2.0,)


# ---- 8.2: when partial derivatives are computed ----------------------------------------------------------------------

LATE = ALL[: ALL.index("lists")]


@pytest.mark.parametrize("stage", ALL)
def test_up_to_8_2_the_backpropagator_computes_the_partial_derivatives(stage):
    computed = []

    def slope(x):
        computed.append(x)
        return 2.0 * x

    square = function(Primitive("square", "x * x", ("slope(x)",), ((-1.0, 1.0),), functions={"slope": slope}))
    _, pullback = STAGES[stage].vjp(lambda x: (square(x), square(2.0 * x), x)[0], 3.0)
    assert len(computed) == (0 if stage in LATE else 2)
    assert pullback(1.0) == (6.0,)
    assert len(computed) == (1 if stage in LATE else 2)  # that of the result that is used


@pytest.mark.parametrize("stage", LATE)
def test_late_partial_derivatives_are_those_of_the_arguments_then(stage):
    """Of constants and of numbers of an outer derivative, too; and at a border, where they are limits."""
    vjp = STAGES[stage].vjp

    def slope(x, a):
        return vjp(lambda u: dm.sin(u * a) / (u + 2.0) ** a, x)[1](1.0)[0]

    assert vjp(slope, 0.7, 1.3)[1](1.0) == pytest.approx(dr.grad(slope, (0, 1))(0.7, 1.3), rel=1e-13)
    dr.check_grads(slope, (0.7, 1.3), order=1)
    assert vjp(lambda x: vjp(dm.sqrt, x)[1](1.0)[0], 0.0)[1](1.0) == (-math.inf,)
