"""`scipy.spatial`: distances of traced points, in `scipy.spatial.distance`. Every other name is SciPy's own.

>>> import numpy as np
>>> import dualrev as dr
>>> dr.grad(lambda x: distance.pdist(x)[0])(np.array([[0.0, 0.0], [3.0, 4.0]]))
array([[-0.6, -0.8],
       [ 0.6,  0.8]])
"""

from __future__ import annotations

from typing import Any

from scipy import spatial as _spatial

from dualrev.scipy.spatial import distance

__all__ = ["distance"]


def __getattr__(name: str) -> Any:
    return getattr(_spatial, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_spatial)})
