"""Staging, for lantern.py: generated code, its texts, its tangents, and how it runs."""
