"""Scalarisation of complex numbers: their real and imaginary parts."""
