"""Optimisations of core, which know no derivative."""
