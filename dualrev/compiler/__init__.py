"""Gradients of numba functions: derivative source code, compiled by numba (pipeline.py says how)."""
