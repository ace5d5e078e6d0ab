"""The corpus of programs: every program in every stage, against central differences and against each other."""

import dataclasses
import math

import numpy as np
import pytest
from support.oracle import assert_same, check_order_2, check_vjp, flat, rebuild, widen
from support.stage_programs import SIZES, SIZES_OF_ORDER_2_IN_NAIVE, cotangent, small

import dualrev as dr
from dualrev.eager.numbers.overload import DualNumber, Run, overload
from stages import STAGES, d2_staged, d4_arrays, programs
from stages.programs import PROGRAMS, Quaternion, Vec3, rotate_vec_by_quat, wide_inputs

FIXED = {"fig1", "section4"}

everywhere = pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
in_every_stage = pytest.mark.parametrize("stage", STAGES)


def same_numbers(found, expected, rtol=1e-12):
    """`assert_same` without its floor: each number agrees in its own digits, not only in those of the largest."""
    assert_same(found, expected, rtol=rtol, floor=0.0)


def gradient(stage, program, primals):
    y, pullback = STAGES[stage].vjp(program.function, *primals)
    return y, pullback(cotangent(y))


# Every program in every stage


@in_every_stage
@everywhere
@pytest.mark.parametrize("seed", [0, 1])
def test_the_derivative_is_that_of_differences(program, stage, seed):
    check_vjp(STAGES[stage].vjp, program.function, *small(program, seed), seed=seed)


@in_every_stage
@everywhere
def test_the_derivative_of_the_derivative_is_that_of_differences(program, stage):
    sizes = SIZES_OF_ORDER_2_IN_NAIVE if stage == "naive" else SIZES
    check_order_2(STAGES[stage].vjp, program.function, *small(program, 0, sizes))


@in_every_stage
@everywhere
@pytest.mark.parametrize("seed", [0, 1])
def test_every_stage_gives_the_value_and_the_same_gradient(program, stage, seed):
    primals = small(program, seed)
    y, found = gradient(stage, program, primals)
    _, expected = gradient("tape", program, primals)
    same_numbers(y, program.function(*primals))
    same_numbers(found, expected)
    assert any(flat(expected))


@in_every_stage
def test_in_a_nested_derivative_the_cotangent_of_an_input_that_is_not_reached_is_0(stage):
    vjp = STAGES[stage].vjp
    y, pullback = vjp(lambda x, y: vjp(lambda a, b: a * a, x, y)[1](1.0), 3.0, 2.0)
    same_numbers(y, (6.0, 0.0), rtol=0.0)  # floats: the 0 as an int would be a discrete part of the value
    same_numbers(pullback((1.0, 1.0)), (2.0, 0.0), rtol=0.0)


# Every program's inputs


@everywhere
def test_a_seed_decides_the_input(program):
    size = SIZES[program.name]
    primals = program.make(size, 0)
    same_numbers(program.make(size, 0), primals, rtol=0.0)
    same_numbers(primals, widen(primals), rtol=0.0)  # Python's floats, not numpy's: a stage is as fast as they are
    assert flat(primals) != flat(program.make(size, 1))


@everywhere
def test_the_size_decides_how_large_the_input_is(program):
    few, many = program.make(4, 0), program.make(8, 0)
    grows = len(flat(many)) > len(flat(few)) or (few[-1], many[-1]) == (4, 8)
    assert grows is (program.name not in FIXED)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        program.make(0, 0)


@everywhere
@pytest.mark.parametrize("seed", range(5))
def test_the_default_size_and_size_1_work(program, seed):
    for size in (program.size, 1):
        primals = program.make(size, seed)
        y, ct = gradient("tape", program, primals)
        same_numbers(y, program.function(*primals))
        assert np.isfinite(flat(ct)).all()


@everywhere
def test_a_program_says_what_it_is(program):
    assert program.function is getattr(programs, program.name)
    assert program.function.__doc__.startswith(program.about)
    assert program.about.endswith(".")
    assert program.paper
    assert program.unit or program.name in FIXED


# What single programs show


