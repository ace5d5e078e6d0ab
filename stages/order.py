"""The stages by name, in the paper's order; and any algorithm by name, the neighbours of stages/relatives/ included."""

from types import ModuleType

from stages import (
    d1_naive,
    d2_staged,
    d3_cayley,
    d3_sparse,
    d4_arrays,
    d4_collectorless,
    d4_contrib,
    d4_lists,
    d4_parallel,
    d4_tape,
)

__all__ = ["STAGES", "algorithm"]

STAGES: dict[str, ModuleType] = {
    "naive": d1_naive,
    "staged": d2_staged,
    "cayley": d3_cayley,
    "sparse": d3_sparse,
    "arrays": d4_arrays,
    "collectorless": d4_collectorless,
    "lists": d4_lists,
    "contrib": d4_contrib,
    "tape": d4_tape,
    "parallel": d4_parallel,
}


def algorithm(name: str) -> ModuleType:
    """The stage of that name, or the neighbour. KeyError if there is none."""
    if name in STAGES:
        return STAGES[name]
    from stages.relatives import RELATIVES  # only where one is asked for

    return RELATIVES[name]
