"""Constructs of calls: numba functions, closures, callbacks, and functions that numba compiles without njit."""
