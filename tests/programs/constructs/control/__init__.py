"""Constructs of control flow: loops, branches, exceptions, the order of things, and what stays as it is."""
