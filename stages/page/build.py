"""The page's content: what the stages did on each program, as data for template.html and script.js."""

from __future__ import annotations

import dataclasses
import json
import re
import reprlib
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dualrev.reading import signature
from stages import report
from stages.comparison import FAMILIES, Comparison, Growth, StageResult
from stages.order import STAGES
from stages.page import code, words
from stages.page.drawing import drawing
from stages.page.plots import marker, plot
from stages.sharing import sharing
from stages.steps import Walk, walk

__all__ = ["DEFAULTS", "PRIMALS", "SIZES", "Shown", "page", "short", "write"]

#: The programs that are shown if none is asked for.
DEFAULTS = ("fig1", "doublings", "section4")

#: Arguments that are easy to follow, and sizes that are small enough to go through, where no size is asked for.
PRIMALS: dict[str, tuple[Any, ...]] = {"fig1": (3.0, 2.0), "section4": (1.0,), "doublings": (1.0, 4)}
SIZES = {
    "doublings": 4,
    "scaled_doublings": 3,
    "scalar_mult": 3,
    "dot": 4,
    "sum_mat_vec": 2,
    "rotate": 1,
    "neural": 2,
    "expression": 8,
    "compose": 4,
    "wide": 20,
    "deep": 6,
    "newton": 1,
    "loop": 3,
}

DRAWN = 24  # scalars: with more of them there is no drawing
WIDE = 430.0  # pixels: a wider drawing gets the whole width of the page
STEPS = 150  # that are shown
CELLS = 400  # in the state of a step

_FOLDER = Path(__file__).parent
_COUNTS = tuple(words.COUNTS)


class Shown(NamedTuple):
    """A program on the page: the function, its arguments, and what the comparison found."""

    function: Callable[..., Any]
    primals: tuple[Any, ...]
    result: Comparison


def write(path: Path | str, shown: Sequence[Shown], growths: Sequence[Growth] = (), limit: float = 1.5e6) -> int:
    """Write the page; the number of its bytes."""
    return Path(path).write_bytes(page(shown, growths, limit).encode())


def page(shown: Sequence[Shown], growths: Sequence[Growth] = (), limit: float = 1.5e6) -> str:
    """The page, as one string of HTML without references to anything outside of it."""
    programs = [_program(f"p{k}", one, limit) for k, one in enumerate(shown)]
    names = [name for name in STAGES if any(name in program["walked"] for program in programs)]
    return _template("template.html").render(
        style=(_FOLDER / "style.css").read_text(encoding="utf-8"),
        script=(_FOLDER / "script.js").read_text(encoding="utf-8"),
        programs=programs,
        stages=[_stage(name) for name in names],
        counts=words.COUNTS,
        growths=_growths(growths),
    )


def short(one: Shown, limit: float = 1.5e6) -> str:
    """A program on all stages, as a piece of HTML for a notebook: no script, and colours of the notebook's."""
    return _template("short.html").render(
        style=(_FOLDER / "short.css").read_text(encoding="utf-8"),
        program=_program(f"p{uuid.uuid4().hex[:8]}", one, limit, steps=0),  # a notebook may have more than one
        stages={name: _stage(name) for name in STAGES},
        counts=words.COUNTS,
    )


def _template(name: str) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # an extra: only pages need it

    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["script_data"] = _script_data
    made.globals["zipped"] = lambda counts: zip(words.COUNTS.values(), counts, strict=True)
    return made.get_template(name)


def _script_data(data: Any) -> Any:
    """JSON that can stand in a <script> element."""
    from markupsafe import Markup

    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


# ---- the stages ------------------------------------------------------------------------------------------------------


def _stage(name: str) -> dict[str, Any]:
    """What is said of a stage whatever the program is."""
    fields = report.fields(name)
    names = list(STAGES)
    before = names[names.index(name) - 1] if name != names[0] else ""
    lines = code.changes(name)
    return {
        "name": name,
        "file": f"stages/{Path(str(STAGES[name].__file__)).name}",
        "before": before,
        "before_file": f"stages/{Path(str(STAGES[before].__file__)).name}" if before else "",
        "paper": fields["Paper"],
        "type": [part.strip() for part in fields["D[R]"].split("  ") if part.strip()],
        "changed": _sentence(fields["Changed"]),
        "cost": _sentence(fields["Cost"]),
        "left": words.LEFT[name],
        "in_short": words.IN_SHORT[name],
        "lines": lines,
        "added": sum(line.sign == "+" for line in lines),
        "removed": sum(line.sign == "-" for line in lines),
    }


def _sentence(text: str) -> str:
    """With a capital letter, unless it begins with a formula."""
    return text if re.match(r"[b-z] |O\(", text) else text[:1].upper() + text[1:]


# ---- a program -------------------------------------------------------------------------------------------------------


