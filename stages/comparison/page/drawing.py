"""The drawing of the backpropagators: which calls which, and how often each is called (the paper's Fig. 2, f1 to f4).

The output's backpropagator is at the top; every arrow goes down, to a backpropagator of a lower id, and is marked with
the factor that it is called with. The layer of a box is its longest distance from an output; an arrow over several
layers bends around the boxes between. The boxes of a layer start in the order of the arguments, and are then reordered
by their neighbours above and below (Sugiyama's method). Inputs that are never called are left out.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Hashable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from stages.comparison.steps import Scalar

__all__ = ["Arrow", "Drawing", "Layout", "drawing", "layout"]

WIDTH, HEIGHT = 118.0, 40.0  # of a box
GAP, ROW = 22.0, 78.0  # between boxes, from layer to layer
BEND = 30.0  # the room of an arrow that passes a layer
MARGIN = 20.0


class Drawing(NamedTuple):
    """The text of the SVG, and its width in pixels."""

    svg: str
    width: float


class Arrow(NamedTuple):
    """An arrow from the caller for its argument number `at`: the path of its line, and the position of its factor."""

    caller: int
    called: int
    at: int
    path: str
    x: float
    y: float


class Layout(NamedTuple):
    """The positions of everything: the centres of the boxes by id, and the arrows."""

    width: float
    height: float
    boxes: dict[int, tuple[float, float]]
    arrows: list[Arrow]


class _Edge(NamedTuple):
    caller: int
    called: int
    at: int
    way: list[Hashable]  # boxes and bends from the caller to the called
    side: float  # -1 to 1, where several connect the same two


def layout(refers: dict[int, list[int]]) -> Layout:
    """Lay out the backpropagators, given the ids that each refers to, in the order of their creation."""
    layers, edges = _layers(refers)
    _order(layers, edges)
    x = _places(layers, edges)
    left = min(x[v] - _width(v) / 2 for layer in layers for v in layer)
    right = max(x[v] + _width(v) / 2 for layer in layers for v in layer)
    y = {v: k * ROW + HEIGHT / 2 + 4 for k, layer in enumerate(layers) for v in layer}
    width, height = right - left + 2 * MARGIN, (len(layers) - 1) * ROW + HEIGHT + 8
    place = {v: (x[v] - left + MARGIN, y[v]) for v in x}
    return Layout(width, height, {i: place[i] for i in refers}, [_arrow(edge, place) for edge in edges])


def drawing(scalars: Sequence[Scalar], times: Mapping[int, int], name: str) -> Drawing:
    """Draw the backpropagators; `times` says how often each was called, `name` makes the SVG's ids unique."""
    scalars = [s for s in scalars if s.refers or times.get(s.id) or s.kind != "input"] or scalars
    made = layout({s.id: [i for _, i in s.refers] for s in scalars})
    factors = {(s.id, k): p for s in scalars for k, (p, _) in enumerate(s.refers)}
    drawn = [_line(arrow, factors[arrow.caller, arrow.at], name) for arrow in made.arrows]
    parts = [*(line for line, _ in drawn), *(factor for _, factor in drawn)]  # no line goes over a factor
    parts += [_box(scalar, times.get(scalar.id, 0), *made.boxes[scalar.id]) for scalar in scalars]
    title = "Who calls whom, and how often each backpropagator is called"
    svg = (
        f'<svg class="drawing" viewBox="0 0 {made.width:.0f} {made.height:.0f}" width="{made.width:.0f}" '
        f'height="{made.height:.0f}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{title}</title><desc id="{name}-desc">{escape(_description(scalars, times))}</desc>'
        f'<defs><marker id="{name}-tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" '
        'markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>'
        + "".join(parts)
        + "</svg>"
    )
    return Drawing(svg, made.width)


def _description(scalars: Sequence[Scalar], times: Mapping[int, int]) -> str:
    texts = []
    for scalar in reversed(scalars):
        n = times.get(scalar.id, 0)
        calls = " and ".join(f"d{i} with {p:.4g} z" for p, i in scalar.refers)
        does = f"calls {calls}" if calls else f"belongs to {scalar.kind} {scalar.text}"
        texts.append(f"d{scalar.id} is called {n} {'time' if n == 1 else 'times'} and {does}.")
    return " ".join(texts)


def _layers(refers: dict[int, list[int]]) -> tuple[list[list[Hashable]], list[_Edge]]:
    """The boxes of every layer from the outputs down, with the bends of arrows that pass through; and the arrows."""
    level = dict.fromkeys(refers, 0)
    for caller in reversed(refers):  # results before their arguments
        for i in refers[caller]:
            level[i] = max(level[i], level[caller] + 1)
    layers: list[list[Hashable]] = [[] for _ in range(1 + max(level.values()))]
    for i in refers:
        layers[level[i]].append(i)
    edges = []
    for caller, called in refers.items():
        together = collections.Counter(called)
        seen: collections.Counter[int] = collections.Counter()
        for at, i in enumerate(called):
            side = 0.0 if together[i] == 1 else 2.0 * seen[i] / (together[i] - 1) - 1.0
            bends: list[Hashable] = []
            for k in range(level[caller] + 1, level[i]):
                bends.append((caller, i, seen[i], k))
                layers[k].append(bends[-1])
            seen[i] += 1
            edges.append(_Edge(caller, i, at, [caller, *bends, i], side))
    met = dict.fromkeys(v for caller in reversed(refers) for e in edges if e.caller == caller for v in e.way)
    first = {v: k for k, v in enumerate(met)}
    for layer in layers:
        layer.sort(key=lambda v: first.get(v, 0))
    return layers, edges


