r"""Vectors: Krawiec et al. 2022, section 8.3; in the source language and in all others except the one with cells.

    build  : (Int, Int -> t) -> Vector t         build(n, f) = [f 0, .., f (n - 1)]
    index  : (Vector t, Int) -> t                from 0
    size   : Vector t -> Int                     not in the paper, but programs on vectors need it
    fanin  : (Vector (s -o t), Vector s, t) -> t          fanin(d, z, b) = d0 z0 + .. + d(n-1) z(n-1) + b
                                                 in target languages only; in a linear body, z and b are linear

build counts one step for each element and the calls of f; fanin one step for each element and the sums; the others
count one step. Vectors hold no resources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.calculus.language import arrays
from stages.calculus.language.staged import Operator
from stages.calculus.language.types import INT, Arrow, Linear, Type, Vector
from stages.calculus.language.values import Cells, Elements, Formal

__all__ = ["SOURCE", "VECTORS"]

#: Those that programs may use.
SOURCE = frozenset(("build", "index", "size"))


def _build(machine: Any, n: int, f: Any) -> Any:
    if n < 0:
        raise ValueError(f"a vector of {n} elements")
    machine.step(n)
    found = []
    for i in range(n):
        found.append((yield machine.call(f, i)))
    return Elements(tuple(found))


def _index(machine: Any, v: Elements, i: int) -> Any:
    if not 0 <= i < len(v.elements):
        raise IndexError(f"index {i} of a vector of {len(v.elements)} elements")
    yield from ()
    return v.elements[i]


def _size(machine: Any, v: Any) -> Any:
    if isinstance(v, Cells):
        return (yield arrays.ARRAYS["size"].evaluate(machine, v))
    return len(v.elements)


def _fanin(machine: Any, d: Elements, z: Any, b: Any) -> Any:
    if isinstance(z, Formal):
        return b
    if len(z.elements) != len(d.elements):
        raise ValueError(f"a cotangent of {len(z.elements)} elements for a vector of {len(d.elements)}")
    machine.step(len(d.elements))
    for f, x in reversed(list(zip(d.elements, z.elements, strict=True))):
        b = yield machine.plus((yield machine.call(f, x)), b)
    return b


def _type(name: str, types: Sequence[Type]) -> Type | None:
    match name, types:
        case "build", [n, Arrow(i, t)] if n == i == INT:
            return Vector(t)
        case "index", [Vector(t), i] if i == INT:
            return t
        case "size", [Vector()]:
            return INT
        case "size", _:
            return arrays.ARRAYS["size"].type(types)
        case "fanin", [Vector(Linear(s, t)), Vector(r), b] if r == s and b == t:
            return t
    return None


def _line(name: str, signature: str, evaluate: Any, *resources: int) -> Operator:
    return Operator(name, signature, lambda types: _type(name, types), evaluate, frozenset(resources))


VECTORS: Mapping[str, Operator] = {
    line.name: line
    for line in (
        _line("build", "(Int, Int -> t) -> Vector t", _build),
        _line("index", "(Vector t, Int) -> t", _index),
        _line("size", "Vector t -> Int, and Array t ->R (!Int, Array t)", _size, 0),
        _line("fanin", "(Vector (s -o t), Vector s, t) -> t", _fanin),
    )
}
