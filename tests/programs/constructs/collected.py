"""Numba functions, one or more for every construct of the language that has compiled gradients.

`CASES` lists those that have a value, `RAISES` those that raise an error; what is refused is in refusals.py.

>>> from programs.constructs.collected import CASES
>>> len(CASES) > 120, len({case.name for case in CASES}) == len(CASES)
(True, True)
"""

from support.case import CASES, RAISES, Case

from programs.constructs.arrays import constructs_arrays, constructs_catalogue, constructs_inplace, constructs_numpy
from programs.constructs.calls import constructs_calls, constructs_jitted, constructs_wild
from programs.constructs.containers import constructs_collections, constructs_data, constructs_lists
from programs.constructs.control import (
    constructs_language,
    constructs_loops,
    constructs_opaque,
    constructs_order,
    constructs_raises,
)
from programs.constructs.numbers import (
    constructs_discrete,
    constructs_functions,
    constructs_kinks,
    constructs_scalars,
    constructs_types,
)

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

# In the order of their modules' names, wherever these stand: tests choose cases by their number.
for cases in (CASES, RAISES):
    cases.sort(key=lambda case: case.name.partition(".")[0])
