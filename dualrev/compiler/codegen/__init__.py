"""Code generation: core to Python text that numba compiles.

Other rooms import count_tape, lines, module_builder, module_text, parallel_loops, statements, tape_access.
"""
