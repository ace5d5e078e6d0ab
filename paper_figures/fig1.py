r"""Fig. 1: a program, its forward derivative and its reverse derivative, printed as programs.

The paper shows there (section 2) that dual-numbers reverse AD is the mirror image of dual-numbers forward AD: the same
rules, with a function from cotangents to the input's cotangents in place of the tangent.

The three programs are printed by stages.calculus, after its transformations `forward` and D1; then all of them run.
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
    """(a), (b) and (c)."""
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
    """The programs, and what they compute."""
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
        "`∂1 mul(x, z)(d)` is the partial derivative of the product by its first argument, times d: the paper writes "
        "`z · d`. `λ̲` makes a function that is linear, `⊸` is its type. What becomes of a scalar:",
        table(["", "D[R]"], types),
        f"At x = {X:g} and y = {Y:g} the value is {value:g}. (b) runs once for every direction: {slopes[0]:g} for "
        f"(1, 0) and {slopes[1]:g} for (0, 1). (c), with `λ̲z. (z, 0)` for dx and `λ̲z. (0, z)` for dy, runs once and "
        f"gives a function that maps 1 to the whole gradient, ({gradient[0]:g}, {gradient[1]:g}). What puts those "
        "two there is the wrapper: [Figs. 6 and 7](diffs.md).",
    ]
    return Figure(
        "fig1",
        "Fig. 1",
        "a program and its two derivatives",
        "reverse AD needs no more than forward AD does: the same rules for every construct, with a linear function "
        "(a backpropagator) beside each scalar in place of its tangent.",
        "both derivatives, printed by the transformations themselves, are the paper's; only the two terms of the sum "
        f"in the last line stand the other way round. They agree: the gradient at ({X:g}, {Y:g}) is "
        f"({gradient[0]:g}, {gradient[1]:g}).",
        "\n\n".join(body),
    )


def main() -> None:
    """Write the page."""
    write(figure())


if __name__ == "__main__":
    main()
