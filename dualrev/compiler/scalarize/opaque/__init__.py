"""Statements that are kept as they are written: sets, dicts, strings, try blocks."""