@pytest.mark.parametrize("name", ["scalar_mult", "dot", "deep", "compose", "wide"])
def test_inputs_of_20_000_parts_work_on_the_tape(name):
    primals = PROGRAMS[name].make(20_000, 0)
    y, ct = gradient("tape", PROGRAMS[name], primals)
    same_numbers(y, PROGRAMS[name].function(*primals))
    assert len(flat(ct)) == len(flat(primals))


def test_section4_resolves_to_the_arguments_of_the_paper(monkeypatch):
    staged = []
    alloc = d4_arrays.alloc
    monkeypatch.setattr(d4_arrays, "alloc", lambda *sizes: staged.append(alloc(*sizes)) or staged[-1])
    _, pullback = d4_arrays.vjp(PROGRAMS["section4"].function, 0.5)
    assert pullback(1.0) == (55.0,)
    assert [z for _, z in staged[0].m] == [55.0, 9.0, 2.0, 1.0]  # f1 to f4, whose ids are 0 to 3


V, Q = Vec3(5.5, 6.6, 7.7), Quaternion(1.1, 2.2, 3.3, 4.4)


def test_rotate_binds_what_fig_12_binds():
    drawn = []

    def traced(v, q):
        rotated = rotate_vec_by_quat(v, q)
        drawn.extend([v.x.i, q.w.i, rotated.z.i])
        return rotated

    d2_staged.vjp(traced, V, Q)
    assert drawn == [0, 6, 7 + 40 - 1]  # the 7 inputs, then 40 bindings, constants among them


def test_rotate_has_the_derivatives_of_fig_12():
    # From the right-hand sides of Fig. 12: the derivatives of the result's x are those of x24, x34 and x14.
    _, pullback = STAGES["tape"].vjp(rotate_vec_by_quat, V, Q)
    v, q = pullback(Vec3(1.0, 0.0, 0.0))
    expected_v = Vec3(1.1 * 2.0 * 1.1 + 2.42, 2.2 * 2.0 * 1.1 - 8.8 * 3.3, 3.3 * 2.0 * 1.1 + 8.8 * 2.2)
    expected_q = Quaternion(
        91.96 + 2.2 * 5.5 - 5.5 * 2.2,
        2.2 * 6.6 - 5.5 * 4.4 + 8.8 * 7.7,
        2.2 * 7.7 - 5.5 * 6.6 - 8.8 * 6.6,
        5.5 * 8.8 - 4.84 * 2.0,
    )
    same_numbers((v, q), (expected_v, expected_q))


def test_rotate_by_a_unit_quaternion_keeps_lengths():
    q = Quaternion(0.5, -0.5, 0.1, 0.7)
    assert q.x**2 + q.y**2 + q.z**2 + q.w**2 == pytest.approx(1.0)
    rotated = rotate_vec_by_quat(V, q)
    assert rotated.dot(rotated) == pytest.approx(V.dot(V))


class Counted(DualNumber):
    """A transformation that counts: a scalar is its value, and an operation adds one to its run's count."""

    __slots__ = ("run", "x")

    def __init__(self, run, x):
        self.run, self.x = run, x


def _count(run, y, args, partials):
    run.operations.append(len(args))
    return Counted(run, y)


overload(Counted, None, _count)


def operations(f, *primals):
    """The number of arguments of every operation that f makes on scalars of its input."""
    run = Run(operations=[])
    f(*rebuild(primals, [Counted(run, x) for x in flat(primals)]))
    return run.operations


@pytest.mark.parametrize("x", [0.5, -0.5])
def test_loop_makes_the_same_number_of_operations_on_both_branches(x):
    made = operations(PROGRAMS["loop"].function, x, 0.7, 0.4, 1)
    assert made == [2, 2, 1, 2, 2]  # as many arguments as the operations have: none is a constant
    assert len(made) == programs.LOOP_OPERATIONS


def test_loop_takes_both_branches_and_stays_bounded():
    x, a, b, n = PROGRAMS["loop"].make(200, 0)
    values = [PROGRAMS["loop"].function(x, a, b, k) for k in range(n)]
    assert 50 < sum(value > 0.0 for value in values) < 150
    assert max(map(abs, values)) < 2.0
    assert len(operations(PROGRAMS["loop"].function, x, a, b, n)) == 200 * programs.LOOP_OPERATIONS


