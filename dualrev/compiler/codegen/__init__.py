"""From core to text that numba compiles."""
