"""A-normal form, the first IR: operations whose types numba infers."""
