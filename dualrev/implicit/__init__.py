"""Implicit differentiation, `dr.implicit`: derivatives of solutions of equations, not of the solver's steps.

The names are those of JAX and jaxopt: `custom_root` and `custom_fixed_point` decorate a solver, `custom_linear_solve`
solves a linear system; `attach` takes a solution that any program has found. docs/implicit.md is the guide.

>>> import math
>>> import dualrev as dr
>>> dr.grad(lambda a: dr.implicit.attach(lambda x: x * x - a, math.sqrt(dr.value(a))))(4.0)
0.25
"""

from dualrev.implicit.solution import attach
from dualrev.implicit.solvers import custom_fixed_point, custom_linear_solve, custom_root

__all__ = ["attach", "custom_fixed_point", "custom_linear_solve", "custom_root"]


def __dir__() -> list[str]:
    return __all__
