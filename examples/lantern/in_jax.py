"""The same models in JAX, for comparison: functions of the same parameters, written as JAX's users would.

JAX traces a function for each shape of its arguments. Pictures and spectra have few shapes, so these models are
compiled (`jax.jit`). Most trees have their own shape, and code compiled for one shape serves only trees of that shape.
So the TreeLSTM runs in two ways: compiled for each shape, and eagerly, operation by operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from examples.lantern.data.trees import Tree
from examples.lantern.models.squeezenet import FIRES

__all__ = ["deepspeech", "image_slope", "resnet", "speech_slope", "squeezenet", "tree_data", "treelstm_slope"]


def tree_data(tree: Tree, numbers: dict[str, int]) -> Any:
    """Convert a tree to nested tuples: (label, index of the word), or (label, left, right)."""
    if tree.left is None or tree.right is None:
        return tree.label, numbers[str(tree.word)]
    return tree.label, tree_data(tree.left, numbers), tree_data(tree.right, numbers)


def treelstm_slope(vectors: np.ndarray, compiled: bool) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Return a function of parameters and a tree (from `tree_data`): loss and gradient, by recursion."""
    known = jnp.asarray(vectors)

    def state(w: Any, tree: Any, found: list[Any]) -> Any:
        """Return hidden state and memory of the root; append the hidden states and labels of all nodes to `found`."""
        if len(tree) == 2:
            label, word = tree
            c, o = jnp.split(w["leaf"] @ known[word] + w["leaf_bias"], 2)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
        else:
            label, left, right = tree
            h_left, c_left = state(w, left, found)
            h_right, c_right = state(w, right, found)
            z = w["left"] @ h_left + w["left_bias"] + w["right"] @ h_right + w["right_bias"]
            i, f_left, f_right, o, u = jnp.split(z, 5)
            c = jax.nn.sigmoid(i) * jnp.tanh(u) + jax.nn.sigmoid(f_left) * c_left + jax.nn.sigmoid(f_right) * c_right
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
        found.append((h, label))
        return h, c

    def loss(w: Any, tree: Any) -> Any:
        """Sum of the cross-entropies of all nodes."""
        found: list[Any] = []
        state(w, tree, found)
        hidden, labels = zip(*found, strict=True)
        return jnp.sum(_surprises(jnp.stack(hidden) @ w["score"].T + w["score_bias"], jnp.stack(labels)))

    slope = jax.value_and_grad(loss)
    return jax.jit(slope) if compiled else slope


def _surprises(scores: Any, labels: Any) -> Any:
    """Compute -log softmax(scores)[label] for each row."""
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], 1)[:, 0]


def _conv(x: Any, w: Any, stride: Any = 1, padding: Any = 0) -> Any:
    strides = stride if isinstance(stride, tuple) else (stride, stride)
    more = padding if isinstance(padding, tuple) else (padding, padding)
    return lax.conv_general_dilated(x, w, strides, [(m, m) for m in more])


def _max_pool(x: Any, size: int, stride: int, padding: int = 0, ceil: bool = False) -> Any:
    """Compute the largest number of each window; with `ceil`, the last window may reach over the edge."""
    over = [-(length + 2 * padding - size) % stride if ceil else 0 for length in x.shape[2:]]
    more = [(padding, padding + (o if o < size - padding else 0)) for o in over]
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, size, size), (1, 1, stride, stride), [(0, 0), (0, 0), *more])


def squeezenet(p: Any, known: Any, x: Any) -> Any:
    """Compute the scores of images, and no statistics."""

    def layer(name: str, x: Any, **how: Any) -> Any:
        """Convolution with a bias, and ReLU."""
        return jax.nn.relu(_conv(x, p[f"{name}.weight"], **how) + p[f"{name}.bias"][:, None, None])

    x, k = _max_pool(layer("conv1", x, stride=2), 3, 2, ceil=True), 2
    for fire in FIRES:
        if fire == "pool":
            x = _max_pool(x, 3, 2, ceil=True)
            continue
        x = layer(f"fire{k}.squeeze", x)
        x = jnp.concatenate([layer(f"fire{k}.one", x), layer(f"fire{k}.three", x, padding=1)], 1)
        k += 1
    return layer("conv10", x).mean((2, 3)), {}


def _normalised(x: Any, scale: Any, shift: Any) -> tuple[Any, Any, Any]:
    """Normalise channels (axis 1) over the batch, times scale, plus shift; return also mean and variance."""
    axes, along = (0, *range(2, x.ndim)), (-1, *(1,) * (x.ndim - 2))
    mean, variance = x.mean(axes), x.var(axes)
    z = (x - mean.reshape(along)) * lax.rsqrt(variance + 1e-5).reshape(along)
    return z * scale.reshape(along) + shift.reshape(along), mean, variance


