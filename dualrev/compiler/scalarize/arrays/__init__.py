"""Whole-array operations -> loops over elements."""
