"""The pictures of walkthrough.md: the calls of backpropagators for x * (x + y), and for section 4's f1 to f4.

`make figures` (or `python -m paper_figures.walkthrough_pictures`) writes them; a test fails when they are stale. Their
scalars, partial derivatives and calls come from the stages, by `stages.sharing` and `stages.trace`.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

from stages import Shared, sharing, trace
from stages.programs import PROGRAMS

FOLDER = Path(__file__).parent

HALF_WIDTH, HALF_HEIGHT = 31, 16  # of a box
#: Fills, light enough for black text, that colour-blind readers can tell apart (after Okabe and Ito).
FILLS = ("#d5ecf9", "#fdecc0", "#cdeee2", "#f6dbea")


class Point(NamedTuple):
    """A position in a picture, in pixels from its upper left corner."""

    x: float
    y: float


#: The positions and names of the scalars of x * (x + y), by id.
SCALARS = (
    (Point(70, 60), "x"),
    (Point(70, 170), "y"),
    (Point(270, 170), "s = x + y"),
    (Point(460, 60), "x * s"),
)


def pictures() -> dict[str, str]:
    """The text of both files, by name."""
    return {"walkthrough_graph.svg": graph(), "walkthrough_calls.svg": calls()}


def graph() -> str:
    """The scalars of Fig. 1's program at (3, 2), with an arrow for each call that a backpropagator makes."""
    shared = sharing("lists", PROGRAMS["fig1"].function, 3.0, 2.0)
    body = []
    for u in shared:
        body += [arrow(SCALARS[u.id][0], SCALARS[i][0], f"z * {p:g}", 0) for p, i in u.refers]
    for u in shared:
        place, name = SCALARS[u.id]
        body += [box(place, f"{u.value:g}", FILLS[u.id]), text(place, name, -24 if place.y < 100 else 34)]
    count = len(trace("naive", PROGRAMS["fig1"].function, 3.0, 2.0))
    title = "The scalars of x * (x + y) at (3, 2), and the calls between their backpropagators"
    said = f"An arrow is a call, labelled with its argument. With the first call, of the result's, there are {count}."
    return document(540, 225, title, said, body)


class Call(NamedTuple):
    """A call of backpropagator i with z, and the calls that it makes."""

    i: int
    z: float
    makes: list[Call]


def calls() -> str:
    """Section 4: the calls of plain evaluation, as a tree, beside the calls of the staged version."""
    program = PROGRAMS["section4"].function
    shared = sharing("lists", program, 1.0)
    plain, staged = trace("naive", program, 1.0), trace("staged", program, 1.0)
    body = [text(Point(175, 28), f"called at once: {len(plain)} calls")]
    body += _tree(_called(iter(plain), shared), iter(range(len(plain))), 0)[1]
    body += [text(Point(460, 28), f"delayed: {len(staged)} calls")]
    places = [Point(460, 75 + 85 * (len(shared) - 1 - i)) for i in range(len(shared))]
    for u in shared:
        for i in sorted({i for _, i in u.refers}):
            label = ", ".join(f"{p:g}z".removeprefix("1") for p, j in u.refers if j == i)
            side = {1: 0, 2: 1 if u.id == len(shared) - 1 else -1}[u.id - i]
            body.append(arrow(places[u.id], places[i], label, 55 * side))
    body += [box(places[i], f"f{i + 1}({z:g})", FILLS[i]) for i, z in staged]
    title = "The backpropagators f1 to f4 of section 4, called at once and delayed"
    order = ", ".join(f"f{i + 1}({z:g})" for i, z in staged)
    return document(570, 365, title, f"Called at once: {_said(plain)}. Delayed: {order}.", body)


def _said(plain: list[tuple[int, float]]) -> str:
    return ", ".join(f"f{i + 1}({z:g})" for i, z in plain)


def _called(plain: Iterator[tuple[int, float]], shared: list[Shared]) -> Call:
    """The next call, and the calls that it makes: `trace` lists a call before them."""
    i, z = next(plain)
    return Call(i, z, [_called(plain, shared) for _ in shared[i].refers])


def _tree(call: Call, leaves: Iterator[int], depth: int) -> tuple[Point, list[str]]:
    """The position of a call, above the middle of the calls that it makes, and its part of the picture."""
    below = [_tree(more, leaves, depth + 1) for more in call.makes]
    x = sum(place.x for place, _ in below) / len(below) if below else 42 + 68 * next(leaves)
    place = Point(x, 75 + 85 * depth)
    body = [arrow(place, end, "", 0) for end, _ in below]
    body += [part for _, parts in below for part in parts]
    return place, [*body, box(place, f"f{call.i + 1}({call.z:g})", FILLS[call.i])]


# ---- the parts of a picture ------------------------------------------------------------------------------------------


def box(at: Point, label: str, fill: str) -> str:
    """A box with a label in it."""
    x, y = at.x - HALF_WIDTH, at.y - HALF_HEIGHT
    size = f'width="{2 * HALF_WIDTH}" height="{2 * HALF_HEIGHT}"'
    return f'<rect x="{x:g}" y="{y:g}" {size} rx="6" fill="{fill}" stroke="#333"/>' + text(at, label, 5)


def text(at: Point, label: str, down: float = 0) -> str:
    """Text centred at a point."""
    return f'<text x="{at.x:g}" y="{at.y + down:g}">{escape(label)}</text>'


def arrow(start: Point, end: Point, label: str, bend: float) -> str:
    """An arrow from box to box, bent to the right by `bend` pixels, with its label at the middle."""
    begin, tip = _edge(start, end, bend), _edge(end, start, bend)
    middle = Point((begin.x + tip.x) / 2 + 2 * bend, (begin.y + tip.y) / 2)
    line = f'<path d="M{begin.x:g} {begin.y:g}Q{middle.x:g} {middle.y:g} {tip.x:g} {tip.y:g}"/>'
    if not label:
        return line
    beside = Point((begin.x + tip.x) / 2 + bend, middle.y)
    half = 4.2 * len(label) + 3
    cleared = f'<rect x="{beside.x - half:g}" y="{beside.y - 10:g}" width="{2 * half:g}" height="20" fill="#fff"/>'
    return line + cleared + text(beside, label, 5)


def _edge(here: Point, there: Point, bend: float) -> Point:
    """The end of an arrow at a box: the middle of the side that faces the other box, or the bend."""
    if bend:
        return Point(here.x + (HALF_WIDTH if bend > 0 else -HALF_WIDTH), here.y)
    dx, dy = there.x - here.x, there.y - here.y
    scale = min(HALF_WIDTH / abs(dx) if dx else 9.0, HALF_HEIGHT / abs(dy) if dy else 9.0)
    return Point(round(here.x + dx * scale, 1), round(here.y + dy * scale, 1))


def document(width: int, height: int, title: str, said: str, body: list[str]) -> str:
    """The text of the SVG file: a white card, so that it is readable on dark pages, too."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
    style = (
        "text{font:15px sans-serif;text-anchor:middle;fill:#111}"
        "path{fill:none;stroke:#333;stroke-width:1.3;marker-end:url(#tip)}"
    )
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#333;stroke:none;marker-end:none"/></marker></defs>'
    )
    card = f'<rect width="{width}" height="{height}" rx="10" fill="#fff"/>'
    lines = [
        head,
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(said)}</desc>",
        f"<style>{style}</style>",
        tip,
        card,
        *body,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write both files."""
    for name, drawn in pictures().items():
        (FOLDER / name).write_text(drawn, encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main()
