"""Records, instances and lists for emitted code: flattened to leaves, and rebuilt from them."""
