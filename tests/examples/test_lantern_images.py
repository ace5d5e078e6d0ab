"""examples/lantern: rules of layers against differences and PyTorch; SqueezeNet and ResNet50."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dualrev as dr
from examples.lantern.data import images
from examples.lantern.errors import DataError
from examples.lantern.models import resnet, squeezenet
from examples.lantern.models.layers import batch_norm, conv, cross_entropy, max_pool, normalised, relu
from examples.lantern.tasks import resnet_task, squeezenet_task
from examples.lantern.training import train

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 7, 6))
W = RNG.normal(size=(4, 3, 3, 2))
B = RNG.normal(size=4)
CONVOLUTIONS = (((1, 1), (0, 0)), ((2, 3), (1, 1)), ((2, 2), (0, 1)), ((3, 1), (2, 0)))
POOLS = ((3, 2, 1, False), (3, 2, 0, True), (2, 2, 0, False), (2, 3, 0, True))


def differs(f, *args):
    """Raise CheckError if the gradient differs from differences."""
    dr.check_grads(lambda *xs: np.sum(np.sin(f(*xs))), args, order=1, modes=("rev",))


@pytest.mark.parametrize(("stride", "padding"), CONVOLUTIONS)
def test_a_convolution_is_the_sum_over_its_window_and_has_its_derivative(stride, padding):
    padded = np.pad(X, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    y = conv(X, W, B, stride, padding)
    n, k, i, j = (int(RNG.integers(s)) for s in y.shape)
    window = padded[n, :, i * stride[0] :, j * stride[1] :][:, :3, :2]
    np.testing.assert_allclose(y[n, k, i, j], np.sum(window * W[k]) + B[k])
    differs(lambda x, w, b: conv(x, w, b, stride, padding), X, W, B)


def test_convolutions_of_one_place_and_without_bias_have_their_derivatives():
    one = RNG.normal(size=(4, 3, 1, 1))
    for stride in (1, 2):
        differs(lambda x, w, stride=stride: conv(x, w, stride=stride), X, one)


@pytest.mark.parametrize("how", POOLS)
def test_the_largest_of_each_window_has_its_derivative(how):
    differs(lambda x: max_pool(x, *how), X)


def test_of_several_largest_the_first_one_has_the_derivative():
    slope = dr.grad(lambda x: np.sum(max_pool(x, 2, 2)))(np.ones((1, 1, 2, 2)))
    np.testing.assert_array_equal(slope, [[[[1.0, 0.0], [0.0, 0.0]]]])


def test_batch_normalisation_has_mean_0_and_variance_1_and_its_derivative():
    y, mean, variance = batch_norm(X, np.ones(3), np.zeros(3), epsilon=0.0)
    np.testing.assert_allclose(y.mean((0, 2, 3)), 0.0, atol=1e-14)
    np.testing.assert_allclose(y.var((0, 2, 3)), 1.0)
    np.testing.assert_allclose(normalised(X, np.ones(3), np.zeros(3), mean, variance, 0.0), y, rtol=1e-12)
    differs(lambda x, scale, shift: batch_norm(x, scale, shift)[0] ** 3, X, B[:3], B[1:])
    differs(lambda x, scale, shift: batch_norm(x, scale, shift)[0] ** 3, X[:, :, 0, 0] ** 2, B[:3], B[1:])


def test_relu_and_cross_entropy_have_their_derivatives():
    differs(relu, X)
    assert dr.grad(relu)(0.0) == 0.0
    differs(lambda scores: cross_entropy(scores, np.array([2, 0])), X[:, :, 0, 0])


def test_the_networks_have_the_parameters_of_the_publications():
    """1.24 and 25.6 million."""
    assert sum(map(math.prod, squeezenet.shapes().values())) == 1_248_424
    assert sum(map(math.prod, resnet.shapes().values())) == 25_557_032
    convolutions = [s for name, s in resnet.shapes().items() if len(s) == 4 and "shortcut" not in name]
    assert len(convolutions) + 1 == 50


def in_pytorch():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from examples.lantern import in_torch

    return in_torch


def close(mine, theirs, rtol):
    """Each array to a fraction of its largest number."""
    for name, g in mine.items():
        t = np.asarray(theirs[name])
        np.testing.assert_allclose(g, t, rtol=0.0, atol=rtol * np.abs(t).max(), err_msg=name)


@pytest.mark.parametrize(("stride", "padding"), CONVOLUTIONS)
def test_layers_are_those_of_pytorch(stride, padding):
    in_torch = in_pytorch()
    torch, functional = in_torch.torch, in_torch.functional
    theirs = functional.conv2d(*map(torch.tensor, (X, W, B)), stride=stride, padding=padding)
    np.testing.assert_allclose(conv(X, W, B, stride, padding), theirs.numpy(), rtol=1e-12, atol=1e-12)
    for size, step, more, ceil in POOLS:
        theirs = functional.max_pool2d(torch.tensor(X), size, step, more, ceil_mode=ceil)
        np.testing.assert_array_equal(max_pool(X, size, step, more, ceil), theirs.numpy())


def test_squeezenet_is_that_of_pytorch():
    in_torch = in_pytorch()
    x, labels = images.pictures(2, 0, 40)
    p = images.initial(squeezenet.shapes(1000), 0)
    mine = squeezenet.forward(p, {}, x)[0]
    theirs = in_torch.squeezenet(in_torch.tensors(p), in_torch.torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max())
    value, gradient = images.step_of(squeezenet.forward)(p, {}, (x, labels))
    expected, grads = in_torch.image_slope(in_torch.squeezenet)(in_torch.tensors(p), x, labels)
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    close(gradient, grads, 1e-4)  # single precision


def test_resnet_is_that_of_pytorch():
    """In double precision: 50 layers lose digits, and so do batches of few numbers that are made of variance 1."""
    in_torch = in_pytorch()
    torch = in_torch.torch
    x, labels = images.pictures(3, 0, 64)
    x = x.astype(float)
    p = images.initial(resnet.shapes(100), 0, float)
    known = resnet.statistics(dtype=float)
    q, also = in_torch.tensors(p), {name: torch.tensor(s) for name, s in known.items()}
    value, gradient = images.step_of(resnet.forward)(p, known, (x, labels))
    expected, grads = in_torch.image_slope(lambda q, x: in_torch.resnet(q, also, x))(q, x, labels)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    close(gradient, grads, 1e-8)
    close(known, also, 1e-10)
    mine, _ = resnet.forward(p, known, x, training=False)
    theirs = in_torch.resnet(q, also, torch.tensor(x), training=False).detach().numpy()
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-10 * np.abs(theirs).max())


def test_both_networks_are_those_of_jax():
    """In double precision, ResNet50 with narrow layers."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from examples.lantern import in_jax

    x, labels = images.pictures(4, 0, 32)
    x, known = x.astype(float), resnet.statistics(width=4, dtype=float)
    for mine, theirs, shapes, statistics in (
        (squeezenet.forward, in_jax.squeezenet, squeezenet.shapes(10), {}),
        (resnet.forward, in_jax.resnet, resnet.shapes(10, width=4), known),
    ):
        p, also = images.initial(shapes, 0, float), {name: s.copy() for name, s in statistics.items()}
        value, gradient = images.step_of(mine)(p, statistics, (x, labels))
        with jax.enable_x64(True):
            (expected, found), grads = in_jax.image_slope(theirs)(p, also, x, labels)
        np.testing.assert_allclose(value, expected, rtol=1e-10)
        close(gradient, grads, 1e-8)
        close(statistics, found, 1e-10)


