r"""Section 4: the call graph of four backpropagators, and the order of calls in which each is called once.

The paper shows here f1 = \z. (0, (z, 0)), f2 = \z. f1 (2z) + f1 (3z), f3 = \z. f2 (4z) + f1 (5z) and
f4 = \z. f2 z + f3 (2z). Plain evaluation of f4 calls f2 twice and f1 five times; staged, from the highest id down, each
is called exactly once: {f2: 1, f3: 2}, then {f2: 9, f1: 10}.

The graph and all calls come from the program `section4` in the stages `naive` and `staged`; the staging maps are
recorded when `staged` removes their highest id.
"""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

from paper_figures.drawing.calls import CallGraph, call_graph
from paper_figures.drawing.figure import Figure, fence, table, write
from paper_figures.drawing.graphs import Drawing, plain_label
from stages import STAGES, ordered_map, trace
from stages.comparison.counting import fresh
from stages.programs import PROGRAMS

FUNCTION = PROGRAMS["section4"].function
X = 1.0

#: The bends of the arrows: (caller, callee) -> one for each arrow.
BENDS = {(1, 0): (-14, 14), (2, 1): (0,), (2, 0): (60,), (3, 1): (-60,), (3, 2): (0,)}


def staging_maps() -> list[dict[int, float]]:
    """The arguments in the staging map before each step of SResolve in `staged`, by id; {} at the end."""
    stage: Any = fresh(STAGES["staged"])
    found = []

    def pop_max(m: Any) -> Any:
        """Record the staging map, and pop its highest id."""
        found.append({i: z for i, (_, z) in ordered_map.items(m)})
        return ordered_map.pop_max(m)

    stage.ordered_map = SimpleNamespace(**{**vars(ordered_map), "pop_max": pop_max})
    _, pullback = stage.vjp(FUNCTION, X)
    pullback(1.0)
    return [*found, {}]


def formulas(graph: CallGraph) -> list[str]:
    r"""The backpropagators in the paper's notation, from the edges of the graph."""
    made = [r"f1 = \z. (the input's)"]
    for i in range(1, 4):
        calls = [f"f{e.callee + 1} ({e.factor:g}z)" for e in graph.edges if e.caller == i]
        made.append(rf"f{i + 1} = \z. " + " + ".join(calls).replace("(1z)", "z"))
    return made


def draw(graph: CallGraph) -> str:
    """Draw plain calls on the left, staged calls on the right."""
    top, step, height = 84, 104, 46
    picture = Drawing(
        520,
        top + 3 * step + height + 24,
        "Section 4: calls of f1 to f4, plainly and staged",
        "The calls: "
        + "; ".join(formulas(graph)[1:])
        + ". Left, naive: f4 and f3 are called once, f2 twice and f1 five times. Right, staged: each is called once, "
        + "with the sum of the arrows' numbers: "
        + ", ".join(f"f{i + 1} with {graph.calls['staged'][i][0]:g}" for i in range(3, -1, -1))
        + ".",
    )
    for x, stage, kind in ((130, "naive", "red"), (390, "staged", "blue")):
        picture.text(x, 26, stage, "strong", "middle")
        picture.text(x, 50, plain_label(graph.total(stage), "call"), f"{kind} strong", "middle")
        labels = []
        for (caller, callee), bends in BENDS.items():
            edges = [e for e in graph.edges if (e.caller, e.callee) == (caller, callee)]
            for edge, bend in zip(edges, bends, strict=True):
                shift = bend if abs(bend) < 40 else 0.75 * bend
                start = (x + shift, top + (3 - caller) * step + height)
                end = (x + shift, top + (3 - callee) * step - 1)
                at = picture.arrow(start, end, bend if abs(bend) > 40 else bend / 2, kind)
                labels.append((at, edge, bend))
        for i in range(3, -1, -1):
            y = top + (3 - i) * step
            arguments = graph.calls[stage][i]
            picture.box(x - 76, y, 152, height, "lit" if len(arguments) > 1 else "box")
            picture.text(x - 65, y + 14, f"f{i + 1}", "code strong")
            picture.text(x + 65, y + 14, plain_label(len(arguments), "call"), "small", "end")
            text = "with " + ", ".join(f"{z:g}" for z in arguments)
            picture.text(x + 65, y + 32, text, "small soft", "end")
        for (lx, ly), edge, bend in labels:
            argument = graph.calls["staged"][edge.caller][0] * edge.factor
            text = f"{argument:g}" if stage == "staged" else f"{edge.factor:g}z".replace("1z", "z")
            left = bend < 0
            picture.text(lx + (-7 if left else 7), ly, text, "code small", "end" if left else "start")
    return picture.svg()


