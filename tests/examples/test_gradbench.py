"""bench/gradbench: the tool is a process of its own here, which is asked in GradBench's protocol."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gradbench_references import ba, differences, gmm, ht, landing, lstm, ode

from bench.gradbench import table
from bench.gradbench.messages import EVALS
from bench.gradbench.workloads import SIZES, WORKLOADS

ROOT = Path(__file__).parents[2]
SADDLE = 8.246324826140356e-06  # GradBench's own
MODES = ["ff", "rr", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("fr", "rf"))]


class Tool:
    """The tool, asked as an eval does: messages have numbers, and each waits for its answer."""

    def __init__(self):
        # numba compiles faster without LLVM's optimisation, which is not what is tested
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.gradbench"],
            cwd=ROOT,
            env=os.environ | {"NUMBA_OPT": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.number = -1

    def line(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        self.number = answer["id"]
        return answer

    def ask(self, kind, **message):
        number = self.number + 1
        answer = self.line(json.dumps({"id": number, "kind": kind, **message}))
        assert answer["id"] == number
        return answer

    def evaluate(self, module, function, given):
        answer = self.ask("evaluate", module=module, function=function, input=given)
        assert answer["success"], answer["error"]
        assert [timing["name"] for timing in answer["timings"]] == ["prepare", "evaluate"]
        return answer["output"]


@pytest.fixture(scope="module")
def tool():
    made = Tool()
    yield made
    made.process.stdin.write('{"id": 0, "kind": "end"}\n')
    rest, _ = made.process.communicate(timeout=60)
    assert (rest, made.process.returncode) == ("", 0)  # `end` has no answer


def equal(found, expected, rtol=1e-10, atol=1e-12):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def near(found, expected):
    """As far as differences go."""
    equal(found, expected, 1e-6, 1e-7)


# ----------------------------------------------------------------------------------------------------------------------
# The protocol


def test_hello_as_gradbench_says_it(tool):
    assert tool.ask("start", eval="hello")["tool"] == "dualrev"
    assert tool.ask("define", module="hello")["success"] is True
    x = 1.0
    for _ in range(4):
        y = tool.evaluate("hello", "square", x)
        assert y == x * x
        assert tool.ask("analysis", of=tool.number, valid=True) == {"id": tool.number}
        x = tool.evaluate("hello", "double", y)
        assert x == 2.0 * y
    assert x == 16384.0 * 2.0


def test_runs_are_as_many_and_as_long_as_asked_for(tool):
    given = {"x": [0.5, 0.25], "n": 4}
    for more, least in (({"min_runs": 5, "min_seconds": 0}, 5), ({"min_runs": 1, "min_seconds": 0.01}, 2)):
        answer = tool.ask("evaluate", module="llsq", function="gradient", input=given | more)
        runs = [timing["nanoseconds"] for timing in answer["timings"] if timing["name"] == "evaluate"]
        assert len(runs) >= least
        assert sum(runs) >= 1e9 * more["min_seconds"]
    assert len(answer["timings"]) == 1 + len(runs)


LLSQ = {"x": [0.5, 0.25], "n": 4}
WRONG = [
    ({"kind": "define", "module": "chess"}, "there is no eval 'chess'; the evals are ba, det, gmm"),
    ({"kind": "define"}, "the field 'module' is missing"),
    (
        {"kind": "evaluate", "module": "llsq", "function": "hessian", "input": LLSQ},
        "has no function 'hessian', but primal",
    ),
    ({"kind": "evaluate", "module": ["llsq"], "function": "primal", "input": LLSQ}, "there is no eval ['llsq']"),
    ({"kind": "evaluate", "module": "llsq", "function": "primal"}, "the field 'input' is missing"),
    ({"kind": "evaluate", "module": "llsq", "function": "primal", "input": 3.0}, "the field 'x' is missing"),
    (
        {"kind": "evaluate", "module": "llsq", "function": "primal", "input": LLSQ | {"n": 2.5}},
        "64-bit integer of 2 or more, not 2.5",
    ),
    (
        {"kind": "evaluate", "module": "llsq", "function": "primal", "input": LLSQ | {"n": 10**30}},
        "64-bit integer",
    ),
    (
        {"kind": "evaluate", "module": "llsq", "function": "primal", "input": LLSQ | {"x": [[1.0]]}},
        "with shape any, not 1 x 1",
    ),
    ({"kind": "evaluate", "module": "llsq", "function": "primal", "input": LLSQ | {"x": ["a"]}}, "list of numbers"),
    (
        {"kind": "evaluate", "module": "llsq", "function": "primal", "input": LLSQ | {"min_runs": 0}},
        "of 1 or more, not 0",
    ),
    (
        {"kind": "evaluate", "module": "det", "function": "primal", "input": {"A": [1.0], "ell": 2}},
        "with shape 4, not 1",
    ),
    (
        {"kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [[1.0], [1.0, 2.0]]}},
        "different lengths",
    ),
    ({"kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [1e400]}}, "not finite"),
    ({"kind": "evaluate", "module": "hello", "function": "square", "input": "x"}, "'input' must be a number, not 'x'"),
    ({"kind": "dance"}, "kind must be start, define, evaluate, analysis or end, not 'dance'"),
]


@pytest.mark.parametrize(("message", "error"), WRONG, ids=[error for _, error in WRONG])
def test_a_wrong_message_has_an_answer_that_says_what_is_wrong(tool, message, error):
    answer = tool.ask(**message)
    assert answer["success"] is False
    assert error in answer["error"]


def test_what_is_no_message_is_answered_by_the_number_that_comes_next(tool):
    for text in ("{", "[1, 2]", '"start"', "[" * 100_000):
        expected = tool.number + 1
        answer = tool.line(text)
        assert (answer["id"], answer["success"]) == (expected, False)
        assert answer["error"].startswith("no message: ")
    assert tool.evaluate("hello", "square", 3.0) == 9.0  # and it goes on


def test_every_eval_has_a_module_a_size_and_a_line_for_gradbench():
    assert sorted(EVALS) == list(EVALS) == sorted(WORKLOADS) == sorted(SIZES)
    folder = ROOT / "bench" / "gradbench" / "evals"
    assert all((folder / f"{name}.py").exists() for name in EVALS)
    assert (
        (ROOT / "bench/gradbench/Dockerfile").read_text().rstrip().endswith("gradbench/gradbench")
    )  # which it asks for


# ----------------------------------------------------------------------------------------------------------------------
# The evals: values and derivatives


def test_llsq(tool):
    given = {"x": [0.5, -0.25, 2.0], "n": 5}
    t = np.linspace(-1.0, 1.0, 5)
    powers = np.vander(t, 3, increasing=True)
    rest = np.sign(t) - powers @ given["x"]
    equal(tool.evaluate("llsq", "primal", given), rest @ rest / 2.0)
    equal(tool.evaluate("llsq", "gradient", given), -powers.T @ rest)


def test_lse(tool):
    x = np.array([-1000.0, 800.0, 800.5, 799.0])
    shifted = np.exp(x - 800.0)
    equal(tool.evaluate("lse", "primal", {"x": x.tolist()}), 800.0 + np.log(shifted.sum()))
    equal(tool.evaluate("lse", "gradient", {"x": x.tolist()}), shifted / shifted.sum())


@pytest.mark.parametrize("ell", [1, 2, 5])
def test_det(tool, ell):
    given = WORKLOADS["det"](ell)
    a = np.reshape(given["A"], (ell, ell))
    equal(tool.evaluate("det", "primal", given), np.linalg.det(a))
    equal(tool.evaluate("det", "gradient", given), (np.linalg.det(a) * np.linalg.inv(a).T).ravel(), 1e-8)


@pytest.mark.parametrize(("n", "s"), [(1, 1), (4, 3), (7, 10)])
def test_ode(tool, n, s):
    given = WORKLOADS["ode"](n, s)
    equal(tool.evaluate("ode", "primal", given), ode(given["x"], s))
    gradient = tool.evaluate("ode", "gradient", given)
    near(gradient, differences(lambda x: ode(x, s)[-1], given["x"]))
    assert np.all(np.array(gradient) != 0.0) or n == 7  # four stages reach no farther than 4 elements a step


def test_kmeans(tool):
    given = WORKLOADS["kmeans"](3, 20, 2)
    points, centres = np.array(given["points"]), np.array(given["centroids"])
    squares = np.sum((points[:, None] - centres) ** 2, axis=-1)
    nearest = squares.argmin(axis=1)
    equal(tool.evaluate("kmeans", "cost", given), squares.min(axis=1).sum())
    means = [points[nearest == j].mean(axis=0) for j in range(3)]
    equal(tool.evaluate("kmeans", "dir", given), centres - means)  # Newton's step goes to the mean


def test_gmm(tool):
    given = WORKLOADS["gmm"](3, 2, 4) | {"m": 1, "gamma": 1.5}
    names = {"alpha": "alpha", "mu": "mu", "q": "q", "lower": "l"}
    parts = {name: np.array(given[key]) for name, key in names.items()}
    equal(tool.evaluate("gmm", "objective", given), gmm(given, **parts))
    found = tool.evaluate("gmm", "jacobian", given)
    assert sorted(found) == ["alpha", "l", "mu", "q"]
    for name, key in names.items():
        near(found[key], differences(lambda x, name=name: gmm(given, **parts | {name: x}), parts[name]))


def test_lstm(tool):
    given = WORKLOADS["lstm"](2, 4, 3)
    main, extra = np.array(given["main_params"]), np.array(given["extra_params"])
    equal(tool.evaluate("lstm", "objective", given), lstm(given, main, extra))
    by_main = differences(lambda x: lstm(given, x, extra), main)
    by_extra = differences(lambda x: lstm(given, main, x), extra)
    near(tool.evaluate("lstm", "jacobian", given), np.concatenate((by_main.ravel(), by_extra.ravel())))


@pytest.mark.parametrize("turned", [True, False])
def test_ba(tool, turned):
    given = WORKLOADS["ba"](2, 3, 4)
    if not turned:
        given["cam"][:3] = [0.0, 0.0, 0.0]
    block, feature = np.array([*given["cam"], *given["x"], given["w"]]), np.array(given["feat"])
    found = tool.evaluate("ba", "objective", given)
    equal(found["reproj_error"]["elements"], ba(block, feature))
    assert (found["reproj_error"]["repeated"], found["w_err"]["repeated"]) == (4, 4)
    equal(found["w_err"]["element"], 1.0 - given["w"] ** 2)
    jacobian = tool.evaluate("ba", "jacobian", given)
    expected = differences(lambda u: ba(u, feature), block)
    equal(jacobian["vals"], [*expected.ravel(), -2.0 * given["w"]], 1e-5, 1e-4)
    columns = [*range(11), 22, 23, 24, 31]  # of the first camera, point and weight
    assert jacobian["cols"] == [*columns, *columns, 34]  # the last entry is the last weight's
    assert jacobian["rows"] == [0, 15, 30, 45, 60, 75, 90, 105, 120, 121, 122, 123, 124, 124]


@pytest.mark.parametrize("places", [0, 1])
@pytest.mark.parametrize("mirrored", [False, True])
def test_ht_objective(tool, places, mirrored):
    given = WORKLOADS["ht"](30, 5, places)
    given["data"]["model"]["is_mirrored"] = mirrored
    us = np.array(given["us"]).reshape(-1, 2)
    equal(tool.evaluate("ht", "objective", given), ht(given, us, np.array(given["theta"])))


@pytest.mark.slow
@pytest.mark.parametrize("places", [0, 1])
def test_ht_jacobian(tool, places):
    given = WORKLOADS["ht"](30, 5, places)
    us, theta = np.array(given["us"]).reshape(-1, 2), np.array(given["theta"])
    expected = differences(lambda theta: ht(given, us, theta), theta)
    if places:
        expected = np.hstack((differences(lambda u: ht(given, us + u, theta), np.zeros(2)), expected))
    near(tool.evaluate("ht", "jacobian", given), expected)


@pytest.mark.parametrize("mode", MODES)
def test_particle(tool, mode):
    w = tool.evaluate("particle", mode, {"w": 0.0})
    equal(w, 0.2071918746486116)  # GradBench's own number
    assert abs(landing(w)) < 1e-4


@pytest.mark.parametrize("mode", MODES)
def test_saddle(tool, mode):
    equal(tool.evaluate("saddle", mode, {"start": [1.0, 1.0]}), [SADDLE] * 4)
    equal(tool.evaluate("saddle", mode, {"start": [-0.5, 2.0]}), np.zeros(4), atol=2e-5)


def test_jax_agrees(tool):
    """Gradients equal JAX's for the evals that JAX has an easy program for."""
    jax = pytest.importorskip("jax", reason="make peers installs JAX")
    jax.config.update("jax_enable_x64", True)
    given = WORKLOADS["lse"](20)
    equal(tool.evaluate("lse", "gradient", given), jax.grad(jax.nn.logsumexp)(jax.numpy.array(given["x"])))
    given = WORKLOADS["kmeans"](4, 30, 2)
    points, centres = jax.numpy.array(given["points"]), jax.numpy.array(given["centroids"])

    def cost(centres):
        return jax.numpy.sum(jax.numpy.min(jax.numpy.sum((points[:, None] - centres) ** 2, axis=-1), axis=1))

    slope, diagonal = jax.jvp(jax.grad(cost), (centres,), (jax.numpy.ones_like(centres),))
    equal(tool.evaluate("kmeans", "dir", given), slope / diagonal)


# ----------------------------------------------------------------------------------------------------------------------
# The table of times


def test_the_table_has_times_and_says_which_answer_failed(capsys, monkeypatch):
    monkeypatch.setitem(table.WORKLOADS, "llsq", lambda *size: {"x": [1.0]})
    assert table.main(["hello", "llsq", "--seconds", "0", "--small"]) == 1
    printed = capsys.readouterr().out
    assert printed.count(" us") + printed.count(" ms") == 2  # of `square` and `double`
    assert "llsq::primal: the field 'n' is missing" in printed


def test_an_eval_that_is_not_there_is_an_error(capsys):
    with pytest.raises(SystemExit):
        table.main(["chess"])
    assert "there is no eval 'chess'; the evals are ba, det" in capsys.readouterr().err
