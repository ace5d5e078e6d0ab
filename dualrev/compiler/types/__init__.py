"""Predicates on numba's types: real, array, opaque, complex parts, leaves of objects.

Other rooms import complex_parts, leaves, numba_names, opaque_types, predicates.
"""
