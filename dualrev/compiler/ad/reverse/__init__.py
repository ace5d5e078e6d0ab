"""Reverse mode: the forward and the reverse sweep of a function of core."""
