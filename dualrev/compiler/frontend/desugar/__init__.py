"""Desugaring: syntax trees -> the subset of Python that lowering accepts."""
