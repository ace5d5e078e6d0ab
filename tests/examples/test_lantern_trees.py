"""examples/lantern: the TreeLSTM on Python objects and compiled, its data, and training that is killed and goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from examples.lantern import beside
from examples.lantern.__main__ import main
from examples.lantern.data import reviews
from examples.lantern.data.trees import Tree, check_tree, parse, read, words_of
from examples.lantern.errors import DataError, check_finite
from examples.lantern.models import treelstm
from examples.lantern.tasks import treelstm_step, treelstm_task
from examples.lantern.training import Adagrad, Momentum, Run, TrainingError, train

ROOT = Path(__file__).parents[2]
TREES = reviews.sentences(6, seed=1, longest=9)
NUMBERS = reviews.vocabulary(TREES)
VECTORS = reviews.vectors(NUMBERS, 3, seed=1).astype(float)
WEIGHTS = treelstm.Weights(*(w.astype(float) for w in treelstm.initial(1, hidden=4, embedding=3)))


def moved(weights, direction, step):
    return treelstm.Weights(*(w + step * d for w, d in zip(weights, direction, strict=True)))


def test_the_shapes_are_those_of_the_publication():
    """Tai, Socher and Manning 2015, table 1: 316,800 in the composition, of 150 numbers in a state."""
    weights = treelstm.initial(0)
    assert treelstm.count(weights) == 316_800
    assert weights.left.shape == (5 * 150, 150)
    assert weights.score.shape == (5, 150)


def test_tape_and_compiled_code_have_the_gradient_that_differences_have():
    """Over trees of Python objects, and over instances of a jitclass: no tree becomes an array."""
    rng = np.random.default_rng(0)
    direction = [rng.normal(size=w.shape) for w in WEIGHTS]
    for engine in ("tape", "compiled"):
        step, batches = treelstm_step(engine, TREES, NUMBERS, VECTORS)
        for tree, batch in zip(TREES, batches, strict=True):
            value, gradient = step(WEIGHTS._asdict(), {}, batch)
            up, down = (treelstm.loss(moved(WEIGHTS, direction, h), tree, VECTORS, NUMBERS) for h in (1e-6, -1e-6))
            slope = sum(np.vdot(g, d) for g, d in zip(gradient.values(), direction, strict=True))
            np.testing.assert_allclose(value, treelstm.loss(WEIGHTS, tree, VECTORS, NUMBERS), rtol=1e-13)
            np.testing.assert_allclose(slope, (up - down) / 2e-6, rtol=1e-7)


def test_value_and_gradient_are_those_of_pytorch():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from examples.lantern.in_torch import tensors, treelstm_slope

    theirs, w = treelstm_slope(VECTORS, NUMBERS), tensors(WEIGHTS._asdict())
    step, _ = treelstm_step("tape", TREES, NUMBERS, VECTORS)
    for tree in TREES:
        (value, gradient), (expected, grads) = step(WEIGHTS._asdict(), {}, tree), theirs(w, tree)
        np.testing.assert_allclose(value, expected, rtol=1e-12)
        for name, g in gradient.items():
            np.testing.assert_allclose(g, grads[name].numpy(), rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_value_and_gradient_are_those_of_jax(compiled):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from examples.lantern.in_jax import tree_data, treelstm_slope

    step, _ = treelstm_step("tape", TREES, NUMBERS, VECTORS)
    with jax.enable_x64(True):
        theirs = treelstm_slope(VECTORS, compiled)
        for tree in TREES[:2]:
            value, gradient = step(WEIGHTS._asdict(), {}, tree)
            expected, grads = theirs(WEIGHTS._asdict(), tree_data(tree, NUMBERS))
            np.testing.assert_allclose(value, expected, rtol=1e-12)
            for name, g in gradient.items():
                np.testing.assert_allclose(g, grads[name], rtol=1e-9, atol=1e-12, err_msg=name)


def test_the_sentences_come_from_the_seed_and_their_sentiment_from_their_parts():
    assert reviews.sentences(4, seed=3) == reviews.sentences(4, seed=3) != reviews.sentences(4, seed=4)
    for tree in reviews.sentences(50, seed=0):
        check_tree(tree, "tree")
        assert parse(str(tree)) == tree
        if tree.left is not None and tree.left.word == "not":
            assert tree.label == 4 - tree.right.label
    assert max(len(list(words_of(t))) for t in reviews.sentences(50, seed=0)) <= 30


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(3 (2 it))", "x, column 1: the right child is missing. A node has a word, or two children."),
        ("(3 (2 it) (4))", "x, column 11: the node has neither a word nor children. "),
        ("(3 (2 it) (7 works))", "x, column 12: the label is 7; labels are the ints from 0 to 4."),
        ("(3 (2 it) (good works))", "x, column 12: expected a label from 0 to 4, found 'good'."),
        ("(3 (2 it) (4 works)", "x, column 20: expected ')', the end of the node at x, column 1, found 'the end'."),
        ("(3 it) (2 works)", "x, column 8: there is '(' after the tree. A line has one tree."),
        ("it works", "x, column 1: a tree starts with '(', found 'it'."),
    ],
)
def test_a_line_that_is_no_tree_is_refused_with_its_column(text, said):
    with pytest.raises(DataError) as e:
        parse(text, "x")
    assert str(e.value).startswith(said)


def test_bad_trees_and_vectors_are_refused_with_their_place(tmp_path):
    broken = Tree(2, None, Tree(1, None, Tree(2, "it"), None), Tree(3, "works"))
    with pytest.raises(DataError, match=r"^tree 1: root\.left: the right child is missing\."):
        treelstm_step("tape", [TREES[0], broken], NUMBERS, VECTORS)
    with pytest.raises(DataError, match=r"^t: the node has the word 'it' and children"):
        check_tree(Tree(2, "it", Tree(1, "a"), Tree(1, "b")), "t")
    with pytest.raises(DataError, match=r"^vector: there is nan at index \[1\], one of 1 of 3 numbers"):
        check_finite(np.array([0.0, np.nan, 1.0]), "vector")
    file = tmp_path / "trees.txt"
    file.write_text("(3 it)\n\n(3 (2 it))\n")
    with pytest.raises(DataError, match=r"trees\.txt, line 3, column 1: the right child is missing"):
        read(str(file))


def test_a_run_that_was_interrupted_goes_on_with_the_same_numbers(tmp_path):
    def task():
        return treelstm_task("tape", samples=12, hidden=4, embedding=5, rate=0.02)

    whole = train(task(), 3, tmp_path / "whole", quiet=True)
    assert whole.losses[-1] < whole.losses[0]
    broken, steps = task(), []
    step = broken.step

    def stops(*args):
        steps.append(0)
        if len(steps) == 18:
            raise KeyboardInterrupt
        return step(*args)

    broken.step = stops
    with pytest.raises(KeyboardInterrupt):
        train(broken, 3, tmp_path / "broken", every=0.0, quiet=True)
    again = task()
    rest = train(again, 3, tmp_path / "broken", quiet=True)
    assert rest.losses == whole.losses
    with pytest.raises(TrainingError, match=r"is of a run with rate = 0\.02, and this one has 0\.5"):
        train(treelstm_task("tape", samples=12, hidden=4, embedding=5, rate=0.5), 3, tmp_path / "broken", quiet=True)
    again.step = lambda *args: (float("nan"), {})
    with pytest.raises(TrainingError, match="treelstm: the loss is nan in epoch 4, step 1 of 12, batch "):
        train(again, 4, tmp_path / "broken", quiet=True)


def test_adagrad_is_that_of_its_paper():
    """Duchi et al. 2011: a step is the gradient over the root of the sum of the squares so far."""
    x, s = {"x": np.array([1.0, 1.0, 1.0])}, {"x": np.zeros(3)}
    optimiser = Adagrad(0.5)
    optimiser.step(x, s, {"x": np.array([3.0, -4.0, 0.0])})
    np.testing.assert_allclose(x["x"], [0.5, 1.5, 1.0], rtol=1e-8)
    optimiser.step(x, s, {"x": np.array([4.0, 3.0, 0.0])})
    np.testing.assert_allclose(x["x"], [0.5 - 0.5 * 0.8, 1.5 - 0.5 * 0.6, 1.0], rtol=1e-7)  # 1e-8 in the denominator
    np.testing.assert_array_equal(s["x"], [25.0, 25.0, 0.0])
    assert treelstm_task("tape", samples=2, hidden=2, embedding=2).optimiser == Adagrad(0.05)
    momentum = treelstm_task("tape", samples=2, hidden=2, embedding=2, optimiser="momentum", rate=0.003).optimiser
    assert momentum == Momentum(0.003, clip=50.0)


def test_a_table_has_the_median_of_the_epochs_of_all_repeats(monkeypatch, tmp_path, capsys):
    """With times in place of those of the clock."""
    times = iter([([5.0, 1.0], 9.0), ([2.0, 2.0], 0.0), ([8.0, 3.0], 0.0)])

    def measured(task, epochs, label, handed):
        seconds, before = next(times)
        return Run(losses=[1.5, 0.5], seconds=seconds), before

    made = []
    way = beside.Way("dualrev, tape", lambda: made.append(0) or SimpleNamespace(batches=[0] * 10))
    monkeypatch.setattr(beside, "measured", measured)
    monkeypatch.setattr(beside, "ways", lambda name: [way])
    monkeypatch.setattr(beside, "picture", lambda runs, file: None)
    beside.main(["treelstm", "--to", str(tmp_path)])
    assert len(made) == 3
    assert "| treelstm | dualrev, tape | 250.00 | 2.50 | - | 6.5 | 1.500, 0.500 |" in capsys.readouterr().out


def test_a_process_that_is_killed_goes_on_with_the_same_numbers(tmp_path):
    settings = ["treelstm", "--engine", "tape", "--samples", "40", "--hidden", "6", "--embedding", "5"]
    settings += ["--epochs", "4", "--every", "0"]
    assert main([*settings, "--to", str(tmp_path / "whole")]) == 0
    assert (tmp_path / "whole/loss.png").stat().st_size > 1000
    command = [sys.executable, "-m", "examples.lantern", *settings, "--to", str(tmp_path / "killed")]
    checkpoint = tmp_path / "killed/checkpoint.npz"
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    for _ in range(6000):
        if checkpoint.exists() or process.poll() is not None:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = json.loads(str(np.load(checkpoint)["told"]))["run"]
    assert 0 < before["epoch"] * 40 + before["done"] < 160
    assert main([*settings, "--to", str(tmp_path / "killed")]) == 0
    told = [json.loads(str(np.load(tmp_path / x / "checkpoint.npz")["told"]))["run"] for x in ("whole", "killed")]
    assert told[0]["losses"] == told[1]["losses"]


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    file = tmp_path / "trees.txt"
    file.write_text("(9 it)\n")
    assert main(["treelstm", "--data", str(file), "--to", str(tmp_path)]) == 2
    assert (
        capsys.readouterr().err
        == f"error: {file}, line 1, column 2: the label is 9; labels are the ints from 0 to 4.\n"
    )
    assert main(["treelstm", "--data", str(tmp_path / "none"), "--to", str(tmp_path)]) == 2
    assert "No such file" in capsys.readouterr().err
    for bad, said in ((b"\n", "has no tree. A line has one"), (b"\xff(3 it)\n", "is not UTF-8 text: invalid start")):
        file.write_bytes(bad)
        assert main(["treelstm", "--data", str(file), "--to", str(tmp_path)]) == 2
        assert said in capsys.readouterr().err
    for setting, said in (
        (("--hidden", "0"), "argument --hidden: 0 is not an integer of 1 or more"),
        (("--epochs", "-1"), "argument --epochs: -1 is not an integer of 1 or more"),
        (("--seed", "-1"), "argument --seed: -1 is not an integer of 0 or more"),
        (("--rate", "nan"), "argument --rate: nan is not a number above 0"),
    ):
        with pytest.raises(SystemExit):
            main(["treelstm", *setting])
        assert said in capsys.readouterr().err
    assert main(["deepspeech2", "--frames", "3", "--to", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "error: 3 frames have no room for a letter: take 16 or more.\n"
    there = ["treelstm", "--engine", "tape", "--to", str(tmp_path)]
    assert main([*there, "--samples", "0"]) == 2
    assert capsys.readouterr().err == "error: treelstm: there are no data. Take more --samples.\n"
    (tmp_path / "checkpoint.npz").write_text("nothing")
    assert main([*there, "--samples", "1"]) == 2
    assert "checkpoint.npz is not a checkpoint of this program" in capsys.readouterr().err
    small = ["--hidden", "2", "--embedding", "2", "--epochs", "1"]
    assert main([*there, "--samples", "2", *small, "--fresh"]) == 0
