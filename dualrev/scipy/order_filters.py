"""Filters that select elements: medians, maxima, minima and other ranks in a window.

SciPy filters the ranks of the elements in place of the elements, which says what it selects. The derivative of the
result is that of the selected element; of equal elements, the one that a stable sort puts first has the lower rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage as _ndimage
from scipy import signal as _signal

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arrays.memory.storage import plain, real_array
from dualrev.errors import UnsupportedError
from dualrev.scipy.calls import constants, like, title, valued

__all__ = [
    "maximum_filter",
    "maximum_filter1d",
    "medfilt",
    "medfilt2d",
    "median_filter",
    "minimum_filter",
    "minimum_filter1d",
    "order_filter",
    "percentile_filter",
    "rank_filter",
]


def _selecting(original: Any) -> Any:
    of_original = signature(original)
    first = next(iter(of_original.parameters))

    @valued(original)
    def select(*given: Any, **options: Any) -> Any:
        """Elements that a filter selects from windows: SciPy's result, with its derivative by the elements."""
        bound = of_original.bind(*given, **options).arguments
        if bound.get("output") is not None:
            raise UnsupportedError(f"{title(original)} with output=", "it without, and assign its result")
        x = real_array(bound[first])
        outside = real_array(bound.get("cval", 0.0))  # what stands beyond the ends, in some modes
        every = np.concatenate([np.reshape(x, -1), np.reshape(outside, -1)])
        in_order = np.argsort(plain(every), kind="stable")
        ranks = np.empty(len(in_order))
        ranks[in_order] = np.arange(len(in_order))
        moved = ranks[:-1] - ranks[-1]  # so that 0 stands beyond the ends
        fixed = {**constants(bound), first: np.reshape(moved, x.shape)} | ({"cval": 0.0} if "cval" in bound else {})
        chosen = original(**fixed) + ranks[-1]
        return every[in_order[np.asarray(chosen, dtype=int)]]

    return like(original)(select)


maximum_filter, minimum_filter = _selecting(_ndimage.maximum_filter), _selecting(_ndimage.minimum_filter)
maximum_filter1d, minimum_filter1d = _selecting(_ndimage.maximum_filter1d), _selecting(_ndimage.minimum_filter1d)
median_filter, percentile_filter = _selecting(_ndimage.median_filter), _selecting(_ndimage.percentile_filter)
rank_filter = _selecting(_ndimage.rank_filter)
medfilt, medfilt2d, order_filter = map(_selecting, (_signal.medfilt, _signal.medfilt2d, _signal.order_filter))
