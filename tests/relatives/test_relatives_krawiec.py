"""Krawiec et al. 2022: its four algorithms on the corpus, what each of them costs, and what could go wrong."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.oracle import assert_same, check_order_2, check_vjp, flat, rebuild

import dualrev as dr
from dualrev import math as dm
from dualrev.eager.numbers import overload
from dualrev.eager.numbers.overload import function
from dualrev.eager.tape import engine
from dualrev.errors import CotangentError, LeakError
from dualrev.rules.primitives import PRIMITIVES
from stages import STAGES, LimitReached
from stages.comparison import counting
from stages.programs import PROGRAMS, wide_inputs
from stages.relatives import vectorised
from stages.relatives.deltas import delta, delta_array, delta_map
from stages.relatives.deltas.delta_data import Add, Let, OneHot, Scale, Var, Zero, total
from stages.relatives.fused import fused

MODULES = {"vectorised": vectorised, "delta": delta, "delta_map": delta_map, "delta_array": delta_array}
ENGINES = {**MODULES, **{name: STAGES[name] for name in ("naive", "arrays", "contrib", "tape")}, "dualrev": engine}
EFFICIENT = {"delta_map": delta_map, "delta_array": delta_array}

everywhere = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
in_each = pytest.mark.parametrize("module", MODULES.values(), ids=MODULES)
in_the_efficient = pytest.mark.parametrize("module", EFFICIENT.values(), ids=EFFICIENT)

# delta takes time exponential in the sharing, and so gets the sizes that the stage naive gets in test_programs.py.
SIZES = dict.fromkeys(PROGRAMS, 5) | {
    "doublings": 8,
    "scaled_doublings": 8,
    "neural": 4,
    "particles": 2,
    "newton": 2,
    "loop": 20,
}
SIZES_OF_ORDER_2 = SIZES | {"neural": 2, "newton": 1}


def small(program, sizes=SIZES, seed=0):
    primals = program.make(sizes[program.name], seed)
    return (*primals[:-1], 4) if program.name == "particles" else primals


def cotangent(y, seed=1):
    numbers = np.random.default_rng(seed).uniform(0.5, 1.5, len(flat(y))).tolist()
    return rebuild(y, numbers, discrete=lambda leaf: None)


def gradient(module, f, *primals):
    y, pullback = module.vjp(f, *primals)
    return y, pullback(1.0)


def derivative(module, f):
    """f' for f : R -> R"""
    return lambda x: module.vjp(f, x)[1](1.0)[0]


def count(module, f, *primals, limit=float("inf")):
    """Count the module's operations for f's value and one pullback of ones, as stages.count does."""
    recorder = counting.Recorder(limit)
    y, pullback = recorder.instrument(module).vjp(f, *primals)
    pullback(rebuild(y, [1.0] * len(flat(y)), discrete=lambda leaf: None))
    return recorder.counts


# ---- the corpus ------------------------------------------------------------------------------------------------------


@in_each
@everywhere
def test_every_program_has_the_value_and_the_gradient_of_the_tape(program, module):
    for seed in (0, 1):
        primals = small(program, seed=seed)
        y, pullback = module.vjp(program.function, *primals)
        expected_y, expected = STAGES["tape"].vjp(program.function, *primals)
        assert_same(y, expected_y, rtol=0.0, floor=0.0)
        # Forward mode adds in another order, so what cancels is as exact as the largest number only.
        floor = None if module is vectorised else 0.0
        assert_same(pullback(cotangent(y)), expected(cotangent(y)), floor=floor)
        assert any(flat(expected(cotangent(y))))


@in_each
@everywhere
def test_every_program_has_the_derivative_of_differences(program, module):
    check_vjp(module.vjp, program.function, *small(program))


@in_each
@everywhere
def test_every_program_has_the_second_derivative_of_differences(program, module):
    check_order_2(module.vjp, program.function, *small(program, SIZES_OF_ORDER_2))


@in_each
def test_every_primitive_has_the_gradient_of_the_tape_also_at_the_edge_of_its_domain(module):
    def found(engine, f, xs):
        try:
            return gradient(engine, f, *xs)
        except (ArithmeticError, ValueError) as error:
            return type(error).__name__

    for primitive in PRIMITIVES.values():
        f = function(primitive)
        for point in [tuple((a + 2.0 * b) / 3.0 for a, b in primitive.domain), *primitive.edges]:
            xs = tuple(map(float, point))
            expected = found(STAGES["tape"], f, xs)
            if module is not vectorised or len(xs) == 1 or all(map(math.isfinite, expected[1])):
                assert_same(found(module, f, xs), expected)


# ---- sections 5.1 to 5.3: what each step costs -----------------------------------------------------------------------


def doublings(x, n):
    for _ in range(n):
        x = x + x
    return x