@pytest.mark.parametrize(("n", "t"), [(300, 30), (10, 1), (10, 5)])
def test_wide_makes_t_products_of_inputs_and_t_minus_1_sums(n, t):
    primals = wide_inputs(n, t, 0)
    assert operations(PROGRAMS["wide"].function, *primals) == [2] * (2 * t - 1)
    for stage in STAGES:  # naive too: no intermediate value is shared
        _, (ct, none) = gradient(stage, PROGRAMS["wide"], primals)
        assert np.count_nonzero(ct) == 2 * t
        assert none is None


@pytest.mark.parametrize("n", [1, 3])
def test_particles_has_n_particles_and_1000_steps(n):
    swarm, steps = PROGRAMS["particles"].make(n, 0)
    assert (len(swarm), len(flat(swarm))) == (n, 4 * n)
    assert (type(steps), steps) == (int, 1000)


def test_doublings_makes_one_operation_a_doubling():
    assert operations(PROGRAMS["doublings"].function, 1.0, 10) == [2] * 10


def test_newton_needs_more_steps_for_some_roots_than_for_others():
    (x, m), e = (0.0, 2.5), 0.6
    f = PROGRAMS["newton"].function
    assert f([m], e)[0] - e * math.sin(f([m], e)[0]) == pytest.approx(m, rel=1e-15)
    assert len(operations(f, [x], e)) < len(operations(f, [m], e))


def test_newton_has_the_derivatives_of_the_implicit_function():
    primals = PROGRAMS["newton"].make(5, 0)
    _, (cts, ct) = gradient("tape", PROGRAMS["newton"], primals)
    roots, e = PROGRAMS["newton"].function(*primals), primals[1]
    weights = cotangent(roots)
    slopes = [z / (1.0 - e * math.cos(x)) for x, z in zip(roots, weights, strict=True)]
    assert cts == pytest.approx(slopes, rel=1e-13)
    assert ct == pytest.approx(sum(slope * math.sin(x) for x, slope in zip(roots, slopes, strict=True)), rel=1e-13)


def test_neural_takes_both_branches_of_relu():
    seen = set()
    for seed in range(3):
        layers, xs, _ = PROGRAMS["neural"].make(6, seed)
        sums = [programs.dot(row, xs) + bias for row, bias in zip(layers[0].weights, layers[0].biases, strict=True)]
        seen |= {s > 0.0 for s in sums}
    assert seen == {True, False}


def test_neural_softmax_does_not_overflow():
    layers, xs, label = PROGRAMS["neural"].make(4, 0)
    huge = dataclasses.replace(layers[1], biases=[1e4 * (k == label) for k in range(4)])
    y, ct = gradient("tape", PROGRAMS["neural"], ([layers[0], huge], xs, label))
    assert y == 0.0
    assert np.isfinite(flat(ct)).all()


def softmax_after_relus(layers, xs):
    """The network of the authors' artifact: relu on every layer, then a softmax."""
    for layer in layers:
        sums = [programs.dot(row, xs) + bias for row, bias in zip(layer.weights, layer.biases, strict=True)]
        xs = [s if s > 0.0 else 0.0 for s in sums]
    powers = [dr.math.exp(x) for x in xs]
    total = sum(powers[1:], powers[0])
    return [power / total for power in powers]


@in_every_stage
def test_neural_as_in_the_artifact(stage):
    """The artifact returns the sum of the softmax. That is 1, so its derivatives cancel."""
    layers, xs, _ = PROGRAMS["neural"].make(3, 0)
    check_vjp(STAGES[stage].vjp, softmax_after_relus, layers, xs)
    y, pullback = STAGES[stage].vjp(lambda *primals: sum(softmax_after_relus(*primals), 0.0), layers, xs)
    assert y == pytest.approx(1.0, rel=1e-15)
    assert flat(pullback(1.0)) == pytest.approx(np.zeros(3 * 3 * 2 + 3 * 2 + 3), abs=1e-15)
