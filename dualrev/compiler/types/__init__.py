"""Predicates on numba's types: real, array, opaque, complex parts, leaves of objects.

Other rooms import aliases, complex_parts, leaves, opaque_types, predicates.
"""
