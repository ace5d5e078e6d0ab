"""Lowering: syntax trees -> A-normal form, without jumps."""
