"""Fig. 3: the overview of the optimisations, with the measured growth before and after each.

The paper shows here (section 2) the path from D1 to the final algorithm: a box for each version, and on each arrow the
change to the next. Sections 4.1 and 5.2 say which problem each change solves: staging, the exponential number of calls
of backpropagators; Cayley, zeros and sums of whole cotangents (A); a Map as collector, the depth of the input (B);
arrays, the logarithms (B, C).

The script counts the work of all stages on three families of programs, each of which exposes one of these problems
(fig3.json), and fits a law of growth (stages/comparison/measure.py). Section 8's stages follow below.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

from paper_figures.drawing.figure import FOLDER, Figure, table, write
from paper_figures.drawing.graphs import Drawing
from stages import STAGES
from stages.comparison.measure import FAMILIES, grow
from stages.comparison.report import fields

MEASURED = FOLDER / "fig3.json"
LIMIT = 500_000  # counts, after which a stage is not tried at a larger size

#: The change that leads to a stage: the words on the paper's arrows, and the headings of section 8.
ARROWS = {
    "staged": "Stage calls, with linear factoring",
    "cayley": "Cayley-transform",
    "sparse": "Use a Map as collector",
    "arrays": "Use mutable arrays",
    "collectorless": "Drop the cotangent collector",
    "lists": "Defunctionalise backpropagators",
    "contrib": "Lay the lists out flat, and compile",
    "tape": "Write contributions in the forward pass",
    "parallel": "Give every job of a fork a tape",
}
PROBLEMS = {"doublings": "sharing", "wide": "many inputs", "deep": "nested input"}

Measured = dict[str, dict[str, dict[str, Any]]]


def measure(limit: float = LIMIT) -> Measured:
    """family -> stage -> the law, and the work (the sum of all counts) at each size; None if it was cut off."""
    return {
        family.program: {
            growth.stage: {"law": growth.law, "work": {str(n): w for n, w in growth.work.items()}}
            for growth in grow(family, list(STAGES), limit)
        }
        for family in FAMILIES
    }


def saved() -> Measured:
    """Return the last measurement."""
    return json.loads(MEASURED.read_text(encoding="utf-8"))


def changes(measured: Measured) -> dict[str, dict[str, tuple[str, str]]]:
    """For each stage but the first, by family: the old and the new law, where the stage changes the law."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for before, after in itertools.pairwise(STAGES):
        laws = {family: (lines[before]["law"], lines[after]["law"]) for family, lines in measured.items()}
        found[after] = {family: (old, new) for family, (old, new) in laws.items() if old != new}
    return found


def draw(measured: Measured) -> str:
    """Draw a box for each stage, from top to bottom."""
    changed = changes(measured)
    left, width, height, x = 20, 480, 58, 60
    gaps = {stage: 58 + 22 * max(1, len(changed[stage])) for stage in changed}
    total = 56 + len(STAGES) * height + sum(gaps.values()) + 20
    said = [
        f"to {stage}, {ARROWS[stage]}: "
        + (", ".join(f"{f} from {old} to {new}" for f, (old, new) in laws.items()) or "no law changes")
        for stage, laws in changed.items()
    ]
    picture = Drawing(
        520,
        total,
        "Overview of the optimisations, with measured growth",
        f"From top to bottom: {', '.join(STAGES)}. On the arrows: {'; '.join(said)}.",
    )
    picture.text(left, 26, "Growth of all counts with n, before and after each step", "strong")
    y = 48
    for stage in STAGES:
        if stage in changed:
            gap = gaps[stage]
            picture.arrow((x, y), (x, y + gap - 2), 0.0, "blue" if changed[stage] else "")
            picture.text(x + 22, y + 22, ARROWS[stage], "strong")
            for k, (family, (old, new)) in enumerate(changed[stage].items()):
                line = y + 44 + 22 * k
                picture.text(x + 22, line, f"{family} ({PROBLEMS[family]})", "small soft")
                picture.text(x + 236, line, old, "code small red", "end")
                picture.text(x + 246, line, "→", "small soft")
                picture.text(x + 270, line, new, "code small blue strong")
            if not changed[stage]:
                laws = {lines[stage]["law"] for lines in measured.values()}
                picture.text(x + 22, y + 44, f"{' or '.join(sorted(laws))} on all three, as before", "small soft")
            y += gap
        about = fields(stage)
        picture.box(left, y, width, height)
        picture.text(left + 14, y + 18, stage, "code strong")
        picture.text(left + width - 14, y + 18, about["Paper"], "small soft", "end")
        picture.text(left + 14, y + 41, f"D[R] = {about['D[R]'].partition('  ')[0]}", "code small")
        y += height
    return picture.svg()


def figure(measured: Measured | None = None) -> Figure:
    """The page: the picture, and a table of counts for each family; by default of the last measurement."""
    measured = saved() if measured is None else measured
    changed = changes(measured)
    heading = ["stage", *(f"{family.program}: {family.problem}" for family in FAMILIES)]
    laws = [[f"`{stage}`", *(lines[stage]["law"] for lines in measured.values())] for stage in STAGES]
    for row, stage in zip(laws, STAGES, strict=True):
        for column, name in enumerate(measured, start=1):
            row[column] = f"**{row[column]}**" if name in changed.get(stage, {}) else row[column]
    body = [
        "![The stages from top to bottom; on each arrow the change, and the growth before and after it.](fig3.svg)",
        "The laws of growth; a law is bold where the stage changes it:",
        table(heading, laws),
    ]
    for family in FAMILIES:
        lines = measured[family.program]
        rows = [
            [f"`{s}`", *("cut off" if w is None else f"{w:,}" for w in lines[s]["work"].values()), lines[s]["law"]]
            for s in STAGES
        ]
        sizes = [f"n = {n:,}" for n in family.sizes]
        body += [
            f"`{family.program}`, {family.problem}:",
            table(["stage", *sizes, "law"], rows, range(1, len(sizes) + 1)),
        ]
    body.append(
        "Work is the sum of the counts of `stages.count`: backpropagators created and called, scalars and pairs of "
        f"cotangents touched, steps of maps, writes to arrays. A stage is cut off above {LIMIT:,}. The constants of "
        "`contrib` and `tape` are no smaller here, because writes to lists and to the tape count, but allocations of "
        "closures do not. Their gain shows in the times: [Table 1](table1.md)."
    )
    final = {lines["arrays"]["law"] for lines in measured.values()}
    assert final == {"n"}
    found = "; ".join(
        f"`{stage}`: " + ", ".join(f"{family} {old} to {new}" for family, (old, new) in laws_.items())
        for stage, laws_ in changed.items()
        if laws_
    )
    return Figure(
        "fig3",
        "Fig. 3",
        "the overview of the optimisations",
        "staging removes the exponential; Cayley makes zero and plus cheap; a Map as collector makes one-hots "
        "logarithmic for any input; arrays remove the last logarithms. Then the cost is proportional to the program's.",
        f"every step changes the growth that it should, and no other. {found}. From `arrays` on, all growth is linear.",
        "\n\n".join(body),
        {"fig3.svg": draw(measured)},
    )


def main() -> None:
    """Measure, and write the page, the picture and the numbers."""
    MEASURED.write_text(json.dumps(measure(), indent=1) + "\n", encoding="utf-8", newline="\n")
    print("paper_figures/fig3.json")
    write(figure())


if __name__ == "__main__":
    main()