def test_a_vector_of_n_entries_is_made_at_every_operation_of_vectorised():
    # wide: t products and t - 1 sums, each of which scales two vectors and adds them; before that n one-hots; and in
    # the pullback a zero, a scaling, and an addition
    for n, t in ((100, 10), (200, 10), (200, 20)):
        made = count(vectorised, PROGRAMS["wide"].function, *wide_inputs(n, t, 0))
        assert made.scalars == n * (3 * t + 3 * (t - 1)) + n * n + 3 * n


def test_vectorised_is_n_times_too_slow_and_the_deltas_are_not():
    def work(module, n):
        return count(module, PROGRAMS["dot"].function, *PROGRAMS["dot"].make(n, 0)).work

    assert 3.8 <= work(vectorised, 200) / work(vectorised, 100) <= 4.2
    assert 1.9 <= work(delta, 200) / work(delta, 100) <= 2.1
    assert 1.9 <= work(delta_array, 200) / work(delta_array, 100) <= 2.1
    assert 2.0 <= work(delta_map, 200) / work(delta_map, 100) <= 2.5  # a logarithm in the map


def test_section_5_3_delta_evaluates_what_is_shared_once_for_every_use():
    # each x + x is an Add, evaluated once for every use of it: 1 + 2 + ... + 2^(n - 1), and 2^n one-hots
    for n in range(1, 12):
        assert count(delta, doublings, 1.5, n).calls == 2 ** (n + 1) - 1
        assert count(delta, doublings, 1.5, n).array_writes == 2**n
    assert gradient(delta, doublings, 1.5, 11)[1] == (2.0**11, None)
    with pytest.raises(LimitReached):
        count(delta, doublings, 1.5, 40, limit=10_000)


def test_section_5_3_nothing_of_the_deltas_is_copied_in_memory():
    kept = []

    def f(x):
        kept.extend([x, x + x])
        return kept[1] + kept[1]

    y, _ = delta.vjp(lambda x: kept.append(f(x)) or kept[-1], 1.0)
    assert y == 4.0
    _, twice, four_times = (u.d for u in kept)
    assert four_times.u1 is four_times.u2 is twice


def test_section_5_3_explicit_sharing_is_linear_in_doublings():
    for n in (1, 10, 100):
        # the result's Var; for each binding its Let, what is left of that, an Add and two Vars
        assert count(delta_map, doublings, 1.5, n).calls == 1 + 5 * n
        assert count(delta_array, doublings, 1.5, n).calls == 1 + 3 * n
        assert count(delta_array, doublings, 1.5, n).array_writes == 1 + 2 * n
    for n in (1, 10, 100):
        assert count(vectorised, doublings, 1.5, n).scalars == 3 * n + 1 + 3  # one entry; 2 scalings, 1 addition


@in_the_efficient
def test_explicit_sharing_makes_a_constant_number_of_visits_for_every_cell_of_a_deep_input(module):
    def work(n):
        return count(module, PROGRAMS["deep"].function, *PROGRAMS["deep"].make(n, 0))

    per_cell = {(b - a) / n for n in (100, 200) for a, b in [(work(n).calls, work(2 * n).calls)]}
    assert len(per_cell) == 1
    if module is delta_array:
        assert len({(work(2 * n).work - work(n).work) / n for n in (100, 200)}) == 1
    else:
        assert work(400).map_steps <= 12 * 400 * math.log2(400)


@pytest.mark.parametrize("module", [delta, delta_map, delta_array])
def test_no_delta_touches_the_whole_input_at_an_operation(module):
    counts = count(module, PROGRAMS["wide"].function, *wide_inputs(1000, 100, 0))
    assert (counts.scalars, counts.pairs) == (0, 0)
    assert counts.work <= 15 * (1000 + 200)  # where vectorised would take 1000 * 200 and more; 15 for the map's steps


def test_fig_8_eval_by_hand():
    # 3 * (1-hot of 0) + 2 * (5 * (1-hot of 1) + 1-hot of 0), scaled by 10
    u = Add(Scale(3.0, OneHot(0)), Scale(2.0, Add(Scale(5.0, OneHot(1)), Add(OneHot(0), Zero()))))
    assert delta.evaluate(10.0, u, [0.0, 1.0, 0.5]) == [50.0, 101.0, 0.5]


def test_fig_11_eval_by_hand():
    from stages import ordered_map as om

    # let x2 = 3 x0 + 4 x1 in let x3 = Scale nan x0 in 5 x2 + x2: x3 is not reached, and not evaluated
    shared = Add(Scale(5.0, Var(2)), Var(2))
    u = Let(2, Add(Scale(3.0, Var(0)), Scale(4.0, Var(1))), Let(3, Scale(math.nan, Var(0)), shared))
    m = delta_map.evaluate(10.0, u, om.singleton(1, 7.0))
    assert list(om.items(m)) == [(0, 180.0), (1, 247.0)]  # ids of bindings have been deleted
    assert delta_map.evaluate(1.0, Zero(), None) is None


