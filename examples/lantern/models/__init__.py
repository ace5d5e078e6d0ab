"""The four models, with their layers, the CTC loss, and trees for numba."""