def steps(graph: CallGraph) -> list[list[str]]:
    """A row for each step of SResolve: the map, the call of its highest id, its result, the map after it."""
    maps = staging_maps()
    rows = []
    for before, after in itertools.pairwise(maps):
        i = max(before)
        added: dict[int, float] = {}
        for edge in graph.edges:
            if edge.caller == i:
                added[edge.callee] = added.get(edge.callee, 0.0) + edge.factor * before[i]
        rest = {k: z for k, z in before.items() if k != i}
        assert after == {k: rest.get(k, 0.0) + added.get(k, 0.0) for k in {**rest, **added}}
        returned = _written(added) if added else f"the cotangent {before[i]:g} of x"
        rows.append([_written(before), f"f{i + 1} {before[i]:g}", returned, _written(after)])
    return rows


def _written(m: dict[int, float]) -> str:
    return "{" + ", ".join(f"f{i + 1}: {z:g}" for i, z in sorted(m.items(), reverse=True)) + "}"


def figure() -> Figure:
    """The page: the graph, the calls in order, and the staging maps."""
    graph = call_graph(FUNCTION, X)
    order = {s: " ".join(f"f{i + 1}({z:g})" for i, z in trace(s, FUNCTION, X)) for s in ("naive", "staged")}
    naive = {i + 1: graph.count("naive", i) for i in range(4)}
    assert all(graph.count("staged", i) == 1 for i in range(4))
    rows = steps(graph)
    body = [
        f"![Calls of f1 to f4: naive, {graph.total('naive')}; staged, {graph.total('staged')}.](section4.svg)",
        "The backpropagators, read from the closures of our stages:",
        fence("\n".join(formulas(graph))),
        "An arrow on the left has the argument of the call in these formulas; on the right, the number that the call "
        "adds to the argument of its target. The calls in order, from f4 1:",
        table(["stage", "calls"], [[f"`{stage}`", calls] for stage, calls in order.items()]),
        "SResolve in `staged`, step by step. Ids grow in the order of creation, and a backpropagator can only call "
        "older ones. So nobody is left to call the backpropagator with the highest id: its argument is complete.",
        table(["staging map", "highest id: call", "returns", "the map after it"], rows),
        "If f2 were called first, with 1, f3 would call it a second time, with 8. That is why a backpropagator waits "
        "until all its callers have contributed.",
    ]
    return Figure(
        "section4",
        "Section 4, call graph",
        "the order in which backpropagators are called",
        "plain evaluation of f4 calls f2 twice and f1 five times. With merged calls, resolved from the highest id "
        "down, the maps are {f2: 1, f3: 2} and {f2: 9, f1: 10}, and each function is called exactly once.",
        f"`naive` makes {naive[2]} calls of f2 and {naive[1]} of f1; `staged` one of each, with the maps {rows[1][0]}, "
        f"{rows[2][0]} and {rows[3][0]}.",
        "\n\n".join(body),
        {"section4.svg": draw(graph)},
    )


def main() -> None:
    """Write the page and the picture."""
    write(figure())


if __name__ == "__main__":
    main()
