"""The drawing of the backpropagators: who calls whom, and how often each is called (the paper's Fig. 2, f1 to f4).

The output's backpropagator is at the top; every arrow goes down, to a backpropagator of a lower id, and is marked with
the factor that it is called with. Layers are the longest ways from an output; an arrow over several layers bends around
what is between. The order within a layer is that of the arguments at first, and then follows the neighbours above and
below (Sugiyama's method). Inputs that are never called are left out.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Hashable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from stages.steps import Scalar

__all__ = ["Drawing", "drawing"]

WIDTH, HEIGHT = 132.0, 42.0  # of a box
GAP, ROW = 26.0, 92.0  # between boxes, from layer to layer
BEND = 30.0  # the room of an arrow that passes a layer


class Drawing(NamedTuple):
    """The text of the SVG, and its width in pixels."""

    svg: str
    width: float


class _Edge(NamedTuple):
    caller: int
    called: int
    factor: float
    way: list[Hashable]  # boxes and bends from the caller to the called
    side: float  # -1 to 1, where several connect the same two


def drawing(scalars: Sequence[Scalar], times: Mapping[int, int], name: str) -> Drawing:
    """The drawing; `times` says how often each backpropagator was called, `name` tells it from others."""
    scalars = [s for s in scalars if s.refers or times.get(s.id) or s.kind != "input"] or scalars
    layers, edges = _layers(scalars)
    _order(layers, edges)
    x = _places(layers, edges)
    left = min(x[v] - _width(v) / 2 for layer in layers for v in layer)
    right = max(x[v] + _width(v) / 2 for layer in layers for v in layer)
    y = {v: k * ROW + HEIGHT / 2 + 4 for k, layer in enumerate(layers) for v in layer}
    margin = 22.0
    width, height = right - left + 2 * margin, (len(layers) - 1) * ROW + HEIGHT + 8
    place = {v: (x[v] - left + margin, y[v]) for v in x}
    lines, factors = zip(*(_arrow(edge, place, name) for edge in edges), strict=True) if edges else ((), ())
    parts = [*lines, *factors]
    parts += [_box(scalar, times.get(scalar.id, 0), *place[scalar.id]) for scalar in scalars]
    title = "Who calls whom, and how often each backpropagator is called"
    svg = (
        f'<svg class="drawing" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{title}</title><desc id="{name}-desc">{escape(_description(scalars, times))}</desc>'
        f'<defs><marker id="{name}-tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" '
        'markerUnits="userSpaceOnUse" orient="auto"><path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>'
        + "".join(parts)
        + "</svg>"
    )
    return Drawing(svg, width)


def _description(scalars: Sequence[Scalar], times: Mapping[int, int]) -> str:
    texts = []
    for scalar in reversed(scalars):
        n = times.get(scalar.id, 0)
        calls = " and ".join(f"d{i} with {p:.4g} z" for p, i in scalar.refers)
        does = f"calls {calls}" if calls else f"belongs to {scalar.kind} {scalar.text}"
        texts.append(f"d{scalar.id} is called {n} {'time' if n == 1 else 'times'} and {does}.")
    return " ".join(texts)


def _layers(scalars: Sequence[Scalar]) -> tuple[list[list[Hashable]], list[_Edge]]:
    """The boxes of every layer from the outputs down, with the bends of the arrows that pass it; and the arrows."""
    level = {scalar.id: 0 for scalar in scalars}
    for scalar in reversed(scalars):  # results before their arguments
        for _, i in scalar.refers:
            level[i] = max(level[i], level[scalar.id] + 1)
    layers: list[list[Hashable]] = [[] for _ in range(1 + max(level.values()))]
    for scalar in scalars:
        layers[level[scalar.id]].append(scalar.id)
    edges = []
    for scalar in scalars:
        together = collections.Counter(i for _, i in scalar.refers)
        seen: collections.Counter[int] = collections.Counter()
        for p, i in scalar.refers:
            side = 0.0 if together[i] == 1 else 2.0 * seen[i] / (together[i] - 1) - 1.0
            bends: list[Hashable] = []
            for k in range(level[scalar.id] + 1, level[i]):
                bends.append((scalar.id, i, seen[i], k))
                layers[k].append(bends[-1])
            seen[i] += 1
            edges.append(_Edge(scalar.id, i, p, [scalar.id, *bends, i], side))
    met = dict.fromkeys(v for scalar in reversed(scalars) for e in edges if e.caller == scalar.id for v in e.way)
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
    """Put every layer in the order of its neighbours' mean places, a few times up and down."""
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
    """Where boxes and bends stand from left to right: near their neighbours, and apart from each other."""
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
    """As near to the wanted places as order and room allow: the mean of pushing right and of pushing left."""
    room = [(_width(v) + _width(w)) / 2 + GAP for v, w in itertools.pairwise(layer)]
    right, left = list(wanted), list(wanted)
    for k, r in enumerate(room):
        right[k + 1] = max(right[k + 1], right[k] + r)
    for k in range(len(room) - 1, -1, -1):
        left[k] = min(left[k], left[k + 1] - room[k])
    for v, a, b in zip(layer, right, left, strict=True):
        x[v] = (a + b) / 2


