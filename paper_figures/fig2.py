r"""Fig. 2: sharing makes naive reverse AD exponential; and the call graph of section 4.1, with one call of each.

The paper shows here (sections 2 and 3.4) a chain x1 = x0 + x0, .., xn = x(n-1) + x(n-1), its naive derivative, in
which every backpropagator calls the one before it twice, and the graph of these calls: dx_n takes time exponential in
n. Section 4.1 shows the graph after staging: every backpropagator is called exactly once.

stages.calculus prints the programs; runs of the stages `naive` and `staged` count the calls.
"""

from __future__ import annotations

from paper_figures.drawing.calls import CallGraph, call_graph
from paper_figures.drawing.figure import Figure, fence, table, write
from paper_figures.drawing.graphs import Drawing, plain_label
from stages import count
from stages.calculus import TRANSFORMATIONS, check, parse_program, show_program
from stages.calculus.readable import readable
from stages.programs import PROGRAMS

N = 4
SIZES = (1, 2, 4, 8, 12, 16)
DOUBLINGS = PROGRAMS["doublings"].function


def chain(n: int) -> str:
    r"""The program for n doublings.

    >>> chain(2)
    '\\(x0 : R). let x1 = x0 + x0 in let x2 = x1 + x1 in x2'
    """
    lets = [f"let x{i + 1} = x{i} + x{i} in" for i in range(n)]
    return " ".join([r"\(x0 : R).", *lets, f"x{n}"])


def draw(graph: CallGraph, n: int) -> str:
    """Draw both graphs side by side; an arrow stands for a call in each call of the box that it leaves."""
    top, step, height = 84, 92, 46
    picture = Drawing(
        500,
        top + n * step + height + 24,
        f"Calls of backpropagators for {n} doublings",
        f"Left, naive: from dx{n} down to dx0 every backpropagator calls the next one twice, so that their calls are "
        + ", ".join(str(graph.count("naive", i)) for i in range(n, -1, -1))
        + ". Right, staged: each calls the next one once, with the sum of the arguments, so that each is called once, "
        + "with "
        + ", ".join(f"{graph.calls['staged'][i][0]:g}" for i in range(n, -1, -1))
        + ".",
    )
    for x, stage, heading, about in (
        (130, "naive", "naive (Fig. 2)", f"{graph.total('naive')} calls"),
        (370, "staged", "staged (section 4.1)", f"{graph.total('staged')} calls"),
    ):
        picture.text(x, 26, heading, "strong", "middle")
        picture.text(x, 50, about, "red strong" if stage == "naive" else "blue strong", "middle")
        for i in range(n, -1, -1):
            y = top + (n - i) * step
            arguments = graph.calls[stage][i]
            often = len(arguments) > 1
            picture.box(x - 92, y, 184, height, "lit" if often else "box")
            picture.text(x - 80, y + height / 2, f"dx{i}", "code strong")
            picture.text(x + 80, y + 14, plain_label(len(arguments), "call"), "small", "end")
            text = f"{'each ' if often else ''}with {arguments[0]:g}"
            picture.text(x + 80, y + 32, text, "small soft", "end")
            edges = [edge for edge in graph.edges if edge.caller == i]
            bends = (-16, 16) if stage == "naive" else (0,)
            for bend in bends[: len(edges)]:
                shift = 0.75 * bend
                kind = "red" if stage == "naive" else "blue"
                picture.arrow((x + shift, y + height), (x + shift, y + step - 1), bend, kind)
    return picture.svg()


def figure() -> Figure:
    """The page: the programs, the graph, and the number of calls for growing n."""
    graph = call_graph(DOUBLINGS, 1.0, N)
    program = parse_program(chain(N))
    derivative = readable(TRANSFORMATIONS["D1"].of(program, check(program, "source")))
    calls = {n: [count(stage, DOUBLINGS, 1.0, n).calls for stage in ("naive", "staged")] for n in SIZES}
    assert all(naive == 2 ** (n + 1) - 1 and staged == n + 1 for n, (naive, staged) in calls.items())
    picture = draw(graph, N)
    body = [
        f"![Calls of backpropagators for {N} doublings: naive, {graph.total('naive')} calls; staged, "
        f"{graph.total('staged')} calls.](fig2.svg)",
        f"The program, here for n = {N}:",
        fence(show_program(program, width=40)),
        "Its naive derivative, where every `dx` occurs twice in the backpropagator of the next number:",
        fence(show_program(derivative, width=88)),
        "Calls of backpropagators, counted:",
        table(
            ["n", "naive", "2^(n+1) - 1", "staged", "n + 1"],
            [[str(n), f"{a:,}", f"{2 ** (n + 1) - 1:,}", str(b), str(n + 1)] for n, (a, b) in calls.items()],
            range(5),
        ),
        "A box is a backpropagator: dx0 of the input, the others of the additions. An arrow is a call, which is made "
        "in each call of the box that it leaves. `staged` delays both calls, finds that they are calls of the same "
        "function, and adds their arguments: `f x + f y = f (x + y)`. Both compute the "
        f"derivative 2^{N} = {2**N}: by {2**N} calls of dx0 with 1, or by one call with {2**N}.",
    ]
    n = SIZES[-1]
    return Figure(
        "fig2",
        "Fig. 2",
        "sharing, and the exponential blow-up",
        "calling the backpropagator of xn takes time exponential in n, because each backpropagator is called once for "
        "every use of its number. After staging (section 4.1), each is called exactly once.",
        f"`naive` makes 2^(n+1) - 1 calls for n doublings, {calls[n][0]:,} at n = {n}; `staged` makes n + 1, one of "
        f"each backpropagator, {calls[n][1]} at n = {n}.",
        "\n\n".join(body),
        {"fig2.svg": picture},
    )


def main() -> None:
    """Write the page and the picture."""
    write(figure())


if __name__ == "__main__":
    main()
