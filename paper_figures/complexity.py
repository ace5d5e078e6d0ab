"""Section 4.1, measured: the cost of the gradient relative to the program, in steps and in space, for growing programs.

The paper requires a constant c with cost (snd (Wrap[P] x) dy) <= c (cost (P x) + size x) for all programs P, and shows
where D2 violates this (A, B, C). Sections 5 to 7 repair it, and D4 meets it. Section 8 changes the constant.

The costs are steps of the calculus' evaluator, not times, and the words that the forward pass keeps for the reverse
pass. So they are the same on every machine (complexity.json). The test measures the small sizes again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from paper_figures.drawing.figure import FOLDER, Figure, table, write
from stages.calculus import TRANSFORMATIONS
from stages.calculus.complexity import FAMILIES, kept, measure
from stages.calculus.language.errors import StepLimit

SIZES = (4, 8, 16, 32, 64, 128, 256, 512)
MORE = {"doublings": (6, 10, 12)}  # for lines that would end before their bend shows
LIMIT = 1e6  # steps, after which a line ends

TABLE = FOLDER / "complexity.json"
PICTURE = FOLDER / "complexity.svg"

#: Colours that colour-blind readers can tell apart (Okabe and Ito), and markers for those who see none.
STYLES = {
    "D1": ("#D55E00", "o", "D1, naive"),
    "D2": ("#E69F00", "s", "D2, staged calls"),
    "D3": ("#CC79A7", "^", "D3, Cayley"),
    "sparse": ("#0072B2", "D", "D3, sparse maps"),
    "D4": ("#000000", "v", "D4, arrays"),
    "collectorless": ("#56B4E9", "P", "8.1, no collector"),
    "contrib": ("#009E73", "X", "8.2, contributions"),
    "tape": ("#7F7F7F", "*", "8.3, tape"),
}


Ratios = dict[str, dict[str, dict[str, float]]]  # family -> transformation -> size -> ratio
MEASURES = {"steps": "cost of the gradient / (cost of P + size of x)", "words": "words kept / (cost of P + size of x)"}


def ratios(sizes: tuple[int, ...] = SIZES) -> dict[str, Ratios]:
    """cost (snd (Wrap[P] x) dy) / (cost (P x) + size x), and the words kept over the same.

    By measure, family, transformation and size.
    """
    found: dict[str, Ratios] = {"steps": {}, "words": {}}
    for family in FAMILIES.values():
        for name in STYLES:
            steps, words = (found[what].setdefault(family.name, {}).setdefault(name, {}) for what in MEASURES)
            for n in sorted({*sizes, *(MORE.get(family.name, ()) if sizes == SIZES else ())}):
                program, x = family.make(n)
                try:
                    measured = measure(TRANSFORMATIONS[name], program, x, 1.0, LIMIT)
                except StepLimit:
                    break
                steps[str(n)] = round(measured.ratio, 2)
                held = kept(TRANSFORMATIONS[name], program, x)
                words[str(n)] = round(held / (measured.primal + measured.size), 2)
    return found


def draw(found: dict[str, Ratios], path: Path) -> None:
    """Draw a row for each measure, with a panel for each family and a line for each transformation."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "dualrev"
    from matplotlib import pyplot

    figure, rows = pyplot.subplots(2, len(FAMILIES), figsize=(11, 7.4), sharey="row", layout="constrained")
    for row, (what, families) in zip(rows, found.items(), strict=True):
        for panel, (name, lines) in zip(row, families.items(), strict=True):
            _panel(panel, name, lines)
        row[0].set_ylabel(MEASURES[what])
    for row, ticks in zip(rows, ((5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0), (0.5, 1.0, 2.0, 5.0)), strict=True):
        row[0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    figure.legend(*rows[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def _panel(panel: Any, name: str, lines: dict[str, dict[str, float]]) -> None:
    """Draw the panel of one family."""
    for transformation, line in lines.items():
        colour, marker, label = STYLES[transformation]
        ns, values = [int(n) for n in line], list(line.values())
        panel.plot(ns, values, color=colour, marker=marker, markersize=5, label=label)
        if ns[-1] < SIZES[-1]:
            panel.annotate("cut off", (ns[-1], values[-1]), (4, 4), textcoords="offset points", color=colour, size=8)
    panel.set(xscale="log", yscale="log", xlabel="n")
    panel.set_title(f"{name}\n{FAMILIES[name].about}", fontsize=10)
    panel.set_xticks(SIZES, [str(n) for n in SIZES], minor=False)
    panel.minorticks_off()
    panel.grid(alpha=0.3)


def figure(found: dict[str, Ratios] | None = None) -> Figure:
    """The page: the ratios as tables; by default of the last measurement."""
    found = saved() if found is None else found
    body = ["![Cost of the gradient relative to the program, for three families of programs.](complexity.svg)"]
    for (what, name), lines in {(m, name): lines for m in found for name, lines in found[m].items()}.items():
        sizes = sorted({int(n) for line in lines.values() for n in line})
        rows = [
            [STYLES[transformation][2], *(f"{line[str(n)]:.1f}" if str(n) in line else "-" for n in sizes)]
            for transformation, line in lines.items()
        ]
        heading = ["", *(f"n = {n}" for n in sizes)]
        body += [f"`{name}`, {FAMILIES[name].about}; {what}:", table(heading, rows, range(1, len(heading)))]
    broken = {t: [name for name, family in FAMILIES.items() if t in family.broken] for t in ("D1", "D2", "D3")}
    highest = max(ratio for lines in found["steps"].values() for ratio in lines["D4"].values())
    words = max(ratio for lines in found["words"].values() for line in lines.values() for ratio in line.values())
    body.append(
        "A number is cost (snd (Wrap[P] x) dy) / (cost (P x) + size x), or the words that Wrap[P] x keeps for the "
        "pullback, divided by the same ([stages/calculus/space.py](../stages/calculus/space.py)). - means that it "
        f"was not measured, or took more than {LIMIT:,.0f} steps. The programs are in "
        "[stages/calculus/complexity.py](../stages/calculus/complexity.py)."
    )
    said = "; ".join(f"{t} on {', '.join(f'`{name}`' for name in names)}" for t, names in broken.items())
    return Figure(
        "complexity",
        "Section 4.1, criterion",
        "the cost of the gradient relative to the program",
        "for all programs, the gradient must cost at most a constant times the cost of the program plus the size of "
        "its input. D1 and D2 violate this; after Cayley, a scalar's depth is left, then logarithms; arrays meet it.",
        f"violated by {said}; sparse maps leave a logarithm. The ratio of D4 is at most {highest:.1f} on all three, "
        f"and section 8's are close to it. No transformation keeps more than {words:.1f} words per step.",
        "\n\n".join(body),
    )


def saved() -> dict[str, Ratios]:
    """Return the last measurement."""
    return json.loads(TABLE.read_text(encoding="utf-8"))


def main() -> None:
    """Measure, and write the page, the picture and the numbers."""
    TABLE.write_text(json.dumps(ratios(), indent=1) + "\n", encoding="utf-8", newline="\n")
    draw(saved(), PICTURE)
    print("paper_figures/complexity.json\npaper_figures/complexity.svg")
    write(figure())


if __name__ == "__main__":
    main()
