"""Arrays of dual numbers, and numpy's functions on them."""

from dualrev.arrays.storage import RealArray

__all__ = ["RealArray"]
