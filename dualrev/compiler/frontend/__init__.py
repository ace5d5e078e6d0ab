"""Frontend: read, desugar and lower the source of a numba function to core (ANF), and infer its types by numba."""
