"""Dual numbers: operators, functions of math and numpy on them, and primitives that users add."""
