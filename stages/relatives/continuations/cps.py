r"""Reverse mode in continuation-passing style: an operation calls its continuation, and then adds to its arguments.

Paper:   Wang et al. 2019, section 3.1, Figs. 6 and 7
D[R] =   (R, Ref R)                                 the value, and a cell that accumulates its cotangent
Changed: forward mode (tagged_forward.py) computes value and tangent together. In reverse mode cotangents come from the
         end. So an operation takes its continuation k, the rest of the program. It computes its value, and calls k;
         when k has returned, the rest of the program has added to its cell. Calls are the forward pass, returns the
         reverse pass.
Needs:   closures, mutable cells; and the user's function in continuation-passing style (computation.py): x * y is not
         a number but a Computation, which takes k, and so is f's value. It refuses programs in direct style, such as
         programs.py has (ComputationError); shift_reset takes them. It refuses a vjp of this module inside of another
         one, as the inner one would have to be in that style itself. It nests inside of other algorithms.
Cost:    O(1) for an operation, forward and reverse: linear. Two frames would wait for each operation, so Python's stack
         (1000 frames) would hold fewer than 500. Instead, a Computation returns the next call, a loop (`there`) makes
         it, and a list holds the waiting work. The list is kept, so that the pullback may be called again.

    D[r]          = r
    D[op(t1..tn)] = \k. let z = (op(x1..xn), ref 0) in k z; d1 += !(z.d) * p1; ...; dn += !(z.d) * pn
    grad f x ct   = let z = (x, ref 0) in D[f] z (\y. y.d += ct); !(z.d)

    2*x + x*x*x   = (2*x)(\y1. (x*x)(\y2. (y2*x)(\y3. (y1 + y3)(k))))       for example
"""

from __future__ import annotations

import itertools
import threading

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.errors import LeakError
from dualrev.tree import inputs, outputs
from stages.relatives.continuations.computation import Computation, ComputationError, End, there

#: What a function in direct style raises here; TypeError from functions of numbers, for which a Computation is none.
REFUSALS = (ComputationError, TypeError)


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
    """D[op(t1..tn)] = \\k. let z = (op(x1..xn), ref 0) in k z; ..."""
    if run.over:
        raise LeakError
    if isinstance(y, Computation):
        raise ComputationError("a derivative by cps inside of another one: its operations are no numbers yet")

    def then(k, waits):
        """Compute z, note its reverse step, and go on with k."""
        z = Dual(run, y, zero)
        waits.append((z, args, partials))  # until k has returned
        return k(z)

    return Computation(then, run)


def visit(z, args, partials):
    """The reverse step, after k has returned: d1 += !(z.d) * p1; ...; dn += !(z.d) * pn"""
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
    """The value that f, in continuation-passing style, passes to its k, and the pullback: cotangent of it -> tuple.

    ComputationError if f is not in that style.

    >>> y, pullback = vjp(lambda x, y: lambda k: (x + y)(lambda z: (x * z)(k)), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    scalars, structure = inputs(primals)
    with Run(called=0, found=[]) as run:
        xs = [Dual(run, x, zero) for x in scalars]
        waits = there(f(*structure.rebuild(xs)), lambda y: run.found.append(deinterleave(run, y)) or End)
    if len(run.found) != 1 or run.called != len(waits):
        raise ComputationError("a continuation was called more than once, or the value of its call was not returned")
    ((y, ys, output),) = run.found
    turn = threading.Lock()

    def pullback(ct):
        """Empty the cells, seed the output's, and run the waiting reverse steps, the last one first."""
        zs = output.read(ct)
        with turn:  # pullbacks share the cells
            for u in itertools.chain(xs, (z for z, *_ in waits)):
                u.d = zero
            for k, u in ys:
                u.d = plus(u.d, zs[k])
            for z, args, partials in reversed(waits):
                if z.d is not zero:
                    visit(z, args, partials)
            if any(isinstance(u.d, Computation) for u in xs):
                raise ComputationError("a cotangent of cps inside of another derivative by cps")
            return structure.cotangent([0.0 if u.d is zero else u.d for u in xs])

    return y, pullback
