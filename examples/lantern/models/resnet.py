"""ResNet50 (He et al. 2016, table 1): four stages of bottleneck blocks, each with a shortcut around it.

    block      x -> relu(shortcut(x) + bn(1x1(relu(bn(3x3(relu(bn(1x1(x)))))))))

The first block of a stage has a stride of 2 in its first convolution (except in the first stage), and a convolution in
its shortcut. Convolutions have no bias; a batch normalisation follows each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from examples.lantern.models.layers import batch_norm, conv, max_pool, normalised, relu

__all__ = ["BLOCKS", "forward", "shapes", "statistics"]

BLOCKS = (3, 4, 6, 3)  # of each stage
_MOMENTUM = 0.1  # how much of a running mean is that of the last batch


def _convolutions(blocks: Sequence[int], width: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield names and shapes of the convolutions, in the order of their application; a block's shortcut is last."""
    yield "stem", (width, 3, 7, 7)
    channels = width
    for stage, count in enumerate(blocks):
        inner = width * 2**stage
        for k in range(count):
            name = f"stage{stage}.{k}"
            yield f"{name}.a", (inner, channels, 1, 1)
            yield f"{name}.b", (inner, inner, 3, 3)
            yield f"{name}.c", (4 * inner, inner, 1, 1)
            if k == 0:
                yield f"{name}.shortcut", (4 * inner, channels, 1, 1)
            channels = 4 * inner


def shapes(classes: int = 1000, blocks: Sequence[int] = BLOCKS, width: int = 64) -> dict[str, tuple[int, ...]]:
    """Return the shape of each parameter by its name."""
    found: dict[str, tuple[int, ...]] = {}
    for name, shape in _convolutions(blocks, width):
        found |= {f"{name}.weight": shape, f"{name}.scale": shape[:1], f"{name}.shift": shape[:1]}
    channels = 4 * width * 2 ** (len(blocks) - 1)
    return found | {"scores.weight": (classes, channels), "scores.bias": (classes,)}


def statistics(blocks: Sequence[int] = BLOCKS, width: int = 64, dtype: Any = np.float32) -> dict[str, np.ndarray]:
    """Return the running means and variances before the first batch."""
    found: dict[str, np.ndarray] = {}
    for name, shape in _convolutions(blocks, width):
        found |= {f"{name}.mean": np.zeros(shape[0], dtype), f"{name}.variance": np.ones(shape[0], dtype)}
    return found


def forward(p: dict[str, Any], known: dict[str, Any], x: Any, training: bool = True) -> tuple[Any, dict[str, Any]]:
    """Compute the scores of the classes, and the running means and variances after this batch.

    In training, a batch is normalised by its own mean and variance; otherwise by the running ones in `known`.
    """
    found: dict[str, Any] = dict(known)

    def layer(name: str, x: Any, **how: Any) -> Any:
        """Convolution and batch normalisation; in training, the new statistics go to `found`."""
        x = conv(x, p[f"{name}.weight"], **how)
        scale, shift = p[f"{name}.scale"], p[f"{name}.shift"]
        if not training:
            return normalised(x, scale, shift, known[f"{name}.mean"], known[f"{name}.variance"])
        y, mean, variance = batch_norm(x, scale, shift)
        count = x.size // x.shape[1]
        unbiased = variance * (count / max(1, count - 1))
        for what, now in ((f"{name}.mean", mean), (f"{name}.variance", unbiased)):
            found[what] = ((1.0 - _MOMENTUM) * known[what] + _MOMENTUM * now).astype(now.dtype)
        return y

    x = max_pool(relu(layer("stem", x, stride=2, padding=3)), 3, 2, padding=1)
    for name in [name[: -len(".a.weight")] for name in p if name.endswith(".a.weight")]:
        first = f"{name}.shortcut.weight" in p
        stride = 2 if first and not name.startswith("stage0") else 1
        y = relu(layer(f"{name}.a", x, stride=stride))
        y = layer(f"{name}.c", relu(layer(f"{name}.b", y, padding=1)))
        x = relu(y + (layer(f"{name}.shortcut", x, stride=stride) if first else x))
    return np.mean(x, axis=(2, 3)) @ p["scores.weight"].T + p["scores.bias"], found
