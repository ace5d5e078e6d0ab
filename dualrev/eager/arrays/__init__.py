"""Arrays of dual numbers, and numpy's functions on them."""

from dualrev.eager.arrays.functions import apply_function
from dualrev.eager.arrays.memory import attributes  # noqa: F401 - it gives our classes what numpy's have
from dualrev.eager.arrays.memory.storage import RealArray
from dualrev.eager.arrays.ufuncs import apply_ufunc
from dualrev.eager.numbers.numpy_hooks import ANSWERS

__all__ = ["RealArray"]

ANSWERS.ufunc, ANSWERS.function = apply_ufunc, apply_function
