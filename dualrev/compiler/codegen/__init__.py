"""Code generation: core to Python text that numba compiles."""
