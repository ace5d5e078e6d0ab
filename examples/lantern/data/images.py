"""Generated data: small pictures of ten classes; and the initial parameters and training step of the image networks.

A picture is a grating with noise. Its class is one of five directions of the stripes, and a narrow or a wide spacing.
The colours, the phase of the stripes and the noise are random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import dualrev as dr
from examples.lantern.errors import DataError, check_finite, check_label
from examples.lantern.models.layers import cross_entropy

__all__ = ["CLASSES", "batches", "check_images", "initial", "pictures", "step_of"]

CLASSES = 10


def pictures(count: int, seed: int, size: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Generate pictures (count, 3, size, size) of numbers around 0, and their classes."""
    rng = np.random.default_rng([seed, 4])
    labels = rng.integers(CLASSES, size=count)
    row, column = np.mgrid[0:size, 0:size]
    angles, waves = (labels % 5) * math.pi / 5, np.where(labels < 5, 4.0, 9.0)
    along = row * np.cos(angles)[:, None, None] + column * np.sin(angles)[:, None, None]
    stripes = np.sin(2 * math.pi * along / waves[:, None, None] + rng.uniform(0, 2 * math.pi, (count, 1, 1)))
    colours = rng.uniform(0.5, 1.0, (count, 3, 1, 1))
    noise = rng.normal(scale=0.3, size=(count, 3, size, size))
    return (stripes[:, None] * colours + noise).astype(np.float32), labels


def check_images(images: np.ndarray, labels: Any, classes: int = CLASSES) -> None:
    """Raise DataError if images have not the shape (images, 3, rows, columns), hold NaN, or a label is not a class."""
    if images.ndim != 4 or images.shape[1] != 3:
        raise DataError(f"the images have the shape {images.shape}; it must be (images, 3, rows, columns).")
    if len(images) != len(labels):
        raise DataError(f"there are {len(images)} images and {len(labels)} labels: each image has one.")
    for k, (image, label) in enumerate(zip(images, labels, strict=True)):
        check_finite(image, f"image {k}")
        check_label(label, classes, f"image {k}")


def batches(images: np.ndarray, labels: np.ndarray, size: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Check the data, and split them into batches of `size` images; the last one may be smaller."""
    check_images(images, labels)
    return [(images[k : k + size], labels[k : k + size]) for k in range(0, len(images), size)]


def initial(shapes: Mapping[str, tuple[int, ...]], seed: int, dtype: Any = np.float32) -> dict[str, np.ndarray]:
    """Draw initial parameters as He et al. 2015: weights of variance 2 / inputs, scales 1, shifts and biases 0."""
    rng = np.random.default_rng([seed, 5])
    made: dict[str, np.ndarray] = {}
    for name, shape in shapes.items():
        if name.endswith(".weight"):
            deviation = 0.01 if name == "scores.weight" else math.sqrt(2.0 / math.prod(shape[1:]))
            made[name] = rng.normal(scale=deviation, size=shape).astype(dtype)
        elif name.endswith(".recurrent"):
            made[name] = rng.normal(scale=0.5 / math.sqrt(shape[1]), size=shape).astype(dtype)
        else:
            made[name] = np.full(shape, 1.0 if name.endswith(".scale") else 0.0, dtype)
    return made


def step_of(forward: Callable[..., Any]) -> Callable[..., tuple[float, dict[str, np.ndarray]]]:
    """Return the training step of a network: loss and gradient of a batch; statistics are updated in place."""

    def loss(p: Any, statistics: Any, images: Any, labels: Any) -> Any:
        """The mean cross-entropy, with the new statistics as auxiliary data."""
        scores, found = forward(p, statistics, images)
        return cross_entropy(scores, labels), found

    slope = dr.value_and_grad(loss, has_aux=True)

    def step(p: Any, statistics: Any, batch: Any) -> tuple[float, dict[str, np.ndarray]]:
        """Return the loss and the gradient of a batch, and update the statistics."""
        (value, found), gradient = slope(p, statistics, *batch)
        for name, x in found.items():
            statistics[name][...] = x
        return float(value), gradient

    return step
