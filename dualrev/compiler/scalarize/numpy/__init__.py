"""Functions of numpy, math and Python -> scalar operations, loops, and calls of library definitions."""
