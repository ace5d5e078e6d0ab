"""The paper's products: the cotangent type c of D1, D2 and D3 is made of scalars, unit and pairs.

    c ::= R | () | (c, c)

A node of Python data may have many children; it becomes a balanced tree of pairs, without the children that hold no
scalar. So a flat list of n scalars is log n deep, and a linked list of n cells is n deep, as in the paper.

`paths` walks through a product as Interleave does. Interleave passes functions down (\\z. d (z, 0) in D1, a setter in
D3); a `Path` stores the same as data, the way from a scalar up to the root, so that neither building nor calling it
grows Python's stack. All walks use an explicit list in place of recursion, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from dualrev.tree import Structure

__all__ = ["Path", "add", "of", "one_hot", "paths", "scalars", "scale", "update", "zeros"]


class Path(NamedTuple):
    """The path from a component of a product up to the root: its half of its pair, its sibling, the pair's path."""

    half: int
    sibling: Any
    up: Path | None


def of(structure: Structure, scalars: Sequence[Any]) -> Any:
    """Turn nested data with these scalars into a product."""
    leaves = structure.grouped(scalars, array=_balanced)
    return structure.fold(leaves, node=lambda node, children: _balanced(children), discrete=lambda x: ())


def _balanced(children: list[Any]) -> Any:
    children = [child for child in children if child != ()]
    return _between(children, 0, len(children)) if children else ()


def _between(children: list[Any], start: int, end: int) -> Any:
    if end - start == 1:
        return children[start]
    half = (start + end + 1) // 2
    return _between(children, start, half), _between(children, half, end)


def paths(c: Any) -> Iterator[tuple[Any, Path | None]]:
    """Yield every scalar, from left to right, with its path to the root.

    >>> [(x, path.half) for x, path in paths((1.0, 2.0))]
    [(1.0, 0), (2.0, 1)]
    """
    todo: list[tuple[Any, Path | None]] = [(c, None)]
    while todo:
        c, path = todo.pop()
        if c.__class__ is not tuple:
            yield c, path
        elif c:
            todo.append((c[1], Path(1, c[0], path)))
            todo.append((c[0], Path(0, c[1], path)))


def scalars(c: Any) -> list[Any]:
    """The scalars, from left to right."""
    return [x for x, _ in paths(c)]


def zeros(c: Any) -> Any:
    """0 of the type of c: a zero for every scalar.

    >>> zeros((1.0, (2.0, ())))
    (0.0, (0.0, ()))
    """
    return _map(lambda x: 0.0, c)


def add(c1: Any, c2: Any) -> Any:
    """c1 + c2, scalar by scalar."""
    return _map(lambda x, y: x + y, c1, c2)


def scale(z: Any, c: Any) -> Any:
    """Every scalar of c, times z.

    >>> scale(2.0, (1.0, (2.0, ())))
    (2.0, (4.0, ()))
    """
    return _map(lambda x: z * x, c)


def one_hot(path: Path | None, z: Any) -> Any:
    """The product that is z at the end of the path and 0 elsewhere: (z, 0) or (0, z) at every pair on the way up.

    >>> [one_hot(path, 5.0) for _, path in paths((1.0, (2.0, 3.0)))]
    [(5.0, (0.0, 0.0)), (0.0, (5.0, 0.0)), (0.0, (0.0, 5.0))]
    """
    while path is not None:
        zero = zeros(path.sibling)
        z = (zero, z) if path.half else (z, zero)
        path = path.up
    return z


def update(path: Path | None, z: Any, c: Any) -> Any:
    """Add z at the end of the path in c: (g v, w) or (v, g w) at every pair on the path; the rest is shared.

    >>> [update(path, 5.0, (1.0, (1.0, 1.0))) for _, path in paths((0.0, (0.0, 0.0)))]
    [(6.0, (1.0, 1.0)), (1.0, (6.0, 1.0)), (1.0, (1.0, 6.0))]
    """
    halves = []
    while path is not None:
        halves.append(path.half)
        path = path.up
    passed = []
    for half in reversed(halves):
        passed.append(c[1 - half])
        c = c[half]
    c = c + z
    for half, sibling in zip(halves, reversed(passed), strict=True):
        c = (sibling, c) if half else (c, sibling)
    return c


def _map(f: Callable[..., Any], *products: Any) -> Any:
    """Apply f to the scalars at the same positions of products of one type."""
    todo = [products]
    order = []  # every pair before its halves
    while todo:
        cs = todo.pop()
        order.append(cs)
        if cs[0].__class__ is tuple and cs[0]:
            lefts, rights = zip(*cs, strict=True)
            todo.append(rights)
            todo.append(lefts)
    done: list[Any] = []
    for cs in reversed(order):
        if cs[0].__class__ is not tuple:
            done.append(f(*cs))
        elif cs[0]:
            done.append((done.pop(), done.pop()))
        else:
            done.append(())
    return done.pop()
