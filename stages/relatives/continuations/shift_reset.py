r"""Reverse mode by shift and reset: an operation captures the rest of the program, and calls it as a function.

Paper:   Wang et al. 2019, sections 3.2, 3.3 and 3.7, Figs. 8, 9 and 13
D[R] =   (R, Ref R)                                 the value, and a cell that accumulates its cotangent
Changed: in Fig. 7 (cps.py) the user passes its continuation k to every operation. Here an operation captures k by
         shift, so the program stays in direct style; the rules are the same. The frames that wait for their k to return
         are the tape.
Needs:   overloading, mutable cells, delimited continuations (one-shot ones: greenlets, control.py). For nesting, a
         reset for each derivative call and shifts that know theirs (the paper's shift2): levels, here the Runs.
Cost:    O(1) for an operation, forward and reverse: linear. An operation makes a greenlet, and takes 9 to 11 KB until
         its reverse step. f runs once for its value, and again, forward and reverse, for each call of the pullback,
         because a one-shot continuation returns only once: 2^n times for a derivative of order n. RuntimeError if
         its value has changed.

    D[r]          = r                               a constant has no cell
    D[op(t1..tn)] = let (xi, di) = D[ti] in shift (\k. let z = (op(x1..xn), ref 0) in
                                                       k z; d1 += !(z.d) * p1; ...; dn += !(z.d) * pn)
    grad f x ct   = let z = (x, ref 0) in reset (let y = D[f] z in y.d += ct); !(z.d)
"""

from __future__ import annotations

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.errors import LeakError
from dualrev.tree import outputs
from stages.relatives.continuations.again import running_again
from stages.relatives.continuations.control import reset, shift


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
    """D[op(t1..tn)] = shift (\\k. let z = (op(x1..xn), ref 0) in k z; ...)"""
    if run.over:
        raise LeakError

    def body(k):
        """Call k with z, and then run the reverse step."""
        z = Dual(run, y, zero)
        k(z)
        if z.d is not zero:
            visit(z, args, partials)

    return shift(body, run)


def visit(z, args, partials):
    """The reverse step: d1 += !(z.d) * p1; ...; dn += !(z.d) * pn"""
    for u, p in zip(args, partials, strict=True):
        u.d = plus(u.d, z.d * p)


overload(Dual, constant, op)


def deinterleave(run, y):
    """The output's scalars; the dual numbers among them, with their indices; its structure."""
    leaves, structure = outputs(y)
    duals = [(k, u) for k, u in enumerate(leaves) if isinstance(u, Dual) and u.run is run]
    for k, u in duals:
        leaves[k] = u.x
    return leaves, duals, structure


def there_and_back(f, scalars, structure, seeds):
    """grad f x ct: the output's scalars, its structure, and the cotangents of the input."""
    found: list = []
    with Run() as run:
        xs = [Dual(run, x, zero) for x in scalars]

        def whole():
            """Run f, and set the cotangents of the output's scalars."""
            values, ys, output = deinterleave(run, f(*structure.rebuild(xs)))
            found.extend((values, output))
            zs = seeds and seeds(values)
            for k, y in ys if zs else ():
                y.d = plus(y.d, zs[k])

        reset(whole, run)
    return *found, [0.0 if u.d is zero else u.d for u in xs]


def vjp(f, *primals):
    """f's value at the primals, and the map from a cotangent of it to a tuple of cotangents, one for each.

    ImportError without greenlet.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    return running_again(there_and_back, f, primals)
