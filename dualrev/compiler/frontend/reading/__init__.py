"""Reading a numba function: its source, its options, its globals, the numba functions it calls."""
