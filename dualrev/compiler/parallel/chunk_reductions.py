"""Chunked reductions (core -> core): a parallel product, minimum or maximum is a loop over chunks of iterations.

    for i in prange(n):             for k in prange(count):
        p *= a[i]                       parts[k] = f_chunk(first, last, a)      1.0 times a[first] ... a[last - 1]
                                    for k in range(count):
                                        p *= parts[k]

The derivative of a product needs the others, and that of a least number needs to know which one it is. A chunk is a
function, which is differentiated as any other; what the chunks come to is put together in a loop that is no parallel
one, which reverse mode knows, too.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numba.core import types

from dualrev.compiler.ir.core.atoms import Applied, Atom, Comparison, Constant, Expr, Global, Operator, Symbol, Var
from dualrev.compiler.ir.core.builder import CoreBuilder
from dualrev.compiler.ir.core.nodes import Block, Call, Copy, Discrete, For, Function, If, Load, Make, Real, Store
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import leaves, several
from dualrev.compiler.parallel.recognize_reductions import SYMBOLS
from dualrev.compiler.types.aliases import NumbaType
from dualrev.rules.primitives import PRIMITIVES

__all__ = ["MOST", "in_chunks", "neutral"]

MOST = 64  # chunks; so many threads can take part
_I64 = types.int64
_ZERO, _ONE = Constant(0, _I64), Constant(1, _I64)


def neutral(kind: str, of: NumbaType) -> Constant:
    """The identity element of a reduction of this kind, for scalars of this type."""
    least, most = (
        (-math.inf, math.inf) if isinstance(of, types.Float) else (np.iinfo(str(of)).min, np.iinfo(str(of)).max)
    )
    found = {"add": 0, "mul": 1, "min": most, "min of": most, "max": least, "max of": least}[kind]
    return Constant(float(found), types.float64) if isinstance(of, types.Float) else Constant(int(found), of)


def in_chunks(f: Function, loop: For, totals: dict[Var, str], program: Program) -> tuple[Block, Function, Block]:
    """Split a reduction loop into chunks: the setup, the function with the chunk loop, and the loop that combines.

    f holds the loop, and its results are the totals.
    """
    inputs = [x for p in f.parameters for x in leaves(p) if x not in totals]
    first, last, count = (Var(name, _I64) for name in ("first", "last", "count"))
    start = tuple(Copy(x, neutral(kind, x.type), loop.line) for x, kind in totals.items())
    body: Block = (*start, replace(loop, start=first, stop=last, parallel=False))
    chunk, doc = Symbol(f"{f.name}_of_chunk"), f"Some rounds of {f.name}, from `first` to `last`."
    made = replace(f, name=chunk.name, parameters=(first, last, *inputs), body=body, together=(), doc=doc)
    program.define(chunk, made)
    parts = {x: Var("{}_parts", types.Array(x.type, 1, "C"), x) for x in totals}
    before = CoreBuilder()
    bounds = loop.start, loop.stop, _ZERO, _ZERO, Constant(MOST, _I64), _ZERO, Constant(True, types.boolean)
    before.write(Discrete(count, Applied("runtime.chunks", bounds), loop.line))
    for x, of in parts.items():
        before.write(Make(of, Applied("np.empty", (count, Global(f"np.{x.type}", None, ()))), loop.line))
    rounds = _rounds(loop, chunk, inputs, parts, count)
    parameters = tuple(dict.fromkeys([count, *(x for x in (loop.start, loop.stop) if isinstance(x, Var)), *inputs]))
    whole = replace(f, parameters=(*parameters, *parts.values()), body=(rounds,), result=several([]))
    return tuple(before.out), whole, (_together(loop, totals, parts, count),)


def _rounds(loop: For, chunk: Symbol, inputs: list[Var], parts: dict[Var, Var], count: Var) -> For:
    """The parallel loop over chunks, which stores the partial results."""
    w, line, k = CoreBuilder(), loop.line, Var("k", _I64)
    bounds: list[Var] = []
    following = Var("_", _I64)
    w.write(Discrete(following, Operator("+", (k, _ONE)), line))
    for at in (k, following):
        bounds.append(Var("_", _I64))
        w.write(Discrete(bounds[-1], Applied("runtime.bound", (loop.start, loop.stop, count, at)), line))
    made = tuple(Var("_", x.type) for x in parts)
    w.write(Call(made, chunk, (*bounds, *inputs), several([*made]), line))
    for of, x in zip(parts.values(), made, strict=True):
        w.write(Store(of, (k,), x, line))
    return For(k, _ZERO, count, _ONE, tuple(w.out), (), line, parallel=True)


def _together(loop: For, totals: dict[Var, str], parts: dict[Var, Var], count: Var) -> For:
    """The serial loop that combines the partial results of the chunks, in their order."""
    w, line, k = CoreBuilder(), loop.line, Var("k", _I64)
    for x, kind in totals.items():
        part = Var("_", x.type)
        w.write(Load(part, parts[x], (k,), line))
        if kind in SYMBOLS:
            first, second = (x, part) if kind in ("min", "max") else (part, x)
            chosen, test = Var("_", x.type), Var("_", types.boolean)
            w.write(Copy(chosen, first, line))
            w.write(Discrete(test, Comparison((SYMBOLS[kind],), (second, chosen)), line))
            w.write(If(test, (Copy(chosen, second, line),), (), line))
            w.write(Copy(x, chosen, line))
        else:
            _combine(w, x, kind, part, line)
    return For(k, _ZERO, count, _ONE, tuple(w.out), (), line)


def _combine(w: CoreBuilder, x: Var, kind: str, part: Atom, line: int) -> None:
    symbol = "+" if kind == "add" else "*"
    if isinstance(x.type, types.Float):
        w.write(Real(x, PRIMITIVES[kind], symbol, (x, part), line))
    else:
        value: Expr = Operator(symbol, (x, part))
        w.write(Discrete(x, value, line))
