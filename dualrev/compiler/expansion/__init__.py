"""From lowered core to expanded core: what is left to differentiate are scalars, elements of arrays, and calls."""
