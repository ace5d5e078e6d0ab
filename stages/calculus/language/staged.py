r"""Maps, the component of Staged in D2 and D3 (section 4), and of sparse cotangents (section 6).

    {}          0[Map Int t]                              the map without keys
    {i -> t}    : Map Int t                               one key
    m + m'      : Map Int t                               union. At a key of both, with t = R: the sum;
                                                          with t = (s -o c, s): one function, the sum of its arguments
    empty m     : ()+()
    highest m   : Int                                     the highest key

    lookup i m  : t                                       with t = R, 0 for a missing key; otherwise i must be a key
    delete i m  : Map Int t
    insertWith i x m : Map Int t                          m with x at i, or with the sum of x and m's value there
    lookupMaybe i m : ()+t                                inl(()) for a missing key: Krawiec et al. 2022, Fig. 11

All take logarithmic time (evaluate.py has the counts).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stages import ordered_map
from stages.calculus.language.types import BOOL, INT, UNIT, Int, Sum, Type
from stages.calculus.language.types import Map as MapType
from stages.calculus.language.values import FALSE, TRUE, Made, Tree

__all__ = ["MAPS", "Operator"]


@dataclass(frozen=True, slots=True)
class Operator:
    """A primitive of the target languages.

    signature   for messages

    type        maps the arguments' types to the result's; None if they do not fit
    evaluate    a rule of the evaluator, from the machine and the arguments
    resources   the arguments that may use resources
    """

    name: str
    signature: str
    type: Callable[[Sequence[Type]], Type | None]
    evaluate: Callable[..., Any]
    resources: frozenset[int] = frozenset()


def _empty(machine: Any, m: Tree) -> Any:
    yield from ()
    return FALSE if len(m) else TRUE


def _highest(machine: Any, m: Tree) -> Any:
    machine.step(len(m).bit_length())
    yield from ()
    return ordered_map.pop_max(_node(m))[0]


def _lookup(machine: Any, i: int, m: Tree) -> Any:
    machine.step(len(m).bit_length())
    yield from ()
    if m.root is not None and isinstance(m.root.value, tuple) and ordered_map.find(m.root, i) is None:
        raise ValueError(f"{i} is no key of the map")
    return ordered_map.find(m.root, i, 0.0)


def _lookup_maybe(machine: Any, i: int, m: Tree) -> Any:
    machine.step(len(m).bit_length())
    yield from ()
    found = ordered_map.find(m.root, i)
    return TRUE if found is None else Made("inr", (found,))


def _delete(machine: Any, i: int, m: Tree) -> Any:
    machine.step(len(m).bit_length())
    yield from ()
    key, _, rest = ordered_map.pop_max(_node(m))
    if key == i:
        return Tree(rest)
    kept = None
    for k, value in ordered_map.items(m.root):
        kept = kept if k == i else ordered_map.insert_with(lambda _, new: new, kept, k, value)
    return Tree(kept)


def _node(m: Tree) -> ordered_map.Node:
    if m.root is None:
        raise ValueError("the map is empty")
    return m.root


def _of_map(result: Callable[[Type], Type]) -> Callable[[Sequence[Type]], Type | None]:
    def check(types: Sequence[Type]) -> Type | None:
        """The result type for a map; None for other arguments."""
        match types:
            case [MapType(value)]:
                return result(value)
        return None

    return check


def _of_key(result: Callable[[Type], Type]) -> Callable[[Sequence[Type]], Type | None]:
    def check(types: Sequence[Type]) -> Type | None:
        """The result type for a key and a map; None for other arguments."""
        match types:
            case [Int(), MapType(value)]:
                return result(value)
        return None

    return check


def _insert_with(machine: Any, i: int, x: Any, m: Tree) -> Any:
    return (yield machine.plus(Tree(ordered_map.singleton(i, x)), m))


def _inserted(types: Sequence[Type]) -> Type | None:
    match types:
        case [Int(), kind, MapType(value)] if kind == value:
            return MapType(value)
    return None


MAPS: Mapping[str, Operator] = {
    line.name: line
    for line in (
        Operator("empty", "Map Int t -> ()+()", _of_map(lambda t: BOOL), _empty),
        Operator("highest", "Map Int t -> Int", _of_map(lambda t: INT), _highest),
        Operator("lookup", "(Int, Map Int t) -> t", _of_key(lambda t: t), _lookup),
        Operator("lookupMaybe", "(Int, Map Int t) -> ()+t", _of_key(lambda t: Sum(UNIT, t)), _lookup_maybe),
        Operator("insertWith", "(Int, t, Map Int t) -> Map Int t", _inserted, _insert_with),
        Operator("delete", "(Int, Map Int t) -> Map Int t", _of_key(MapType), _delete),
    )
}
