"""Derivatives of any Python function: dual numbers, the tape on which they write, and arrays of them."""
