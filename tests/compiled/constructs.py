"""Numba functions, one or more for every construct of the language that has compiled gradients.

`CASES` lists those that have a value, `RAISES` those that raise an error; what is refused is in refusals.py.

>>> from compiled.constructs import CASES
>>> len(CASES) > 120, len({case.name for case in CASES}) == len(CASES)
(True, True)
"""

from compiled import (
    constructs_arrays,
    constructs_calls,
    constructs_catalogue,
    constructs_collections,
    constructs_data,
    constructs_discrete,
    constructs_functions,
    constructs_inplace,
    constructs_jitted,
    constructs_kinks,
    constructs_language,
    constructs_lists,
    constructs_loops,
    constructs_numpy,
    constructs_opaque,
    constructs_order,
    constructs_raises,
    constructs_scalars,
    constructs_types,
    constructs_wild,
)
from compiled.case import CASES, RAISES, Case

__all__ = [
    "CASES",
    "RAISES",
    "Case",
    "constructs_arrays",
    "constructs_calls",
    "constructs_catalogue",
    "constructs_collections",
    "constructs_data",
    "constructs_discrete",
    "constructs_functions",
    "constructs_inplace",
    "constructs_jitted",
    "constructs_kinks",
    "constructs_language",
    "constructs_lists",
    "constructs_loops",
    "constructs_numpy",
    "constructs_opaque",
    "constructs_order",
    "constructs_raises",
    "constructs_scalars",
    "constructs_types",
    "constructs_wild",
]
