"""The comparison in the terminal: rich tables of the results of measure.py."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from stages.comparison.columns import Columns, empty_table
from stages.comparison.counting import trace
from stages.comparison.differences import RESOLVED
from stages.comparison.measure import Comparison, Family, Growth, StageResult
from stages.comparison.sharing import sharing
from stages.order import STAGES, algorithm
from stages.programs import LOOP_OPERATIONS, Program

__all__ = ["MORE", "agree", "comparison", "console", "derivatives", "fields", "growth", "legend", "overview"]

AGREES = 1e-9  # the stages add the same numbers in different orders
DIFFERENCES = RESOLVED


def fields(stage: str) -> dict[str, str]:
    """The fields of a stage's docstring: Paper, D[R], Changed, Cost; a related algorithm also has Needs.

    >>> fields("sparse")["Paper"]
    'section 6'
    """
    text = inspect.cleandoc(algorithm(stage).__doc__ or "")
    pattern = re.compile(r"^(Paper:|D\[R\] =|Changed:|Needs:|Cost:)(.*?)(?=^\S|^\s*$)", re.MULTILINE | re.DOTALL)
    return {name.rstrip(":= "): re.sub(r"\s*\n\s*", " ", body).strip() for name, body in pattern.findall(text)}


def overview(stages: Sequence[str]) -> RenderableType:
    """Return the table of the stages and their changes; a related algorithm has its whole description."""
    ours = set(stages) <= set(STAGES)
    table = empty_table("The stages, in the paper's order" if ours else "Related algorithms, by paper")
    table.add_column("stage", style="bold", no_wrap=True)
    table.add_column("D[R], the type of a real number; what this stage changes")
    for stage in stages:
        about = fields(stage)
        carried = about["D[R]"].partition("  ")[0]
        changed = re.split(r"(?<=\.) (?=[A-Z])", about["Changed"])
        head = Text.assemble((carried, "bold"), (f"   {about['Paper']}", "dim"))
        table.add_row(stage, Group(head, Text(changed[0] if stage in STAGES else " ".join(changed)), Text()))
    return table


def comparison(result: Comparison) -> RenderableType:
    """The table of one program, with a row for every stage."""
    size = f", {result.sized}" if result.sized else ""
    counted = ("created", "calls", "scalars", "pairs", "map", "writes")
    measured = ("time", "x plain", "value", "grad", "diffs")
    table = Columns(f"{result.program} ({result.paper}{size})", ("stage", *counted, *measured))
    ran = [stage.stage for stage in result.stages if stage.counts is not None]
    for stage in result.stages:
        table.add_row(stage.stage, *_cells(stage, reference=stage.stage in ran[-1:]))
    cut_off = "".join(
        f"{stage.stage}: {'' if stage.refused else 'cut off, '}{stage.cut_off}\n"
        for stage in result.stages
        if stage.cut_off
    )
    spans = "".join(
        f"span of {stage.stage}: {stage.counts.span:,} calls, the longest chain of calls that wait for each other\n"
        for stage in result.stages
        if stage.counts is not None and stage.counts.span
    )
    kept = ", ".join(f"{stage.stage} {stage.kept:,}" for stage in result.stages if stage.kept is not None)
    space = f"words kept for the pullback: {kept}\n" if kept else ""
    more = ", ..." if result.scalars > len(result.gradient) else ""
    entries = ", ".join(f"{g:.6g}" for g in result.gradient) + more
    gradient = (
        f"gradient ({entries}), of norm {result.norm:.6g}"
        if result.gradient
        else "no gradient: every stage was cut off"
    )
    caption = Text.assemble(
        (cut_off, "yellow"),
        spans,
        space,
        (f"{result.about}\n" if result.about else "", "italic"),
        f"sum of the value {result.value:.10g}   {gradient}   plain Python {_seconds(result.plain_seconds)}",
    )
    return Group(table, caption, Text())


def agree(result: Comparison) -> bool:
    """Whether all stages that ran agree with the plain program's value and with each other's gradient."""
    deviations = [d for stage in result.stages for d in (stage.value_deviation, stage.deviation) if d is not None]
    return all(d <= AGREES for d in deviations)


def _cells(stage: StageResult, reference: bool) -> list[Any]:
    if stage.counts is None:
        return [Text("refused" if stage.refused else "cut off", style="yellow")]
    counts = stage.counts
    numbers = (counts.created, counts.calls, counts.scalars, counts.pairs, counts.map_steps, counts.array_writes)
    assert stage.seconds is not None
    assert stage.ratio is not None
    return [
        *(f"{n:,}" if n else "-" for n in numbers),
        _seconds(stage.seconds),
        f"{stage.ratio:,.0f}",
        _agreement(stage.value_deviation, AGREES),
        Text("ref") if reference else _agreement(stage.deviation, AGREES),
        _agreement(stage.difference, DIFFERENCES),
    ]


def growth(family: Family, results: Sequence[Growth]) -> RenderableType:
    """The table of a family: the work of every stage at each size, and the law that it follows."""
    headings = ("stage", *(f"n={n}" for n in family.sizes), "misfit", "work grows as")
    table = Columns(f"growth: {family.program}, {family.problem}", headings, left=headings[-1:])
    before = None
    for result in results:
        law = result.law or "too few sizes"
        within = "" if result.misfit is None else f"{result.misfit:.0%}"
        changed = before is not None and law != before
        cells = ["cut off" if w is None else f"{w:,}" for w in result.work.values()]
        style = "bold green" if changed else "bold"
        table.add_row(result.stage, *cells, within, Text(f"{law}  <" if changed else law, style=style))
        before = law
    caption = Text(
        "work: the sum of all counts, with a law fitted to the larger sizes. Misfit: the law's largest relative error."
        "  <: this stage changes the law",
        style="italic",
    )
    return Group(table, caption, Text())


def _fig_10(program: Program, result: Comparison) -> RenderableType:
    """The sharing structures of Fig. 10, before and after defunctionalisation."""
    table = empty_table("Fig. 10, at x = 3 and y = 2: value = (id, backpropagator); d0 has the id 0")
    names = ("collectorless", "lists")
    for name in names:
        table.add_column(name)
    for row in zip(*(sharing(name, program.function, 3.0, 2.0) for name in names), strict=True):
        table.add_row(*(Text(str(shared)) for shared in row))
    return Group(table, Text())


def _section_4(program: Program, result: Comparison) -> RenderableType:
    """Section 4's example: the calls with their arguments, in order, in naive and staged, and as a program."""
    from stages.relatives.factored import reduction  # only where it is shown

    primals = program.make(1, 0)
    table = empty_table("Section 4, calls in order: f4(1) is a call of f4 with the argument 1")
    table.add_column("stage", style="bold", no_wrap=True)
    table.add_column("calls")
    for stage in ("naive", "staged"):
        calls = trace(stage, program.function, *primals)
        table.add_row(stage, " ".join(f"f{i + 1}({z:g})" for i, z in calls))
    table.add_row("factored", " = ".join(reduction(program.function, *primals)))
    return Group(
        table, Text("factored: section 3.4, symbolic linear factoring rewrites the sum of calls\n", style="italic")
    )


