"""Parallel loops (`prange`): dependence analysis, outlining, reductions, and derivatives that run in threads.

Other rooms import chunk_reductions, dependence, fuse, outline, recognize_reductions, reverse_by_recompute,
reverse_with_tape.
"""
