r"""D4 defunctionalised and compiled: the lists of contributions are laid out flat.

Paper:   section 8.2
D[R] =   (R, (Int, Contrib))                        Contrib = [(R, (Int, Contrib))]
Changed: three things, so that a compiler can take SResolve. The lists that the output reaches are laid out flat once,
         from the highest id down; of Staged only an array of arguments remains. SResolve calls no Python functions
         then: numba compiles its loop. From here on a constant is not represented: it neither makes nor receives
         contributions, so D[op] leaves it out of the list, and it draws no id.
Cost:    as before, with a compiled loop.

    D[op(t1..tn)] = let (xi, (ii, ci)) = D[ti] in fresh i: (op(x1..xn), (i, [(p1, (i1, c1)), ..., (pn, (in, cn))]))
    Interleave_R x = fresh i: ((x, (i, [])), \g. g i)
    SResolve args  = for (i, c) of the lists, the highest id first: for (p, (j, _)) in c: args[j] := args[j] + args[i]*p
    Deinterleave, Wrap: as before
"""

from __future__ import annotations

import itertools

import numba
import numpy as np
from numba.extending import register_jitable

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs


class Dual(DualNumber):
    """D[R]: a number x, an id i, and the contributions d: [(partial, (id, contributions))]."""

    __slots__ = ("d", "i", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.i, self.d = run, x, next(run.ids), d


def alloc(i_out, dtype):
    """SAlloc: zero arguments; the contributions stay in the lists."""
    return np.full(i_out, 0.0, dtype)


@register_jitable
def call(i, start, end, partials, ids, arguments):
    """The contributions of id i: for (p, (j, _)) in them, arguments[j] + arguments[i]*p"""
    for k in range(start, end):
        arguments[ids[k]] += arguments[i] * partials[k]


@numba.njit(cache=True)
def resolve(rows, ends, partials, ids, arguments):
    """SResolve: the highest id first; list r belongs to the id rows[r] and ends at index ends[r + 1]"""
    for r in range(len(rows)):
        call(rows[r], ends[r], ends[r + 1], partials, ids, arguments)


constant = None  # not represented


def op(run, y, args, partials):
    """D[op(t1..tn)] = fresh i: (op(x1..xn), (i, [(p1, d1), ..., (pn, dn)]))"""
    return Dual(run, y, [(p, (u.i, u.d)) for u, p in zip(args, partials, strict=True)])


overload(Dual, constant, op)


def interleave(run, scalars, structure):
    """The input with a dual number for every scalar, and the rebuild function."""
    duals = [Dual(run, x, []) for x in scalars]
    return structure.rebuild(duals), lambda arguments: structure.cotangent(arguments[: len(duals)].tolist())


def deinterleave(run, y):
    """The output's value; the dual numbers in it, with their indices; the structure of its cotangents."""
    leaves, structure = outputs(y)
    duals = [(k, u) for k, u in enumerate(leaves) if isinstance(u, Dual) and u.run is run]
    for k, u in duals:
        leaves[k] = u.x
    return structure.rebuild(leaves), duals, structure


def flat(duals, i_out):
    """The lists that these dual numbers reach, flat: ids from the highest down, ends of lists, partials, ids."""
    reached, todo = {}, [(u.i, u.d) for _, u in duals]
    while todo:
        i, d = todo.pop()
        if i not in reached:
            reached[i] = d
            todo.extend(later for _, later in d)
    rows = [i for i in reversed(range(i_out)) if i in reached]
    ends = np.cumsum([0] + [len(reached[i]) for i in rows])
    partials = [p for i in rows for p, _ in reached[i]]
    nested = any(isinstance(p, DualNumber) for p in partials)
    ids = np.array([j for i in rows for _, (j, _) in reached[i]], np.int64)
    return np.array(rows, np.int64), ends, np.array(partials, object if nested else float), ids


def vjp(f, *primals):
    """Wrap[f] primals: f's value, and the map from a cotangent of it to a tuple of cotangents, one for every primal."""
    scalars, structure = inputs(primals)
    with Run(ids=itertools.count()) as run:
        dual_primals, rebuild = interleave(run, scalars, structure)
        y, duals, output = deinterleave(run, f(*dual_primals))
    i_out = next(run.ids)
    rows, ends, partials, ids = flat(duals, i_out)

    def pullback(ct):
        """Map a cotangent of the output to the cotangents of the primals."""
        zs = output.read(ct)
        nested = partials.dtype == object or any(isinstance(z, DualNumber) for z in zs)
        arguments = alloc(i_out, object if nested else float)
        for k, u in duals:
            arguments[u.i] += zs[k]
        loop = resolve.py_func if nested else resolve
        loop(rows, ends, partials, ids, arguments)
        return rebuild(arguments)

    return y, pullback
