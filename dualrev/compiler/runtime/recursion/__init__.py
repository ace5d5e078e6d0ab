"""Recursive functions in emitted code: the stack guard, and arrays passed by reference."""