def _program(key: str, one: Shown, limit: float, steps: int = STEPS) -> dict[str, Any]:
    """A program, and what each stage did with it."""
    result = one.result
    walked = {r.stage: _walked(f"{key}-{r.stage}", r, one, limit, steps) for r in result.stages}
    size = f", {result.size:,} {result.unit}" if result.size and result.unit else ""
    entries = [f"{g:.6g}" for g in result.gradient] + (["..."] if result.scalars > len(result.gradient) else [])
    return {
        "id": key,
        "name": result.program,
        "paper": f"{result.paper}{size}",
        "about": result.about,
        "source": code.program(one.function),
        "arguments": _arguments(one),
        "value": f"{result.value:.10g}",
        "gradient": ", ".join(entries),
        "plain": report._seconds(result.plain_seconds),
        "walked": walked,
        "agree": report.agree(result),
    }


def _arguments(one: Shown) -> list[tuple[str, str]]:
    try:
        names = list(signature(one.function).parameters)
    except (TypeError, ValueError):
        names = []
    made = reprlib.Repr()
    made.maxother = made.maxstring = 100
    made.maxtuple = made.maxlist = made.maxdict = 4
    return [(names[k] if k < len(names) else f"x{k}", made.repr(x)) for k, x in enumerate(one.primals)]


def _walked(key: str, result: StageResult, one: Shown, limit: float, steps: int) -> dict[str, Any]:
    """What a stage did: counts, time, agreement; the drawing, the sharing structures, and the steps."""
    run = walk(result.stage, one.function, *one.primals, most=max(steps, DRAWN), limit=limit, widest=CELLS)
    counts = dataclasses.asdict(result.counts) if result.counts else None
    small = 0 < run.counts.created <= DRAWN and len(run.scalars) == run.counts.created and not result.cut_off
    drawn = drawing(run.scalars, run.times_called(), key) if small else None
    shared = small and result.stage in ("collectorless", "lists", "contrib", "tape")
    return {
        "key": key,
        "stage": result.stage,
        "cut_off": result.cut_off,
        "counts": [counts[name] for name in _COUNTS] if counts else None,
        "time": report._seconds(result.seconds) if result.seconds is not None else "",
        "ratio": f"{result.ratio:,.0f}" if result.ratio is not None else "",
        "agrees": _agreement(result),
        "drawing": drawn.svg if drawn else "",
        "wide": drawn.width > WIDE if drawn else False,
        "no_drawing": f"No drawing: {run.counts.created:,} backpropagators, and more than {DRAWN} are hard to read.",
        "sharing": list(map(str, sharing(result.stage, one.function, *one.primals))) if shared else [],
        "steps": _steps(run) if steps and run.steps else None,
        "note": run.left_out,
    }


def _agreement(result: StageResult) -> str:
    if result.value_deviation is None or result.deviation is None:
        return ""
    return "yes" if max(result.value_deviation, result.deviation) <= report.AGREES else "no"


def _steps(run: Walk) -> dict[str, Any]:
    """The steps as data for script.js. What stays the same from step to step is not written again."""
    times: dict[int, int] = {}
    made = 0
    steps: list[dict[str, Any]] = []
    before: list[Any] = []
    for step in run.steps:
        if step.kind == "call" and step.id is not None:
            times[step.id] = times.get(step.id, 0) + 1
        made += step.kind == "make"
        areas = [[area.name, area.kind, [[key, _text(x)] for key, x in area.cells]] for area in step.areas]
        new = [_after(area, before[k] if k < len(before) else None) for k, area in enumerate(areas)]
        steps.append(
            {
                "say": words.sentence(run, step, times.get(-1 if step.id is None else step.id, 0)),
                "id": step.id,
                "call": step.kind == "call",
                "made": made,
                "line": run.scalars[step.id].line if step.kind == "make" and step.id is not None else None,
                "to": [i for i, _ in step.passed],
                "areas": new,
                "counts": [getattr(step.counts, name) for name in _COUNTS],
            }
        )
        before = areas
    scalars = [
        [str(s.id) if run.stage == "tape" else f"d{s.id}", s.text, _text(s.value), words.backpropagator(run.stage, s)]
        for s in run.scalars
    ]
    labels = {area.name: words.AREAS[area.name] for step in run.steps for area in step.areas}
    return {"inputs": run.inputs[:CELLS], "scalars": scalars, "labels": labels, "steps": steps}


def _after(area: list[Any], before: list[Any] | None) -> list[Any]:
    """The area, with the number of its first cells that are those of the one before in place of these."""
    name, kind, cells = area
    same = 0
    if before is not None and before[:2] == [name, kind]:
        while same < min(len(cells), len(before[2])) and cells[same] == before[2][same]:
            same += 1
    return [name, kind, same, cells[same:]]


def _text(x: Any) -> str:
    return "-" if x is False else "yes" if x is True else words.number(x)


# ---- growth ----------------------------------------------------------------------------------------------------------


def _growths(growths: Sequence[Growth]) -> list[dict[str, Any]]:
    """A plot and a table of laws for each family that was measured."""
    names = list(STAGES)
    made = []
    for family in FAMILIES:
        found = [g for g in growths if g.program == family.program]
        if found:
            laws, before = [], None
            for g in found:
                changed = before not in (None, g.law)
                laws.append((g.stage, marker(names.index(g.stage)), g.law or "too few sizes", changed))
                before = g.law
            made.append(
                {"name": family.program, "about": family.problem, "plot": plot(family, found, names), "laws": laws}
            )
    return made
