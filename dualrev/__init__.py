"""dualrev: reverse-mode automatic differentiation for code made of loops, branches, recursion and data structures.

So far: the table of derivative rules (`dualrev.primitives`), functions for numbers that are being differentiated
(`dualrev.math`), and nested data (`dualrev.tree`). The algorithms that use them are in `stages`.
"""

from dualrev import errors, math, tree
from dualrev._version import __version__
from dualrev.overload import value

__all__ = ["__version__", "errors", "math", "tree", "value"]
