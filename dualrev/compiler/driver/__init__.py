"""Compiler driver: from a numba function to the text of a module of derivatives.

Other rooms import all_refusals, context, emit, passes.
"""
