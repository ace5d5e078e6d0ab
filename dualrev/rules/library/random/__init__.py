"""Random numbers as numba code: which are differentiated by their parameters, and which are not."""