def test_fig_11_run_delta_nests_the_bindings_with_the_first_one_outermost():
    run = overload.Run(state=(2, ()))
    assert delta_map.delta_let(run, Add(Var(0), Var(1))) == 2
    assert delta_map.delta_let(run, Scale(2.0, Var(2))) == 3
    u = delta_map.run_delta(run, Var(3))
    assert u == Let(2, Add(Var(0), Var(1)), Let(3, Scale(2.0, Var(2)), Var(3)))


@in_the_efficient
def test_the_invariant_a_scalar_carries_zero_or_a_variable(module):
    seen = []

    def f(x, y):
        seen.extend([x, x * y, 2.0 * x, dm.sin(y), module.constant(x.run, 2.0)])
        return seen[1] + seen[2]

    module.vjp(f, 3.0, 4.0)
    assert [u.d for u in seen] == [Var(0), Var(2), Var(3), Var(4), Zero()]


# ---- real sizes ------------------------------------------------------------------------------------------------------

LONG = 10_000


@in_each
def test_a_chain_of_10_000_unary_operations(module):
    def chain(x):
        for _ in range(LONG):
            x = dm.sin(x)
        return x

    y, (ct,) = gradient(module, chain, 1.0)
    expected_y, (expected,) = gradient(STAGES["tape"], chain, 1.0)
    assert y == expected_y
    assert ct == pytest.approx(expected, rel=1e-10)  # 10,000 roundings, in another order


