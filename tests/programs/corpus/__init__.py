"""Small functions that people really write, each smooth at its inputs: `CASES` lists them, one file per kind.

Their derivatives are checked against central differences, at orders 1 and 2.

>>> from programs.corpus import CASES
>>> len(CASES) > 165, len({case.name for case in CASES}) == len(CASES)
(True, True)
"""

from programs.corpus import (
    arrays,
    classes,
    closures,
    data,
    dynamic,
    finance,
    inplace,
    learning,
    loops,
    numerics,
    physics,
    recursion,
    statistics,
)
from programs.corpus.case import CASES, Case

__all__ = [
    "CASES",
    "Case",
    "arrays",
    "classes",
    "closures",
    "data",
    "dynamic",
    "finance",
    "inplace",
    "learning",
    "loops",
    "numerics",
    "physics",
    "recursion",
    "statistics",
]
