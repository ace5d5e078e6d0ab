r"""Wang et al. 2019, Figs. 2 and 6: the flow of forward mode and of reverse mode, drawn from runs.

The paper draws here how values (squares) and derivatives (triangles) follow each other, for straight-line programs.
Forward mode interleaves them (Fig. 2). Reverse mode computes all values, and then all derivatives in reverse order
(Fig. 6). Three drawings lead to continuation-passing style: two passes; both parts of an operation side by side; and an
operation around the rest of the program, its continuation.

The script runs the paper's example, 2x + x^3. The steps of forward mode are read from a tape, on which tagged_forward
runs. The steps of reverse mode are noted while cps calls its continuations and returns from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from paper_figures.drawing.figure import Figure, table, write
from paper_figures.drawing.graphs import Drawing
from stages import sharing
from stages.comparison.counting import fresh
from stages.relatives import tagged_forward
from stages.relatives.continuations import cps

X = 3.0
LINES = ("y1 = 2 * x", "y2 = x * x", "y3 = y2 * x", "y4 = y1 + y3")


class Step(NamedTuple):
    """A step of a run: the operation, from 0; whether it is a derivative; the numbers that it computed; what it read.

    What it read has the form ("x", "y2", "y1'"): a prime stands for a tangent or a cotangent.
    """

    operation: int
    derivative: bool
    values: tuple[float, ...]
    reads: tuple[str, ...]


def example(x: Any) -> Any:
    """The paper's running example, operation by operation.

    >>> example(3.0)
    33.0
    """
    y1 = 2.0 * x
    y2 = x * x
    y3 = y2 * x
    return y1 + y3


def by_continuations(x: Any) -> Any:
    """The same in continuation-passing style, as in Fig. 7."""
    return lambda k: (2.0 * x)(lambda y1: (x * x)(lambda y2: (y2 * x)(lambda y3: (y1 + y3)(k))))


def forward() -> list[Step]:
    """The steps of forward mode, from the tape: a number is a tangent if it depends on the tangent of x.

    >>> [(LINES[s.operation][:2] + "'" * s.derivative, s.values[-1]) for s in forward()]
    [('y1', 6.0), ("y1'", 2.0), ('y2', 9.0), ("y2'", 6.0), ('y3', 27.0), ("y3'", 27.0), ('y4', 33.0), ("y4'", 29.0)]
    """
    steps: list[Step] = []
    names = {0: "x", 1: "x'"}  # of the numbers on the tape
    for node in sharing("tape", lambda x, dx: tagged_forward.jvp(example, (x,), (dx,)), X, 1.0)[2:]:
        reads = [names[i] for _, i in node.refers]
        derivative = any(name.endswith("'") for name in reads)
        if not derivative:
            steps.append(Step(len(steps) // 2, False, (node.value,), tuple(dict.fromkeys(reads))))
        elif steps[-1].derivative:  # the operations of one derivative
            last = steps.pop()
            more = [name for name in reads if name != f"y{last.operation + 1}'"]
            steps.append(
                last._replace(
                    values=(*last.values, node.value), reads=tuple({**dict.fromkeys(last.reads + tuple(more))})
                )
            )
        else:
            steps.append(Step(steps[-1].operation, True, (node.value,), tuple(dict.fromkeys(reads))))
        names[node.id] = f"y{steps[-1].operation + 1}" + "'" * derivative
    return steps


def reverse() -> tuple[list[Step], float]:
    """The steps of reverse mode, in the order in which cps runs them, and the derivative.

    >>> steps, derivative = reverse()
    >>> [s.operation + 1 for s in steps], derivative
    ([1, 2, 3, 4, 4, 3, 2, 1], 29.0)
    """
    module: Any = fresh(cps)
    there, visit = module.there, module.visit
    made: list[Any] = []
    steps: list[Step] = []

    def noted_there(*arguments: Any) -> Any:
        """Run the forward pass, and note its operations in order."""
        waits = there(*arguments)
        made.extend(z for z, *_ in waits)
        names = {id(z): f"y{k + 1}" for k, z in enumerate(made)}
        for k, (z, args, _) in enumerate(waits):
            steps.append(Step(k, False, (z.x,), tuple(dict.fromkeys(names.get(id(u), "x") for u in args))))
        return waits

    def noted_visit(z: Any, args: Sequence[Any], partials: Sequence[Any]) -> None:
        """Run a reverse step, and note which cotangent it reads."""
        k = [u is z for u in made].index(True)
        visit(z, args, partials)
        steps.append(Step(k, True, tuple(z.d * p for p in partials), (f"y{k + 1}'",)))

    module.there, module.visit = noted_there, noted_visit
    _, pullback = module.vjp(by_continuations, X)
    return steps, pullback(1.0)[0]


# ---- drawings --------------------------------------------------------------------------------------------------------

SIZE, STEP = 34, 62


def _shape(picture: Drawing, x: float, y: float, step: Step, number: int) -> None:
    """A square or a triangle with its name, and the number of the step beside it."""
    name = f"y{step.operation + 1}"
    if step.derivative:
        picture.triangle(x, y, SIZE, "lit")
        picture.text(x + SIZE / 2, y + 0.77 * SIZE, f"{name}'", "code small", "middle")
    else:
        picture.box(x, y, SIZE, SIZE, "box", 2)
        picture.text(x + SIZE / 2, y + SIZE / 2, name, "code small", "middle")
    picture.text(x - 6, y + SIZE / 2, str(number), "small soft", "end")


def draw_forward(steps: list[Step]) -> str:
    """Forward 1, a column of alternating steps; Forward 2, an operation on pairs."""
    top, count = 66, len(steps) // 2
    picture = Drawing(
        500,
        top + len(steps) * 50,
        "Flow of forward mode",
        "Left, Forward 1: "
        + ", ".join(f"y{s.operation + 1}{chr(39) * s.derivative}" for s in steps)
        + " in one column, squares for values and triangles for tangents. Right, Forward 2: each operation computes "
        "its value and its tangent, in one box.",
    )
    for x, heading in ((100, "Forward 1"), (350, "Forward 2")):
        picture.text(x, 26, heading, "strong", "middle")
    for k, step in enumerate(steps):
        y = top + 50 * k
        _shape(picture, 100 - SIZE / 2, y, step, k + 1)
        if k + 1 < len(steps):
            picture.arrow((100, y + SIZE), (100, y + 49), kind="red" if step.derivative else "blue")
    for j in range(count):
        y = top + 100 * j
        picture.box(262, y - 6, 176, SIZE + 52, "slot")
        for half in (0, 1):
            k = 2 * j + half
            _shape(picture, 300 + 70 * half, y + 14, steps[k], k + 1)
        picture.text(350, y + 62, LINES[j], "code small", "middle")
        if j + 1 < count:
            picture.arrow((350, y + SIZE + 46), (350, y + 93))
    return picture.svg()


def draw_reverse(steps: list[Step]) -> str:
    """Reverse 1, two passes; Reverse 2, the parts of an operation in a row; Reverse 3, around the continuation."""
    count = len(steps) // 2
    at = {(s.operation, s.derivative): k + 1 for k, s in enumerate(steps)}
    by = {(s.operation, s.derivative): s for s in steps}
    height = 60 + 50 * len(steps) + 10
    picture = Drawing(
        520,
        height,
        "Flow of reverse mode",
        "Reverse 1: "
        + ", ".join(f"y{s.operation + 1}{chr(39) * s.derivative}" for s in steps)
        + ", squares for values and then triangles for cotangents. Reverse 2: the same, with both parts of an "
        "operation in one row: down the squares, and up the triangles. Reverse 3: the box of an operation has its "
        "square, the box of the rest of the program, which is its continuation, and its triangle.",
    )
    for x, heading in ((56, "Reverse 1"), (190, "Reverse 2"), (390, "Reverse 3")):
        picture.text(x, 26, heading, "strong", "middle")
    for k, step in enumerate(steps):
        y = 60 + 50 * k
        _shape(picture, 56 - SIZE / 2, y, step, k + 1)
        if k + 1 < len(steps):
            picture.arrow((56, y + SIZE), (56, y + 49), kind="red" if step.derivative else "blue")
    for j in range(count):
        y = 60 + STEP * j
        for derivative, x in ((False, 150), (True, 220)):
            _shape(picture, x - SIZE / 2, y, by[j, derivative], at[j, derivative])
        if j + 1 < count:
            picture.arrow((150, y + SIZE), (150, y + STEP - 1), kind="blue")
            picture.arrow((220, y + STEP), (220, y + SIZE + 1), kind="red")
        else:
            picture.arrow((150 + SIZE / 2, y + SIZE / 2), (190, y + SIZE / 2), kind="red")
    for j in range(count):
        inset, y = 14 * j, 60 + 50 * j
        picture.box(272 + inset, y - 8, 236 - 2 * inset, 50 * 2 * (count - j) - 16 + 12, "slot")
    for j in range(count):
        for derivative in (False, True):
            y = 60 + 50 * (at[j, derivative] - 1)
            _shape(picture, 390 - SIZE / 2, y, by[j, derivative], at[j, derivative])
        picture.arrow((390, 60 + 50 * j + SIZE), (390, 60 + 50 * j + 49), kind="blue")
        if j + 1 < count:
            y = 60 + 50 * (at[j, True] - 1)
            picture.arrow((390, y - 16), (390, y - 1), kind="red")
            picture.text(286 + 14 * j, 60 + 50 * j + SIZE + 1, "k", "code small soft")
    return picture.svg()


def _rows(steps: list[Step]) -> list[list[str]]:
    return [
        [
            str(k + 1),
            f"`y{s.operation + 1}{chr(39) * s.derivative}`"
            if not s.derivative
            else f"derivative of `{LINES[s.operation]}`",
            ", ".join(f"`{name}`" for name in s.reads),
            ", ".join(f"{v:g}" for v in s.values),
        ]
        for k, s in enumerate(steps)
    ]


def figure() -> Figure:
    """The page: both drawings, and the steps of both runs."""
    there = forward()
    steps, derivative = reverse()
    assert [s.derivative for s in there] == [False, True] * len(LINES)
    assert [s.operation for s in steps] == [*range(len(LINES)), *reversed(range(len(LINES)))]
    heading = ["step", "computes", "reads", "numbers"]
    body = [
        "![Forward mode: values and tangents in turn; then an operation on pairs.](wang_fig2.svg)",
        f"The program is `2x + x^3` in A-normal form: {', '.join(f'`{line}`' for line in LINES)}. A square is a value, "
        "a triangle a derivative, and the number beside it is the step of the run. Arrows show the control flow. "
        f"Fig. 2, forward mode at x = {X:g}:",
        table(heading, _rows(there), (0,)),
        "Tangents read values and earlier tangents only, so both parts of an operation can run together: Forward 2 is "
        "operator overloading. The last number of a step is the tangent; the others are its terms.",
        "![Reverse mode: two passes; folded; and nested in continuations.](wang_fig6.svg)",
        "Fig. 6, reverse mode. The numbers of a derivative are what it adds to the cotangents of its operands:",
        table(heading, _rows(steps), (0,)),
        "The first cotangent comes after the last value. Reverse 2 folds the column, so that both parts of an "
        "operation share a row. Reverse 3 is the same flow as calls: an operation computes its value, calls the rest "
        "of the program `k`, the box inside of its own, and computes its derivative when `k` has returned. That is "
        "continuation-passing style (Fig. 7).",
    ]
    return Figure(
        "wang_flow",
        "Wang et al. 2019, Figs. 2 and 6",
        "the flow of forward mode and of reverse mode",
        "forward mode interleaves values and tangents. Reverse mode computes cotangents in reverse order, so that an "
        "operation encloses the rest of the program: its continuation.",
        "forward mode runs in the order y1, y1', .., y4, y4'. Reverse mode runs in the order y1, .., y4, y4', .., y1', "
        f"in calls of continuations and returns from them. Both compute the derivative {derivative:g} at x = {X:g}.",
        "\n\n".join(body),
        {"wang_fig2.svg": draw_forward(there), "wang_fig6.svg": draw_reverse(steps)},
    )


def main() -> None:
    """Write the page and the pictures."""
    write(figure())


if __name__ == "__main__":
    main()
