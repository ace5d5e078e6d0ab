"""Reuse of the pages of freed arrays and shadows, by malloc's own thresholds.

glibc's malloc returns large freed memory to the system. The pages of the next array are then new, and the system takes
longer to provide them than most loops take to fill them. A derivative suffers more than its function: an array and its
shadow together exceed a threshold that the array alone does not.

The thresholds adapt: once a program has freed a block of 32 MB, malloc keeps freed memory of up to 64 MB, and takes
arrays of up to 32 MB from it. So one such block is allocated and freed here, without touching its pages. If the user
has set a threshold (`MALLOC_TRIM_THRESHOLD_`, mallopt), malloc adapts none, and this has no effect.
"""

from __future__ import annotations

import sys

import numpy as np

__all__ = ["keep_freed_pages"]

LARGEST = 32 * 2**20  # bytes: larger blocks do not change the thresholds (DEFAULT_MMAP_THRESHOLD_MAX)
HEADER = 2**17  # bytes: at least a header, rounded up to a page


def keep_freed_pages() -> None:
    """Raise malloc's thresholds as far as malloc itself raises them."""
    if sys.platform == "linux":
        np.empty(LARGEST - HEADER, np.uint8)
