"""Numba functions, one or more for every construct of the language that has compiled gradients."""
