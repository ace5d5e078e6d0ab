"""Lowering of functions of numpy, math and Python: scalar operations, loops and library calls."""