@pytest.mark.parametrize("name", ["squeezenet", "resnet50"])
def test_training_lowers_the_loss_and_goes_on_from_a_checkpoint(name, tmp_path):
    """The whole SqueezeNet; ResNet50 with narrow layers. Running means are in the checkpoint, too.

    ResNet50 sees one batch, in steps that are large enough: its loss in single precision depends on the last digits.
    """

    def task():
        if name == "squeezenet":
            return squeezenet_task(samples=8, batch=4, size=24)
        return resnet_task(samples=12, batch=12, size=32, width=4, rate=0.1)

    first = task()
    whole = train(first, 6, tmp_path / "whole", quiet=True)
    assert whole.losses[-1] < whole.losses[0] - 0.05
    train(task(), 2, tmp_path / "parts", quiet=True)
    second = task()
    assert train(second, 6, tmp_path / "parts", quiet=True).losses == whole.losses
    for mine, theirs in ((first.parameters, second.parameters), (first.statistics, second.statistics)):
        for key, x in mine.items():
            np.testing.assert_array_equal(x, theirs[key])


def test_bad_images_are_refused_with_their_place():
    x, labels = images.pictures(4, 0, 24)
    wrong = x.copy()
    wrong[2, 1, 3, 4] = np.nan
    with pytest.raises(DataError, match=r"^image 2: there is nan at index \[1, 3, 4\], one of 1 of 1728 numbers"):
        images.batches(wrong, labels, 2)
    with pytest.raises(DataError, match=r"^image 1: the label is 10; labels are the ints from 0 to 9\."):
        images.batches(x, np.array([0, 10, 2, 3]), 2)
    with pytest.raises(DataError, match=r"^the images have the shape \(4, 24, 24\)"):
        images.batches(x[:, 0], labels, 2)
    with pytest.raises(DataError, match=r"^there are 4 images and 3 labels"):
        images.batches(x, labels[:3], 2)
    p = images.initial(squeezenet.shapes(10), 0)
    with pytest.raises(DataError, match=r"^an image of 5 x 5 has no window of 7 x 7: take larger ones"):
        squeezenet.forward(p, {}, x[:, :, :5, :5])
    with pytest.raises(DataError, match=r"^images of 2 channels come to a convolution of 3 channels"):
        squeezenet.forward(p, {}, x[:, :2])
