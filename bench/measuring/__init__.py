"""Tools for measuring: the machine, memory, agreement of gradients, laws of growth, and saved runs."""
