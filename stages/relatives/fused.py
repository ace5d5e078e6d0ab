r"""Functions as single operations: a primitive, given by its partial derivatives, and fused functions, which are
differentiated on the spot so that only their Jacobian is recorded.

Paper:   Krawiec et al. 2022, sections 8.2 and 8.7, Figs. 14 and 15
D[R] =   the D[R] of the surrounding transformation: the figures use delta_map.py
Changed: D[f] for a function f : R^n -> R^m, where D has a rule for op : R^n -> R only. fused gets the partial
         derivatives that the rule needs from R[f], in the forward pass.
Needs:   the rule D[op(t1..tn)] of the transformation; for fused, any vjp.
Cost:    m bindings of n terms, however many operations f has. fused keeps no more, but has to find them: R[f] once, and
         eval m times. That pays if f has many operations and few inputs and outputs, and if the record is used more
         than once. It costs if there are many inputs: a term for each, even for inputs that f does not use (whose 0 is
         an ordinary number: times an infinite cotangent, it is NaN).

    D[primitive f df] (..., (xi, ui), ...) = let (y1, ..., ym) = f (x1, ..., xn)
                                             do i1 <- deltaLet (Add (Scale df11 u1) ... (Scale df1n un))
                                                ...
                                                im <- deltaLet (Add (Scale dfm1 u1) ... (Scale dfmn un))
                                                ((y1, Var i1), ..., (ym, Var im))            dfij at (x1, ..., xn)
    D[fused f]                             = D[primitive f (\\x. (R[f] (x, onehot 1), ..., R[f] (x, onehot m)))]

In the paper, a compiler could remove the Delta of f altogether, since it is made and evaluated in one place. Here it is
garbage after the call; stages/calculus/deltas/fusing.py does it at compile time. The figure has m = 1.
"""

from __future__ import annotations

import functools

from dualrev.eager.numbers.overload import DualNumber, alive, contribute
from dualrev.errors import CustomRuleError, PrimitiveError
from dualrev.tree import flatten_scalars, outputs
from stages.relatives.deltas import delta_array


def primitive(f, df):
    """f as a single operation with the Jacobian df.

    f takes and returns nested data, with n and m real scalars. df takes the same arguments, and returns m rows of n
    partial derivatives, in the order of the scalars. PrimitiveError if it has other rows. Both are called with what is
    known outside of the derivative, so that derivatives of higher order are those of f and df.

    >>> polar = primitive(lambda x, y: (x * x + y * y, x * y), lambda x, y: [[2.0 * x, 2.0 * y], [y, x]])
    >>> y, pullback = delta_array.vjp(polar, 3.0, 2.0)
    >>> y, pullback((1.0, 0.0)), pullback((0.0, 1.0))
    ((13.0, 6.0), (6.0, 4.0), (2.0, 3.0))
    """
    return _one_step(f, lambda *xs: (f(*xs), df(*xs)))


def fused(f, vjp=delta_array.vjp):
    """f as a single operation: every call differentiates f by vjp, on the spot, and records only its Jacobian.

    The Jacobian is with respect to the arguments: numbers under differentiation have to be among them, not in f's
    closure (CustomRuleError). f is given copies of nested data, so it should not change its arguments in place.

    >>> y, pullback = delta_array.vjp(fused(lambda x: x * x * x), 2.0)
    >>> y, pullback(1.0)
    (8.0, (12.0,))
    """

    def linearize(*xs):
        """The value of f and the rows of its Jacobian, by one pullback for each scalar of the value."""
        y, pullback = vjp(f, *xs)
        ys, structure = outputs(y)
        units = [structure.cotangent([float(i == j) for j in range(len(ys))]) for i in range(len(ys))]
        return y, [flatten_scalars(pullback(unit))[0] for unit in units]

    return _one_step(f, linearize)


def _one_step(f, linearize):
    """f as a single operation; `linearize` gives its value and the rows of its Jacobian."""

    @functools.wraps(f)
    def step(*args):
        """Compute f's value and Jacobian, and record one operation for each scalar of the value."""
        leaves, structure = flatten_scalars(args)
        duals = [alive(u) for u in leaves if isinstance(u, DualNumber)]
        if not duals:
            return f(*args)
        innermost = max(duals, key=lambda u: u.run.level)
        run, kind = innermost.run, type(innermost)
        y, rows = linearize(*structure.rebuild([u.x if _is_of(u, run) else u for u in leaves]))
        ys, output = outputs(y)
        rows = [[p if isinstance(p, DualNumber) else float(p) for p in row] for row in rows]
        if [len(row) for row in rows] != [len(leaves)] * len(ys):
            shape = f"{len(ys)} rows of {len(leaves)} entries, for the scalars of its value and of its arguments"
            raise PrimitiveError(getattr(f, "__name__", f), f"its Jacobian needs {shape}")
        if any(isinstance(x, DualNumber) and x.run.level >= run.level for xs in (ys, *rows) for x in xs):
            raise CustomRuleError(f, "every number under differentiation to be among its arguments, as it is one step")
        return output.rebuild([contribute(run, kind, y, leaves, row) for y, row in zip(ys, rows, strict=True)])

    return step


def _is_of(u, run):
    return isinstance(u, DualNumber) and u.run is run
