"""Gradients of numba functions: derivative source code, compiled by numba (module_builder.py says how)."""
