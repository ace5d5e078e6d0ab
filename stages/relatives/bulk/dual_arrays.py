r"""Dual arrays: an array and one backpropagator, with one id, for all of its elements.

Paper:   Smeding, Konarski, Peyton Jones and Fitzgibbon 2025, "Dual-numbers reverse AD for functional array languages"
D[A] =   (A, (Int, A -o (Staged -> Staged)))        A, an array of reals of any shape; arrays of whole numbers stay
Changed: D4 (stages/d4_arrays.py) with arrays in place of numbers, on a program without build: z * p is element by
         element, and each bulk operation has its transpose. A cotangent in Staged is an array.
Cost:    one backpropagator for each bulk operation of the program, and a constant number of bulk operations in it.

    D[op(t1..tn)]               = \z. SCall d1 (z * p1) . .. . SCall dn (z * pn)  partial derivatives as arrays
    D[sum t]                    = \z. SCall d (replicate n z)                   (x, (i, d)) = D[t], here and below
    D[gather ns t (\is. js)]    = \z. SCall d (scatter ms z (\is. js))            ms, the first sizes of t's shape
    D[scatter ns t (\is. js)]   = \z. SCall d (gather ms z (\is. js))

    D[build n (\i. t)]          = \z. SCall d0 z[0] . .. . SCall d(n-1) z[n-1]    where B (vectorise.py) did not run
    D[t[js]]                    = \z. SCall d (scatter ms z js)                   one entry of an array of zeros

The last two lines say why D4 on arrays is too slow without B: n uses of xs[i] add n arrays of n elements, n - 1 of them
zeros. The paper's backpropagators are data, as those of D4 in section 8.2: `Delta`, with a constructor for each line.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from stages.comparison.counts import Counts
from stages.relatives.bulk import numpy_arrays as bulk
from stages.relatives.bulk.language import Program
from stages.relatives.bulk.terms import Build, Gather, Index, Let, Num, Op, Scatter, Sum, Term, Var
from stages.relatives.bulk.vectorise import vectorised

__all__ = ["count", "vjp"]


class Dual(NamedTuple):
    """D[A]: an array x, an id i, and the backpropagator d of that id, as a list of calls for an argument z."""

    x: Any
    i: int
    d: Callable[[Any], list[tuple[Dual, Any]]]


class Run(NamedTuple):
    """The ids of a run, and its backpropagators by id."""

    ids: Any
    duals: list[Dual]

    def dual(self, x: Any, d: Callable[[Any], list[tuple[Dual, Any]]] = lambda z: []) -> Dual:
        """fresh i: (x, (i, d))"""
        self.duals.append(Dual(x, next(self.ids), d))
        return self.duals[-1]


def transformed(t: Term, env: Mapping[str, Any], run: Run) -> Dual:
    """The dual array of a term. Whole numbers in env are no dual numbers: indices, and arrays of them."""

    def index(names: tuple[str, ...], at: tuple[Term, ...], shape: tuple[int, ...]) -> list[Any]:
        return bulk.indices(names, at, shape, {k: u for k, u in env.items() if not isinstance(u, Dual)})

    match t:
        case Var(name):
            if not isinstance(env[name], Dual):
                raise TypeError(f"{name} is a whole number or an array of them, which can only be an index")
            return env[name]
        case Num(value):
            return run.dual(np.float64(value))
        case Let(x, bound, body):
            return transformed(body, {**env, x: transformed(bound, env, run)}, run)
        case Op(name, args):
            us = [transformed(u, env, run) for u in args]
            y, ps = bulk.operation(name, [u.x for u in us])
            return run.dual(y, lambda z: [(u, z * p) for u, p in zip(us, ps, strict=True)])
        case Sum(array):
            u = transformed(array, env, run)
            return run.dual(np.sum(u.x, axis=0), lambda z: [(u, np.broadcast_to(z, np.shape(u.x)))])
        case Gather(shape, array, names, at):
            u, js = transformed(array, env, run), index(names, at, shape)
            return run.dual(
                bulk.gather(u.x, js, shape), lambda z: [(u, bulk.scatter(z, js, np.shape(u.x)[: len(js)], len(shape)))]
            )
        case Scatter(shape, array, names, at):
            u = transformed(array, env, run)
            ms = np.shape(u.x)[: len(names)]
            js = index(names, at, ms)
            return run.dual(bulk.scatter(u.x, js, shape, len(ms)), lambda z: [(u, bulk.gather(z, js, ms))])
        case Index(array, at):
            return transformed(Gather((), array, (), at), env, run)
        case Build(n, i, body):
            us = [transformed(body, {**env, i: k}, run) for k in range(n)]
            return run.dual(np.stack([u.x for u in us]), lambda z: [(u, z[k]) for k, u in enumerate(us)])
    raise TypeError(f"no term: {t!r}")


def resolved(run: Run, result: Dual, ct: Any) -> tuple[list[Any], Counts]:
    """SResolve: the arguments of all backpropagators, and the counts: calls, and elements added."""
    m: list[Any] = [None] * len(run.duals)
    m[result.i], counts = ct, Counts(created=len(run.duals))
    for u in reversed(run.duals):
        if m[u.i] is None:  # nothing that the result depends on
            continue
        counts.calls += 1
        for v, z in u.d(m[u.i]):
            m[v.i] = z if m[v.i] is None else m[v.i] + z
            counts.array_writes += math.prod(np.shape(z))
    return m, counts


def _run(program: Program, args: tuple[Any, ...], bulk_operations: bool) -> tuple[Run, list[Any], Dual]:
    arrays = [bulk.array(u) for u in args]
    if bulk_operations:
        program = vectorised(program, dict(zip(program.arguments, map(np.shape, arrays), strict=True)))
    run = Run(itertools.count(), [])
    given = [u if bulk.whole(u) else run.dual(u) for u in arrays]
    return run, given, transformed(program.body, dict(zip(program.arguments, given, strict=True)), run)


def vjp(program: Program, *args: Any, bulk_operations: bool = True) -> tuple[Any, Callable[[Any], Any]]:
    """The program's value, and the map from a cotangent of it to cotangents of the arguments, None for whole numbers.

    Without `bulk_operations`, B does not run.

    >>> from stages.relatives.bulk.language import build, program, sum_of
    >>> y, pullback = vjp(program(lambda xs, ys: sum_of(build(2, lambda i: xs[i] * ys[i]))), [1.0, 2.0], [3.0, 4.0])
    >>> float(y), [ct.tolist() for ct in pullback(1.0)]
    (11.0, [[3.0, 4.0], [1.0, 2.0]])
    """
    run, given, result = _run(program, args, bulk_operations)

    def pullback(ct: Any) -> tuple[Any, ...]:
        """Resolve the backpropagators, and return the cotangents of the arguments."""
        z = bulk.array(ct)
        if np.shape(z) != np.shape(result.x):
            raise ValueError(f"a cotangent of shape {np.shape(z)} for a value of shape {np.shape(result.x)}")
        m, _ = resolved(run, result, z)
        return tuple(_whole_array(m[u.i], u) if isinstance(u, Dual) else None for u in given)

    return result.x, pullback


def _whole_array(z: Any, u: Dual) -> Any:
    return np.zeros(np.shape(u.x)) if z is None else z + np.zeros(np.shape(u.x))


def count(program: Program, *args: Any, bulk_operations: bool = True) -> Counts:
    """Backpropagators created and called, and elements of cotangents added, for a value and one pullback.

    >>> from stages.relatives.bulk.programs import PROGRAMS
    >>> dot = PROGRAMS["dot product"]
    >>> counts = count(dot.program(100), *dot.arguments(100))
    >>> counts.created, counts.calls, counts.array_writes
    (6, 6, 500)
    """
    run, _, result = _run(program, args, bulk_operations)
    return resolved(run, result, np.ones(np.shape(result.x)))[1]
