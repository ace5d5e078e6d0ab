r"""Space: the number of words that a value keeps.

    (v, w)                      a header and two words
    C(v1, .., vn)               a header and n words
    \(x : s). t                 a header and a word for every captured variable
    s . t                       a header and two words
    a map of n keys             a header and, for every key, four words: key, value, and two subtrees
    an array of n elements      a header and n words
    numbers, (), id             the word in their container

Shared values count once. After the forward pass, `reachable(pullback)` is the space that a transformed program keeps
for the reverse pass. The paper's bound for D4 is the number of input scalars plus the number of executed operations.
"""

from __future__ import annotations

from typing import Any

from stages import ordered_map
from stages.calculus.language.values import Cells, Closure, Composed, Made, Tree
from stages.calculus.occurrences import free

__all__ = ["reachable"]


def reachable(value: Any) -> int:
    """The number of words reachable from a value."""
    seen: set[int] = set()
    captured: dict[int, list[str]] = {}
    todo, words = [value], 0
    while todo:
        v = todo.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        cost, held = _shape(v, captured)
        words += cost
        todo.extend(held)
    return words


def _shape(v: Any, captured: dict[int, list[str]]) -> tuple[int, list[Any]]:
    """The words of a value itself, and what it holds; `captured` keeps the free variables of functions' bodies."""
    match v:
        case Closure(parameter, body, environment):
            if id(body) not in captured:
                captured[id(body)] = sorted(free(body) - {parameter})
            held = [environment[x] for x in captured[id(body)]]
        case Composed(left, right):
            held = [left, right]
        case Tree(root):
            held = [] if root is None else [x for _, x in ordered_map.items(root)]
            return 1 + 4 * len(held), held
        case Cells(cells):
            held = cells
        case Made(_, fields):
            held = list(fields)
        case tuple() if v:
            held = list(v)
        case _:
            return 0, []
    return 1 + len(held), held
