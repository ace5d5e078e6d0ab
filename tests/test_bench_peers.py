"""bench/peers.py: its programs, its comparison of gradients, its table. Peers may be missing; no time is asserted."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import sys

import numpy as np
import pytest

import bench.peers
from bench import peer_programs

SIZES = {"oscillator": 3, "tree": 12, "mixture": 4, "network": 3}


@pytest.fixture
def peers():
    return bench.peers


@pytest.fixture
def small(peers, monkeypatch):
    """The script with programs of small sizes."""
    programs = {name: dataclasses.replace(peers.PROGRAMS[name], size=size) for name, size in SIZES.items()}
    monkeypatch.setattr(peers, "PROGRAMS", programs)
    return peers


def plain(peers, name, size):
    program = peers.PROGRAMS[name]
    parameters, data = program.make(size)
    return program.function(np if program.arrays else math, parameters, data), parameters, data


def answering(peers, change=lambda y, g: (y, g), **fields):
    """A peer that knows the value, and for a gradient gives the parameters; `change` makes it wrong."""

    def prepare(program):
        parameters, data = program.make(program.size)
        y = program.function(np if program.arrays else math, parameters, data)
        return lambda: change(float(y), parameters)

    return peers.Peer(**({"title": "made up", "module": "math", "prepare": prepare} | fields))


# The programs


def test_one_step_of_the_oscillator(peers):
    y, (stiffness, damping, x, v), _ = plain(peers, "oscillator", 1)
    assert x > 0.75
    assert v > 0.0  # and no kink there
    force = -stiffness * x - damping / 2 * v - 40.0 * (x - 0.75)
    assert y == pytest.approx((x + 0.01 * (v + 0.01 * force / 1.5)) ** 2, rel=1e-14)


def test_the_oscillator_takes_both_sides_of_each_branch(peers):
    program = peers.PROGRAMS["oscillator"]
    counts = [peers.count_operations(dataclasses.replace(program, size=steps)) for steps in range(1, 250)]
    braked, stopped = (2, 3), (0, 3)
    assert set(np.diff(counts)) == {9 + brake + stop for brake in braked for stop in stopped}


def test_a_tree_has_its_size_and_uses_all_parameters(peers):
    parameters, expression = peers.PROGRAMS["tree"].make(1000)
    nodes, todo = [], [expression]
    while todo:
        nodes.append(todo.pop())
        todo += [e for e in nodes[-1][1:] if isinstance(e, tuple)]
    assert len(nodes) == 1000
    assert {node[1] for node in nodes if node[0] == "leaf"} == set(range(len(parameters)))


def test_a_tree_by_hand(peers):
    expression = ("add", ("multiply", ("leaf", 0), ("leaf", 1)), ("negate", ("leaf", 0)))
    assert peer_programs.tree(math, [3.0, 5.0], expression) == 12.0


def test_no_other_expressions(peers):
    with pytest.raises(ValueError, match="no expression"):
        peer_programs.tree(math, [3.0], ("divide", ("leaf", 0), ("leaf", 0)))


def test_the_mixture_in_arrays(peers):
    y, (logits, means, log_scales), points = plain(peers, "mixture", 20)
    z = (np.array(points)[:, None] - means) / np.exp(log_scales)
    weights = np.exp(logits) / np.sum(np.exp(logits))
    densities = weights * np.exp(-0.5 * np.sum(z**2, axis=2)) / np.prod(np.exp(log_scales), axis=1)
    assert y == pytest.approx(np.sum(np.log(np.sum(densities, axis=1))), rel=1e-12)


def test_the_network_row_by_row(peers):
    y, (w1, b1, w2, b2), (_, inputs, labels) = plain(peers, "network", 5)
    losses = []
    for row, label in zip(inputs, labels, strict=True):
        scores = np.exp(np.tanh(row @ w1 + b1) @ w2 + b2)
        losses.append(-math.log(scores[label] / sum(scores)))
    assert y == pytest.approx(np.mean(losses), rel=1e-12)


@pytest.mark.parametrize("name", SIZES)
def test_programs_come_from_a_seed(peers, name):
    assert plain(peers, name, SIZES[name])[0] == plain(peers, name, SIZES[name])[0]


def test_operations_are_counted_and_comparisons_are_not(peers):
    def function(ops, parameters, data):
        x, y = parameters
        z = 2.0 - x if x < y else x
        return ops.exp(-z) * y / 3 + sum([x, y])  # 2 - x, -z, exp, *, /, 0 + x, + y, +

    made = peers.Program(function, lambda size: ([1.0, 2.0], None), 0, "")
    assert peers.count_operations(made) == 8


def test_the_sizes_are_real(peers):
    counts = {name: peers.count_operations(peers.PROGRAMS[name]) for name in ("oscillator", "tree", "mixture")}
    assert counts["oscillator"] == pytest.approx(12_000, rel=0.1)
    assert 500 <= counts["tree"] < 1000
    assert counts["mixture"] > 60_000


# The comparison of gradients

RIGHT = (2.0, [1.0, [3.0, np.array([[5.0, 1e-5]])]])


def test_the_same_answer_agrees(peers):
    assert peers.disagreement(RIGHT, RIGHT) is None


def test_roundings_agree(peers):
    assert peers.disagreement((2.0 * (1 + 1e-10), [1.0, [3.0 * (1 - 1e-10), 5.0, 1e-5 + 1e-12]]), RIGHT) is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ((2.00001, RIGHT[1]), "the value is 2.00001 in place of 2.0"),
        ((math.nan, RIGHT[1]), "the value is nan"),
        ((2.0, [1.0, [3.0, np.array([[5.0, 2e-5]])]]), "the gradient is 2e-05 in place of 1e-05 at entry 3"),
        ((2.0, [1.0, [3.0 * (1 + 1e-8), np.array([[5.0, 1e-5]])]]), "at entry 1"),
        ((2.0, [1.0, [math.nan, np.array([[5.0, 1e-5]])]]), "at entry 1"),
        ((2.0, [1.0, [math.inf, np.array([[5.0, 1e-5]])]]), "at entry 1"),
        ((2.0, [1.0, [3.0]]), "the gradient has 2 entries in place of 4"),
        ((2.0, [3.0, [1.0, np.array([[5.0, 1e-5]])]]), "at entry 0"),
    ],
)
def test_a_wrong_answer_disagrees(peers, wrong, message):
    assert message in peers.disagreement(wrong, RIGHT)


def test_a_wrong_peer_stops_the_script(small, monkeypatch, capsys):
    wrong = answering(small, lambda y, g: (y, small.convert(lambda x: x * 1.001, g)))
    monkeypatch.setattr(small, "PEERS", {"dualrev": answering(small), "wrong": wrong})
    assert small.main(["--program", "mixture", "--budget", "0"]) == 1
    out, err = capsys.readouterr()
    assert "wrong does not agree with dualrev on mixture: the gradient is" in err
    assert out == ""


def test_a_wrong_value_of_dualrev_stops_it_too(small, monkeypatch, capsys):
    monkeypatch.setattr(small, "PEERS", {"dualrev": answering(small, lambda y, g: (y + 1, g))})
    assert small.main(["--program", "tree", "--budget", "0"]) == 1
    assert "dualrev does not agree with plain Python on tree: the value is" in capsys.readouterr().err


# The table


def test_the_table_says_why_a_peer_is_not_in_it(small, monkeypatch, capsys):
    def refuse(program):
        raise TypeError("not this\nand more lines")

    made = {
        "dualrev": answering(small, title="the reference"),
        "other": answering(small, title="the other", note="it is made up"),
        "missing": answering(small, title="the missing", module="there_is_no_such_module"),
        "scalars": answering(small, title="the scalar", arrays=False),
        "refusing": answering(small, title="the refusing", prepare=refuse),
    }
    monkeypatch.setattr(small, "PEERS", made)
    assert small.main(["--budget", "0", "--markdown"]) == 0
    out = capsys.readouterr().out
    lines = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in out.splitlines() if line.startswith("|")}
    assert all("x)" in cell for cell in lines["the other"] + lines["plain Python, value only"])
    assert not any("x)" in cell for cell in lines["the reference"])
    assert {cell.strip() for cell in lines["the missing"]} == {"not installed"}
    assert [cell.strip() for cell in lines["the scalar"]].index("scalars only") == 3
    assert {cell.strip() for cell in lines["the refusing"]} == {"refuses"}
    assert "- the refusing on tree refuses: TypeError: not this\n" in out
    assert "- the other: it is made up.\n" in out
    assert "and more lines" not in out


def test_what_the_reference_raises_is_not_hidden(small, monkeypatch):
    def refuse(program):
        raise TypeError("not this")

    monkeypatch.setattr(small, "PEERS", {"dualrev": answering(small, prepare=refuse)})
    with pytest.raises(TypeError, match="not this"):
        small.main(["--budget", "0"])


def test_a_line_for_every_program_in_the_terminal_and_in_json(small, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(small, "PEERS", {"dualrev": answering(small, title="dualrev")})
    assert small.main(["--budget", "0", "--json", str(tmp_path / "times.json")]) == 0
    out, err = capsys.readouterr()
    assert all(name in out for name in [*SIZES, "us per operation", "Python 3."])
    assert "timing network: dualrev" in err
    saved = json.loads((tmp_path / "times.json").read_text(encoding="utf-8"))
    assert list(saved["programs"]) == list(SIZES)
    assert saved["programs"]["tree"]["peers"]["dualrev"].keys() == {"best", "median", "calls", "ratio"}
    assert saved["programs"]["tree"]["peers"]["dualrev"]["calls"] >= 1
    assert saved["programs"]["network"]["operations"] is None


@pytest.mark.parametrize("arguments", [["--program", "none"], ["--peer", "none"], ["--json", "no/such/folder/x.json"]])
def test_a_wrong_command_line(peers, arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        peers.main(arguments)
    assert stop.value.code == 2
    assert arguments[1] in capsys.readouterr().err


# The adapters


def test_the_table_with_plain_python_and_dualrev(small, capsys):
    assert small.main(["--peer", "dualrev", "--budget", "0", "--markdown"]) == 0
    assert "\n| dualrev | " in capsys.readouterr().out


@pytest.mark.parametrize("name", SIZES)
def test_dualrev_against_central_differences(small, name):
    program = small.PROGRAMS[name]
    parameters, data = program.make(program.size)
    value, gradient = small.with_dualrev(program)()
    rng = np.random.default_rng(1)
    direction = small.convert(lambda x: rng.normal(size=np.shape(x)), parameters)

    def along(t):
        moved = move(parameters, direction, t)
        return program.function(np if program.arrays else math, moved, data)

    h = 1e-6
    slope = np.dot(small.flatten(gradient), small.flatten(direction))
    assert value == pytest.approx(along(0.0), rel=1e-14)
    assert slope == pytest.approx((along(h) - along(-h)) / (2 * h), rel=1e-6)


def move(x, direction, t):
    if isinstance(x, list):
        return [move(y, d, t) for y, d in zip(x, direction, strict=True)]
    return x + t * direction if np.ndim(x) else float(x + t * direction)


@pytest.fixture
def jax_precision():
    """The script asks JAX for double precision, in the whole process."""
    jax = sys.modules.get("jax") or (importlib.util.find_spec("jax") and importlib.import_module("jax"))
    before = jax and jax.config.jax_enable_x64
    yield
    if jax:
        jax.config.update("jax_enable_x64", before)


@pytest.mark.usefixtures("jax_precision")
@pytest.mark.parametrize("peer", ["micrograd", "autograd", "torch", "jax"])
def test_a_peer_that_is_installed_agrees(small, peer):
    pytest.importorskip(small.PEERS[peer].module, reason="pip install 'dualrev[peers]'", exc_type=ImportError)
    chosen = {name: small.PEERS[name] for name in ("dualrev", peer)}
    for name, program in small.PROGRAMS.items():
        result, _ = small.check(name, program, chosen)
        assert result.peers[peer].absent in ("", "scalars only")
