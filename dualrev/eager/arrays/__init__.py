"""Arrays of dual numbers, and numpy's functions on them."""

from dualrev.eager.arrays.storage import RealArray

__all__ = ["RealArray"]
