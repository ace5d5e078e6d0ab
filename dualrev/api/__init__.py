"""Public functions: derivatives, checks, vmap and checkpoints. `dualrev` has them all."""
