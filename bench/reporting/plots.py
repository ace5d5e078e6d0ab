"""The pictures of a report, as SVG: `draw(name, run)`.

The colours are Okabe and Ito's, which colour-blind readers can tell apart. Lines and marks also differ in shape.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bench.measuring.runs import Run
from bench.peers import LIBRARIES, PROGRAMS
from bench.programs.families import ENGINES, FAMILIES
from bench.programs.table1 import COLUMNS, ROWS
from bench.reporting import content

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE, GREY = "#C7B500", "#0072B2", "#D55E00", "#CC79A7", "#767676"

#: Colour, marker and line of an engine or a column.
LINES = {
    "plain": (GREY, "", ":"),
    "naive": (VERMILLION, "o", "-"),
    "staged": (ORANGE, "s", "-"),
    "cayley": (PURPLE, "^", "-"),
    "sparse": (BLUE, "D", "-"),
    "arrays": (SKY, "v", "-"),
    "collectorless": (YELLOW, "P", "-"),
    "lists": (GREEN, "p", "-."),
    "contrib": (GREEN, "X", "-"),
    "tape": (BLACK, "*", "-"),
    "parallel": (BLACK, "h", "-."),
    "micrograd": (PURPLE, "P", ":"),
    "dualrev": (BLACK, "", "--"),
    "njit": (GREY, "", "-."),
    "compiled": (BLUE, "d", "--"),
}

#: Colour and marker of a library.
MARKS = {
    "plain": (GREY, "|"),
    "dualrev": (BLACK, "D"),
    "njit": (GREY, "4"),
    "compiled": (BLACK, "*"),
    "jax": (BLUE, "o"),
    "casadi": (GREEN, "^"),
    "torch": (VERMILLION, "s"),
    "autograd": (ORANGE, "v"),
    "micrograd": (PURPLE, "P"),
}


def draw(name: str, run: Run) -> str:
    """Draw a picture: the same run gives the same bytes."""
    import matplotlib
    from matplotlib import pyplot

    with matplotlib.rc_context({"svg.hashsalt": "dualrev", "svg.fonttype": "path", "font.size": 9}):
        figure = PICTURES[name](run)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    return stream.getvalue()


def _panels(rows: int, columns: int, **options: Any) -> tuple[Figure, list[Axes]]:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(rows, columns, layout="constrained", squeeze=False, **options)
    return figure, list(axes.flat)


def _line(panel: Axes, key: str, xs: list[int], ys: list[float]) -> None:
    colour, marker, line = LINES[key]
    panel.plot(xs, ys, color=colour, marker=marker, linestyle=line, markersize=4.5, linewidth=1.2, label=key)


def _logarithmic(panel: Axes) -> None:
    """Make both axes logarithmic, with labels at powers of ten, and at 2 and 5 times these on a short axis."""
    from matplotlib.ticker import LogLocator, NullFormatter

    panel.set(xscale="log", yscale="log")
    for axis, (low, high) in ((panel.xaxis, panel.get_xlim()), (panel.yaxis, panel.get_ylim())):
        few = high / low < 300
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=12))
        axis.set_major_formatter(lambda x, _: f"{x:,.12g}")
        axis.set_minor_formatter(NullFormatter())


def _finish(figure: Figure, panels: list[Axes], columns: int) -> None:
    """Add grids, and one legend for all panels."""
    known: dict[str, Any] = {}
    for panel in panels:
        panel.grid(alpha=0.25, linewidth=0.6)
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    figure.legend(known.values(), known.keys(), loc="outside lower center", ncols=columns, frameon=False)


def families(run: Run) -> Figure:
    """Plot time against size, with a panel for each family."""
    figure, panels = _panels(2, 2, figsize=(9.5, 8.2))
    for panel, family in zip(panels, FAMILIES.values(), strict=True):
        for engine in ENGINES:
            sizes, seconds = content.climbed(run, family.name, engine)
            if not sizes:
                continue
            _line(panel, engine, sizes, [t * 1e3 for t in seconds])
            if content.cut_off(run, family.name, engine):
                panel.annotate(
                    "×",  # noqa: RUF001 - it marks the end of a line
                    (sizes[-1], seconds[-1] * 1e3),
                    (0, 7),
                    textcoords="offset points",
                    ha="center",
                    va="center",
                    color=LINES[engine][0],
                    fontsize=11,
                    fontweight="bold",
                )
        _logarithmic(panel)
        panel.set(xlabel=f"n: {family.unit}", ylabel="value and gradient, ms")
        panel.set_title(f"{family.name}: {TITLES[family.name]}", fontsize=10)
    _finish(figure, panels, 5)
    figure.suptitle("Time of every stage on four programs  (×: cut off, the next size takes too long)", fontsize=11)  # noqa: RUF001
    return figure


TITLES = {
    "doublings": "sharing. staged solves it",
    "wide": "whole cotangents. cayley solves it",
    "deep": "a nested input. sparse and arrays solve it",
    "chains": "work only. constants differ",
}


def table1(run: Run) -> Figure:
    """Plot time against n, with a panel for each function."""
    figure, panels = _panels(2, 3, figsize=(9.5, 6.4))
    for panel, row in zip(panels, ROWS.values(), strict=True):
        for column in COLUMNS:
            measures = run.select("table1", row=row.name, column=column)
            if measures:
                _line(panel, column, [m.labels["n"] for m in measures], [m.seconds * 1e6 for m in measures])
        if row.paper and panel.lines:
            ns = sorted({m.labels["n"] for m in run.select("table1", row=row.name)})
            panel.plot(ns, [row.paper[0] * n for n in ns], color=VERMILLION, linewidth=0.9, label="paper's slope")
        _logarithmic(panel)
        panel.set(xlabel=f"n: {row.unit}")
        panel.set_title(row.title, fontsize=10)
    for panel in panels[::3]:
        panel.set_ylabel("microseconds")
    _finish(figure, panels, 7)
    return figure


def peers(run: Run) -> Figure:
    """Plot every program as a row, and every library as a mark in it."""
    programs = [p for p in PROGRAMS.values() if content.best(run, p.name, content.REFERENCE)]
    figure, (panel,) = _panels(1, 1, figsize=(9.5, 1.6 + 0.42 * len(programs)))
    for k, program in enumerate(programs):
        reference = content.best(run, program.name, content.REFERENCE)
        assert reference is not None
        found = {key: m.seconds / reference.seconds for key in LIBRARIES if (m := content.best(run, program.name, key))}
        panel.plot([min(found.values()), max(found.values())], [k, k], color="#DDDDDD", linewidth=5, zorder=1)
        for key, ratio in found.items():
            colour, marker = MARKS[key]
            size = 110 if marker == "*" else 60
            panel.scatter([ratio], [k], size, color=colour, marker=marker, zorder=3, label=LIBRARIES[key].title)
        refused = [r["version"] for r in run.recorded("peers", program=program.name) if "refuses" in r["absent"]]
        if refused:
            text = f"refused by {', '.join(refused)}"
            panel.annotate(text, (1.0, k), (6, -11), textcoords="offset points", fontsize=7.5, color=GREY)
    panel.set(xscale="log", xlabel="times slower than dualrev, compiled (left = faster)")
    panel.axvline(1.0, color=BLACK, linewidth=0.8, zorder=2)
    panel.set_yticks(range(len(programs)), [p.title for p in programs])
    panel.invert_yaxis()
    _finish(figure, [panel], 5)
    return figure


def memory(run: Run) -> Figure:
    """Plot peak memory against the number of steps."""
    figure, (panel,) = _panels(1, 1, figsize=(7.5, 4.6))
    marks = {"oscillator": "o", "garch": "s", "rotate": "^"}
    for record in run.recorded("memory"):
        tape = record["library"] == "dualrev"
        label = f"{PROGRAMS[record['program']].title}, {'tape' if tape else 'compiled'}"
        bytes_ = f"{content.bytes_per_unit(record) / record['operations']:.1f} bytes per operation"
        panel.plot(
            record["sizes"],
            [b / 2**20 for b in record["bytes"]],
            color=BLACK if tape else BLUE,
            marker=marks[record["program"]],
            linestyle="-" if tape else "--",
            label=f"{label}: {bytes_}",
        )
    _logarithmic(panel)
    panel.set(xlabel="n: steps", ylabel="peak memory of a call, MB")
    _finish(figure, [panel], 1)
    return figure


def compiled(run: Run) -> Figure:
    """Plot gradient / primal as bars, and handwritten adjoint / primal as marks."""
    names = list(dict.fromkeys(m.labels["program"] for m in run.select("compiled")))
    figure, (panel,) = _panels(1, 1, figsize=(8.0, 1.4 + 0.28 * len(names)))
    by_hand: dict[str, float] = {}
    for k, name in enumerate(names):
        found = {m.labels["what"]: m.seconds for m in run.select("compiled", program=name)}
        ratio = found["gradient"] / found["primal"]
        panel.barh(k, ratio, color=SKY, label="compiled gradient / primal", height=0.65)
        panel.annotate(f"{ratio:.1f}", (ratio, k), (3, 0), textcoords="offset points", va="center", fontsize=8)
        if "adjoint" in found:
            by_hand[name] = found["adjoint"] / found["primal"]
    if by_hand:
        rows = [names.index(name) for name in by_hand]
        panel.scatter(
            list(by_hand.values()),
            rows,
            45,
            color=VERMILLION,
            marker="D",
            zorder=3,
            label="handwritten adjoint / primal",
        )
    panel.set_yticks(range(len(names)), names)
    panel.invert_yaxis()
    panel.set(xlabel="time relative to the numba function (the primal)")
    _finish(figure, [panel], 2)
    return figure


PICTURES: dict[str, Callable[[Run], Any]] = {
    "families": families,
    "table1": table1,
    "peers": peers,
    "memory": memory,
    "compiled": compiled,
}
