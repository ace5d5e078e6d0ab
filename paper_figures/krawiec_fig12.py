"""Krawiec et al. 2022, Fig. 12: the Delta trace of rotate_vec_by_quat, binding by binding, beside the figure's.

The figure shows the trace at q = (1.1, 2.2, 3.3, 4.4), v = (5.5, 6.6, 7.7), from an implementation in OCaml: 40
bindings, of which Var x40 is the result. The paper's point (section 6) is that the trace is linear in the number of
operations, and made of a few constructors only.

Ours is recorded by stages/relatives/deltas/delta_map.py. The figure's lines, as they are printed, are in
krawiec_fig12.txt but for one letter: in x23 it has Var yy, which no input is called; vy is meant.
"""

from __future__ import annotations

import dataclasses
import re

from paper_figures.drawing.figure import FOLDER, Figure, fence, table, write
from stages.programs import Quaternion, Vec3, rotate_vec_by_quat
from stages.relatives.deltas import delta_map
from stages.relatives.deltas.delta_trace import trace

FIGURE = FOLDER / "krawiec_fig12.txt"
Q, V = Quaternion(1.1, 2.2, 3.3, 4.4), Vec3(5.5, 6.6, 7.7)
NAMES = ("qx", "qy", "qz", "qw", "vx", "vy", "vz")


def first_coordinate(q: Quaternion, v: Vec3) -> float:
    """The x of the rotated vector: Fig. 12's e."""
    return rotate_vec_by_quat(v, q).x


def ours() -> list[str]:
    """Our lines."""
    return trace(first_coordinate, Q, V, names=NAMES)


def printed() -> list[str]:
    """The figure's lines."""
    return FIGURE.read_text(encoding="utf-8").splitlines()


def bindings(lines: list[str]) -> dict[str, str]:
    """Name -> Delta, in order, without the result."""
    return {found[1]: found[2] for line in lines if (found := re.fullmatch(r"Let (\w+) = (.*) in", line))}


def constants(known: dict[str, str]) -> list[str]:
    """The names that are bound to Zero."""
    return [name for name, delta in known.items() if delta == "Zero"]


def unfolded(delta: str, known: dict[str, str]) -> str:
    """A Delta with that of every binding in place of its name, and -1.0 written as we do."""

    def meaning(found: re.Match[str]) -> str:
        inner = unfolded(known[found[1]], known)
        return inner if inner == "Zero" else f"({inner})"

    return re.sub(r"\(Var (x\d+)\)", meaning, delta.replace("(-1.0)", "(-1)"))


def pairs() -> dict[str, str]:
    """The figure's name of a binding -> our name of the one that stands for the same Delta."""
    theirs, mine = bindings(printed()), bindings(ours())
    by_meaning = {unfolded(delta, mine): name for name, delta in mine.items()}
    return {name: by_meaning[unfolded(d, theirs)] for name, d in theirs.items() if d != "Zero"}


def figure() -> Figure:
    """A row for every binding of the figure, and our trace."""
    theirs, mine, pair = bindings(printed()), bindings(ours()), pairs()
    zeros = constants(theirs)
    assert sorted(pair.values()) == sorted(mine)
    assert len(theirs) == 40
    assert pair[printed()[-1].removeprefix("Var ")] == ours()[-1].removeprefix("Var ")
    rows = []
    for name, delta in theirs.items():
        if name in zeros:
            rows.append([name, f"`{delta}`", "-", "a constant takes no binding"])
        else:
            rows.append([name, f"`{delta}`", pair[name], f"`{mine[pair[name]]}`"])
    value, pullback = delta_map.vjp(first_coordinate, Q, V)
    q, v = pullback(1.0)
    gradient = [x for part in (q, v) for x in dataclasses.astuple(part)]
    body = [
        "The figure's bindings in its order, and ours that stands for the same Delta. Both unfold to the same Delta, "
        "when every name is replaced by what it is bound to:",
        table(["figure", "Delta", "ours", "Delta"], rows),
        "The differences:",
        "- **Order.** The figure's bindings come in the order in which OCaml evaluates operands: the right one first. "
        "Python evaluates the left one first. So the same bindings come in another order, and with other numbers.\n"
        f"- **Constants.** The figure binds each use of the constant 2.0 to an id, {' and '.join(zeros)}, whose "
        "Delta is Zero. By the paper's Fig. 9, and so here, a constant is (2.0, Zero) and takes no id: Zero stands "
        f"where the figure has its name. So there are {len(mine)} bindings in place of {len(theirs)}.\n"
        "- **Numbers.** The figure writes (-1.0) and 2; we write (-1) and 2.",
        "That no other difference is left is tested: with operands evaluated from right to left and constants bound to "
        "ids, our trace is the figure line by line (tests/relatives/test_relatives_krawiec_figures.py). Our trace in "
        "its own order:",
        fence("\n".join(ours())),
        f"The value is {value:.6g}. Evaluated from the last binding to the first, the trace gives the derivatives by "
        + ", ".join(f"{name} {x:.6g}" for name, x in zip(NAMES, gradient, strict=True))
        + ".",
    ]
    return Figure(
        "krawiec_fig12",
        "Krawiec et al. 2022, Fig. 12",
        "the Delta trace of rotate_vec_by_quat",
        "the trace of a real program is linear in the number of operations, and made of a few constructors: 40 "
        "bindings for rotate_vec_by_quat.",
        f"{len(mine)} bindings for {len(mine)} operations, each the same Delta as one of the figure's. They come in "
        f"Python's order of evaluation; the other {len(zeros)} of the figure bind constants, which need none.",
        "\n\n".join(body),
    )


def main() -> None:
    """Write the page."""
    write(figure())


if __name__ == "__main__":
    main()
