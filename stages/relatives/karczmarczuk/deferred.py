r"""Deferred perturbations: forward mode in all directions, whose multiplications wait until the end.

Paper:   Karczmarczuk 1998, 2000, 2001, by Pearlmutter and Siskind 2008, section 6
D[R] =   (R, [R~])                                  R~ = R -> R, a perturbation v as \z. v z; one for each input
Changed: vectorised forward mode pairs a number with a vector of n perturbations. Here a perturbation is a function, and
         an operation composes functions: nothing is multiplied before the output's functions are applied, to 1 or to
         a cotangent. So numbers flow from the output to the input, as in reverse mode, and the gradients are right.
Needs:   overloading, closures.
Cost:    n functions for each operation, as in vectorised. And where two perturbations meet, (+) calls both: a number
         that is used twice has its function called twice, with other arguments: 2^n calls for n doublings, as in
         naive. So it is neither forward nor reverse mode in cost. Calls nest as deep as the program is long, on
         Python's stack. As in vectorised, an infinite partial derivative turns the 0 of other inputs into NaN.

    p (x) u       = \z. u (p z)
    u (+) v       = \z. u z + v z
    D[op(t1..tn)] = let (xi, ui) = D[ti] in (op(x1..xn), MAP2 (\u .. v. (p1 (x) u) (+) .. (+) (pn (x) v)) u1 .. un)
    R[e] (s, dt)  = MAP (\u. u dt) (snd (D[e] (.., (si, [.., \z. 0, \z. z, \z. 0, ..]), ..)))
"""

from __future__ import annotations

import functools

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs


class Dual(DualNumber):
    """D[R]: a number x, and its perturbations d."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d


def zero(z):
    """0 : R~"""
    return z * 0.0


def one(z):
    """1 : R~"""
    return z


def times(p, u):
    """p (x) u = \\z. u (p z)"""
    return lambda z: u(p * z)


def plus(u, v):
    """u (+) v = \\z. u z + v z"""
    return lambda z: u(z) + v(z)


constant = None  # not represented


def op(run, y, args, partials):
    """The sum of the operands' perturbations, each scaled by its partial derivative: one entry at a time."""
    entries = zip(*[[times(p, u) for u in arg.d] for arg, p in zip(args, partials, strict=True)], strict=True)
    return Dual(run, y, [functools.reduce(plus, us) for us in entries])


overload(Dual, constant, op)


def vjp(f, *primals):
    """f's value at the primals, and the map from a cotangent of it to a tuple of cotangents, one for each.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    scalars, structure = inputs(primals)
    n = len(scalars)
    with Run() as run:
        duals = [Dual(run, x, [one if i == k else zero for i in range(n)]) for k, x in enumerate(scalars)]
        leaves, output = outputs(f(*structure.rebuild(duals)))
        found = [(k, u) for k, u in enumerate(leaves) if isinstance(u, Dual) and u.run is run]
        for k, u in found:
            leaves[k] = u.x
        y = output.rebuild(leaves)

    def pullback(ct):
        """Apply the output's perturbations, one for each input, to the cotangent."""
        zs = output.read(ct)
        return structure.cotangent([sum((u.d[i](zs[k]) for k, u in found), 0.0) for i in range(n)])

    return y, pullback
