"""The cache of compiled derivatives on disk: keys, files, machine code, and what numba has frozen."""
