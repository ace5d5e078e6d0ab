"""Command lines for maintainers, run in a clone."""
