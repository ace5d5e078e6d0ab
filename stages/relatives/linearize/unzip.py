r"""Pass 2, unzip: the non-linear and the linear equations become two programs (partial evaluation).

    jvp(xs; dxs) = (ys; dys)    nonlinear(xs; ) = (ys, rs; )
                                linear(rs; dxs) = (; dys)

The residuals rs are the non-linear variables by which the linear program scales. No non-linear equation uses a linear
variable, so that each half keeps its order. In a language with functions and control flow, this pass has to split them,
too, and that is where Radul et al. need most of their rules; a recording has none.
"""

from __future__ import annotations

from stages.relatives.linearize.program import Compute, Program, Scale, Slope
from stages.relatives.recording import Atom

__all__ = ["unzip"]


def unzip(program: Program) -> tuple[Program, Program]:
    """The non-linear program, which also returns the residuals, and the linear program, which takes them.

    >>> from stages.relatives.linearize.jvp import jvp
    >>> from stages.relatives.recording import record
    >>> for half in unzip(jvp(record(lambda x, y: x * (x + y), (3.0, 2.0)))):
    ...     print(half)
    nonlinear(x0, x1; ):
      x2 = x0 + x1
      x3 = x0 * x2
      return (x3, x2, x0; )
    linear(x2, x0; dx0, dx1):
      (t1, t2) = dup dx0
      dx2 = t1 + dx1
      t3 = x2 * t2
      t4 = x0 * dx2
      dx3 = t3 + t4
      return (; dx3)
    """
    nonlinear = [u for u in program.equations if isinstance(u, (Compute, Slope))]
    linear = [u for u in program.equations if not isinstance(u, (Compute, Slope))]
    factors: list[Atom] = [u.factor for u in linear if isinstance(u, Scale)]
    residuals = list(dict.fromkeys(a for a in factors if isinstance(a, str)))
    outputs = [*program.outputs, *residuals]
    return (
        Program("nonlinear", program.inputs, (), nonlinear, outputs, (), program.known),
        Program("linear", residuals, program.linear_inputs, linear, (), program.linear_outputs),
    )
