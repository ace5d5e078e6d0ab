"""stages/comparison/steps.py: the steps are those of the stages, and so is the state after each of them."""

import math

import numpy as np
import pytest

from dualrev import math as dmath
from dualrev import primitive
from stages import STAGES, count, trace
from stages.comparison.naming import input_names
from stages.comparison.steps import Area, walk
from stages.programs import PROGRAMS

SIZES = {"doublings": 4, "rotate": 1, "neural": 2, "wide": 20, "deep": 6}


def fig1(x, y):
    z = x + y
    return x * z


def areas(run, kind="call"):
    """The state after every step of a kind: {name: {key: value}}."""
    return [{area.name: dict(area.cells) for area in step.areas} for step in run.steps if step.kind == kind]


# ---- the same run as in earnest --------------------------------------------------------------------------------------


@pytest.mark.parametrize("program", SIZES)
@pytest.mark.parametrize("stage", STAGES)
def test_counts_and_calls_are_those_of_count_and_trace(stage, program):
    f, primals = PROGRAMS[program].function, PROGRAMS[program].make(SIZES[program], 0)
    run = walk(stage, f, *primals)
    assert run.left_out == ""
    assert run.counts == count(stage, f, *primals)
    assert run.steps[-1].counts == run.counts
    assert run.calls == trace(stage, f, *primals)
    assert [(step.id, step.argument) for step in run.steps if step.kind == "call"] == run.calls
    assert len(run.scalars) == run.counts.created == sum(step.kind == "make" for step in run.steps)


@pytest.mark.parametrize("stage", STAGES)
def test_counts_never_fall_from_step_to_step(stage):
    works = [step.counts.work for step in walk(stage, fig1, 3.0, 2.0).steps]
    assert works == sorted(works)


@pytest.mark.parametrize("stage", STAGES)
def test_value_and_gradient_are_those_of_the_stage(stage):
    run = walk(stage, fig1, 3.0, 2.0)
    assert (run.value, run.gradient) == (15.0, [8.0, 3.0])


def test_the_stage_itself_is_not_touched():
    before = {name: dict(vars(module)) for name, module in STAGES.items()}
    constructors = {name: module.Dual.__init__ for name, module in STAGES.items()}
    for name in STAGES:
        walk(name, fig1, 3.0, 2.0)
    assert {name: dict(vars(module)) for name, module in STAGES.items()} == before
    assert {name: module.Dual.__init__ for name, module in STAGES.items()} == constructors


# ---- the steps -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", STAGES)
def test_first_the_numbers_are_made_then_the_calls_follow(stage):
    kinds = [step.kind for step in walk(stage, fig1, 3.0, 2.0).steps]
    calls = 5 if stage == "naive" else 4
    assert kinds == ["make"] * 4 + ["seed"] + ["call"] * calls + ["result"]


@pytest.mark.parametrize("stage", list(STAGES)[1:])
def test_from_staged_on_ids_are_resolved_from_the_highest_down(stage):
    run = walk(stage, PROGRAMS["section4"].function, 1.0)
    assert run.calls == [(3, 1.0), (2, 2.0), (1, 9.0), (0, 55.0)]


def test_the_calls_of_section_4():
    run = walk("naive", PROGRAMS["section4"].function, 1.0)
    assert run.times_called() == {0: 5, 1: 2, 2: 1, 3: 1}
    assert set(walk("staged", PROGRAMS["section4"].function, 1.0).times_called().values()) == {1}


@pytest.mark.parametrize("stage", STAGES)
def test_what_a_call_passes_on_is_its_argument_times_the_partials(stage):
    run = walk(stage, fig1, 3.0, 2.0)
    first, second = [step for step in run.steps if step.passed and step.kind == "call"]
    assert (first.id, first.passed) == (3, [(0, 5.0), (2, 3.0)])
    # the stages with compiled loops write sums: x has 5 already
    assert (second.id, second.passed) == (2, [(0, 8.0 if stage in ("contrib", "tape", "parallel") else 3.0), (1, 3.0)])


def test_the_stack_of_naive():
    stacks = [step.areas[0].cells for step in walk("naive", fig1, 3.0, 2.0).steps if step.kind in ("seed", "call")]
    assert stacks == [
        [(3, 1.0)],
        [(0, 5.0), (2, 3.0)],
        [(2, 3.0)],
        [(0, 3.0), (1, 3.0)],
        [(1, 3.0)],
        [],
    ]


@pytest.mark.parametrize("stage", ["staged", "cayley", "sparse"])
def test_the_map_of_delayed_calls(stage):
    run = walk(stage, fig1, 3.0, 2.0)
    assert [area["m"] for area in areas(run, "seed") + areas(run)] == [
        {3: 1.0},
        {0: 5.0, 2: 3.0},
        {0: 8.0, 1: 3.0},
        {0: 8.0},
        {},
    ]
    assert areas(run, "result")[0]["c"] == {0: 8.0, 1: 3.0}


def test_sparse_has_no_cotangent_before_one_is_written():
    run = walk("sparse", fig1, 3.0, 2.0)
    assert [area["c"] for area in areas(run)] == [{}, {}, {1: 3.0}, {0: 8.0, 1: 3.0}]
    assert areas(walk("cayley", fig1, 3.0, 2.0))[0]["c"] == {0: 0.0, 1: 0.0}


