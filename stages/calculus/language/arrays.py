r"""Fig. 11: mutable arrays, which the type system uses exactly once, so that they can be updated in place.

    alloc       : Int -> t -> (Array t ->R !s) -> s             a new array, for a function that must use it
    allocBeside : Int -> t -> Array s ->R (Array s, Array t)    a second array
    get         : Int -> Array t ->R (!t, Array t)
    set         : Int -> t -> Array t ->R Array t
    modify      : Int -> (t -> t) -> Array t ->R Array t        \R a. letR (!x, a') = get i a in set i (f x) a'
    push        : t -> Array t ->R (!Int, Array t)              append an element, and return its index
    size        : Array t ->R (!Int, Array t)
    dealloc     : Array t ->R Array s ->R Array s               drop the first one
    freeze      : Array t ->R !(IArray t)
    at          : IArray t -> Int -> t                          the paper's a @ i

Here they take all their arguments at once; a term such as \R(a : Array t). \R(b : Array s). dealloc(a, b) has the type
above. alloc and allocBeside count a step for every element, the others one step;
a growing array is copied at every power of two, which counts one more step for each element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.calculus.language.staged import Operator
from stages.calculus.language.types import INT, Array, Arrow, Bang, FrozenArray, Pair, Resource, Type
from stages.calculus.language.values import Cells

__all__ = ["ARRAYS"]


def _alloc(machine: Any, n: int, x: Any, f: Any) -> Any:
    machine.step(_length(n))
    return (yield machine.call(f, Cells([x] * n)))


def _alloc_beside(machine: Any, n: int, x: Any, beside: Cells) -> Any:
    machine.step(_length(n))
    yield from ()
    return beside, Cells([x] * n)


def _get(machine: Any, i: int, a: Cells) -> Any:
    yield from ()
    return a.cells[_index(i, a)], a


def _set(machine: Any, i: int, x: Any, a: Cells) -> Any:
    a.cells[_index(i, a)] = x
    yield from ()
    return a


def _modify(machine: Any, i: int, f: Any, a: Cells) -> Any:
    a.cells[i] = yield machine.call(f, a.cells[_index(i, a)])
    return a


def _push(machine: Any, x: Any, a: Cells) -> Any:
    machine.step(1)
    yield from ()
    a.cells.append(x)
    return len(a.cells) - 1, a


def _size(machine: Any, a: Cells) -> Any:
    yield from ()
    return len(a.cells), a


def _dealloc(machine: Any, a: Cells, b: Cells) -> Any:
    yield from ()
    a.cells = []
    return b


def _freeze(machine: Any, a: Cells) -> Any:
    yield from ()
    return a


def _at(machine: Any, a: Cells, i: int) -> Any:
    yield from ()
    return a.cells[_index(i, a)]


def _length(n: int) -> int:
    if n < 0:
        raise ValueError(f"an array of {n} elements")
    return n


def _index(i: int, a: Cells) -> int:
    if not 0 <= i < len(a.cells):
        raise IndexError(f"index {i} of an array of {len(a.cells)} elements")
    return i


def _type(name: str, types: Sequence[Type]) -> Type | None:
    match name, types:
        case "alloc", [n, t, Resource(Array(s), Bang(result))] if n == INT and s == t:
            return result
        case "allocBeside", [n, t, Array() as beside] if n == INT:
            return Pair(beside, Array(t))
        case "get", [i, Array(t) as a] if i == INT:
            return Pair(Bang(t), a)
        case "set", [i, s, Array(t) as a] if i == INT and s == t:
            return a
        case "modify", [i, Arrow(s, r), Array(t) as a] if i == INT and s == t and r == t:
            return a
        case "push", [s, Array(t) as a] if s == t:
            return Pair(Bang(INT), a)
        case "size", [Array() as a]:
            return Pair(Bang(INT), a)
        case "dealloc", [Array(), Array() as b]:
            return b
        case "freeze", [Array(t)]:
            return Bang(FrozenArray(t))
        case "at", [FrozenArray(t), i] if i == INT:
            return t
    return None


def _line(name: str, signature: str, evaluate: Any, *resources: int) -> Operator:
    return Operator(name, signature, lambda types: _type(name, types), evaluate, frozenset(resources))


ARRAYS: Mapping[str, Operator] = {
    line.name: line
    for line in (
        _line("alloc", "(Int, t, Array t ->R !s) -> s", _alloc),
        _line("allocBeside", "(Int, t, Array s) ->R (Array s, Array t)", _alloc_beside, 2),
        _line("get", "(Int, Array t) ->R (!t, Array t)", _get, 1),
        _line("set", "(Int, t, Array t) ->R Array t", _set, 2),
        _line("modify", "(Int, t -> t, Array t) ->R Array t", _modify, 2),
        _line("push", "(t, Array t) ->R (!Int, Array t)", _push, 1),
        _line("size", "Array t ->R (!Int, Array t)", _size, 0),
        _line("dealloc", "(Array s, Array t) ->R Array t", _dealloc, 0, 1),
        _line("freeze", "Array t ->R !(IArray t)", _freeze, 0),
        _line("at", "(IArray t, Int) -> t", _at),
    )
}
