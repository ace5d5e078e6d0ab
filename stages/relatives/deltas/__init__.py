"""Krawiec et al. 2022: Deltas, bindings of them with ids, in maps and arrays, and the trace of a program."""
