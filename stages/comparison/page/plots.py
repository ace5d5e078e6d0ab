"""Growth plots: one SVG for each family, with logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from stages.comparison.measure import Family, Growth

__all__ = ["MARKS", "marker", "plot"]

WIDTH, HEIGHT = 420.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 14.0, 12.0, 40.0

#: Marks for those who see no colours, as paths around 0, 0.
MARKS = (
    "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0-4 0Z",
    "M-3.6-3.6H3.6V3.6H-3.6Z",
    "M0-4.8L4.6 3.6H-4.6Z",
    "M0-5L5 0L0 5L-5 0Z",
    "M0 4.8L4.6-3.6H-4.6Z",
    "M-4.4 0H4.4M0-4.4V4.4",
    "M-3.6-3.6L3.6 3.6M-3.6 3.6L3.6-3.6",
    "M-5 0L-1.5-1.5L0-5L1.5-1.5L5 0L1.5 1.5L0 5L-1.5 1.5Z",
)


def marker(k: int) -> str:
    """The mark of the k-th stage, for a legend."""
    shape = f'<path class="mark" d="{_mark(k)}"/>'
    return (
        f'<svg class="line stage{k}" width="26" height="12" viewBox="-13 -6 26 12" aria-hidden="true">'
        f'<path class="curve" d="M-13 0H13"/>{shape}</svg>'
    )


def _mark(k: int) -> str:
    return MARKS[(k + k // len(MARKS)) % len(MARKS)]  # after the last mark, the second comes first


def plot(family: Family, growths: Sequence[Growth], stages: Sequence[str]) -> str:
    """Plot the work of every stage at the family's sizes."""
    points = {g.stage: [(n, w) for n, w in g.work.items() if w] for g in growths}
    every = [point for line in points.values() for point in line] or [(1, 1)]
    low, high = min(n for n, _ in every), max(n for n, _ in every)
    least, most = min(w for _, w in every), max(w for _, w in every)
    least, most = 10 ** math.floor(math.log10(least)), 10 ** math.ceil(math.log10(max(most, least + 1)))

    def across(n: float) -> float:
        """The horizontal position of size n."""
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(n / low) / math.log(max(high / low, 1.0001))

    def up(w: float) -> float:
        """The vertical position of work w."""
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(w / least) / math.log(max(most / least, 1.0001))

    parts = []
    for exponent in range(round(math.log10(least)), round(math.log10(most)) + 1):
        y = up(10**exponent)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        label = f'10<tspan dy="-5" font-size="9">{exponent}</tspan>'
        parts.append(f'<text class="tick end" x="{LEFT - 7}" y="{y + 4:.1f}">{label}</text>')
    last = -100.0
    for n in family.sizes:
        if low <= n <= high:
            x = across(n)
            parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
            if x - last > 30:
                parts.append(f'<text class="tick" x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}">{n}</text>')
                last = x
    for stage, line in points.items():
        k = list(stages).index(stage)
        shape = _mark(k)
        if not line:
            continue
        path = "M" + "L".join(f"{across(n):.1f} {up(w):.1f}" for n, w in line)
        marks = "".join(
            f'<path class="mark" transform="translate({across(n):.1f} {up(w):.1f})" d="{shape}"/>' for n, w in line
        )
        curve = f'<path class="curve" d="{path}"/>'
        parts.append(f'<g class="line stage{k}"><title>{escape(stage)}</title>{curve}{marks}</g>')
    parts.append(f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}">n</text>')
    name = f"growth-{family.program}"
    laws = "; ".join(f"{g.stage} {g.law or 'too few sizes to tell'}" for g in growths)
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc"><title id="{name}-title">Work over n, {family.program}</title>'
        f'<desc id="{name}-desc">Both axes are logarithmic. The work grows as: {escape(laws)}.</desc>'
        + "".join(parts)
        + "</svg>"
    )
