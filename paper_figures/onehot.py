"""Section 5.2: the backpropagator of one scalar of the input, before and after the Cayley transform.

The paper shows there, for the input type ((R, Int), (R, R)), what the backpropagator of the second scalar passes to
SCotan: before, the whole one-hot cotangent; after, a function that goes down to that scalar and leaves the rest as it
is (id). So its cost falls from the size of the input to the depth of the scalar in it: logarithmic for a balanced
input, linear for a list-like one. Sections 6 and 7 make it logarithmic for all, then constant.

Both are made by stages.pairs, as D2 and D3 make them; what is new in the result is found by identity.
"""

from __future__ import annotations

from typing import Any

from paper_figures.drawing.figure import Figure, fence, table, write
from paper_figures.drawing.graphs import Drawing
from stages import ordered_map, pairs

COTANGENT = 5.0
SIZES = (4, 16, 64, 256, 1024)

#: ((R, Int), (R, R)): an Int has no scalar, so our products have () there.
INPUT = ((1.0, ()), (2.0, 3.0))


def built(made: Any, known: Any) -> int:
    """How many pairs and scalars of a product are new; `known` has the parts that are not."""
    old = {id(part) for part in _walk(known)}
    return sum(1 for part in _walk(made, old) if id(part) not in old and part != ())


def _walk(product: Any, stop: set[int] | frozenset[int] = frozenset()) -> list[Any]:
    """A product's parts, itself among them, but for those inside of the ones to stop at."""
    found, todo = [], [product]
    while todo:
        part = todo.pop()
        found.append(part)
        if isinstance(part, tuple) and id(part) not in stop:
            todo.extend(part)
    return found


def example() -> tuple[Any, Any, Any]:
    """The collector, and both backpropagators of the second scalar: the one-hot, and the collector after the update."""
    _, path = list(pairs.paths(INPUT))[1]
    return INPUT, pairs.one_hot(path, COTANGENT), pairs.update(path, COTANGENT, INPUT)


def balanced(n: int) -> Any:
    """A product of n scalars, log n deep; n a power of 2."""
    return 1.0 + n if n == 1 else (balanced(n // 2), balanced(n // 2))


def linked(n: int) -> Any:
    """A product of n scalars, n deep, as a linked list is one."""
    c: Any = ()
    for k in range(n):
        c = (float(k), c)
    return c


def costs(n: int) -> list[int]:
    """Count what the backpropagator of the last of n scalars builds.

    Before Cayley; after it, in a balanced input and in a list; an entry of a Map (section 6), of an array (section 7).
    """
    tree, chain = balanced(n), linked(n)
    *_, (_, in_tree) = pairs.paths(tree)
    *_, (_, in_chain) = pairs.paths(chain)
    entries: ordered_map.Map = None
    for i in range(n):
        entries = ordered_map.insert_with(_add, entries, i, 0.0)
    more, old = ordered_map.insert_with(_add, entries, n - 1, COTANGENT), {id(node) for node in _nodes(entries)}
    return [
        built(pairs.one_hot(in_tree, COTANGENT), ()),
        built(pairs.update(in_tree, COTANGENT, tree), tree),
        built(pairs.update(in_chain, COTANGENT, chain), chain),
        sum(id(node) not in old for node in _nodes(more)),
        1,
    ]


def _add(x: float, y: float) -> float:
    return x + y


def _nodes(m: ordered_map.Map) -> list[ordered_map.Node]:
    found, todo = [], [m]
    while todo:
        node = todo.pop()
        if node is not None:
            found.append(node)
            todo += [node.left, node.right]
    return found


def _tree(picture: Drawing, part: Any, x: float, y: float, spread: float, label: Any) -> None:
    """A product as a tree below a point; `label` gives the text of a part, or None to go on into it."""
    text, kind = label(part)
    if text is None:
        for side, child in zip((-1, 1), part, strict=True):
            cx, cy = x + side * spread, y + 70
            picture.line((x, y + 14), (cx, cy - 16))
            _tree(picture, child, cx, cy, spread / 2, label)
    picture.box(x - 24, y - 15, 48, 30, kind)
    picture.text(x, y, text or "(,)", "code" + (" strong" if kind == "lit" else ""), "middle")


def draw() -> str:
    """Both trees."""
    collector, before, after = example()
    untouched = {id(part) for part in _walk(collector) if part != ()}

    def whole(part: Any) -> tuple[str | None, str]:
        if isinstance(part, tuple) and part:
            return None, "lit"
        return ("d" if part == COTANGENT else "0"), "lit"

    def update(part: Any) -> tuple[str | None, str]:
        if id(part) in untouched:
            return "id", "slot"
        return (None if isinstance(part, tuple) else "+ d"), "lit"

    picture = Drawing(
        520,
        272,
        "The backpropagator of the second scalar of ((R, Int), (R, R)), before and after Cayley",
        "Before: the whole one-hot ((0, 0), (d, 0)), three pairs and four leaves. After: a pair whose left half is id, "
        "untouched, and whose right half is a pair of + d and id.",
    )
    for x, heading, part, label in (
        (132, "Before Cayley: a value", before, whole),
        (388, "After Cayley: a function", after, update),
    ):
        picture.text(x, 26, heading, "strong", "middle")
        _tree(picture, part, x, 76, 62, label)
    picture.text(132, 252, "all of it is built", "small soft", "middle")
    picture.text(388, 252, "id: left as it is in the collector", "small soft", "middle")
    return picture.svg()


def figure() -> Figure:
    """The trees, and what is built for growing inputs."""
    collector, before, after = example()
    (_, unit), (second, third) = collector
    assert after == ((1.0, unit), (second + COTANGENT, third))
    assert after[0] is collector[0]
    rows = [[f"{n:,}", *(f"{cost:,}" for cost in costs(n))] for n in SIZES]
    *_, last = (costs(n) for n in SIZES)
    body = [
        "![Before: a tree of pairs with d at the second scalar and 0 elsewhere. After: a pair of id and a pair of + d "
        "and id.](onehot.svg)",
        f"Run with d = {COTANGENT:g}; the Int has no cotangent, and our products have () in its place:",
        fence(
            f"before   SCotan {before}\n"
            f"after    SCotan (\\c. ...), which makes {after}\n"
            f"         of the collector           {collector}"
        ),
        "Only the pairs on the way to the scalar are made anew: the left half of the result is the same object as the "
        "collector's. What the backpropagator of the last of n scalars builds, pairs and scalars counted by identity; "
        "in the last two columns nodes of the Map, and entries of the array:",
        table(
            ["n", "before", "after, balanced input", "after, list-like input", "Map (section 6)", "array (section 7)"],
            rows,
            range(6),
        ),
    ]
    n = SIZES[-1]
    return Figure(
        "onehot",
        "Section 5.2, table",
        "one-hot backpropagators before and after Cayley",
        "the backpropagator of an input's scalar built a whole cotangent; after Cayley it costs the scalar's depth: "
        "logarithmic for a balanced input, linear in the worst case.",
        f"at n = {n:,}: {last[0]:,} pairs and scalars before; after, {last[1]} in a balanced input, {last[2]:,} in a "
        f"list. With a Map {last[3]} nodes, with an array {last[4]} entry.",
        "\n\n".join(body),
        {"onehot.svg": draw()},
    )


def main() -> None:
    """Write the page and the picture."""
    write(figure())


if __name__ == "__main__":
    main()
