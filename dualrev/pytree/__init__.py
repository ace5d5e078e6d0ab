"""Nested data as a list of real leaves and a structure (dualrev/tree.py is what users call)."""
