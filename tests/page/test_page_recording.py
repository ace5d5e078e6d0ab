"""Data for the page's script: a program's operations, the lines of the table as text, the notation."""

import json

import pytest

pytest.importorskip("jinja2")

import dualrev as dr
from dualrev import math as dmath
from dualrev.rules.primitives import PRIMITIVES
from stages.comparison.page.data import program_data
from stages.comparison.page.notation import notation
from stages.comparison.page.recording import KEEPS, LOOKS, record
from stages.comparison.page.rules import rule
from stages.comparison.page.samples import DEFAULTS, SAMPLES, sample
from stages.comparison.steps import walk
from stages.programs import PROGRAMS


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_operations_are_those_that_a_stage_sees(name):
    """`walk` reads them off the closures of staged: the same ids, values, partial derivatives, texts and lines."""
    f, primals = PROGRAMS[name].function, sample(name).make(sample(name).start)
    recording = record(f, primals)
    if recording is None:  # too long to be stepped through
        assert name == "particles"
        return
    run = walk("staged", f, *primals, most=10_000)
    assert [(s.kind, s.value, s.text, s.refers) for s in run.scalars] == [
        (one.kind, one.value, one.text, tuple(zip(one.partials, one.args, strict=True))) for one in recording.scalars
    ]
    lines = [(s.line, one.line) for s, one in zip(run.scalars, recording.scalars, strict=True) if s.kind == "operation"]
    assert all(a == b for a, b in lines)
    (seed,) = [step for step in run.steps if step.kind == "seed"] or [None]
    assert [i for i, _ in seed.passed] == recording.outputs


def counted(x):
    return x if x > 0.0 else -x


@pytest.mark.parametrize(
    ("f", "fixed"),
    [
        (lambda x: x * x, ""),
        (lambda x: dmath.sin(2.0 * x) + 1.0, ""),
        (counted, LOOKS),
        (lambda x: x * len(f"{x:.3f}"), LOOKS),
        (lambda x: x * int(x), LOOKS),
        (lambda x: x * dr.value(x), KEEPS),
        (lambda x: dmath.log(0.0005 - (x - 2.0)) if dr.value(x) == 2.0 else 1.0 / (x - x), KEEPS),
    ],
)
def test_a_program_that_depends_on_its_numbers_is_shown_for_these_inputs_only(f, fixed):
    assert record(f, (2.0,)).fixed == fixed


def test_an_operation_without_a_line_of_the_table_keeps_its_numbers():
    @dr.custom_vjp
    def halved(x):
        return 0.5 * x

    halved.defvjp(lambda x: (0.5 * x, None), lambda residuals, ct: (0.5 * ct,))
    recording = record(lambda x: halved(x) * x, (3.0,))
    assert recording.fixed == KEEPS
    assert [one.partials for one in recording.scalars[-1:]] == [(3.0, 1.5)]
    made = program_data(lambda x: halved(x) * x, sample("fig1")._replace(make=lambda n: (3.0,)), {})
    assert all("rule" not in one for one in made["recordings"][0]["scalars"])


def test_a_function_that_the_script_lacks_fixes_the_inputs():
    made = program_data(dmath.erf, sample("fig1")._replace(make=lambda n: (0.5,)), {})
    assert made["recordings"][0]["fixed"].startswith("The script of this page lacks a function")
    assert made["recordings"][0]["scalars"][1]["value"] == dmath.erf(0.5)


def test_rules_are_written_once_for_all_programs():
    rules = {}
    for name in DEFAULTS:
        program_data(PROGRAMS[name].function, sample(name), rules)
    assert len(rules) == 5  # add, mul, and the three of section 4
    assert list(rules.values()) == [f"op{k}" for k in range(5)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mul", "{ value: (a, b) => a * b, partials: [(y, a, b) => b, (y, a, b) => a] }"),
        ("sin", "{ value: (x) => Math.sin(x), partials: [(y, x) => Math.cos(x)] }"),
        ("neg", "{ value: (x) => -x, partials: [(y, x) => -1.0] }"),
        (
            "abs",
            "{ value: (x) => Math.abs(x), partials: [(y, x) => x >= 0.0 ? 1.0 : (x < 0.0 ? (-1.0) : NaN)] }",
        ),
        ("digamma", None),
        ("polygamma", None),
        ("floordiv", None),
    ],
)
def test_a_line_of_the_table_as_text_of_the_script(name, text):
    assert rule(PRIMITIVES[name]) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("(R, R -o c)", "(ℝ, ℝ ⊸ c)"),
        ("R -o (Staged c -> Staged c)", "ℝ ⊸ (Staged c → Staged c)"),
        ("n^2 and 2^n, O(n log n)", "n² and 2ⁿ, O(n log n)"),
        ("Ref R, For Relatives", "Ref ℝ, For Relatives"),
        ("m |-> (m + -)", "m ↦ (m + -)"),
        (r"D[r] = (r, \z. id)", "D[r] = (r, λz. id)"),
        ("x^y", "x^y"),
    ],
)
def test_the_notation_of_the_calculus(text, shown):
    assert notation(text) == shown


def test_samples_have_sizes_to_choose_from_and_arguments_that_are_easy_to_follow():
    for name in DEFAULTS:
        assert SAMPLES[name].start in SAMPLES[name].sizes
    assert len(SAMPLES["doublings"].sizes) >= 10
    assert sample("wide").make(6) == ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3)
    assert sample("doublings", size=40).sizes[-1] == sample("doublings", size=40).start == 40
    assert sample("fig1", seed=1).make(1) != sample("fig1").make(1)
    json.dumps(program_data(PROGRAMS["deep"].function, sample("deep"), {}), allow_nan=False)
