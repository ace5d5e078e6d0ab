"""Section 5.2: the backpropagator of an input scalar, before and after the Cayley transform.

The paper shows here, for the input type ((R, Int), (R, R)), the argument of SCotan in the backpropagator of the second
scalar: before, the whole one-hot cotangent; after, a function that descends to the scalar and leaves the rest unchanged
(id). So the cost falls from the size of the input to the depth of the scalar: logarithmic for a balanced input, linear
for a list-like one. Sections 6 and 7 make it logarithmic for all inputs, then constant.

stages.pairs makes both, as in D2 and D3; object identity tells which parts of the result are new.
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
    """The number of new pairs and scalars in a product; the parts of `known` are old."""
    old = {id(part) for part in _walk(known)}
    return sum(1 for part in _walk(made, old) if id(part) not in old and part != ())


def _walk(product: Any, stop: set[int] | frozenset[int] = frozenset()) -> list[Any]:
    """All parts of a product, including itself, except those inside of the parts to stop at."""
    found, todo = [], [product]
    while todo:
        part = todo.pop()
        found.append(part)
        if isinstance(part, tuple) and id(part) not in stop:
            todo.extend(part)
    return found


def example() -> tuple[Any, Any, Any]:
    """The collector, the one-hot of the second scalar, and the collector updated at this scalar."""
    _, path = list(pairs.paths(INPUT))[1]
    return INPUT, pairs.one_hot(path, COTANGENT), pairs.update(path, COTANGENT, INPUT)


def balanced(n: int) -> Any:
    """A balanced product of n scalars, log n deep; n is a power of 2."""
    return 1.0 + n if n == 1 else (balanced(n // 2), balanced(n // 2))


def linked(n: int) -> Any:
    """A list-like product of n scalars, n deep."""
    c: Any = ()
    for k in range(n):
        c = (float(k), c)
    return c


def costs(n: int) -> list[int]:
    """Count the parts that the backpropagator of the last of n scalars builds.

    Before Cayley; after it, in a balanced input and in a list; Map nodes (section 6); array entries (section 7).
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
    """Draw a product as a tree below a point; `label` returns a part's text, or None to draw its halves."""
    text, kind = label(part)
    if text is None:
        for side, child in zip((-1, 1), part, strict=True):
            cx, cy = x + side * spread, y + 70
            picture.line((x, y + 14), (cx, cy - 16))
            _tree(picture, child, cx, cy, spread / 2, label)
    picture.box(x - 24, y - 15, 48, 30, kind)
    picture.text(x, y, text or "(,)", "code" + (" strong" if kind == "lit" else ""), "middle")


def draw() -> str:
    """Draw both trees."""
    collector, before, after = example()
    untouched = {id(part) for part in _walk(collector) if part != ()}

    def whole(part: Any) -> tuple[str | None, str]:
        """The label of a part before Cayley: all parts are built."""
        if isinstance(part, tuple) and part:
            return None, "lit"
        return ("d" if part == COTANGENT else "0"), "lit"

    def update(part: Any) -> tuple[str | None, str]:
        """The label of a part after Cayley: id for the untouched ones."""
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
    picture.text(388, 252, "id: unchanged in the collector", "small soft", "middle")
    return picture.svg()


def figure() -> Figure:
    """The page: the trees, and the cost for growing inputs."""
    collector, before, after = example()
    (_, unit), (second, third) = collector
    assert after == ((1.0, unit), (second + COTANGENT, third))
    assert after[0] is collector[0]
    rows = [[f"{n:,}", *(f"{cost:,}" for cost in costs(n))] for n in SIZES]
    *_, last = (costs(n) for n in SIZES)
    body = [
        "![Before: a tree of pairs with d at the second scalar and 0 elsewhere. After: a pair of id and a pair of + d "
        "and id.](onehot.svg)",
        f"A run with d = {COTANGENT:g}; the Int has no cotangent, and our products have () in its place:",
        fence(
            f"before   SCotan {before}\n"
            f"after    SCotan (\\c. ...), which makes {after}\n"
            f"         of the collector           {collector}"
        ),
        "Only the pairs on the path to the scalar are rebuilt: the left half of the result is the same object as the "
        "collector's. The table counts the parts that the backpropagator of the last of n scalars builds: pairs and "
        "scalars; in the last two columns nodes of the Map and entries of the array:",
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
        "before, the backpropagator of an input scalar builds a whole cotangent; after Cayley, it costs the scalar's "
        "depth: logarithmic for a balanced input, linear in the worst case.",
        f"at n = {n:,}: {last[0]:,} pairs and scalars before; after, {last[1]} in a balanced input, {last[2]:,} in a "
        f"list. A Map takes {last[3]} nodes, an array {last[4]} entry.",
        "\n\n".join(body),
        {"onehot.svg": draw()},
    )


def main() -> None:
    """Write the page and the picture."""
    write(figure())


if __name__ == "__main__":
    main()