def _arrow(edge: _Edge, place: Mapping[Hashable, tuple[float, float]], name: str) -> tuple[str, str]:
    """The line, and the factor on it: all lines are drawn before all factors."""
    points = [place[v] for v in edge.way]
    (x0, y0), (x1, y1) = points[0], points[-1]
    towards, back = points[1][0] - x0, points[-2][0] - x1
    start = x0 + max(-40.0, min(40.0, towards * 0.35)) + 20 * edge.side, y0 + HEIGHT / 2
    end = x1 + max(-40.0, min(40.0, back * 0.35)) + 20 * edge.side, y1 - HEIGHT / 2 - 1
    points = [start, *points[1:-1], end]
    swing = 16 * edge.side if len(points) == 2 else 0.0
    path = f"M{start[0]:.1f} {start[1]:.1f}"
    for (xa, ya), (xb, yb) in itertools.pairwise(points):
        half = (yb - ya) / 2
        path += f"C{xa + swing:.1f} {ya + half:.1f} {xb + swing:.1f} {yb - half:.1f} {xb:.1f} {yb:.1f}"
    (xa, ya), (xb, yb) = points[:2]
    across, down = (0.5, 0.5) if edge.side else (0.216, 0.342)  # the curve at 0.3, where it is near its own caller
    x, y = xa + (xb - xa) * across + 0.75 * swing, ya + (yb - ya) * down
    text = f"{edge.factor:.4g}z"
    room = 7.0 * len(text) + 6
    group = f'<g class="call" data-from="{edge.caller}" data-to="{edge.called}">'
    return (
        f'{group}<path class="arrow" d="{path}" marker-end="url(#{name}-tip)"/></g>',
        f'{group}<rect class="ground" x="{x - room / 2:.1f}" y="{y - 8:.1f}" width="{room:.1f}" height="16"/>'
        f'<text class="factor" x="{x:.1f}" y="{y + 4:.1f}">{text}</text></g>',
    )


def _box(scalar: Scalar, times: int, x: float, y: float) -> str:
    text = f"{scalar.text if scalar.kind != 'constant' else 'constant'} = {scalar.value:.4g}"
    whole = f"v{scalar.id} = {scalar.text} = {scalar.value:.6g}; d{scalar.id} is called {times} times"
    if len(text) > 19:
        text = f"{scalar.value:.6g}"
    calls = f"{times:,} call{'' if times == 1 else 's'}"
    return (
        f'<g class="node {scalar.kind}" data-id="{scalar.id}" data-times="{times}"><title>{escape(whole)}</title>'
        f'<rect x="{x - WIDTH / 2:.1f}" y="{y - HEIGHT / 2:.1f}" width="{WIDTH:.0f}" height="{HEIGHT:.0f}" rx="6"/>'
        f'<text class="id" x="{x - WIDTH / 2 + 9:.1f}" y="{y - 4:.1f}">d{scalar.id}</text>'
        f'<text class="times" x="{x + WIDTH / 2 - 9:.1f}" y="{y - 4:.1f}">{calls}</text>'
        f'<text class="what" x="{x:.1f}" y="{y + 14:.1f}">{escape(text)}</text></g>'
    )
