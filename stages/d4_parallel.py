r"""Taping of programs that fork and join: the reverse pass runs on threads.

Paper:   Smeding and Vákár 2025, "Parallel dual-numbers reverse AD" (JFP 35, e16)
D[R] =   (R, (Int, Int))                            the id: a job, and a number within it; every job has a tape
Changed: fork(f, g) makes one job for f, one for g and one for the code after both; jobs draw ids independently,
         so f and g may run on two threads: they do where the interpreter has no lock. In the reverse pass a job
         resolves after all jobs that follow it. The two sides of a fork resolve in parallel, in compiled code that
         holds no lock, and add to the arguments atomically. The paper's reverse pass is as parallel as the
         program, too; the details of this one are ours.
Cost:    work as before. The span, the longest chain of ids that wait for each other, is the program's.

    Block              = a list of jobs and forks (Block, Block), in program order
    fork f g           = let (x, b1) = f in a new block, (y, b2) = g in another in add (b1, b2), and a new job; (x, y)
    D[op(t1..tn)]      = let (xi, ii) = D[ti] in write [(p1, i1), ..., (pn, in)] for a fresh i of the job
                         in (op(x1..xn), i)
    Interleave_R x     = as in tape, by the first job
    SResolve block     = for its parts, the last first: a job as in tape; a fork as SResolve b1 parallel to SResolve b2
    Deinterleave, Wrap: as before
"""

from __future__ import annotations

import os
import threading
from functools import partial

import numba
import numpy as np
from numba.extending import register_jitable

from dualrev.eager.numbers.overload import DualNumber, overload
from dualrev.tree import inputs, outputs
from stages.fork_join.atomic import add
from stages.fork_join.jobs import Job, Jobs, laid_out
from stages.fork_join.threads import beside, spare

WORTH = 10_000  # the fewest ids for which a thread pays


class Dual(DualNumber):
    """D[R]: a number x and an id i: a job's number, and a number within the job."""

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
        add(arguments, ids[k], arguments[i] * partials[k])
        called[ids[k]] = True


@numba.njit(cache=True, nogil=True)
def resolve(first, last, ends, partials, ids, arguments, called):
    """SResolve of a job: its highest id first"""
    for i in range(last - 1, first - 1, -1):
        if called[i]:
            call(i, ends[i], ends[i + 1], partials, ids, arguments, called)


constant = None  # not represented


def op(run, y, args, partials):
    """D[op(t1..tn)] = write [(p1, i1), ..., (pn, in)] for a fresh i of the job: (op(x1..xn), i)"""
    return Dual(run, y, run.write(args, partials))


overload(Dual, constant, op)


def interleave(run, scalars, structure):
    """The input with a dual number for every scalar, and the rebuild function."""
    job = run.enter([])
    duals = [Dual(run, x, job.write([], [])) for x in scalars]
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
    with Jobs() as run:
        dual_primals, rebuild = interleave(run, scalars, structure)
        y, duals, output = deinterleave(run, f(*dual_primals))
    block, (starts, ends, partials, ids) = run.block, laid_out(run.jobs)

    def pullback(ct):
        """Map a cotangent of the output to the cotangents of the primals."""
        zs = output.read(ct)
        nested = partials.dtype == object or any(isinstance(z, DualNumber) for z in zs)
        arguments, called = alloc(starts[-1], object if nested else float)
        for k, u in duals:
            i = starts[u.i[0]] + u.i[1]
            arguments[i] += zs[k]
            called[i] = True
        loop = resolve.py_func if nested else resolve
        free, none = spare(os.cpu_count() or 1), threading.Semaphore(0)

        def reverse(block):
            """Resolve the parts of a block, the last first; the two sides of a fork resolve in parallel."""
            for part in reversed(block):
                if isinstance(part, Job):
                    loop(starts[part.number], starts[part.number + 1], ends, partials, ids, arguments, called)
                else:
                    parallel = part.rows >= WORTH and not nested
                    beside(partial(reverse, part.first), partial(reverse, part.second), free if parallel else none)

        reverse(block)
        return rebuild(arguments)

    return y, pullback
