"""The stages by name, in the paper's order, and a lookup that also finds the related algorithms of relatives/."""

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
    """Return the module of a stage or of a related algorithm. KeyError for an unknown name."""
    if name in STAGES:
        return STAGES[name]
    from stages.relatives import RELATIVES  # imported only when needed

    return RELATIVES[name]
