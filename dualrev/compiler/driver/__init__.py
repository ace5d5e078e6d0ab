"""Compiler driver: from a numba function to the text of a module of derivatives."""
