"""Why parts of numba.cuda are refused in a kernel, and what to write instead."""

__all__ = ["cause_and_cure"]

_BARRIER = "only the barrier of a whole block is reversed", "cuda.syncthreads() as a statement of its own"
_CONSTANTS = "its shape and dtype have to be constants"
_WARP = "threads of a warp exchange values, and each thread is reversed alone", "arrays that the kernel is given"

#: By the first name of a part.
_PARTS = {
    "shared": (_CONSTANTS, "cuda.shared.array(128, numba.float64), whose shape is an int or a tuple of ints"),
    "syncthreads": _BARRIER,
    "syncwarp": _BARRIER,
    "threadfence": _BARRIER,
    "cg": _BARRIER,
    "shfl": _WARP,
    "vote": _WARP,
    "ballot": _WARP,
    "all": _WARP,
    "any": _WARP,
    "match": _WARP,
    "atomic": (
        "only add, sub, max and min without their old values do not depend on the order of threads",
        "cuda.atomic.add(array, index, value), sub, max or min, as a statement of its own",
    ),
    "const": ("its elements have to be known when the kernel is compiled", "cuda.const.array_like(A), for a global A"),
    "local": (
        _CONSTANTS,
        "cuda.local.array(4, numba.float64), whose shape is an int or a tuple of ints",
    ),
    "grid": ("the number of axes has to be 1, 2 or 3", "cuda.grid(1)"),
    "gridsize": ("the number of axes has to be 1, 2 or 3", "cuda.gridsize(1)"),
}
_UNKNOWN = "it has no derivative here", "functions of math, and what docs/cuda.md lists"


def cause_and_cure(path: str) -> tuple[str, str]:
    """Return why a part of numba.cuda is refused, such as "atomic.exch", and what to write."""
    return _PARTS.get(path.partition(".")[0].partition("_")[0], _UNKNOWN)