def _per_operation(program: Program, result: Comparison) -> RenderableType:
    """Return the time per operation of the program `loop`, whose number of operations is known."""
    assert result.size is not None
    operations = LOOP_OPERATIONS * result.size
    times = ", ".join(f"{s.stage} {s.seconds / operations * 1e6:.2f} us" for s in result.stages if s.seconds)
    return Text(f"time per operation, of {operations:,}: {times or 'every stage was cut off'}\n")


#: Additional output for some programs, by name.
MORE: dict[str, Callable[[Program, Comparison], RenderableType]] = {
    "fig1": _fig_10,
    "section4": _section_4,
    "loop": _per_operation,
}


def derivatives(texts: dict[str, str]) -> RenderableType:
    """D[f] of each stage, printed as a program."""
    parts: list[RenderableType] = []
    for stage, text in texts.items():
        parts += [Text(f"{stage}: the derivative as a program", style="bold")] if stage else []
        parts += [Text(text, overflow="fold"), Text()]
    return Group(*parts)


def legend() -> RenderableType:
    """Return the legend of the columns."""
    grid = Table.grid(padding=(0, 2))
    for column, meaning in _COLUMNS.items():
        grid.add_row(Text(f"  {column}", style="bold dim"), Text(meaning, style="dim"))
    return Group(grid, Text())


_COLUMNS = {
    "created": "backpropagators created",
    "calls": "calls of backpropagators; from lists on, ids resolved",
    "scalars": "real numbers touched by 0, + and one-hots on whole cotangents of the input",
    "pairs": "pairs built by one-hots and setters on the path to a number of the input",
    "map": "map nodes visited",
    "writes": "elements written to mutable arrays, including the tape",
    "time": "of the value and one gradient; x plain: times slower than plain Python (small programs: mostly set-up)",
    "value": "largest error of the value, compared with plain Python, relative to its largest entry",
    "grad": "the same for the gradient, against the last stage (ref); diffs: with finite differences, - at a kink",
    "!": "disagreement beyond rounding error (value, grad), or beyond the error of differences (diffs)",
    "cut off": "the sum of all counts exceeded the limit",
}


def _agreement(deviation: float | None, tolerance: float) -> Text:
    if deviation is None:
        return Text("-")
    text = f"{deviation:.0e}" if deviation else "exact"
    return Text(text, style="green") if deviation <= tolerance else Text(f"{text} !", style="bold red")


def _seconds(t: float) -> str:
    return f"{t:.2f} s" if t >= 1 else f"{t * 1e3:.3g} ms" if t >= 1e-3 else f"{t * 1e6:.3g} us"


def console() -> Console:
    """Return a console that is wide enough for the tables, also into a file or a pipe."""
    made = Console()
    return made if made.width >= 120 or made.is_terminal else Console(width=120)
