"""SqueezeNet (Iandola et al. 2016, version 1.0, table 1): fire modules in place of convolutions with many channels.

    fire(s, e1, e3)    x -> relu(1x1 convolution to s channels) -> relu(1x1 to e1) joined with relu(3x3 to e3)

The publication's dropout before the last convolution is left out, since one can generate as many data as one needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from examples.lantern.models.layers import conv, max_pool, relu

__all__ = ["FIRES", "forward", "shapes"]

#: The channels of each fire module (squeeze, 1x1, 3x3), with "pool" for a max pooling.
FIRES: tuple[Any, ...] = (
    *((16, 64, 64), (16, 64, 64), (32, 128, 128), "pool"),
    *((32, 128, 128), (48, 192, 192), (48, 192, 192), (64, 256, 256), "pool", (64, 256, 256)),
)


def shapes(classes: int = 1000) -> dict[str, tuple[int, ...]]:
    """Return the shape of each parameter by its name."""
    found: dict[str, tuple[int, ...]] = {"conv1.weight": (96, 3, 7, 7), "conv1.bias": (96,)}
    channels = 96
    for k, (squeezed, ones, threes) in enumerate((f for f in FIRES if f != "pool"), 2):
        sizes = {
            "squeeze": (squeezed, channels, 1, 1),
            "one": (ones, squeezed, 1, 1),
            "three": (threes, squeezed, 3, 3),
        }
        for name, shape in sizes.items():
            found |= {f"fire{k}.{name}.weight": shape, f"fire{k}.{name}.bias": shape[:1]}
        channels = ones + threes
    return found | {"conv10.weight": (classes, channels, 1, 1), "conv10.bias": (classes,)}


def forward(p: dict[str, Any], statistics: dict[str, Any], x: Any, training: bool = True) -> tuple[Any, dict[str, Any]]:
    """Compute the scores of the classes, a row for each image, and no statistics."""

    def layer(name: str, x: Any, **how: Any) -> Any:
        """Convolution with a bias, and ReLU."""
        return relu(conv(x, p[f"{name}.weight"], p[f"{name}.bias"], **how))

    x = max_pool(layer("conv1", x, stride=2), 3, 2, ceil=True)
    k = 2
    for fire in FIRES:
        if fire == "pool":
            x = max_pool(x, 3, 2, ceil=True)
            continue
        x = layer(f"fire{k}.squeeze", x)
        x = np.concatenate([layer(f"fire{k}.one", x), layer(f"fire{k}.three", x, padding=1)], axis=1)
        k += 1
    return np.mean(layer("conv10", x), axis=(2, 3)), {}
