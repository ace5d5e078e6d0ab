"""Why a function computes something else under differentiation, and all places that the tape refuses."""
