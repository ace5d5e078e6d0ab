"""What numba's functions of one array return: the same memory, or new memory with the same elements. Stated once.

By the layout of the array, as numba's types have it: C and F are contiguous, A has strides that are known at run time
only. `view` is the memory of the array, `copy` new memory, and `either` a view if the array is contiguous after all (in
the order that is asked for), else a copy: the program asks while it runs, as numba does.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ALIASING", "aliasing"]

#: For the layouts C, F and A. What is not here: slices, rows that a loop goes over, `.T` and `None` in an index are
#: views of every array; arithmetic, np.where and other functions of elements make new arrays.
ALIASING: dict[str, tuple[str, str, str]] = {
    "np.asarray": ("view", "view", "view"),
    "np.ascontiguousarray": ("view", "copy", "either"),
    "np.asfortranarray": ("copy", "view", "either"),
    "np.copy": ("copy", "copy", "copy"),
    "np.ravel": ("view", "copy", "copy"),
    "np.reshape": ("view", "view", "view"),  # numba refuses layout A
    "np.transpose": ("view", "view", "view"),
    **{
        f"np.{n}": ("view", "view", "view") for n in ["expand_dims", "swapaxes", "moveaxis", "flip", "fliplr", "flipud"]
    },
    **{
        f"np.{n}": ("view", "view", "view") for n in ["rot90", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to"]
    },
    "astype": ("copy", "copy", "copy"),
    "flatten": ("copy", "copy", "copy"),
}


def aliasing(text: str, source: Any, made: Any) -> str:
    """What a function makes of an array of the numba type `source`, given the type of its result."""
    if source.dtype != made.dtype:
        return "copy"
    if text in ("np.ascontiguousarray", "np.asfortranarray") and source.ndim < 2 and source.layout != "A":
        return "view"
    return ALIASING[text]["CFA".index(source.layout)]
