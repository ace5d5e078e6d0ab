"""Predicates on numba's types: real, array, opaque, complex parts, leaves of objects."""
