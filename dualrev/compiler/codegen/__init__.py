"""Code generation: core to Python text that numba compiles.

Other rooms import lines, module_builder, module_text, parallel_loops, statements.
"""
