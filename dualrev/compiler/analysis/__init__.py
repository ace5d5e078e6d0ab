"""Analyses of the typed core, which change nothing: the facts that a transformation needs about a function."""
