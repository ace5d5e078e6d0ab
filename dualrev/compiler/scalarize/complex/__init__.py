"""Complex numbers -> their real and imaginary parts."""