def _neighbours(edges: Sequence[_Edge]) -> tuple[dict[Hashable, list[Hashable]], dict[Hashable, list[Hashable]]]:
    above, below = collections.defaultdict(list), collections.defaultdict(list)
    for edge in edges:
        for upper, lower in itertools.pairwise(edge.way):
            above[lower].append(upper)
            below[upper].append(lower)
    return above, below


def _order(layers: list[list[Hashable]], edges: Sequence[_Edge]) -> None:
    """Sort every layer by the mean positions of its neighbours, a few times up and down."""
    above, below = _neighbours(edges)
    for sweep in range(8):
        near, layered = (above, layers) if sweep % 2 == 0 else (below, layers[::-1])
        for fixed, layer in itertools.pairwise(layered):
            at = {v: k for k, v in enumerate(fixed)}
            mean = {}
            for k, v in enumerate(layer):
                found = [at[w] for w in near[v] if w in at]
                mean[v] = sum(found) / len(found) if found else float(k)
            layer.sort(key=lambda v: mean[v])


def _width(v: Hashable) -> float:
    return WIDTH if isinstance(v, int) else BEND


def _places(layers: list[list[Hashable]], edges: Sequence[_Edge]) -> dict[Hashable, float]:
    """The horizontal positions of boxes and bends: near their neighbours, and apart from each other."""
    above, below = _neighbours(edges)
    x: dict[Hashable, float] = {}
    for layer in layers:
        for k, v in enumerate(layer):
            x[v] = (k - (len(layer) - 1) / 2) * (WIDTH + GAP)
    for sweep in range(24):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            wanted = []
            for v in layer:
                near = above[v] + below[v]
                wanted.append(sum(x[w] for w in near) / len(near) if near else x[v])
            _apart(layer, wanted, x)
    return x


def _apart(layer: list[Hashable], wanted: list[float], x: dict[Hashable, float]) -> None:
    """The positions nearest to the wanted ones that keep order and distance: the mean of pushing right and left."""
    room = [(_width(v) + _width(w)) / 2 + GAP for v, w in itertools.pairwise(layer)]
    right, left = list(wanted), list(wanted)
    for k, r in enumerate(room):
        right[k + 1] = max(right[k + 1], right[k] + r)
    for k in range(len(room) - 1, -1, -1):
        left[k] = min(left[k], left[k + 1] - room[k])
    for v, a, b in zip(layer, right, left, strict=True):
        x[v] = (a + b) / 2


def _arrow(edge: _Edge, place: Mapping[Hashable, tuple[float, float]]) -> Arrow:
    points = [place[v] for v in edge.way]
    (x0, y0), (x1, y1) = points[0], points[-1]
    towards, back = points[1][0] - x0, points[-2][0] - x1
    start = x0 + max(-40.0, min(40.0, towards * 0.35)) + 20 * edge.side, y0 + HEIGHT / 2
    end = x1 + max(-40.0, min(40.0, back * 0.35)) + 20 * edge.side, y1 - HEIGHT / 2 - 1
    points = [start, *points[1:-1], end]
    swing = 16 * edge.side if len(points) == 2 else 0.0
    path = f"M{start[0]:.0f} {start[1]:.0f}"
    for (xa, ya), (xb, yb) in itertools.pairwise(points):
        half = (yb - ya) / 2
        path += f"C{xa + swing:.0f} {ya + half:.0f} {xb + swing:.0f} {yb - half:.0f} {xb:.0f} {yb:.0f}"
    (xa, ya), (xb, yb) = points[:2]
    across, down = (0.5, 0.5) if edge.side else (0.216, 0.342)  # the curve at 0.3, where it is near its own caller
    x, y = xa + (xb - xa) * across + 0.75 * swing, ya + (yb - ya) * down
    return Arrow(edge.caller, edge.called, edge.at, path, x, y)


def _line(arrow: Arrow, factor: float, name: str) -> tuple[str, str]:
    """An arrow's line, and the factor on it."""
    text = f"{factor:.4g}z"
    room = 7.0 * len(text) + 6
    group = f'<g class="call" data-from="{arrow.caller}" data-to="{arrow.called}">'
    return (
        f'{group}<path class="arrow" d="{arrow.path}" marker-end="url(#{name}-tip)"/></g>',
        f'{group}<rect class="ground" x="{arrow.x - room / 2:.0f}" y="{arrow.y - 8:.0f}" width="{room:.0f}" '
        f'height="16"/><text class="factor" x="{arrow.x:.0f}" y="{arrow.y + 4:.0f}">{text}</text></g>',
    )


def _box(scalar: Scalar, times: int, x: float, y: float) -> str:
    text = f"{scalar.text if scalar.kind != 'constant' else 'constant'} = {scalar.value:.4g}"
    whole = f"v{scalar.id} = {scalar.text} = {scalar.value:.6g}; d{scalar.id} is called {times} times"
    if len(text) > 17:
        text = f"{scalar.value:.6g}"
    calls = f"{times:,} call{'' if times == 1 else 's'}"
    return (
        f'<g class="node {scalar.kind}" data-id="{scalar.id}" data-times="{times}"><title>{escape(whole)}</title>'
        f'<rect x="{x - WIDTH / 2:.1f}" y="{y - HEIGHT / 2:.1f}" width="{WIDTH:.0f}" height="{HEIGHT:.0f}" rx="6"/>'
        f'<text class="id" x="{x - WIDTH / 2 + 9:.1f}" y="{y - 4:.1f}">d{scalar.id}</text>'
        f'<text class="times" x="{x + WIDTH / 2 - 9:.1f}" y="{y - 4:.1f}">{calls}</text>'
        f'<text class="what" x="{x:.1f}" y="{y + 14:.1f}">{escape(text)}</text></g>'
    )
