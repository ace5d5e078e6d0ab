"""Arrays that the threads of a block share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba.core import types

__all__ = ["Shared"]


@dataclass(frozen=True)
class Shared:
    """Array that the threads of a block share, by the place of the call of `cuda.shared.array` that makes it."""

    file: str
    place: tuple[int, int]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def extents(self) -> int | tuple[int, ...]:
        """Its shape; of one axis, the number of elements."""
        return self.shape[0] if len(self.shape) == 1 else self.shape

    @property
    def type(self) -> types.Array:
        """Its numba type."""
        return types.Array(numba.np.numpy_support.from_dtype(self.dtype), len(self.shape), "C")
