"""The tape: what is written on it, and how a cotangent or a tangent goes through it."""
