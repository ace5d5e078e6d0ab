"""Legalisation of lists and dicts: arrays, scalars and tuples."""
