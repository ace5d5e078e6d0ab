"""examples/lantern: CTC against all ways to hear a text, against differences and PyTorch; DeepSpeech2."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dualrev as dr
from examples.lantern.data import images, speech
from examples.lantern.errors import DataError
from examples.lantern.models import deepspeech
from examples.lantern.models.ctc import check_labels, ctc, lifted_ctc
from examples.lantern.tasks import deepspeech_task
from examples.lantern.training import train

RNG = np.random.default_rng(0)
TEXTS = ([], [3], [1, 2], [1, 1], [2, 2, 1])


def softmax(scores):
    heard = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return heard / np.sum(heard, axis=-1, keepdims=True)


def by_all_ways(p, text):
    """-log of the sum of the probabilities of all rows of labels that are heard as the text."""
    total = 0.0
    for way in itertools.product(range(p.shape[1]), repeat=len(p)):
        heard = [k for k, _ in itertools.groupby(way) if k]
        total += math.prod(p[range(len(p)), way]) if heard == text else 0.0
    return -math.log(total)


@pytest.mark.parametrize("text", TEXTS)
def test_ctc_is_the_sum_over_all_ways_to_hear_a_text_and_has_its_derivative(text):
    p, labels = softmax(RNG.normal(size=(6, 4))), np.array(text, np.int64)
    np.testing.assert_allclose(ctc(p, labels), by_all_ways(p, text), rtol=1e-12)
    slope, direction = dr.grad(lambda p: lifted_ctc(p, labels))(p), RNG.normal(size=p.shape)
    up, down = (ctc(p + h * direction, labels) for h in (1e-6, -1e-6))
    np.testing.assert_allclose(np.vdot(slope, direction), (up - down) / 2e-6, rtol=1e-7)


def test_long_texts_do_not_underflow():
    p = np.full((3000, 4), 1e-3)
    labels = np.tile([1, 2, 3], 300)
    assert math.isfinite(ctc(p, labels))
    assert np.isfinite(dr.grad(lambda p: lifted_ctc(p, labels))(p)).all()


def test_ctc_is_that_of_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for text in TEXTS[1:]:
        labels, scores = np.array(text), RNG.normal(size=(9, 5))
        mine, slope = dr.value_and_grad(lambda x, labels=labels: lifted_ctc(softmax(x), labels))(scores)
        x = torch.tensor(scores, requires_grad=True)
        lengths = torch.tensor([9]), torch.tensor([len(text)])
        theirs = torch.nn.functional.ctc_loss(
            x.log_softmax(-1)[:, None], torch.tensor(text)[None], *lengths, reduction="sum"
        )
        theirs.backward()
        np.testing.assert_allclose(mine, theirs.item(), rtol=1e-12)
        np.testing.assert_allclose(slope, x.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_the_recurrence_is_a_loop_and_has_its_derivative():
    x, u = RNG.normal(size=(5, 2, 3)), RNG.normal(size=(3, 3))
    h = np.zeros((2, 3))
    for row, found in zip(x, deepspeech.recurrent(x, u), strict=True):
        h = np.minimum(np.maximum(row + h @ u.T, 0.0), 20.0)
        np.testing.assert_allclose(found, h)
    dr.check_grads(lambda x, u: np.sum(np.sin(deepspeech.recurrent(x, u))), (x, u), order=1, modes=("rev",))
    slope = dr.grad(lambda x: np.sum(deepspeech.recurrent(x, 0.0 * u)))(np.array([[[30.0, 1.0, -1.0]]]))
    np.testing.assert_array_equal(slope, [[[0.0, 1.0, 0.0]]])


def test_the_shapes_are_those_of_the_publication():
    """Amodei et al. 2016: two convolutions in time and frequency of 32 channels, and 29 letters."""
    shapes = deepspeech.shapes(bands=161, hidden=1760, layers=7)
    assert shapes["conv0.weight"] == (32, 1, 41, 11)
    assert shapes["conv1.weight"] == (32, 32, 21, 11)
    assert shapes["rnn0.ahead.weight"] == (1760, 32 * 41)
    assert shapes["rnn6.back.recurrent"] == (1760, 1760)
    assert shapes["scores.weight"] == (29, 1760)


def test_deepspeech_is_that_of_pytorch():
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from examples.lantern import in_torch

    spectra, texts = speech.utterances(3, 0, bands=24, frames=60)
    spectra = spectra.astype(float)
    p = images.initial(deepspeech.shapes(24, hidden=10, channels=6), 0, float)
    q = in_torch.tensors(p)
    value, gradient = deepspeech.step_of()(p, {}, (spectra, texts))
    expected, grads = in_torch.speech_slope(q, spectra, texts)
    theirs = in_torch.deepspeech(q, in_torch.torch.tensor(spectra)).detach().numpy()
    np.testing.assert_allclose(deepspeech.forward(p, spectra), theirs, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    for name, g in gradient.items():
        t = grads[name].numpy()
        np.testing.assert_allclose(g, t, rtol=0, atol=1e-8 * np.abs(t).max(), err_msg=name)


def test_deepspeech_and_ctc_are_those_of_jax():
    """Texts of several lengths, one of them empty, with room for more."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from examples.lantern import in_jax

    spectra, texts = speech.utterances(4, 0, bands=24, frames=60)
    spectra, texts[2], texts[3] = spectra.astype(float), np.array([], int), np.array([3, 3, 3])
    p = images.initial(deepspeech.shapes(24, hidden=10, channels=6), 0, float)
    value, gradient = deepspeech.step_of()(p, {}, (spectra, texts))
    with jax.enable_x64(True):
        expected, grads = in_jax.speech_slope(max(map(len, texts)) + 2)(p, spectra, texts)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    for name, g in gradient.items():
        t = np.asarray(grads[name])
        np.testing.assert_allclose(g, t, rtol=0, atol=1e-8 * np.abs(t).max(), err_msg=name)


def test_training_lowers_the_loss_and_goes_on_from_a_checkpoint(tmp_path):
    def task():
        return deepspeech_task(samples=4, batch=2, hidden=16, layers=1, channels=4, frames=60, rate=0.03)

    whole = train(task(), 6, tmp_path / "whole", quiet=True)
    assert whole.losses[-1] < 0.5 * whole.losses[0]
    train(task(), 3, tmp_path / "parts", quiet=True)
    assert train(task(), 6, tmp_path / "parts", quiet=True).losses == whole.losses


def test_bad_utterances_are_refused_with_their_place():
    spectra, texts = speech.utterances(3, 0, frames=40)
    wrong = spectra.copy()
    wrong[1, 0, 2, 3] = np.inf
    with pytest.raises(DataError, match=r"^utterance 1: there is inf at index \[0, 2, 3\]"):
        speech.batches(wrong, texts, 2)
    with pytest.raises(DataError, match=r"^utterance 2, label 1: the label is 29; labels are the ints from 0 to 28"):
        speech.batches(spectra, [*texts[:2], np.array([1, 29])], 2)
    with pytest.raises(DataError, match=r"^utterance 0, label 0: the label is 0, which is the blank"):
        speech.batches(spectra, [np.array([0]), *texts[1:]], 2)
    with pytest.raises(DataError, match=r"^there are 3 spectra and 2 texts"):
        speech.batches(spectra, texts[:2], 2)
    with pytest.raises(DataError, match=r"^the spectra have the shape \(3, 48, 40\)"):
        speech.batches(spectra[:, 0], texts, 2)
    with pytest.raises(DataError, match=r"^u: its 3 labels take 4 steps, .*, and there are 3\. Take fewer labels"):
        check_labels(np.array([1, 1, 2]), 3, 5, "u")
