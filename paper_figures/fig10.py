r"""Fig. 10: the sharing of backpropagators, before and after defunctionalisation.

The paper shows here (section 8.2) the scalars of \(x, y). let z = x + y in x * z after the algorithm of section 7:
(a) with backpropagators as functions, whose closures refer to earlier ones, and (b) with lists of contributions in
their place. The references, and so the sharing, are the same.

The script reads both from the dual numbers of our stages: from the closures of `collectorless` and from the lists of
`lists`; and the tape from `tape`. Our ids start at 0, the paper's at 1.
"""

from __future__ import annotations

from paper_figures.drawing.figure import Figure, fence, write
from paper_figures.drawing.graphs import Drawing
from stages import Shared, sharing, trace
from stages.programs import PROGRAMS

FUNCTION = PROGRAMS["fig1"].function
PRIMALS = (3.0, 2.0)
NAMES = ("x", "y", "z", "x·z")

#: The positions of the scalars in the drawing, by id; and the side at which an arrow ends: (from, to) -> side.
PLACES = ((20, 44), (330, 44), (160, 116), (20, 188))
ENDS = {(2, 0): "right", (2, 1): "below", (3, 0): "below", (3, 2): "below"}
LETTER = 7.83  # the width of a letter of 13 pixels' height


def nodes() -> dict[str, list[Shared]]:
    """The scalars by stage, in the order of creation."""
    return {stage: sharing(stage, FUNCTION, *PRIMALS) for stage in ("collectorless", "lists", "tape")}


def _pieces(node: Shared) -> list[str | int]:
    """The figure's text of a scalar; in place of the figure's boxes, the ids of the scalars that they refer to."""
    made: list[str | int] = [f"({NAMES[node.id]}, ({node.id}, "]
    if node.closure:
        made.append("λd. " if node.refers else "λd. id")
        for k, (partial, i) in enumerate(node.refers):
            made += [" ∘ " if k else "", i, f" ({partial:g}·d)" if partial != 1 else " d"]
    else:
        made.append("[")
        for k, (partial, i) in enumerate(node.refers):
            made += [f"{', ' if k else ''}({partial:.1f}, ({i}, ", i, "))"]
        made.append("]")
    return [*made, "))"]


def draw(found: dict[str, list[Shared]]) -> str:
    """Draw both structures, one above the other; an arrow leads from each box to the scalar that it refers to."""
    references = "; ".join(
        f"{NAMES[n.id]} to {' and '.join(NAMES[i] for _, i in n.refers)}" for n in found["lists"] if n.refers
    )
    picture = Drawing(
        520,
        480,
        "Sharing of backpropagators, before and after defunctionalisation",
        f"In both structures the same references: {references}. x is shared: it is referred to twice.",
    )
    for top, heading, stage in (
        (28, "(a) Before defunctionalisation", "collectorless"),
        (268, "(b) After defunctionalisation", "lists"),
    ):
        picture.text(20, top, heading, "strong")
        picture.text(500, top, stage, "code small soft", "end")
        for node in found[stage]:
            _row(picture, node, found[stage], top)
    return picture.svg()


def _row(picture: Drawing, node: Shared, others: list[Shared], top: int) -> None:
    """Draw a scalar and its references."""
    x, y = float(PLACES[node.id][0]), top + PLACES[node.id][1]
    for piece in _pieces(node):
        if isinstance(piece, str):
            width = LETTER * len(piece)
            picture.text(x, y, piece, "code small", length=width)
            x += width
            continue
        left, row = PLACES[piece]
        length = LETTER * sum(len(part) if isinstance(part, str) else 2 for part in _pieces(others[piece]))
        right = ENDS[node.id, piece] == "right"
        end = (left + length + 3, top + row + 3) if right else (left + 34, top + row + 12)
        picture.arrow((x + 7, y - 6), end, 0.0, "blue")
        picture.box(x + 2, y - 6, 11, 11, "lit", 2)
        x += 2 * LETTER


def figure() -> Figure:
    """The page: the drawing, the structures as text, and the tape."""
    found = nodes()
    references = {stage: [node.refers for node in made] for stage, made in found.items()}
    assert references["collectorless"] == references["lists"] == references["tape"]
    shared = [NAMES[i] for i in range(4) if sum(i == j for node in found["lists"] for _, j in node.refers) > 1]
    assert shared == ["x"]
    resolved = trace("tape", FUNCTION, *PRIMALS)
    gradient = dict(resolved)
    body = [
        "![Four scalars, x, y, z and their product, before and after defunctionalisation; boxes point to the "
        "scalars that they refer to.](fig10.svg)",
        f"At x = {PRIMALS[0]:g} and y = {PRIMALS[1]:g}; ids start at 0 here, at 1 in the paper. (a) omits SCall, as "
        "the paper does. `stages.sharing` prints the value, its id, and its backpropagator; for `collectorless`:",
        fence("\n".join(map(str, found["collectorless"]))),
        "For `lists`, a backpropagator is a list of partial derivatives, each with the backpropagator that it goes to:",
        fence("\n".join(map(str, found["lists"]))),
        "Section 8.3 then writes these lists in the forward pass. This is the tape of `tape`, a line for each id:",
        fence("\n".join(f"{node.id}: {[(float(p), i) for p, i in node.refers]}" for node in found["tape"])),
        f"Resolving from the highest id down gives (id, cotangent): "
        f"{', '.join(f'({i}, {z:g})' for i, z in resolved)}. So the gradient is ({gradient[0]:g}, {gradient[1]:g}).",
    ]
    return Figure(
        "fig10",
        "Fig. 10",
        "sharing before and after defunctionalisation",
        "backpropagators become lists of contributions; all references, and so the sharing, stay the same. Written to "
        "an array in the forward pass (section 8.3), the lists are a tape.",
        "the references in the closures of `collectorless`, in the lists of `lists` and on the tape of `tape` are "
        "the same. The backpropagator of x is shared.",
        "\n\n".join(body),
        {"fig10.svg": draw(found)},
    )


def main() -> None:
    """Write the page and the picture."""
    write(figure())


if __name__ == "__main__":
    main()
