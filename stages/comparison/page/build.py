"""The page's content: the results of the stages on each program, as data for template.html and the script."""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stages.comparison import report
from stages.comparison.measure import FAMILIES, Comparison, Family, Growth, StageResult
from stages.comparison.page import code, data, words
from stages.comparison.page.drawing import drawing
from stages.comparison.page.notation import notation
from stages.comparison.page.plots import marker, plot
from stages.comparison.page.samples import Sample, only
from stages.comparison.sharing import sharing
from stages.comparison.steps import walk
from stages.order import STAGES

__all__ = ["Shown", "growths", "page", "program", "sentence", "short", "style", "template", "write"]

_FOLDER = Path(__file__).parent
_COUNTS = tuple(words.COUNTS)


class Shown(NamedTuple):
    """A program on the page: the function, its arguments, what the comparison found, and its other sizes."""

    function: Callable[..., Any]
    primals: tuple[Any, ...]
    result: Comparison
    sample: Sample | None = None


def write(path: Path | str, shown: Sequence[Shown], measured: Sequence[Growth] = ()) -> int:
    """Write the page, and return the number of its bytes."""
    return Path(path).write_bytes(page(shown, measured).encode())


def page(shown: Sequence[Shown], measured: Sequence[Growth] = ()) -> str:
    """The page as one string of HTML, without references to anything outside of it."""
    rules: dict[str, str] = {}
    programs = [program(k, one) for k, one in enumerate(shown)]
    found = [_data(one, made, rules) for one, made in zip(shown, programs, strict=True)]
    names = [name for name in STAGES if any(name in made["stages"] for made in programs)]
    there = {one.result.program for one in shown}
    return template("template.html").render(
        style=style(),
        script=data.script(rules, [name for name in names if name in data.STEPPED]),
        kind="stage",
        programs=programs,
        data=found,
        stages=[_stage(name, there, names) for name in names],
        counts=words.COUNTS,
        growths=growths(measured),
    )


def short(one: Shown, limit: float = 1.5e6) -> str:
    """A program on all stages, as HTML for a notebook: without a script, in the notebook's colours."""
    key = f"p{uuid.uuid4().hex[:8]}"  # a notebook may have more than one
    made = program(0, one)
    for row in made["stages"].values():
        row |= _drawn(f"{key}-{row['stage']}", row["stage"], one, limit)
    return template("short.html").render(
        style=(_FOLDER / "short.css").read_text(encoding="utf-8"),
        program=made,
        stages={name: _stage(name) for name in STAGES},
        counts=words.COUNTS,
    )


def style() -> str:
    """Return the style sheet of both pages: the stages' and the related algorithms'."""
    return "".join((_FOLDER / name).read_text(encoding="utf-8") for name in ("style.css", "stepper.css"))


