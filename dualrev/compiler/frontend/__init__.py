"""From the source of a numba function to core: its syntax tree, what its names stand for, and numba's types."""