@pytest.mark.parametrize(
    ("stage", "name"), [("arrays", "m"), ("collectorless", "m"), ("lists", "m"), ("contrib", "arguments")]
)
def test_the_array_of_arguments(stage, name):
    run = walk(stage, fig1, 3.0, 2.0)
    assert [tuple(area[name].values()) for area in areas(run, "seed") + areas(run)] == [
        (0.0, 0.0, 0.0, 1.0),
        (5.0, 0.0, 3.0, 1.0),
        (8.0, 3.0, 3.0, 1.0),
        (8.0, 3.0, 3.0, 1.0),
        (8.0, 3.0, 3.0, 1.0),
    ]


def test_the_tape_grows_in_the_forward_pass():
    run = walk("tape", fig1, 3.0, 2.0)
    assert [len(area["ids"]) for area in areas(run, "make")] == [0, 0, 2, 4]
    last = areas(run, "make")[-1]
    assert (list(last["ids"].values()), list(last["partials"].values())) == ([0, 1, 0, 2], [1.0, 1.0, 5.0, 3.0])
    assert list(areas(run)[0]["called"].values()) == [True, False, True, True]


def test_what_does_not_reach_the_output_is_made_and_not_called():
    def f(x, y):
        _ = x * y
        return x

    for stage in STAGES:
        run = walk(stage, f, 3.0, 2.0)
        assert run.times_called() == {0: 1, 1: 0, 2: 0}, stage
        assert run.gradient == [1.0, 0.0]


@pytest.mark.parametrize("stage", STAGES)
def test_an_output_that_depends_on_no_input(stage):
    run = walk(stage, lambda x: 1.0, 3.0)
    assert (run.value, run.gradient) == (1.0, [0.0])
    assert run.steps[-1].kind == "result"


# ---- what is left out ------------------------------------------------------------------------------------------------


def test_steps_beyond_the_limit_are_left_out_and_counted():
    f, primals = PROGRAMS["doublings"].function, (1.0, 10)
    run = walk("naive", f, *primals, most=50)
    assert len(run.steps) == 50
    assert run.left_out == "only the first 50 steps are shown"
    assert run.counts == count("naive", f, *primals)
    assert run.times_called()[0] == 1024


def test_a_state_that_is_too_wide_is_left_out():
    run = walk("arrays", PROGRAMS["wide"].function, *PROGRAMS["wide"].make(100, 0), widest=60)
    assert {step.kind for step in run.steps} == {"make"}
    assert run.left_out


def test_a_stage_that_is_too_much_work_is_cut_off_with_the_steps_so_far():
    run = walk("naive", PROGRAMS["doublings"].function, 1.0, 30, limit=1000)
    assert run.left_out == "naive was cut off after more than 1,000 steps"
    assert run.steps[-1].kind == "call"
    assert run.value is None


def test_errors_of_the_program_are_passed_on():
    with pytest.raises(ZeroDivisionError):
        walk("staged", lambda x: 1.0 / (x - x), 1.0)
    with pytest.raises(KeyError):
        walk("d2", fig1, 3.0, 2.0)


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["naive", "arrays", "tape"])
@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x, y: x - y, "v0 - v1"),
        (lambda x, y: 2.0 - x, "2 - v0"),
        (lambda x, y: x - 2.0, "v0 - 2"),
        (lambda x, y: x / y, "v0 / v1"),
        (lambda x, y: -x, "-v0"),
        (lambda x, y: x**y, "power(v0, v1)"),
        (lambda x, y: dmath.sin(x), "sin(v0)"),
        (lambda x, y: np.sin(x), "sin(v0)"),
        (lambda x, y: np.float64(2.0) * x, "2 * v0"),
        (lambda x, y: primitive("twice", "2.0 * x", "2.0")(y), "2.0 * v1"),
    ],
)
def test_an_operation_is_shown_as_it_was_written(stage, f, text):
    assert walk(stage, f, 3.0, 2.0).scalars[-1].text.replace("v3", "2").replace("v2", "2") == text


def test_a_constant_is_a_number_of_its_own_until_contributions_are_data():
    kinds = {stage: [s.kind for s in walk(stage, lambda x: 2.0 * x, 3.0).scalars] for stage in STAGES}
    assert kinds["staged"] == ["input", "constant", "operation"]
    assert kinds["tape"] == ["input", "operation"]


def test_every_operation_knows_the_line_of_the_program():
    lines = [scalar.line for scalar in walk("staged", fig1, 3.0, 2.0).scalars]
    first = fig1.__code__.co_firstlineno
    assert lines == [None, None, first + 1, first + 2]


def test_the_scalars_of_the_input_have_names():
    def f(x, ys, tree, n):
        return x

    tree = {"w": np.ones((1, 2)), "p": PROGRAMS["rotate"].make(1, 0)[1]}
    names = input_names(f, (1.0, [2.0, (3.0,)], tree, 4))
    assert names[:5] == ["x", "ys[0]", "ys[1][0]", "tree['w'][0, 0]", "tree['w'][0, 1]"]
    assert names[5:] == [f"tree['p'].{part}" for part in "xyzw"]
    assert input_names(math.hypot, (1.0, 2.0)) == ["x0", "x1"]


def test_a_part_of_a_state_can_be_compared():
    run = walk("cayley", fig1, 3.0, 2.0)
    assert run.steps[5].areas == [Area("m", "map", [(0, 5.0), (2, 3.0)]), Area("c", "pairs", [(0, 0.0), (1, 0.0)])]
