"""Automatic differentiation of core: forward mode, reverse mode, higher-order derivatives and custom rules."""
