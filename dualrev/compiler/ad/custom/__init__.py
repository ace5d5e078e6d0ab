"""Custom derivative rules: calls of numba functions with derivatives of their own, in both modes."""
