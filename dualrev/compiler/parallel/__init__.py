"""Parallel loops (`prange`): dependence analysis, outlining, reductions, and derivatives that run in threads."""
