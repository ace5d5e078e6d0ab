"""Krawiec et al. 2022: Deltas, their bindings to ids in maps and arrays, and the trace of a program."""
