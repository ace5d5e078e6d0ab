"""np.linalg as numba code: factors, systems, eigenvalues, norms, products."""
