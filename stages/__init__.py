"""The paper's reverse AD, stage by stage, executable.

Smeding and Vákár, "Efficient dual-numbers reverse AD via well-known program transformations", POPL 2023. Every stage is
a module with `vjp(f, *primals) -> (y, pullback)`, and differs from the one before in what the paper changes there.
`python -m stages` compares them.

>>> y, pullback = STAGES["staged"].vjp(lambda x, y: x * (x + y), 3.0, 2.0)
>>> y, pullback(1.0)
(15.0, (8.0, 3.0))
"""

from types import ModuleType

from stages import (
    d1_naive,
    d2_staged,
    d3_cayley,
    d3_sparse,
    d4_arrays,
    d4_collectorless,
    d4_contrib,
    d4_tape,
)

__all__ = ["STAGES"]

#: The stages by name, in the paper's order.
STAGES: dict[str, ModuleType] = {
    "naive": d1_naive,
    "staged": d2_staged,
    "cayley": d3_cayley,
    "sparse": d3_sparse,
    "arrays": d4_arrays,
    "collectorless": d4_collectorless,
    "contrib": d4_contrib,
    "tape": d4_tape,
}
