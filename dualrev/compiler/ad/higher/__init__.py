"""Higher-order derivatives: calls of gradients, and derivative operators as functions of core."""
