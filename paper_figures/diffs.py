"""Figs. 6 to 9 and 12: the transformations as the stages' code, and the changes from each to the next.

The paper gives here the rules of D1 with its wrapper (Figs. 6 and 7), D2 (Fig. 8), D3 (Fig. 9) and D4 (Fig. 12, which
uses the arrays of Fig. 11), each as a change of its predecessor, with the unchanged parts in grey. Sections 6 and 8
describe their changes in words.

A stage is a module that opens with the figure in plain notation. The page has the generated differences between
consecutive stages, and Fig. 1's program after the typed transformation of stages.calculus.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import itertools
from pathlib import Path
from types import ModuleType

from paper_figures.drawing.figure import FOLDER as HERE
from paper_figures.drawing.figure import Figure, fence, table, write
from stages import STAGES
from stages.calculus import TRANSFORMATIONS, check, parse_program, show_program, show_type
from stages.calculus.readable import readable
from stages.comparison.derivatives import AS_PROGRAM
from stages.comparison.report import fields

FOLDER = HERE / "diffs"

#: The place of a stage in the paper.
FIGURES = {
    "naive": "Figs. 6 and 7: D1",
    "staged": "Fig. 8: D2",
    "cayley": "Fig. 9: D3",
    "sparse": "Section 6: D3 with sparse maps",
    "arrays": "Fig. 12: D4",
    "collectorless": "Section 8.1",
    "lists": "Section 8.2",
    "contrib": "Section 8.2, compiled",
    "tape": "Section 8.3",
    "parallel": "The sequel: fork and join",
}
PROGRAM = r"\(x : R, y : R). let z = x + y in x * z"


def diffs() -> dict[str, str]:
    """The text of every difference by file name, in the stages' order."""
    made = {}
    for before, after in itertools.pairwise(STAGES):
        old, new = source(STAGES[before]), source(STAGES[after])
        made[f"{before}-{after}.diff"] = _difference(before, after, old, new)
    return made


def _difference(before: str, after: str, old: str, new: str, context: int = 3) -> str:
    names = [f"stages/{Path(str(STAGES[stage].__file__)).name}" for stage in (before, after)]
    lines = difflib.unified_diff(old.splitlines(True), new.splitlines(True), names[0], names[1], n=context)
    return "".join(lines)


def source(stage: ModuleType) -> str:
    """The text of a stage's file."""
    return Path(str(stage.__file__)).read_text(encoding="utf-8")


def code(stage: ModuleType) -> str:
    """The text of a stage's file without the module's docstring."""
    text = source(stage)
    docstring = ast.parse(text).body[0]
    return "".join(text.splitlines(True)[docstring.end_lineno :]).lstrip("\n")


def notation(stage: ModuleType) -> str:
    """The figure in plain notation: the indented end of the docstring."""
    lines = inspect.cleandoc(stage.__doc__ or "").splitlines()
    start = max(k for k, line in enumerate(lines) if not line) + 1
    return "\n".join(line.removeprefix("    ") for line in lines[start:])


def changed(before: str, after: str) -> tuple[str, int, int, int]:
    """The difference without module docstrings: as text, and the numbers of removed, new and kept lines."""
    old, new = code(STAGES[before]), code(STAGES[after])
    text = _difference(before, after, old, new, context=1)
    body = text.splitlines()[2:]
    removed, added = (sum(line.startswith(sign) for line in body) for sign in "-+")
    return text, removed, added, len(new.splitlines()) - added


def as_program(stage: str) -> str:
    """Fig. 1's program after the stage's transformation, with the interface that it uses."""
    program = parse_program(PROGRAM)
    return show_program(readable(TRANSFORMATIONS[AS_PROGRAM[stage]].of(program, check(program, "source"))), width=96)


def section(before: str | None, stage: str) -> list[str]:
    """The part of the page about one stage."""
    about, file = fields(stage), Path(str(STAGES[stage].__file__)).name
    made = [
        f"## {FIGURES[stage]}: `{stage}`",
        f"Code: [stages/{file}](../stages/{file})",
        f"- **D[R]**: {_parts(about['D[R]'])}\n- **Changed**: {about['Changed']}\n- **Cost**: {about['Cost']}",
        fence(notation(STAGES[stage])),
    ]
    if stage in AS_PROGRAM:
        made += [
            "Fig. 1's program after the typed transformation" + (", with the interface:" if before else ":"),
            fence(as_program(stage)),
        ]
    if before is not None:
        text, removed, added, kept = changed(before, stage)
        made += [
            f"The code: {added} lines replace {removed} of `{before}`, and {kept} stay. With docstrings: "
            f"[diffs/{before}-{stage}.diff](diffs/{before}-{stage}.diff).",
            f"<details>\n<summary>What changes in the code</summary>\n\n{fence(text, 'diff')}\n\n</details>",
        ]
    else:
        made += [f"<details>\n<summary>The code</summary>\n\n{fence(code(STAGES[stage]), 'python')}\n\n</details>"]
    return made


def _parts(text: str) -> str:
    """A type, and the definitions of its names."""
    kind, _, names = text.partition("  ")
    names = f"`{names.strip()}`" if "=" in names else names.strip()
    return f"`{kind}`; {names}" if names else f"`{kind}`"


def types() -> set[str]:
    """The types of Wrap of Fig. 1's program, by the checkers of the target languages."""
    wraps = [
        (TRANSFORMATIONS[name].wrap(parse_program(PROGRAM)), TRANSFORMATIONS[name]) for name in AS_PROGRAM.values()
    ]
    return {show_type(check(program, transformation.language)) for program, transformation in wraps}


def figure() -> Figure:
    """The page, with a file for each difference."""
    pairs = list(itertools.pairwise(STAGES))
    sizes = [changed(*pair)[1:] for pair in pairs]
    rows = [[f"`{a}` to `{b}`", str(-r), f"+{n}", str(k)] for (a, b), (r, n, k) in zip(pairs, sizes, strict=True)]
    body = [
        "All stages have the same skeleton and the same order of names, so the difference between consecutive stages "
        "is the lesson. Lines of code, without the module's docstring:",
        table(["", "removed", "new", "kept"], rows, range(1, 4)),
    ]
    for before, stage in zip([None, *STAGES], STAGES, strict=False):
        body += section(before, stage)
    (kind,) = types()
    longest = max(len(source(stage).splitlines()) for stage in STAGES.values())
    least, most = min(n for _, n, _ in sizes), max(n for _, n, _ in sizes)
    return Figure(
        "diffs",
        "Figs. 6 to 9 and 12",
        "the transformations, and the changes of each",
        "D1 is a homomorphism except on scalars; D2, D3 and D4 are small changes of it, in the type of a scalar, the "
        "wrapper and the `Staged` interface.",
        f"{len(STAGES)} modules of at most {longest} lines; from one to the next, {least} to {most} lines of code are "
        "new. The typed transformations D1 to D4 give Fig. 1's program the "
        f"type `{kind}`, according to type checkers for the paper's target languages.",
        "\n\n".join(body),
        {f"diffs/{name}": text for name, text in diffs().items()},
    )


def main() -> None:
    """Write the page and the differences."""
    write(figure())


if __name__ == "__main__":
    main()
