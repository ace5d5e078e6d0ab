"""Opaque statements, emitted unchanged: sets, dicts, strings, try blocks."""
