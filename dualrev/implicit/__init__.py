"""Solutions of equations, with derivatives by the implicit function theorem: `dr.implicit`, docs/implicit.md.

The names are those of JAX and jaxopt: `custom_root` and `custom_fixed_point` are put above a solver,
`custom_linear_solve` solves a linear system; `attach` takes a solution that has been found anywhere.
"""

from dualrev.implicit.solution import attach
from dualrev.implicit.solvers import custom_fixed_point, custom_linear_solve, custom_root

__all__ = ["attach", "custom_fixed_point", "custom_linear_solve", "custom_root"]
