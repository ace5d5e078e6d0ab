r"""Pass 3, transposition: the equations of a linear program in reverse order, each one transposed.

    t = 0               drop ct
    t = a * u           cu = a * ct
    t = u + w           (cu, cw) = dup ct           + and dup, 0 and drop are each other's transposes
    (t, s) = dup u      cu = ct + cs
    drop u              cu = 0

A linear variable is defined once and used once, so its cotangent is, too: the result is a linear program, and its
transpose is the program that it came from.
"""

from __future__ import annotations

from stages.relatives.linearize.program import Add, Drop, Dup, Equation, Linear, Program, Scale, Zero

__all__ = ["transpose"]


def transpose(program: Program) -> Program:
    """The transposed program: transposed(rs; cys) = (; cxs), for linear(rs; dxs) = (; dys).

    >>> from stages.relatives.linearize.jvp import jvp
    >>> from stages.relatives.linearize.unzip import unzip
    >>> from stages.relatives.recording import record
    >>> _, linear = unzip(jvp(record(lambda x, y: x * (x + y), (3.0, 2.0))))
    >>> print(transpose(linear))
    transposed(x2, x0; cx3):
      (c3, c4) = dup cx3
      cx2 = x0 * c4
      c2 = x2 * c3
      (c1, cx1) = dup cx2
      cx0 = c1 + c2
      return (; cx0, cx1)
    """
    equations: list[Equation] = []
    for equation in reversed(program.equations):
        assert isinstance(equation, Linear)
        equations.append(_transposed(equation))
    given, found = [[cotangent(u) for u in us] for us in (program.linear_outputs, program.linear_inputs)]
    return Program("transposed", program.inputs, given, equations, (), found, program.known)


def cotangent(u: str) -> str:
    """The name of the cotangent of a tangent: cx0 of dx0, c1 of t1; and back."""
    other = {"d": "c", "t": "c", "c": "d"}[u[0]]
    return f"{'t' if u[0] == 'c' and u[1:].isdigit() else other}{u[1:]}"


def _transposed(equation: Linear) -> Linear:
    match equation:
        case Zero(t):
            return Drop(cotangent(t))
        case Scale(t, a, u):
            return Scale(cotangent(u), a, cotangent(t))
        case Add(t, u, w):
            return Dup(cotangent(u), cotangent(w), cotangent(t))
        case Dup(t, s, u):
            return Add(cotangent(u), cotangent(t), cotangent(s))
    return Zero(cotangent(equation.of))
