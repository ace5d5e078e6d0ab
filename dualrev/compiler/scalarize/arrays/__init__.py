"""Scalarisation of whole-array operations: loops over elements."""
