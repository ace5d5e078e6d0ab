"""Krawiec et al. 2022: Deltas, what they mean, their bindings to ids in maps and arrays, and the trace of a program."""
