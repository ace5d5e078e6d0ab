"""Predicates on numba's types: real, array, opaque, complex parts, leaves of objects.

Other rooms import complex_parts, leaves, opaque_types, predicates.
"""
