"""The same models in PyTorch, for comparison: functions of the same parameters, written as PyTorch's users would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from examples.lantern.data.trees import Tree
from examples.lantern.models.squeezenet import FIRES

__all__ = ["deepspeech", "image_slope", "resnet", "speech_slope", "squeezenet", "tensors", "treelstm_slope"]


def tensors(arrays: Any) -> dict[str, Any]:
    """Convert arrays by name to tensors that require gradients."""
    return {name: torch.tensor(x, requires_grad=True) for name, x in arrays.items()}


def treelstm_slope(vectors: np.ndarray, numbers: dict[str, int]) -> Callable[[Any, Tree], tuple[float, Any]]:
    """Return a function of tensors and a tree: loss and gradient, by recursion over Python objects."""
    known = torch.tensor(vectors)

    def state(w: Any, tree: Tree, found: list[Any]) -> Any:
        """Return hidden state and memory of the root; append the hidden states and labels of all nodes to `found`."""
        if tree.left is None or tree.right is None:
            z = functional.linear(known[numbers[str(tree.word)]], w["leaf"], w["leaf_bias"])
            c, o = z.chunk(2)
            h = torch.sigmoid(o) * torch.tanh(c)
        else:
            h_left, c_left = state(w, tree.left, found)
            h_right, c_right = state(w, tree.right, found)
            z = functional.linear(h_left, w["left"], w["left_bias"])
            z = z + functional.linear(h_right, w["right"], w["right_bias"])
            d = len(c_left)
            i, f_left, f_right, o = torch.sigmoid(z[: 4 * d]).chunk(4)
            c = i * torch.tanh(z[4 * d :]) + f_left * c_left + f_right * c_right
            h = o * torch.tanh(c)
        found.append((h, tree.label))
        return h, c

    def slope(w: Any, tree: Tree) -> tuple[float, Any]:
        """Return the summed cross-entropy of all nodes, and its gradient."""
        found: list[Any] = []
        state(w, tree, found)
        hidden, labels = zip(*found, strict=True)
        scores = functional.linear(torch.stack(hidden), w["score"], w["score_bias"])
        loss = functional.cross_entropy(scores, torch.tensor(labels), reduction="sum")
        return loss.item(), dict(zip(w, torch.autograd.grad(loss, list(w.values())), strict=True))

    return slope


def squeezenet(p: Any, x: Any) -> Any:
    """Compute the scores of images."""

    def layer(name: str, x: Any, **how: Any) -> Any:
        """Convolution with a bias, and ReLU."""
        return torch.relu(functional.conv2d(x, p[f"{name}.weight"], p[f"{name}.bias"], **how))

    x, k = functional.max_pool2d(layer("conv1", x, stride=2), 3, 2, ceil_mode=True), 2
    for fire in FIRES:
        if fire == "pool":
            x = functional.max_pool2d(x, 3, 2, ceil_mode=True)
            continue
        x = layer(f"fire{k}.squeeze", x)
        x = torch.cat([layer(f"fire{k}.one", x), layer(f"fire{k}.three", x, padding=1)], 1)
        k += 1
    return layer("conv10", x).mean((2, 3))


def resnet(p: Any, known: Any, x: Any, training: bool = True) -> Any:
    """Compute the scores of images; in training, running means and variances are updated in place."""

    def layer(name: str, x: Any, **how: Any) -> Any:
        """Convolution and batch normalisation."""
        x = functional.conv2d(x, p[f"{name}.weight"], **how)
        mean, variance = known[f"{name}.mean"], known[f"{name}.variance"]
        return functional.batch_norm(x, mean, variance, p[f"{name}.scale"], p[f"{name}.shift"], training)

    def block(name: str, x: Any) -> Any:
        """A bottleneck block with its shortcut."""
        stride = 2 if f"{name}.shortcut.weight" in p and not name.startswith("stage0") else 1
        y = torch.relu(layer(f"{name}.a", x, stride=stride))
        y = layer(f"{name}.c", torch.relu(layer(f"{name}.b", y, padding=1)))
        return torch.relu(y + (layer(f"{name}.shortcut", x, stride=stride) if f"{name}.shortcut.weight" in p else x))

    x = functional.max_pool2d(torch.relu(layer("stem", x, stride=2, padding=3)), 3, 2, 1)
    for name in p:
        if name.endswith(".a.weight"):
            x = block(name[: -len(".a.weight")], x)
    return functional.linear(x.mean((2, 3)), p["scores.weight"], p["scores.bias"])


def image_slope(forward: Callable[[Any, Any], Any]) -> Callable[..., tuple[float, Any]]:
    """Return a function of tensors, images and labels: loss and gradient."""

    def slope(p: Any, images: np.ndarray, labels: np.ndarray) -> tuple[float, Any]:
        """Return the mean cross-entropy and its gradient."""
        loss = functional.cross_entropy(forward(p, torch.tensor(images)), torch.tensor(labels))
        return loss.item(), dict(zip(p, torch.autograd.grad(loss, list(p.values())), strict=True))

    return slope


def deepspeech(p: Any, x: Any) -> Any:
    """Compute the scores (steps, samples, letters) of spectra."""

    def normalised(name: str, x: Any) -> Any:
        """Batch normalisation with the statistics of this batch."""
        return functional.batch_norm(x, None, None, p[f"{name}.scale"], p[f"{name}.shift"], training=True)

    for name, stride, padding in (("conv0", (2, 2), (20, 5)), ("conv1", (2, 1), (10, 5))):
        x = normalised(name, functional.conv2d(x, p[f"{name}.weight"], stride=stride, padding=padding)).clamp(0.0, 20.0)
    x = x.permute(3, 0, 1, 2).flatten(2)
    for k in range(sum(name.endswith("ahead.recurrent") for name in p)):
        both = []
        for way in ("ahead", "back"):
            y = functional.linear(x.flatten(0, 1), p[f"rnn{k}.{way}.weight"])
            y = normalised(f"rnn{k}.{way}", y).view(*x.shape[:2], -1)
            h, found = torch.zeros_like(y[0]), []
            for row in y.flip(0) if way == "back" else y:
                h = (row + functional.linear(h, p[f"rnn{k}.{way}.recurrent"])).clamp(0.0, 20.0)
                found.append(h)
            both.append(torch.stack(found).flip(0) if way == "back" else torch.stack(found))
        x = both[0] + both[1]
    return functional.linear(x, p["scores.weight"], p["scores.bias"])


def speech_slope(p: Any, spectra: np.ndarray, texts: list[np.ndarray]) -> tuple[float, Any]:
    """Compute the mean CTC loss of utterances, and its gradient."""
    heard = deepspeech(p, torch.tensor(spectra)).log_softmax(-1)
    steps, lengths = torch.full((len(texts),), len(heard)), torch.tensor([len(t) for t in texts])
    letters = torch.tensor(np.concatenate(texts))
    loss = functional.ctc_loss(heard, letters, steps, lengths, reduction="sum") / len(texts)
    return loss.item(), dict(zip(p, torch.autograd.grad(loss, list(p.values())), strict=True))
