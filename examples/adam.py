"""Adam, the optimiser of Kingma and Ba (2015), for nested parameters: it uses `dr.tree` to update every leaf."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

import dualrev as dr

__all__ = ["Adam"]

T = TypeVar("T")


class Adam:
    """The Adam optimiser. Parameters and gradients may be any nested data of the same structure."""

    def __init__(self, rate: float = 1e-3, keep: float = 0.9, keep_squares: float = 0.999) -> None:
        self.rate, self.keep, self.keep_squares = rate, keep, keep_squares
        self._steps = 0

    def step(self, params: T, gradient: T) -> T:
        """Return the parameters after one step."""
        if self._steps == 0:
            self._mean = self._squares = dr.tree.map(np.zeros_like, gradient)
        self._steps += 1
        keep, rest = self.keep, self.keep_squares
        self._mean = dr.tree.map(lambda m, g: keep * m + (1.0 - keep) * g, self._mean, gradient)
        self._squares = dr.tree.map(lambda s, g: rest * s + (1.0 - rest) * g * g, self._squares, gradient)
        size = self.rate * math.sqrt(1.0 - rest**self._steps) / (1.0 - keep**self._steps)
        return dr.tree.map(lambda p, m, s: p - size * m / (np.sqrt(s) + 1e-8), params, self._mean, self._squares)
