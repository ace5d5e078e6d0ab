"""Complex numbers and arrays under differentiation: pairs of real ones."""
