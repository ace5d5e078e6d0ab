"""The plots of the appendix: the times of Table 1 over n, with fitted lines.

The paper shows here that the time of each benchmark grows linearly with n, by criterion's regression; Table 1 has the
slopes. Our times come from the same published run as our Table 1 (table1.py): for `lists`, the algorithm that the
paper measured; for `contrib`, the same algorithm with flat lists and a compiled loop; and for the two tapes. A column
that the run lacks is left out. bench/published/table1.svg has all columns, on logarithmic axes.
"""

from __future__ import annotations

import io
import math

from bench.measuring.laws import Slope, fit_slope
from bench.measuring.runs import Run
from bench.programs.table1 import ROWS
from bench.reporting.content import significant
from bench.reporting.plots import LINES
from paper_figures.drawing.figure import Figure, table, write
from paper_figures.table1 import published

COLUMNS = {"lists": "the algorithm that the paper measured", "contrib": "the same, compiled", "tape": "", "dualrev": ""}
NAMES = tuple(name for name, row in ROWS.items() if row.paper)  # the paper's four functions


def points(run: Run, name: str, column: str) -> tuple[list[int], list[float]]:
    """The sizes n, and the times in seconds."""
    measures = run.select("table1", row=name, column=column)
    return [m.labels["n"] for m in measures], [m.seconds for m in measures]


def fits(run: Run) -> dict[str, dict[str, tuple[Slope, float]]]:
    """function -> column -> the line a + b n, and the largest relative distance of a time from it."""
    found: dict[str, dict[str, tuple[Slope, float]]] = {}
    for name in NAMES:
        for column in COLUMNS:
            ns, seconds = points(run, name, column)
            if (line := fit_slope(ns, seconds)) is None:
                continue
            off = max(abs(t - line.intercept - line.value * n) / t for n, t in zip(ns, seconds, strict=True))
            found.setdefault(name, {})[column] = line, off
    return found


def draw(run: Run) -> str:
    """Draw a panel for each function, with linear axes."""
    import matplotlib
    from matplotlib import pyplot

    found = fits(run)
    with matplotlib.rc_context({"svg.hashsalt": "dualrev", "svg.fonttype": "path", "font.size": 9}):
        picture, panels = pyplot.subplots(2, 2, figsize=(6.4, 5.6), layout="constrained")
        for panel, name in zip(panels.flat, NAMES, strict=True):
            for column, (line, _) in found.get(name, {}).items():
                ns, seconds = points(run, name, column)
                colour, marker, style = LINES[column]
                panel.plot(
                    ns, [t * 1e3 for t in seconds], linestyle="", marker=marker or "o", color=colour, markersize=5
                )
                ends = [0, max(ns)]
                ys = [(line.intercept + line.value * n) * 1e3 for n in ends]
                panel.plot(ends, ys, linestyle=style, color=colour, linewidth=1.1)
                panel.plot([], [], linestyle=style, marker=marker or "o", color=colour, markersize=5, label=column)
            panel.set(xlabel=f"n: {ROWS[name].unit}", xlim=(0, None), ylim=(0, None))
            panel.set_title(ROWS[name].title, fontsize=10)
            panel.grid(alpha=0.25, linewidth=0.6)
        for panel in panels[:, 0]:
            panel.set_ylabel("value and gradient, ms")
        handles = panels[0, 0].get_legend_handles_labels()
        picture.legend(*handles, loc="outside lower center", ncols=len(COLUMNS), frameon=False)
        stream = io.StringIO()
        picture.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(picture)
    return stream.getvalue()


def figure(run: Run | None = None) -> Figure:
    """The page: the plots, and the fits as a table; by default of the published run."""
    run = run or published()
    found = fits(run)
    rows = []
    for name, lines in found.items():
        for column, (line, off) in lines.items():
            slope, fixed = significant(line.value * 1e6), significant(abs(line.intercept) * 1e6, 2)
            sign = "-" if line.intercept < 0 else ""
            rows.append(
                [ROWS[name].title, f"`{column}`", slope, f"{sign}{fixed}", f"{math.ceil(off * 1000) / 10:.1f}%"]
            )
    worst = {
        c: max((math.ceil(lines[c][1] * 100) for lines in found.values() if c in lines), default=0) for c in COLUMNS
    }
    near = [
        f"{worst[c]}% for `{c}`" + (f" ({what})" if what else "")
        for c, what in COLUMNS.items()
        if any(c in lines for lines in found.values())
    ]
    body = [
        "![Time over n for four functions: the points lie on straight lines.](scaling.svg)",
        "The lines a + b n are fitted by least squares on relative errors:",
        table(["", "", "b, us per n", "a, us", "largest relative error"], rows, range(2, 5)),
    ]
    return Figure(
        "scaling",
        "Appendix, plots",
        "linear scaling",
        "the times of all four benchmarks scale linearly with n.",
        f"our times do, too: they lie close to straight lines over n, within {', '.join(near)}.",
        "\n\n".join(body),
        {"scaling.svg": draw(run)},
    )


def main() -> None:
    """Write the page and the picture."""
    write(figure())


if __name__ == "__main__":
    main()
