"""Gradients of numba functions: derivative source code, compiled by numba (driver/emit.py says how)."""