@in_each
def test_a_chain_of_10_000_binary_operations(module):
    def f(x, y):
        for _ in range(LONG // 2):
            x = x * 0.5 + y
        return x

    _, (dx, dy) = gradient(module, f, 1.0, 3.0)
    assert dx == 0.5 ** (LONG // 2)
    assert dy == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("module", [vectorised, delta_map, delta_array])
def test_10_000_doublings(module):
    def f(x):
        for _ in range(LONG // 2):
            x = (x + x) * 0.5
        return x

    assert gradient(module, f, 0.75) == (0.75, (1.0,))


@pytest.mark.parametrize("module", [delta, delta_map, delta_array])
def test_an_input_and_an_output_of_10_000_scalars(module):
    y, pullback = module.vjp(lambda xs: xs * xs[0], np.full(LONG, 2.0))
    np.testing.assert_array_equal(y, np.full(LONG, 4.0))
    (ct,) = pullback(np.ones(LONG))
    np.testing.assert_array_equal(ct, [2.0 * LONG + 2.0] + [2.0] * (LONG - 1))


def test_a_delta_of_any_depth_is_evaluated_and_freed():
    u = v = Zero()
    for i in range(200_000):
        u, v = Add(u, OneHot(0)), Let(i, Scale(1.0, v), Zero())
    assert delta.evaluate(1.0, u, [0.0]) == [200_000.0]
    del u, v


# ---- what could go wrong ---------------------------------------------------------------------------------------------


@in_each
def test_a_pullback_gives_the_same_each_time_and_is_linear(module):
    _, pullback = module.vjp(lambda x, y: (x * y, dm.sin(x)), 2.0, 3.0)
    first = pullback((1.0, 0.5))
    pullback((7.0, 8.0))
    assert pullback((1.0, 0.5)) == first == (3.0 + 0.5 * math.cos(2.0), 2.0)
    assert pullback((0.0, 0.0)) == (0.0, 0.0)


@in_each
def test_inputs_that_are_not_used_and_outputs_that_are_constant(module):
    y, pullback = module.vjp(lambda x, y: (2.0, x, x, [3]), 5.0, 6.0)
    assert_same(y, (2.0, 5.0, 5.0, [3]))
    assert_same(pullback((math.inf, 1.0, 10.0, [None])), (11.0, 0.0))


@pytest.mark.parametrize("other", ENGINES.values(), ids=ENGINES)
@in_each
def test_perturbations_are_not_confused(module, other):
    # d/dx x * (d/dy (x + y) at y = 1) is 1, not 2
    assert derivative(module, lambda x: x * derivative(other, lambda y: x + y)(1.0))(1.0) == 1.0
    assert derivative(other, lambda x: x * derivative(module, lambda y: x + y)(1.0))(1.0) == 1.0
    # d/dx of 2 x^2 y at y = x, which is 2 x^3
    assert derivative(other, lambda x: derivative(module, lambda y: x * x * y * y)(x))(3.0) == 54.0


@pytest.mark.parametrize("other", ENGINES.values(), ids=ENGINES)
@in_each
def test_a_partial_derivative_that_is_equal_to_1_keeps_its_own_derivative(module, other):
    # d/dy (x * y) = x, which is 1.0 at x = 1.0, and whose derivative is 1
    assert derivative(other, lambda x: derivative(module, lambda y: x * y)(5.0))(1.0) == 1.0


def test_a_factor_that_is_equal_to_1_is_left_out_only_if_it_is_a_float():
    assert total([1.0, 2.0], [Var(0), Var(1)]) == Add(Var(0), Scale(2.0, Var(1)))
    assert total([], []) == Zero()
    kept = []
    delta_map.vjp(lambda x: kept.append(total([x], [Var(7)])) or x, 1.0)
    assert kept[0] == Scale(1.0, Var(7))
    assert isinstance(kept[0], Scale)


@in_each
def test_third_derivatives(module):
    third = derivative(module, derivative(module, derivative(module, lambda x: x * x * x * x)))
    assert third(2.0) == 48.0


@in_each
def test_hessians_and_jacobians_by_the_public_interface(module):
    def f(xs):
        return dm.sin(xs[0]) * xs[1] * xs[1]

    x = np.array([0.5, 2.0])
    np.testing.assert_allclose(dr.hessian(f, engine=module)(x), dr.hessian(f)(x), rtol=1e-12)
    np.testing.assert_allclose(dr.grad(f, engine=module)(x), dr.grad(f)(x), rtol=1e-12)


@in_each
def test_an_exception_in_the_function_leaves_nothing_behind(module):
    def f(x):
        if x * x > 1.0:
            raise KeyError("mine")
        return x * x

    with pytest.raises(KeyError, match="mine"):
        module.vjp(f, 2.0)
    with pytest.raises(ZeroDivisionError):
        module.vjp(lambda x: 1.0 / (x - x), 2.0)
    assert gradient(module, f, 0.5) == (0.25, (1.0,))
    assert derivative(module, derivative(module, f))(0.5) == 2.0


@in_each
def test_a_number_that_is_kept_is_refused_afterwards(module):
    kept = []
    module.vjp(lambda x: kept.append(x) or x * x, 2.0)
    with pytest.raises(LeakError):
        module.vjp(lambda x: x * kept[0], 2.0)
    with pytest.raises(LeakError):
        module.vjp(lambda x: fused(lambda u, v: u * v)(x, kept[0]), 2.0)


@in_each
def test_a_constant_has_no_part_in_the_derivative_even_if_its_partial_is_nan(module):
    # d/db a ** b is NaN for a negative a
    assert gradient(module, lambda x: x**2.0, -3.0) == (9.0, (-6.0,))
    assert gradient(module, lambda x: x * 2.0, math.inf) == (math.inf, (2.0,))


@in_each
def test_what_is_not_reached_is_not_evaluated_even_if_it_is_infinite(module):
    def f(x):
        unused = dm.sqrt(x)  # an infinite partial derivative at 0, which 0 times would make NaN
        return x * 2.0 if unused == 0.0 else x

    assert gradient(module, f, 0.0)[1] == (2.0,)


def test_an_infinite_derivative_is_nan_for_other_inputs_in_vectorised_and_in_no_other():
    for module in (delta, delta_map, delta_array, STAGES["tape"]):
        assert gradient(module, lambda x, y: dm.sqrt(x) + y, 0.0, 1.0)[1] == (math.inf, 1.0)
    dx, dy = gradient(vectorised, lambda x, y: dm.sqrt(x) + y, 0.0, 1.0)[1]
    assert dx == math.inf
    assert math.isnan(dy)


def test_a_0_of_a_fused_function_is_nan_where_a_cotangent_is_infinite():
    def first(x, y):
        return x

    for module, step, expected in ((delta_map, first, 0.0), (delta_map, fused(first), math.nan)):
        _, found = gradient(module, lambda x, y, step=step: dm.sqrt(step(x, y)), 0.0, 1.0)
        assert_same(found, (math.inf, expected))


@in_each
def test_threads_do_not_disturb_each_other(module):
    program = PROGRAMS["rotate"]
    work = [program.make(2, seed) for seed in range(8)]

    def run(primals):
        y, pullback = module.vjp(program.function, *primals)
        return pullback(cotangent(y))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, work))
    for f, primals in zip(found, work, strict=True):
        assert_same(f, run(primals), rtol=0.0, floor=0.0)


@in_each
def test_a_cotangent_of_another_structure_is_refused(module):
    _, pullback = module.vjp(lambda x: (x, x), 1.0)
    with pytest.raises(CotangentError):
        pullback((1.0,))
    with pytest.raises(dr.errors.ArgumentError):
        module.vjp(lambda n: n, 3)
    with pytest.raises(dr.errors.OutputError):
        module.vjp(lambda x: 3, 1.0)
