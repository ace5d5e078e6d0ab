"""Recursive functions in emitted code: the stack guard, and arrays that are passed by reference."""
