r"""Linearize and transpose: forward mode, its linear part, and the transpose of that; JAX's way to reverse mode.

Paper:   Radul et al. 2023, "You Only Linearize Once", JVP, unzipping and transposition
D[R] =   R                                          and beside each number v, a linear variable dv : R, its tangent
Changed: the stages make the reverse pass of each operation directly. Here reverse mode is no rule of its own: the rules
         are those of forward mode, and the reverse pass comes from them by three passes over a program, each of which
         knows nothing about derivatives but the first. JVP adds linear equations to a program; unzipping separates
         them from the others; transposition reverses them. So forward and reverse mode share one table, and the linear
         program can be used as it is: a derivative in many directions runs the non-linear part once.
Needs:   programs as data; here the operations of one run of f, as in vlad (recording.py).
Cost:    a constant number of equations for each operation, in each of the programs: linear. The non-linear program
         keeps the residuals. f runs once, and the non-linear program once more.

    v = op(a1..an)      v = op(a1..an); rk = dk op(a1..an); dv = r1*da1 + ... + rn*dan                  jvp.py
    equations           the non-linear ones, and the linear ones                                        unzip.py
    t = r*u; t = u + w; (t, s) = dup u; t = 0; drop u, the last one first:                              transpose.py
                        cu = r*ct; (cu, cw) = dup ct; cu = ct + cs; drop ct; cu = 0
    Wrap[f] x           = let (y, rs) = nonlinear x in (y, \ct. transposed rs ct)

The paper's Linear A also has tuples and functions, and its types say which variables are linear. `passes` returns the
four programs, which print as text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stages.comparison.counts import Counts, LimitReached
from stages.relatives.linearize.jvp import jvp
from stages.relatives.linearize.program import Program
from stages.relatives.linearize.transpose import transpose
from stages.relatives.linearize.unzip import unzip
from stages.relatives.recording import Recording, record

__all__ = ["Passes", "count", "passes", "vjp"]


class Passes(NamedTuple):
    """The programs that the passes make, and the recording that they start from."""

    jvp: Program
    nonlinear: Program
    linear: Program
    transposed: Program
    recording: Recording


def passes(f: Callable[..., Any], *primals: Any) -> Passes:
    """The result of each pass for one run of f.

    >>> from dualrev.math import sin
    >>> print(passes(lambda x: sin(x) * x, 3.0).transposed)
    transposed(r1, x0, x1; cx2):
      (c3, c4) = dup cx2
      c2 = x1 * c4
      cx1 = x0 * c3
      c1 = r1 * cx1
      cx0 = c1 + c2
      return (; cx0)
    """
    recording = record(f, primals)
    whole = jvp(recording)
    nonlinear, linear = unzip(whole)
    return Passes(whole, nonlinear, linear, transpose(linear), recording)


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
    """f's value at the primals, and the map from a cotangent of it to a tuple of cotangents, one for each.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    _, nonlinear, _, transposed, of = passes(f, *primals)
    values, _ = nonlinear(of.scalars, ())
    n = len(of.results)
    ys = [y if isinstance(a, str) else leaf for y, a, leaf in zip(values, of.results, of.leaves, strict=False)]
    residuals, structure, output = values[n:], of.structure, of.output

    def pullback(ct: Any) -> Any:
        """Run the transposed program, and return the cotangents of the primals."""
        return structure.cotangent(transposed(residuals, output.read(ct))[1])

    return output.rebuild(ys), pullback


def count(f: Callable[..., Any], *primals: Any, limit: float = float("inf")) -> Counts:
    """The equations of the linear program, as created, and of the transposed program, as called for one pullback.

    LimitReached once both together exceed `limit`.

    >>> count(lambda x: x * x, 3.0)
    Counts(created=4, calls=4, scalars=0, pairs=0, map_steps=0, array_writes=0, span=0)
    """
    made = passes(f, *primals)
    counts = Counts(created=len(made.linear.equations), calls=len(made.transposed.equations))
    if counts.work > limit:
        raise LimitReached(f"more than {limit:,.0f} steps")
    return counts
