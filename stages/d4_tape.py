r"""D4 as taping: the contributions are written to a tape in the forward pass.

Paper:   section 8.3
D[R] =   (R, Int)                                   and a tape: Array [(R, Int)], the contributions of each id
Changed: the forward pass already knows which contributions belong to which id, so it writes them to flat arrays that
         grow. A scalar carries its id. Resolving is one compiled loop over the tape, backwards.
         A constant is not represented, as in contrib.
Cost:    as before, with the smallest constant: this is a Wengert list, arrived at from closures.

    tape               = partials : Array R, ids : Array Int, ends : Array Int
                         the contributions of id i are the entries from ends[i] to ends[i + 1]
    D[op(t1..tn)]      = let (xi, ii) = D[ti] in write [(p1, i1), ..., (pn, in)] for a fresh i: (op(x1..xn), i)
    Interleave_R x     = write [] for a fresh i: ((x, i), \g. g i)
    SResolve tape args = for i from the last id down, if it was called:
                         for (p, j) in tape[i]: args[j] := args[j] + args[i]*p
    Deinterleave, Wrap: as before
"""

from __future__ import annotations

from array import array

import numba
import numpy as np
from numba.extending import register_jitable

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.errors import ConversionError
from dualrev.tree import inputs, outputs


class Dual(DualNumber):
    """D[R]: a number x and an id i."""

    __slots__ = ("i", "run", "x")

    def __init__(self, run, x, i):
        self.run, self.x, self.i = run, x, i


def alloc(i_out, dtype):
    """SAlloc: zero arguments, and which ids have been called: 0 times an infinite partial derivative would be NaN."""
    return np.full(i_out, 0.0, dtype), np.zeros(i_out, np.bool_)


@register_jitable
def call(i, start, end, partials, ids, arguments, called):
    """The contributions of id i: for (p, j) in them, arguments[j] + arguments[i]*p"""
    for k in range(start, end):
        arguments[ids[k]] += arguments[i] * partials[k]
        called[ids[k]] = True


@numba.njit(cache=True)
def resolve(ends, partials, ids, arguments, called):
    """SResolve: the highest id first"""
    for i in range(len(arguments) - 1, -1, -1):
        if called[i]:
            call(i, ends[i], ends[i + 1], partials, ids, arguments, called)


constant = None  # not represented


def op(run, y, args, partials):
    """D[op(t1..tn)] = write [(p1, i1), ..., (pn, in)] for a fresh i: (op(x1..xn), i)"""
    ends, ids = run.ends, run.ids
    try:
        run.partials.extend(partials)
    except ConversionError:  # a nested derivative: partials are numbers of an outer run, which no float array can hold
        run.partials = [*run.partials[: ends[-1]], *partials]
    for u in args:  # a loop without calls: this is the cost of an operation
        ids.append(u.i)
    i = len(ends) - 1
    ends.append(len(ids))
    return Dual(run, y, i)


overload(Dual, constant, op)


def interleave(run, scalars, structure):
    """The input with a dual number for every scalar, and the rebuild function."""
    run.ends.extend([0] * len(scalars))
    duals = [Dual(run, x, i) for i, x in enumerate(scalars)]
    return structure.rebuild(duals), lambda arguments: structure.cotangent(arguments[: len(duals)].tolist())


def deinterleave(run, y):
    """The output's value; the dual numbers in it, with their indices; the structure of its cotangents."""
    leaves, structure = outputs(y)
    duals = [(k, u) for k, u in enumerate(leaves) if isinstance(u, Dual) and u.run is run]
    for k, u in duals:
        leaves[k] = u.x
    return structure.rebuild(leaves), duals, structure


def vjp(f, *primals):
    """Wrap[f] primals: f's value, and the map from a cotangent of it to a tuple of cotangents, one for every primal."""
    scalars, structure = inputs(primals)
    with Run(partials=array("d"), ids=array("q"), ends=array("q", [0])) as run:
        dual_primals, rebuild = interleave(run, scalars, structure)
        y, duals, output = deinterleave(run, f(*dual_primals))
    ends, partials, ids = np.array(run.ends), np.array(run.partials), np.array(run.ids)

    def pullback(ct):
        """Map a cotangent of the output to the cotangents of the primals."""
        zs = output.read(ct)
        nested = partials.dtype == object or any(isinstance(z, DualNumber) for z in zs)
        arguments, called = alloc(len(ends) - 1, object if nested else float)
        for k, u in duals:
            arguments[u.i] += zs[k]
            called[u.i] = True
        loop = resolve.py_func if nested else resolve
        loop(ends, partials, ids, arguments, called)
        return rebuild(arguments)

    return y, pullback
