r"""Symbolic linear factoring: the calls of backpropagators are a program, rewritten so that it calls each one once.

Paper:   Brunel et al. 2020, as Smeding and Vákár 2023 tell it in sections 3.4 and 4
D[R] =   (R, d)                                     d, the name of a function R -o c; and a program of lets
Changed: naive's backpropagators are closures, and calling one calls all below it: 2^n. Here D1[f] is evaluated
         symbolically: numbers are known, functions stay names. The result is a straight-line program. From its last let
         to its first, the calls of the let's function merge into one, f x + f y = f (x + y), which is unfolded. In the
         end only the names of the input's functions remain, and each is called once.
Needs:   overloading, and a derivative that is data: a term with names, not a value of the program's own language.
         staged does the same with ordinary functions: its ids are the order of the lets, its map is this sum.
Cost:    every let is unfolded once: O(1) for each argument of an operation. The whole cotangents of naive remain (the
         paper's note 3): 0, + and one-hots of the input cost O(size(c)) for every scalar of it that is called. The
         whole program is kept, even lets that the result does not need, which no call reaches.

    D[r]             = let d = \z. 0 in (r, d)
    D[op(t1..tn)]    = let (xi, di) = D[ti] in let d = \z. d1 (z*p1) + ... + dn (z*pn) in (op(x1..xn), d)
    Interleave, Deinterleave, Wrap as in naive: the input's names stand for one-hots, and the result is a sum of calls

    let d = \z. b in S    becomes    S with b[a1 + ... + ak] for d a1 + ... + d ak        the last let first
    d (z*p) : a call with a number; the sum S has all calls of a name together: {d -> [a1, .., ak]}
"""

from __future__ import annotations

import itertools

from dualrev.eager.numbers.overload import DualNumber, Run, overload
from dualrev.tree import inputs, outputs
from stages import pairs


class Name:
    """The name of a linear function."""

    __slots__ = ()


class Dual(DualNumber):
    """D[R]: a number x, and the name d of its backpropagator."""

    __slots__ = ("d", "run", "x")

    def __init__(self, run, x, d):
        self.run, self.x, self.d = run, x, d


def define(run, body):
    r"""let d = \z. d1 (z*p1) + ... + dn (z*pn): the name d; the body is [(p1, d1), ..., (pn, dn)]"""
    d = Name()
    run.program.append((d, body))
    return d


def alloc():
    """An empty sum of calls."""
    return {}


def call(total, d, a):
    """S + d a"""
    total[d] = (a, total.get(d))


def factor(calls):
    """Linear factoring: d a1 + ... + d ak = d (a1 + ... + ak). The calls are (ak, (.., (a1, None)))."""
    a, calls = calls
    while calls is not None:
        a, calls = a + calls[0], calls[1]
    return a


def visit(total, body, a):
    """S + b[a]: unfold a call."""
    for p, d in body:
        call(total, d, a * p)


def reduce(total, program):
    """The sum S after unfolding the lets of the program, the last one first: only the input's names remain in it."""
    for d, body in reversed(program):
        calls = total.pop(d, None)
        if calls is not None:
            visit(total, body, factor(calls))
    return total


def constant(run, r):
    r"""D[r] = let d = \z. 0 in (r, d)"""
    return Dual(run, r, define(run, []))


def op(run, y, args, partials):
    r"""D[op(t1..tn)] = let d = \z. d1 (z*p1) + ... + dn (z*pn) in (op(x1..xn), d)"""
    return Dual(run, y, define(run, [(p, u.d) for u, p in zip(args, partials, strict=True)]))


overload(Dual, constant, op)


def interleave(run, structure):
    """The input with a dual number for every scalar; each has a name, which stands for its one-hot."""
    duals = [Dual(run, x, Name()) for x, _ in pairs.paths(run.c)]
    return structure.rebuild(duals), [u.d for u in duals]


def deinterleave(run, y):
    """The output's value; the dual numbers in it, with their indices; the structure of its cotangents."""
    leaves, structure = outputs(y)
    duals = [(k, u) for k, u in enumerate(leaves) if isinstance(u, Dual) and u.run is run]
    for k, u in duals:
        leaves[k] = u.x
    return structure.rebuild(leaves), duals, structure


def vjp(f, *primals):
    """Wrap[f] primals: f's value, and the map from a cotangent of it to a tuple of cotangents, one for every primal.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    scalars, structure = inputs(primals)
    with Run(c=pairs.of(structure, scalars), program=[]) as run:
        dual_primals, names = interleave(run, structure)
        y, duals, output = deinterleave(run, f(*dual_primals))

    def pullback(ct):
        """Reduce the program at a cotangent, and return the cotangents of the primals."""
        zs, total = output.read(ct), alloc()
        for k, u in duals:
            call(total, u.d, zs[k])
        total, c = reduce(total, run.program), pairs.zeros(run.c)
        for d, (_, path) in zip(names, pairs.paths(run.c), strict=True):
            if d in total:
                c = pairs.add(c, pairs.one_hot(path, factor(total[d])))
        return structure.cotangent(pairs.scalars(c))

    return y, pullback


def reduction(f, *primals):
    """The lines of the reduction of f's derivative, called with ones: section 4's example, as the paper prints it.

    The functions are f1, f2, ... in the order of the input's scalars and of the lets.

    >>> for line in reduction(lambda x: (x + x) * x, 3.0):
    ...     print(line)
    f3 1
    f2 3 + f1 6
    f1 6 + f1 3 + f1 3
    f1 12
    """
    scalars, structure = inputs(primals)
    with Run(c=pairs.of(structure, scalars), program=[]) as run:
        dual_primals, names = interleave(run, structure)
        _, duals, _ = deinterleave(run, f(*dual_primals))
    called = {d: f"f{i}" for i, d in enumerate([*names, *(d for d, _ in run.program)], start=1)}

    def text():
        """The sum of calls as text."""
        return " + ".join(f"{called[d]} {a:g}" for d, calls in total.items() for a in reversed(_each(calls)))

    total = alloc()
    for _, u in duals:
        call(total, u.d, 1.0)
    lines = [text()]
    for k in range(len(run.program), -1, -1):
        total = {d: (factor(calls), None) for d, calls in total.items()}
        lines.append(text())
        reduce(total, run.program[k - 1 : k])
        lines.append(text())
    return [line for line, _ in itertools.groupby(lines)]


def _each(calls):
    found = []
    while calls is not None:
        a, calls = calls
        found.append(a)
    return found
