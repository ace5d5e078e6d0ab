"""numpy.linalg and products of matrices on arrays of dual numbers."""
