"""The data for the page's script: programs as lists of operations, with their texts."""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dualrev.diagnostics.signatures import signature
from stages.comparison.page import words
from stages.comparison.page.drawing import layout
from stages.comparison.page.plots import MARKS
from stages.comparison.page.recording import MOST, UNKNOWN, Recording, record
from stages.comparison.page.rules import rule
from stages.comparison.page.samples import Sample

__all__ = ["DRAWN", "STEPPED", "arguments", "program_data", "script", "script_data"]

DRAWN = 30  # scalars: with more of them there is no drawing

#: The stages that the script can do.
STEPPED = ("naive", "staged", "cayley", "sparse", "arrays", "collectorless", "lists", "contrib", "tape")

#: The parts of the script, in the order in which each needs the ones before.
PARTS = (
    *("map", "program", "stages", "run", "words"),
    *("elements", "graph", "store", "machine", "reader", "stepper", "growth", "page"),
)

_FOLDER = Path(__file__).parent / "script"


def script(rules: dict[str, str], stages: Sequence[str]) -> str:
    """The whole script, with the entries of the table of primitives that the programs need: text -> name."""
    constants = {
        "AREAS": words.AREAS,
        "HEADINGS": {name: heading for name, (heading, _) in words.COUNTS.items()},
        "SHOWN_STAGES": list(stages),
        "MARKS": MARKS,
    }
    parts = [f"const {name} = {json.dumps(x)};\n" for name, x in constants.items()]
    parts.append("const PRIMITIVES = {\n" + "".join(f"  {name}: {text},\n" for text, name in rules.items()) + "};\n")
    parts += [(_FOLDER / f"{part}.js").read_text(encoding="utf-8") for part in PARTS]
    return '"use strict";\n\n' + "\n".join(parts)


def program_data(f: Callable[..., Any], sample: Sample, rules: dict[str, str]) -> dict[str, Any]:
    """A program at every size of the sample. The table entries that it needs are added to `rules`."""
    return {
        "start": sample.sizes.index(sample.start),
        "recordings": [_at_size(f, n, sample.make(n), rules) for n in sample.sizes],
    }


def _at_size(f: Callable[..., Any], n: int, primals: tuple[Any, ...], rules: dict[str, str]) -> dict[str, Any]:
    recording = record(f, primals)
    if recording is None:
        return {"size": n, "parameters": [], "fixed": f"No steps: the program does more than {MOST} operations."}
    texts = [text for _, text in arguments(f, primals)]
    parameters = [
        [name, names, "" if names else text] for (name, names), text in zip(recording.parameters, texts, strict=True)
    ]
    operations = [one.primitive for one in recording.scalars if one.primitive is not None]
    fixed = recording.fixed or ("" if all(map(rule, operations)) else UNKNOWN)
    return {
        "size": n,
        "fixed": fixed,
        "parameters": parameters,
        "scalars": list(_scalars(recording, bool(fixed), rules)),
        "outputs": recording.outputs,
        "shape": recording.shape,
        "layout": _layout(recording),
    }


def _scalars(recording: Recording, fixed: bool, rules: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The scalars; those that the script cannot compute come with their recorded numbers."""
    for one in recording.scalars:
        made: dict[str, Any] = {"kind": one.kind, "text": one.text, "line": one.line}
        if one.args:
            made["args"] = one.args
        if one.primitive is not None and "0.0" in one.primitive.partials:
            made["zeros"] = [text == "0.0" for text in one.primitive.partials]
        if one.primitive is not None and not fixed:
            made["rule"] = rules.setdefault(rule(one.primitive) or "", f"op{len(rules)}")
        else:
            made |= {"value": _number(one.value), "partials": list(map(_number, one.partials))}
        yield made


def _number(x: float) -> float | str:
    """A number for JSON, which has no infinities and no NaN: the script converts their names."""
    return x if math.isfinite(x) else "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"


def _layout(recording: Recording) -> dict[str, Any] | None:
    """The positions of the drawing's parts; unused inputs are not in it."""
    used = {i for one in recording.scalars for i in one.args} | set(recording.outputs)
    shown = {i: list(one.args) for i, one in enumerate(recording.scalars) if one.kind != "input" or i in used}
    if not 0 < len(shown) <= DRAWN:
        return None
    found = layout(shown)
    return {
        "width": round(found.width),
        "height": round(found.height),
        "boxes": [[i, round(x), round(y)] for i, (x, y) in found.boxes.items()],
        "arrows": [[a.caller, a.called, a.at, a.path, round(a.x), round(a.y)] for a in found.arrows],
    }


def arguments(f: Callable[..., Any], primals: Sequence[Any]) -> list[tuple[str, str]]:
    """The name of every parameter, and its argument as text."""
    try:
        names = list(signature(f).parameters)
    except (TypeError, ValueError):
        names = []
    made = reprlib.Repr()
    made.maxother = made.maxstring = 100
    made.maxtuple = made.maxlist = made.maxdict = 4
    return [(names[k] if k < len(names) else f"x{k}", made.repr(x)) for k, x in enumerate(primals)]


def script_data(data: Any) -> Any:
    """JSON that is safe inside a <script> element."""
    from markupsafe import Markup

    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))
