"""Generators of the four models' data, and trees of sentences."""
