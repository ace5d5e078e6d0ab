"""Cache of compiled derivatives on disk: keys, files, machine code, and frozen values."""
