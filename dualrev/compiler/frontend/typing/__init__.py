"""Type inference by numba, for A-normal form and for callees."""
