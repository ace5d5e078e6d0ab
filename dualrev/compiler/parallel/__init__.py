"""Loops over prange: what their rounds share, and how they and their derivatives run in several threads."""
