"""A small SVG writer: boxes, texts and arrows, for drawings of call graphs.

The same calls give the same bytes. A drawing has a title and a description for readers who cannot see it, fits the
screen of a phone, and follows the reader's choice of light or dark. The colours are Okabe and Ito's; words repeat all
that they say.
"""

from __future__ import annotations

import math
from html import escape

__all__ = ["Drawing", "plain_label"]

#: Classes of shapes and texts. The second colour of each is for dark pages.
_STYLE = """
  svg { --page: #ffffff; --ink: #1b1f24; --soft: #59636e; --box: #f3f5f7; --edge: #8c959f; --blue: #0072B2; \
--red: #B34700; --lit: #fdf0e6; }
  @media (prefers-color-scheme: dark) { svg { --page: #0d1117; --ink: #e6edf3; --soft: #a3adb8; --box: #1c232b; \
--edge: #768390; --blue: #56B4E9; --red: #E69F00; --lit: #33260f; } }
  text { font: 15px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: var(--ink); white-space: pre; }
  .code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
  .small { font-size: 13px; }
  .soft { fill: var(--soft); }
  .strong { font-weight: 600; }
  .blue { fill: var(--blue); }
  .red { fill: var(--red); }
  .page { fill: var(--page); }
  .box { fill: var(--box); stroke: var(--edge); stroke-width: 1.2; }
  .lit { fill: var(--lit); stroke: var(--red); stroke-width: 1.6; }
  .slot { fill: var(--page); stroke: var(--edge); stroke-width: 1.2; }
  .arrow { fill: none; stroke: var(--edge); stroke-width: 1.6; }
  .arrow.blue { stroke: var(--blue); }
  .arrow.red { stroke: var(--red); }
  .head { fill: var(--edge); }
  .head.blue { fill: var(--blue); }
  .head.red { fill: var(--red); }
"""

Point = tuple[float, float]


class Drawing:
    """Shapes in the order in which they are drawn."""

    def __init__(self, width: int, height: int, title: str, description: str):
        self.width, self.height, self.title, self.description = width, height, title, description
        self.shapes: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, kind: str = "box", radius: float = 6) -> None:
        """Draw a rectangle, given its upper left corner."""
        self._shape("rect", kind, x=x, y=y, width=width, height=height, rx=radius)

    def triangle(self, x: float, y: float, size: float, kind: str = "box") -> None:
        """Draw a triangle that points up, given the upper left corner of the square around it."""
        points = " ".join(map(_point, [(x, y + size), (x + size, y + size), (x + size / 2, y)]))
        self.shapes.append(f'<polygon class="{kind}" points="{points}"/>')

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start", length: float = 0) -> None:
        """Draw a line of text, centred at y. The anchor is "start", "middle" or "end"; `length` fixes the width."""
        attributes = f' class="{kind}"' if kind else ""
        attributes += f' textLength="{_number(length)}"' if length else ""
        place = f'x="{_number(x)}" y="{_number(y + 5)}"' + (f' text-anchor="{anchor}"' if anchor != "start" else "")
        self.shapes.append(f"<text {place}{attributes}>{escape(text, quote=False)}</text>")

    def line(self, start: Point, end: Point) -> None:
        """Draw a straight line without an arrow head."""
        self.shapes.append(f'<path class="arrow" d="M{_point(start)} L{_point(end)}"/>')

    def arrow(self, start: Point, end: Point, bend: float = 0.0, kind: str = "") -> Point:
        """Draw a curved arrow; `bend` is the distance of its middle from the straight line, positive on the left.

        Returns its middle, the position of a label.
        """
        (x0, y0), (x1, y1) = start, end
        length = math.hypot(x1 - x0, y1 - y0)
        normal = ((y1 - y0) / length, -(x1 - x0) / length)
        control = ((x0 + x1) / 2 + 2 * bend * normal[0], (y0 + y1) / 2 + 2 * bend * normal[1])
        self.curve(start, control, end, kind)
        return (x0 + 2 * control[0] + x1) / 4, (y0 + 2 * control[1] + y1) / 4

    def curve(self, start: Point, control: Point, end: Point, kind: str = "") -> None:
        """Draw a quadratic curve with this control point, and an arrow head at its end."""
        dx, dy = end[0] - control[0], end[1] - control[1]
        length = math.hypot(dx, dy)
        dx, dy = dx / length, dy / length
        base = end[0] - 8 * dx, end[1] - 8 * dy
        path = f"M{_point(start)} Q{_point(control)} {_point(base)}"
        self.shapes.append(f'<path class="{_classes("arrow", kind)}" d="{path}"/>')
        sides = [(base[0] + s * 4 * dy, base[1] - s * 4 * dx) for s in (1, -1)]
        head = " ".join(_point(p) for p in (end, *sides))
        self.shapes.append(f'<polygon class="{_classes("head", kind)}" points="{head}"/>')

    def svg(self) -> str:
        """The text of the SVG file."""
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title about">',
                f'<title id="title">{escape(self.title, quote=False)}</title>',
                f'<desc id="about">{escape(self.description, quote=False)}</desc>',
                f"<style>{_STYLE}</style>",
                f'<rect class="page" width="{self.width}" height="{self.height}"/>',
                *self.shapes,
                "</svg>\n",
            ]
        )

    def _shape(self, tag: str, kind: str, **attributes: float) -> None:
        written = " ".join(f'{name}="{_number(value)}"' for name, value in attributes.items())
        self.shapes.append(f'<{tag} class="{kind}" {written}/>')


def plain_label(n: int, singular: str) -> str:
    """A number with its noun, in singular or plural.

    >>> plain_label(1, "call"), plain_label(1024, "call")
    ('1 call', '1,024 calls')
    """
    return f"{n:,} {singular}" if n == 1 else f"{n:,} {singular}s"


def _classes(*names: str) -> str:
    return " ".join(name for name in names if name)


def _number(x: float) -> str:
    text = f"{x:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _point(p: Point) -> str:
    return f"{_number(p[0])} {_number(p[1])}"