def resnet(p: Any, known: Any, x: Any) -> Any:
    """Compute the scores of images in training, and the running means and variances after this batch."""
    found = dict(known)

    def layer(name: str, x: Any, **how: Any) -> Any:
        """Convolution and batch normalisation, with new running statistics in `found`."""
        y, mean, variance = _normalised(_conv(x, p[f"{name}.weight"], **how), p[f"{name}.scale"], p[f"{name}.shift"])
        count = y.size // y.shape[1]
        for what, now in ((f"{name}.mean", mean), (f"{name}.variance", variance * (count / max(1, count - 1)))):
            found[what] = 0.9 * known[what] + 0.1 * now
        return y

    def block(name: str, x: Any) -> Any:
        """A bottleneck block with its shortcut."""
        stride = 2 if f"{name}.shortcut.weight" in p and not name.startswith("stage0") else 1
        y = jax.nn.relu(layer(f"{name}.a", x, stride=stride))
        y = layer(f"{name}.c", jax.nn.relu(layer(f"{name}.b", y, padding=1)))
        return jax.nn.relu(y + (layer(f"{name}.shortcut", x, stride=stride) if f"{name}.shortcut.weight" in p else x))

    x = _max_pool(jax.nn.relu(layer("stem", x, stride=2, padding=3)), 3, 2, 1)
    for name in p:
        if name.endswith(".a.weight"):
            x = block(name[: -len(".a.weight")], x)
    return x.mean((2, 3)) @ p["scores.weight"].T + p["scores.bias"], found


def image_slope(forward: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """Return a compiled function of parameters, statistics, images and labels: ((loss, statistics), gradient)."""

    def loss(p: Any, known: Any, images: Any, labels: Any) -> Any:
        """Mean cross-entropy, with the new statistics as auxiliary data."""
        scores, found = forward(p, known, images)
        return _surprises(scores, labels).mean(), found

    return jax.jit(jax.value_and_grad(loss, has_aux=True))


def deepspeech(p: Any, x: Any) -> Any:
    """Compute the scores (steps, samples, letters) of spectra."""

    def normalised(name: str, x: Any) -> Any:
        """Batch normalisation with the parameters of this name."""
        return _normalised(x, p[f"{name}.scale"], p[f"{name}.shift"])[0]

    for name, stride, padding in (("conv0", (2, 2), (20, 5)), ("conv1", (2, 1), (10, 5))):
        x = jnp.clip(normalised(name, _conv(x, p[f"{name}.weight"], stride, padding)), 0.0, 20.0)
    samples, channels, bands, steps = x.shape
    x = x.transpose(3, 0, 1, 2).reshape(steps, samples, channels * bands)
    for k in range(sum(name.endswith("ahead.recurrent") for name in p)):
        both = []
        for way in ("ahead", "back"):
            y = x.reshape(steps * samples, -1) @ p[f"rnn{k}.{way}.weight"].T
            y = normalised(f"rnn{k}.{way}", y).reshape(steps, samples, -1)
            u = p[f"rnn{k}.{way}.recurrent"]

            def step(h: Any, row: Any, u: Any = u) -> tuple[Any, Any]:
                """Advance the hidden state by one step of the recurrence."""
                h = jnp.clip(row + h @ u.T, 0.0, 20.0)
                return h, h

            both.append(lax.scan(step, jnp.zeros_like(y[0]), y, reverse=way == "back")[1])
        x = both[0] + both[1]
    return x @ p["scores.weight"].T + p["scores.bias"]


_NEVER = -1e30  # log of a probability of 0; with an infinity, differences would be NaN


def _ctc(heard: Any, texts: Any, lengths: Any) -> Any:
    """Compute the CTC loss of each sample, from log-probabilities (steps, samples, letters) and padded texts."""
    samples, most = texts.shape
    z = jnp.zeros((samples, 2 * most + 1), texts.dtype).at[:, 1::2].set(texts)
    before = jnp.pad(z, ((0, 0), (2, 0)))[:, :-2]
    skips = (z != 0) & (z != before)

    def step(a: Any, row: Any) -> tuple[Any, None]:
        """Advance the probabilities by one step of the recurrence."""
        one, two = (jnp.pad(a, ((0, 0), (s, 0)), constant_values=_NEVER)[:, :-s] for s in (1, 2))
        reached = jax.nn.logsumexp(jnp.stack([a, one, jnp.where(skips, two, _NEVER)]), axis=0)
        return reached + jnp.take_along_axis(row, z, 1), None

    start = jnp.full(z.shape, _NEVER, heard.dtype).at[:, 0].set(0.0)
    a, _ = lax.scan(step, start, heard)
    ends = jnp.stack([2 * lengths, 2 * lengths - 1], 1)
    last = jnp.where(ends < 0, _NEVER, jnp.take_along_axis(a, jnp.maximum(ends, 0), 1))
    return -jax.nn.logsumexp(last, axis=1)


def speech_slope(most: int) -> Callable[..., tuple[Any, Any]]:
    """Return a compiled function of parameters, spectra and texts of up to `most` letters: loss and gradient."""

    def loss(p: Any, spectra: Any, texts: Any, lengths: Any) -> Any:
        """Mean CTC loss of the batch."""
        return _ctc(jax.nn.log_softmax(deepspeech(p, spectra)), texts, lengths).mean()

    slope = jax.jit(jax.value_and_grad(loss))

    def padded(p: Any, spectra: Any, texts: list[np.ndarray]) -> tuple[Any, Any]:
        """Pad the texts to one length, and return the loss and the gradient."""
        rows = np.array([np.pad(text, (0, most - len(text))) for text in texts])
        return slope(p, spectra, rows, np.array([len(text) for text in texts]))

    return padded
