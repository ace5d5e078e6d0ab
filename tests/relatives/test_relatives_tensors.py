"""Wang et al. 2019, section 5: staged tensors, and TreeLSTM on them, compared with examples/lantern."""

import numpy as np
import pytest

import dualrev as dr
from examples.lantern.data import reviews
from examples.lantern.data.trees import parse
from examples.lantern.models import treelstm
from examples.lantern.training import Adagrad
from stages.relatives.continuations import lantern
from stages.relatives.continuations.lantern import IF, WHILE
from stages.relatives.staging.code import StagingError
from stages.relatives.staging.number import Condition, Index, here
from stages.relatives.staging.tensors import (
    cross_entropy,
    row,
    sigmoid,
    stage_tensors,
    tanh,
    total,
    zeros,
)
from stages.relatives.staging.tree_lstm import arrays_of, shapes, tree_lstm

HIDDEN, EMBEDDING = 4, 3
TREES = reviews.sentences(6, seed=1, longest=9)
NUMBERS = reviews.vocabulary(TREES)
VECTORS = reviews.vectors(NUMBERS, EMBEDDING, seed=1).astype(float)
WEIGHTS = treelstm.Weights(*(w.astype(float) for w in treelstm.initial(1, hidden=HIDDEN, embedding=EMBEDDING)))

A, X, B = np.array([[0.3, -1.2, 0.5], [2.0, 0.1, -0.7]]), np.array([0.4, -0.9, 1.3]), np.array([0.2, -0.6])

#: A program on staged tensors, and the same in NumPy.
CASES = {
    "a layer": (lambda w, x, b: total(tanh(w @ x + b)), lambda w, x, b: np.sum(np.tanh(w @ x + b))),
    "gates": (
        lambda w, x, b: total(sigmoid(w @ x) * b - 2.0 * b) - 1,
        lambda w, x, b: np.sum(1.0 / (1.0 + np.exp(-(w @ x))) * b - 2.0 * b) - 1,
    ),
    "parts": (
        lambda w, x, b: total(x[1:] * b) + total(-x[:2]) + total(1.0 - x[5:]),
        lambda w, x, b: np.sum(x[1:] * b) + np.sum(-x[:2]),
    ),
    "uses of one tensor": (lambda w, x, b: total(b * b * b + b), lambda w, x, b: np.sum(b * b * b + b)),
    "cross entropy": (
        lambda w, x, b: cross_entropy(w @ x, Index(here(), 1)) * total(b),
        lambda w, x, b: (np.logaddexp.reduce(w @ x) - (w @ x)[1]) * np.sum(b),
    ),
    "a constant": (lambda w, x, b: total(np.float64(1.0) * (zeros((2,)) + b)), lambda w, x, b: np.sum(b)),
    "no use": (lambda w, x, b: zeros(()), lambda w, x, b: 0.0 * np.sum(b)),
}


@pytest.mark.parametrize(("staged", "plain"), CASES.values(), ids=CASES)
def test_value_and_gradient_of_operations(staged, plain):
    value, gradient = stage_tensors(staged, [A.shape, X.shape, B.shape])(A, X, B)
    expected, pullback = dr.vjp(plain, A, X, B)
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    dr.check_grads(plain, (A, X, B), order=1)
    for found, ct in zip(gradient, pullback(1.0), strict=True):
        assert found.shape == ct.shape
        np.testing.assert_allclose(found, ct, rtol=1e-13, atol=1e-15)


def test_a_loop_over_tensors():
    """A tensor goes through WHILE, whose condition reads an array of the program."""

    def f(w, x):
        turns = WHILE(
            (x, total(zeros((1,)))),
            lambda s: Condition(Index.of("turns", Index(here(), 0)), ">", Index(here(), 3)),
            lambda s: s,
        )
        return total(IF(Condition(Index(here(), 1), "<", Index(here(), 2)), lambda: w @ x, lambda: x[:2], x[:2])) + (
            total(turns[0])
        )

    value, (dw, dx) = stage_tensors(f, [A.shape, X.shape], ["turns"])(A, X, turns=np.array([0]))
    np.testing.assert_allclose(value, np.sum(A @ X) + X.sum(), rtol=1e-14)
    np.testing.assert_allclose(dw, np.outer(np.ones(2), X), rtol=1e-14)
    np.testing.assert_allclose(dx, A.sum(axis=0) + 1.0, rtol=1e-14)


# ---- TreeLSTM --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    return tree_lstm(HIDDEN, EMBEDDING)


def test_tree_lstm_has_the_loss_and_the_gradient_of_the_example(model):
    assert [w.shape for w in WEIGHTS] == shapes(HIDDEN, EMBEDDING, 5)
    single = parse(f"(2 {next(iter(NUMBERS))})", "line 1")
    for tree in [*TREES, single]:
        value, gradient = model(*WEIGHTS, **arrays_of(tree, NUMBERS), vectors=VECTORS)
        expected, wanted = dr.value_and_grad(treelstm.loss)(WEIGHTS, tree, VECTORS, NUMBERS)
        np.testing.assert_allclose(value, expected, rtol=1e-13)
        for name, found, w in zip(WEIGHTS._fields, gradient, wanted, strict=True):
            np.testing.assert_allclose(found, w, rtol=1e-11, atol=1e-14, err_msg=name)


