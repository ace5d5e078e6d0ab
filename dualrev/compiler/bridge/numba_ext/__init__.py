"""Numba extensions: typing and lowering of `dr.grad` and its like in `njit` code."""
