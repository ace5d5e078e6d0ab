"""Generators of random numba programs: a grammar, idioms, parallel loops, and names that a branch binds first."""
