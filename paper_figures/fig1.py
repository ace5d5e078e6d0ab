r"""Fig. 1: a program, its forward derivative and its reverse derivative, printed as programs.

The paper shows here (section 2) that dual-numbers reverse AD is the mirror image of dual-numbers forward AD: the same
rules, with a function from cotangents to the input's cotangents in place of the tangent.

stages.calculus transforms the program by `forward` and D1, and prints and runs all three programs.
"""

from __future__ import annotations

from paper_figures.drawing.figure import Figure, fence, table, write
from stages.calculus import TRANSFORMATIONS, Machine, Program, check, parse_program, show_program, show_type
from stages.calculus.language.types import Arrow
from stages.calculus.readable import readable

PROGRAM = r"\(x : R, y : R). let z = x + y in x * z"
X, Y = 3.0, 2.0
WIDTH = 80


def programs() -> dict[str, Program]:
    """The programs of the parts (a), (b) and (c): original, forward and reverse."""
    program = parse_program(PROGRAM)
    kind = check(program, "source")
    derivatives = {name: readable(TRANSFORMATIONS[name].of(program, kind)) for name in ("forward", "D1")}
    return {"original": program, **derivatives}


def run() -> tuple[float, tuple[float, float], tuple[float, float]]:
    """The value at X and Y, the derivatives in the directions (1, 0) and (0, 1), and the gradient by Wrap[D1]."""
    program = parse_program(PROGRAM)
    forward = TRANSFORMATIONS["forward"].wrap(program)
    slopes = []
    for direction in ((1.0, 0.0), (0.0, 1.0)):
        machine = Machine(forward)
        slopes.append(machine.apply(machine.value(), ((X, Y), direction))[1])
    machine = Machine(TRANSFORMATIONS["D1"].wrap(program))
    value, pullback = machine.apply(machine.value(), (X, Y))
    return value, (slopes[0], slopes[1]), machine.apply(pullback, 1.0)


def figure() -> Figure:
    """The page: the programs, and their results."""
    original, forward, reverse = programs().values()
    value, slopes, gradient = run()
    assert slopes == gradient
    kind = check(original, "source")
    assert isinstance(kind, Arrow)
    types = [
        ["forward", f"`{show_type(TRANSFORMATIONS['forward'](kind.argument).scalar())}`"],
        ["reverse", f"`{show_type(TRANSFORMATIONS['D1'](kind.argument).scalar())}`"],
    ]
    body = [
        f"(a) The original program, of type `{show_type(kind)}`:",
        fence(show_program(original, width=WIDTH)),
        "(b) Dual-numbers forward AD:",
        fence(show_program(forward, width=WIDTH)),
        "(c) Dual-numbers reverse AD:",
        fence(show_program(reverse, width=WIDTH)),
        "`∂1 mul(x, z)(d)` is the partial derivative of the product with respect to its first argument, times d; the "
        "paper writes `z · d`. `λ̲` makes a linear function, `⊸` is its type. The type of a scalar after the "
        "transformation:",
        table(["", "D[R]"], types),
        f"At x = {X:g} and y = {Y:g} the value is {value:g}. (b) runs once for every direction: {slopes[0]:g} for "
        f"(1, 0) and {slopes[1]:g} for (0, 1). (c), with `λ̲z. (z, 0)` for dx and `λ̲z. (0, z)` for dy, runs once and "
        f"returns a function that maps 1 to the whole gradient, ({gradient[0]:g}, {gradient[1]:g}). The wrapper "
        "supplies these two functions: [Figs. 6 and 7](diffs.md).",
    ]
    return Figure(
        "fig1",
        "Fig. 1",
        "a program and its two derivatives",
        "reverse AD has the same rules for every construct as forward AD; only, each scalar carries a linear function "
        "(a backpropagator) in place of a tangent.",
        "the transformations print both derivatives as in the paper, except that the two terms of the sum in the last "
        f"line are swapped. Both derivatives agree: the gradient at ({X:g}, {Y:g}) is "
        f"({gradient[0]:g}, {gradient[1]:g}).",
        "\n\n".join(body),
    )


def main() -> None:
    """Write the page."""
    write(figure())


if __name__ == "__main__":
    main()
