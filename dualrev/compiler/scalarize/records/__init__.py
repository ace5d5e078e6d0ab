"""Scalar replacement (SROA) of records and jitclass instances by their fields."""
