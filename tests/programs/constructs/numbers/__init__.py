"""Constructs of numbers: real, complex and discrete ones, and points where a function has no derivative."""
