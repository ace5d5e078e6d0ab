"""Random programs of the calculus: well-typed ones, with cells and vectors, and text that need not have a type."""
