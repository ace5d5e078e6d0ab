"""Analyses of values: ranges, finiteness, zeros, induction variables, uniformity over lanes."""
