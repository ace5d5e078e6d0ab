"""How it is measured: the machine, memory, agreement of values and gradients, laws of growth, and saved runs."""
