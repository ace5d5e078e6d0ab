r"""Reverse mode by a tape of functions: the work after a continuation returns is written to a tape instead of waiting.

Paper:   Wang et al. 2019, section 3.5, Fig. 12
D[R] =   (R, Ref R)                                 the value, and a cell that accumulates its cotangent; and
                                                    a tape: [() -> ()], the operations' reverse steps
Changed: in Fig. 8 (shift_reset.py) the reverse step of an operation waits on the stack until k returns. Here it becomes
         a function on the heap, at the front of a tape. No work follows the call of k any more, so k need not be
         called, and no control operator remains. Defunctionalised, this is the tape of numbers (the stage `tape`);
         hence "refunctionalised".
Needs:   overloading, closures, mutable cells, a mutable tape. The paper's is one global variable; here every derivative
         call has its own, so that derivatives nest and threads do not meet.
Cost:    O(1) for an operation, forward and reverse: linear. The paper composes the functions into one, whose calls
         would nest as deep as the program is long; here they are a list. Each reverse pass empties the cells first,
         and pullbacks of one vjp take turns (a lock).

    tape          = \(). ()
    D[r]          = r
    D[op(t1..tn)] = let (xi, di) = D[ti]; z = (op(x1..xn), ref 0) in
                    tape := (\(). d1 += !(z.d) * p1; ...; dn += !(z.d) * pn) andThen tape; z
    grad f x ct   = let z = (x, ref 0) in (D[f] z).d += ct; tape (); !(z.d)
"""

from __future__ import annotations

import itertools
import threading

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.errors import LeakError
from dualrev.tree import inputs, outputs


class Dual(DualNumber):
    """D[R]: a number x and its cotangent d so far."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d


zero = None  # nothing has been added yet: 0 times a partial that is infinite would be NaN


def plus(d, z):
    """d + z"""
    return z if d is zero else d + z


constant = None  # not represented


def op(run, y, args, partials):
    """D[op(t1..tn)] = tape := (\\(). ...) andThen tape; z"""
    if run.over:
        raise LeakError
    z = Dual(run, y, zero)

    def back():
        """The operation's reverse step; it does nothing for a cotangent of zero."""
        if z.d is not zero:
            visit(z, args, partials)

    run.tape.append(back)
    run.cells.append(z)
    return z


def visit(z, args, partials):
    """The reverse step: d1 += !(z.d) * p1; ...; dn += !(z.d) * pn"""
    for u, p in zip(args, partials, strict=True):
        u.d = plus(u.d, z.d * p)


overload(Dual, constant, op)


def deinterleave(run, y):
    """The output's value; the dual numbers in it, with their indices; the structure of its cotangents."""
    leaves, structure = outputs(y)
    duals = [(k, u) for k, u in enumerate(leaves) if isinstance(u, Dual) and u.run is run]
    for k, u in duals:
        leaves[k] = u.x
    return structure.rebuild(leaves), duals, structure


def vjp(f, *primals):
    """f's value at the primals, and the map from a cotangent of it to a tuple of cotangents, one for each.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    scalars, structure = inputs(primals)
    with Run(tape=[], cells=[]) as run:
        xs = [Dual(run, x, zero) for x in scalars]
        y, ys, output = deinterleave(run, f(*structure.rebuild(xs)))
    turn = threading.Lock()

    def pullback(ct):
        """Empty the cells, seed the output's, run the tape backwards, and return the cotangents of the primals."""
        zs = output.read(ct)
        with turn:
            for u in itertools.chain(xs, run.cells):
                u.d = zero
            for k, u in ys:
                u.d = plus(u.d, zs[k])
            for back in reversed(run.tape):
                back()
            return structure.cotangent([0.0 if u.d is zero else u.d for u in xs])

    return y, pullback
