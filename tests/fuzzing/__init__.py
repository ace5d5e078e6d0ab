"""Random numba programs, each checked in every way we know: campaigns, the variants of a check, smaller programs."""
