"""Constructs of containers: tuples, records, and lists of all kinds."""