def test_the_code_of_tree_lstm_is_generated_once_for_all_trees(model):
    """The recursion is in the code; each operation of the model has one line, and one for each pullback."""
    lines = model.paper.splitlines()
    assert sum("@ v" in line and " = " in line for line in lines) == 4  # leaf, left, right, scores
    assert sum("outer(" in line for line in lines) == 4
    assert sum(line.strip().startswith("f0 = ") for line in lines) == 1
    assert sum(line.strip().startswith("f0(") for line in lines) == 3  # left, right, root


def test_tree_lstm_is_trained_by_adagrad(model):
    """Step for step as the example's model, from the same weights."""
    ours, theirs = ({name: w.copy() for name, w in WEIGHTS._asdict().items()} for _ in range(2))
    sums = [{name: np.zeros_like(w) for name, w in ours.items()} for _ in range(2)]
    losses = []
    for _ in range(3):
        losses.append(0.0)
        for tree in TREES:
            value, gradient = model(*ours.values(), **arrays_of(tree, NUMBERS), vectors=VECTORS)
            Adagrad(0.05).step(ours, sums[0], dict(zip(ours, gradient, strict=True)))
            wanted = dr.grad(treelstm.loss)(treelstm.Weights(**theirs), tree, VECTORS, NUMBERS)
            Adagrad(0.05).step(theirs, sums[1], wanted._asdict())
            losses[-1] += value
    assert losses[0] > losses[1] > losses[2]
    for name, w in ours.items():
        np.testing.assert_allclose(w, theirs[name], rtol=1e-9, err_msg=name)


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "told"),
    [
        (lambda w, x: total(w @ w), "takes a matrix and a vector of its columns"),
        (lambda w, x: total(x @ x), "takes a matrix and a vector"),
        (
            lambda w, x: total(x + x[:2]),
            r"test_relatives_tensors.*of the shape \(3,\) and a tensor of the shape \(2,\)",
        ),
        (lambda w, x: total(x + np.ones(3)), "one shape, or a Python number, and got a tensor .* and a ndarray"),
        (lambda w, x: x, "return a number, not a tensor of the shape"),
        (lambda w, x: 3.0, "return a number, not a float"),
        (lambda w, x: total(x[0]), "takes a slice of a vector"),
        (lambda w, x: total(x[::2]), "takes a slice of a vector"),
        (lambda w, x: total(w[:1]), "takes a slice of a vector"),
        (lambda w, x: total(x) if x > 0.0 else x, "not known while code is generated"),
        (lambda w, x: np.sum(x), "not known while code is generated"),
        (lambda w, x: total(np.tanh(x)), "np.tanh of a staged tensor .*take tanh"),
        (lambda w, x: cross_entropy(w, Index(here(), 0)), "takes a vector of scores"),
        (lambda w, x: lantern.vjp(lambda y: total(x), 1.0)[0], "in a program of numbers"),
        (lambda w, x: stage_tensors(lambda y: total(x) + total(y), [(2,)]) and total(x), "tensor of another program"),
    ],
)
def test_what_cannot_be_staged(f, told):
    with pytest.raises(StagingError, match=told):
        stage_tensors(f, [A.shape, X.shape])


def test_wrong_arguments_of_the_generated_code(model):
    f = stage_tensors(lambda x: total(x), [(3,)])
    for x in (np.ones(2), np.ones((3, 1)), 1.0):
        with pytest.raises(ValueError, match=r"takes tensors of the shapes \(\(3,\),\)"):
            f(x)
    with pytest.raises(TypeError, match="of real numbers, not of complex128"):
        f(np.ones(3) * 1j)
    with pytest.raises(TypeError, match="by name"):
        f(np.ones(3), more=1)
    assert f(np.arange(3))[0] == 3.0
    assert f(np.arange(6.0, dtype=np.float32)[::2])[1][0].dtype == float
    data = arrays_of(TREES[0], NUMBERS)
    for name in ("score", "word"):
        for wrong in (-2, 99):
            with pytest.raises(IndexError, match=r"has to be in 0\.\."):
                model(*WEIGHTS, **{**data, name: np.full_like(data[name], wrong)}, vectors=VECTORS)
    with pytest.raises(ValueError, match="staged for vectors of length 3"):
        model(*WEIGHTS, **data, vectors=VECTORS[:, :2])


def test_nan_stays():
    value, (ct,) = stage_tensors(lambda x: total(x * x), [(2,)])(np.array([1.0, np.nan]))
    assert np.isnan(value)
    np.testing.assert_array_equal(ct, [2.0, np.nan])


def test_row_is_a_constant():
    f = stage_tensors(lambda x: total(row("table", Index(here(), 1), 3) * x), [(3,)], ["table"])
    table = np.arange(6.0).reshape(2, 3)
    value, (ct,) = f(X, table=table)
    np.testing.assert_allclose([value, *ct], [table[1] @ X, *table[1]], rtol=1e-15)
