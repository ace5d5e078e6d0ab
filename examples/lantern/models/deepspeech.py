"""DeepSpeech2 (Amodei et al. 2016) with simple recurrent layers: convolutions, recurrence in both directions, CTC.

    convolutions     41 x 11 with stride 2 x 2, then 21 x 11 with stride 2 x 1 (bands x frames), of 32 channels
    recurrence       h[t] = f(B(W x[t]) + U h[t - 1]), summed over the forward and the backward direction
    scores           a matrix; its softmax is the probability of each letter at each step

f is min(max(x, 0), 20), and B is the batch normalisation over all steps of a batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dualrev as dr
from examples.lantern.data.speech import ALPHABET
from examples.lantern.models.ctc import lifted_ctc
from examples.lantern.models.layers import batch_norm, conv, relu

__all__ = ["forward", "recurrent", "shapes", "step_of"]

_TOP = 20.0
_CONVOLUTIONS = (("conv0", (2, 2), (20, 5)), ("conv1", (2, 1), (10, 5)))  # with stride and padding
_DIRECTIONS = ("ahead", "back")


def shapes(bands: int = 48, hidden: int = 64, layers: int = 2, channels: int = 32) -> dict[str, tuple[int, ...]]:
    """Return the shape of each parameter by its name."""
    found: dict[str, tuple[int, ...]] = {}
    for name, shape in (("conv0", (channels, 1, 41, 11)), ("conv1", (channels, channels, 21, 11))):
        found |= {f"{name}.weight": shape, f"{name}.scale": shape[:1], f"{name}.shift": shape[:1]}
    size = channels * -(-bands // 4)
    for k in range(layers):
        for way in _DIRECTIONS:
            name = f"rnn{k}.{way}"
            found |= {f"{name}.weight": (hidden, size), f"{name}.scale": (hidden,), f"{name}.shift": (hidden,)}
            found[f"{name}.recurrent"] = (hidden, hidden)
        size = hidden
    return found | {"scores.weight": (len(ALPHABET), hidden), "scores.bias": (len(ALPHABET),)}


@dr.custom_vjp
def recurrent(x: Any, u: Any) -> Any:
    """Compute h[t] = f(x[t] + U h[t - 1]), from h = 0, for x of the shape (steps, samples, hidden)."""
    return _recurrent_forward(x, u)[0]


def _recurrent_forward(x: Any, u: Any) -> Any:
    h = np.zeros((len(x) + 1, *x.shape[1:]), x.dtype)  # h[t + 1] is that of step t
    for t in range(len(x)):
        h[t + 1] = np.clip(x[t] + h[t] @ u.T, 0.0, _TOP)
    return h[1:].copy(), (h, u)


def _recurrent_backward(residuals: Any, ct: Any) -> Any:
    h, u = residuals
    moving = (h[1:] > 0.0) & (h[1:] < _TOP)
    d_x = np.zeros_like(h[1:])
    carried = np.zeros_like(h[0])
    for t in range(len(d_x) - 1, -1, -1):
        d_x[t] = moving[t] * (ct[t] + carried)
        carried = d_x[t] @ u
    size = h.shape[-1]
    return d_x, d_x.reshape(-1, size).T @ h[:-1].reshape(-1, size)


recurrent.defvjp(_recurrent_forward, _recurrent_backward)


def forward(p: dict[str, Any], x: Any) -> Any:
    """Compute scores (steps, samples, letters) of spectra (samples, 1, bands, frames); a step is two frames."""
    for name, stride, padding in _CONVOLUTIONS:
        x = conv(x, p[f"{name}.weight"], None, stride, padding)
        x = np.minimum(relu(batch_norm(x, p[f"{name}.scale"], p[f"{name}.shift"])[0]), _TOP)
    samples, channels, bands, steps = x.shape
    x = np.transpose(x, (3, 0, 1, 2)).reshape(steps, samples, channels * bands)
    for k in range(sum(name.endswith("ahead.recurrent") for name in p)):
        both = []
        for way in _DIRECTIONS:
            name = f"rnn{k}.{way}"
            y = x.reshape(steps * samples, -1) @ p[f"{name}.weight"].T
            y = batch_norm(y, p[f"{name}.scale"], p[f"{name}.shift"])[0].reshape(steps, samples, -1)
            turned = y[::-1] if way == "back" else y
            h = recurrent(turned, p[f"{name}.recurrent"])
            both.append(h[::-1] if way == "back" else h)
        x = both[0] + both[1]
    return x @ p["scores.weight"].T + p["scores.bias"]


def loss(p: dict[str, Any], spectra: Any, texts: list[np.ndarray]) -> Any:
    """Compute the mean CTC loss over samples."""
    scores = forward(p, spectra)
    shifted = scores - np.max(dr.value(scores), axis=-1, keepdims=True)
    heard = np.exp(shifted)
    heard = heard / np.sum(heard, axis=-1, keepdims=True)
    return sum(lifted_ctc(heard[:, k], text) for k, text in enumerate(texts)) / len(texts)


def step_of() -> Any:
    """Return the training step: loss and gradient of a batch. It keeps no running statistics."""
    slope = dr.value_and_grad(loss)

    def step(p: Any, statistics: Any, batch: Any) -> tuple[float, dict[str, np.ndarray]]:
        """Return the loss and the gradient of a batch."""
        value, gradient = slope(p, *batch)
        return float(value), gradient

    return step
