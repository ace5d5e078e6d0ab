"""Krawiec et al. 2022, Fig. 12: the Delta trace of rotate_vec_by_quat, compared with ours binding by binding.

The figure shows the trace at q = (1.1, 2.2, 3.3, 4.4), v = (5.5, 6.6, 7.7), from an implementation in OCaml: 40
bindings, with the result Var x40. The paper's point (section 6) is that the length of the trace is linear in the number
of operations, and that it has only a few constructors.

stages/relatives/deltas/delta_map.py records our trace. krawiec_fig12.txt has the figure's lines as printed, except for
one letter: its x23 has Var yy, which is not an input; we write vy.
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
    """The x coordinate of the rotated vector: Fig. 12's e."""
    return rotate_vec_by_quat(v, q).x


def ours() -> list[str]:
    """The lines of our trace."""
    return trace(first_coordinate, Q, V, names=NAMES)


def printed() -> list[str]:
    """The lines of the figure."""
    return FIGURE.read_text(encoding="utf-8").splitlines()


def bindings(lines: list[str]) -> dict[str, str]:
    """The bindings of a trace, name -> Delta, in order, without the result."""
    return {found[1]: found[2] for line in lines if (found := re.fullmatch(r"Let (\w+) = (.*) in", line))}


def constants(known: dict[str, str]) -> list[str]:
    """The names bound to Zero."""
    return [name for name, delta in known.items() if delta == "Zero"]


def unfolded(delta: str, known: dict[str, str]) -> str:
    """A Delta with all names replaced by their Deltas, and (-1.0) written as (-1)."""

    def meaning(found: re.Match[str]) -> str:
        """The unfolded Delta of a name, in parentheses unless it is Zero."""
        inner = unfolded(known[found[1]], known)
        return inner if inner == "Zero" else f"({inner})"

    return re.sub(r"\(Var (x\d+)\)", meaning, delta.replace("(-1.0)", "(-1)"))


def pairs() -> dict[str, str]:
    """The figure's name of a binding -> our name of the binding with the same unfolded Delta."""
    theirs, mine = bindings(printed()), bindings(ours())
    by_meaning = {unfolded(delta, mine): name for name, delta in mine.items()}
    return {name: by_meaning[unfolded(d, theirs)] for name, d in theirs.items() if d != "Zero"}


def figure() -> Figure:
    """The page: a row for every binding of the figure, and our trace."""
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
        "The figure's bindings in its order, each with our binding for the same Delta. Both unfold to the same Delta "
        "when every name is replaced by its Delta:",
        table(["figure", "Delta", "ours", "Delta"], rows),
        "The differences:",
        "- **Order.** The figure's bindings come in the order in which OCaml evaluates operands: the right one first. "
        "Python evaluates the left one first. So the same bindings come in another order, with other ids.\n"
        f"- **Constants.** The figure binds each use of the constant 2.0 to an id, {' and '.join(zeros)}, whose "
        "Delta is Zero. By the paper's Fig. 9, and here, a constant is (2.0, Zero) and takes no id: Zero replaces "
        f"its name. So there are {len(mine)} bindings in place of {len(theirs)}.\n"
        "- **Numbers.** The figure writes (-1.0) and 2; we write (-1) and 2.",
        "A test checks that there is no other difference: with operands evaluated from right to left and constants "
        "bound to ids, our trace is the figure, line by line (tests/relatives/test_relatives_krawiec_figures.py). Our "
        "trace in its own order:",
        fence("\n".join(ours())),
        f"The value is {value:.6g}. Evaluating the trace from the last binding to the first gives the derivatives "
        "with respect to " + ", ".join(f"{name} {x:.6g}" for name, x in zip(NAMES, gradient, strict=True)) + ".",
    ]
    return Figure(
        "krawiec_fig12",
        "Krawiec et al. 2022, Fig. 12",
        "the Delta trace of rotate_vec_by_quat",
        "the length of the trace is linear in the number of operations, and it has only a few constructors: 40 "
        "bindings for rotate_vec_by_quat.",
        f"{len(mine)} bindings for {len(mine)} operations, each with the same Delta as a binding of the figure, in "
        f"Python's order of evaluation. The figure's other {len(zeros)} bindings are constants, which need no binding.",
        "\n\n".join(body),
    )


def main() -> None:
    """Write the page."""
    write(figure())


if __name__ == "__main__":
    main()
