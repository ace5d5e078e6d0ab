"""What compiled gradients are tested with: one function or more for every construct, refusals, random programs."""
