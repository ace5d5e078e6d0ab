"""Section 4.1, measured: what the gradient costs beside the program, for growing programs and each transformation.

`make figures` (or `python -m paper_figures.complexity`) writes complexity.json and complexity.svg; a test fails when
the numbers are stale. They are steps of the calculus' evaluator, not times, and so the same everywhere.
"""

from __future__ import annotations

import json
from pathlib import Path

from stages.calculus import TRANSFORMATIONS
from stages.calculus.complexity import FAMILIES, measure
from stages.calculus.errors import StepLimit

SIZES = (4, 8, 16, 32, 64, 128, 256, 512)
MORE = {"doublings": (6, 10, 12)}  # where a line ends before it is seen to bend
LIMIT = 1e6  # steps, after which a line ends

TABLE = Path(__file__).parent / "complexity.json"
PICTURE = Path(__file__).parent / "complexity.svg"

#: Colours that colour-blind readers can tell apart (Okabe and Ito), and markers for those who see none.
STYLES = {
    "D1": ("#D55E00", "o", "D1, naive"),
    "D2": ("#E69F00", "s", "D2, staged calls"),
    "D3": ("#CC79A7", "^", "D3, Cayley"),
    "sparse": ("#0072B2", "D", "D3, sparse maps"),
    "D4": ("#000000", "v", "D4, arrays"),
}


def ratios(sizes: tuple[int, ...] = SIZES) -> dict[str, dict[str, dict[str, float]]]:
    """cost (snd (Wrap[P] x) dy) / (cost (P x) + size x), by family, transformation and size."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for family in FAMILIES.values():
        for name in STYLES:
            line = found.setdefault(family.name, {}).setdefault(name, {})
            for n in sorted({*sizes, *(MORE.get(family.name, ()) if sizes == SIZES else ())}):
                program, x = family.make(n)
                try:
                    line[str(n)] = round(measure(TRANSFORMATIONS[name], program, x, 1.0, LIMIT).ratio, 2)
                except StepLimit:
                    break
    return found


def draw(found: dict[str, dict[str, dict[str, float]]], path: Path) -> None:
    """The picture: a panel for each family, a line for each transformation."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "dualrev"
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(found), figsize=(11, 4.2), sharey=True, layout="constrained")
    for panel, (name, lines) in zip(panels, found.items(), strict=True):
        for transformation, line in lines.items():
            colour, marker, label = STYLES[transformation]
            ns, values = [int(n) for n in line], list(line.values())
            panel.plot(ns, values, color=colour, marker=marker, markersize=5, label=label)
            if ns[-1] < SIZES[-1]:
                panel.annotate(
                    "cut off", (ns[-1], values[-1]), (4, 4), textcoords="offset points", color=colour, size=8
                )
        panel.set(xscale="log", yscale="log", xlabel="n")
        panel.set_title(f"{name}\n{FAMILIES[name].about}", fontsize=10)
        panel.set_xticks(SIZES, [str(n) for n in SIZES], minor=False)
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("cost of the gradient / (cost of P + size of x)")
    panels[0].set_yticks([5, 10, 20, 50, 100, 200, 500], ["5", "10", "20", "50", "100", "200", "500"])
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(STYLES), frameon=False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main() -> None:
    """Write both files."""
    found = ratios()
    TABLE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw(found, PICTURE)
    for name, lines in found.items():
        for transformation, line in lines.items():
            print(f"{name:10} {transformation:7}", *(f"{n}: {ratio:.1f} " for n, ratio in line.items()))


if __name__ == "__main__":
    main()