def template(name: str) -> Any:
    """A template of this folder, with the filters that all templates use."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # an extra: only pages need it

    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["script_data"] = data.script_data
    made.globals["zipped"] = lambda counts: zip(words.COUNTS.values(), counts, strict=True)
    return made.get_template(name)


# ---- the stages ------------------------------------------------------------------------------------------------------


def _stage(name: str, programs: Sequence[str] | set[str] = (), stages: Sequence[str] = ()) -> dict[str, Any]:
    """Return the description of a stage, with the scenes whose programs and stages are on the page."""
    fields = report.fields(name)
    names = list(STAGES)
    before = names[names.index(name) - 1] if name != names[0] else ""
    lines = code.changes(name)
    growing = words.GROWING.get(name)
    return {
        "name": name,
        "file": f"stages/{Path(str(STAGES[name].__file__)).name}",
        "before": before,
        "before_file": f"stages/{Path(str(STAGES[before].__file__)).name}" if before else "",
        "paper": fields["Paper"],
        "type": [notation(part.strip()) for part in fields["D[R]"].split("  ") if part.strip()],
        "changed": notation(sentence(fields["Changed"])),
        "cost": notation(sentence(fields["Cost"])),
        "left": words.LEFT.get(name, ""),
        "in_short": words.IN_SHORT.get(name, ""),
        "idea": words.IDEA.get(name, ""),
        "scenes": [
            scene
            for scene in words.SCENES.get(name, ())
            if scene.sets["program"] in programs and scene.sets.get("beside", name) in stages
        ],
        "growing": growing if growing and growing.program in programs and {*growing.stages} <= {*stages} else None,
        "steps": name in data.STEPPED,
        "lines": lines,
        "added": sum(line.sign == "+" for line in lines),
        "removed": sum(line.sign == "-" for line in lines),
    }


def sentence(text: str) -> str:
    """Capitalize the first letter, unless the text begins with a formula."""
    return text if re.match(r"[b-z] |O\(", text) else text[:1].upper() + text[1:]


# ---- a program -------------------------------------------------------------------------------------------------------


def program(k: int, one: Shown) -> dict[str, Any]:
    """A program, and the results of each stage on it."""
    result = one.result
    size = f", {result.sized}" if result.sized else ""
    return {
        "id": k,
        "name": result.program,
        "paper": f"{result.paper}{size}",
        "about": notation(result.about),
        "source": code.program(one.function),
        "arguments": data.arguments(one.function, one.primals),
        "value": _several(result.values, result.outputs, ".10g"),
        "sum": f"{result.value:.10g}" if result.outputs > 1 else "",
        "outputs": result.outputs,
        "gradient": _several(result.gradient, result.scalars, ".6g"),
        "plain": report._seconds(result.plain_seconds),
        "stages": {r.stage: _row(r, one) for r in result.stages},
        "agree": report.agree(result),
    }


def _several(numbers: Sequence[float], of: int, form: str) -> str:
    return ", ".join([f"{x:{form}}" for x in numbers] + (["..."] if numbers and of > len(numbers) else []))


def _data(one: Shown, made: dict[str, Any], rules: dict[str, str]) -> dict[str, Any]:
    """Return the data of a program for the script."""
    found = data.program_data(one.function, one.sample or only(one.primals), rules)
    return {"name": made["name"], "unit": one.result.unit, "source": bool(made["source"]), **found}


def _row(result: StageResult, one: Shown) -> dict[str, Any]:
    """Return the row of a stage: counts, time, agreement, and the sharing structures."""
    counts = dataclasses.asdict(result.counts) if result.counts else None
    shared = (
        counts and counts["created"] <= data.DRAWN and result.stage in ("collectorless", "lists", "contrib", "tape")
    )
    return {
        "stage": result.stage,
        "cut_off": result.cut_off,
        "refused": result.refused,
        "counts": [counts[name] for name in _COUNTS] if counts else None,
        "kept": f"{result.kept:,}" if result.kept is not None else "",
        "time": report._seconds(result.seconds) if result.seconds is not None else "",
        "ratio": f"{result.ratio:,.0f}" if result.ratio is not None else "",
        "agrees": _agreement(result),
        "sharing": [notation(str(s)) for s in sharing(result.stage, one.function, *one.primals)] if shared else [],
    }


def _drawn(key: str, stage: str, one: Shown, limit: float) -> dict[str, Any]:
    """The drawing of a stage's backpropagators and calls, if it is small enough to read."""
    run = walk(stage, one.function, *one.primals, most=data.DRAWN, limit=limit)
    small = 0 < run.counts.created <= data.DRAWN and len(run.scalars) == run.counts.created
    return {
        "drawing": drawing(run.scalars, run.times_called(), key).svg if small else "",
        "no_drawing": f"No drawing: {run.counts.created:,} backpropagators, and more than {data.DRAWN} are hard to "
        "read.",
    }


def _agreement(result: StageResult) -> str:
    if result.value_deviation is None or result.deviation is None:
        return ""
    return "yes" if max(result.value_deviation, result.deviation) <= report.AGREES else "no"


# ---- growth ----------------------------------------------------------------------------------------------------------


def growths(measured: Sequence[Growth], names: Sequence[str] = tuple(STAGES)) -> list[dict[str, Any]]:
    """A plot and a table of laws for each program that was measured, the reader's own program first."""
    known = {family.program: family for family in FAMILIES}
    programs = dict.fromkeys(g.program for g in measured)
    made = []
    for name in sorted(programs, key=lambda name: list(known).index(name) if name in known else -1):
        found = [g for g in measured if g.program == name]
        family = Family(name, known[name].problem if name in known else "", tuple(found[0].work))
        laws, before = [], None
        for g in found:
            changed = before not in (None, g.law) and names[0] in STAGES
            laws.append((g.stage, marker(names.index(g.stage)), notation(g.law or "too few sizes"), changed))
            before = g.law
        made.append({"name": name, "about": family.problem, "plot": plot(family, found, names), "laws": laws})
    return made
