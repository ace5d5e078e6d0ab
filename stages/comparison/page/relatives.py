"""The page of the related algorithms: `python -m stages --relatives --html OUT.html`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stages.comparison import report
from stages.comparison.measure import Growth
from stages.comparison.page import build, code, words
from stages.comparison.page.notation import notation
from stages.order import algorithm

__all__ = ["relatives_page", "write_relatives"]


class Said(NamedTuple):
    """The description of an algorithm: one sentence, and where it meets the others."""

    in_short: str
    meets: str


SAID = {
    "vectorised": Said(
        "Forward mode in all directions at once: every number carries the whole vector of its derivatives.",
        "Krawiec et al. begin here, as Smeding and Vákár begin with naive: easy to prove right, and too slow.",
    ),
    "delta": Said(
        "The vector is written down as an expression, and evaluated at the end.",
        "It loses sharing as naive does: a number that is used twice is evaluated twice.",
    ),
    "delta_map": Said(
        "Every expression gets a name, and an expression that is used twice is evaluated once, with the sum.",
        "The names are the ids of staged, and the map of sums is its map of delayed calls.",
    ),
    "delta_array": Said(
        "The names are indices of an array that grows.",
        "It is the tape: reached from forward mode, as the stages reach it from closures.",
    ),
    "vlad": Said(
        "Reverse mode is a function of the language: it maps functions to functions, and applies to its own results.",
        "Its backpropagators are naive's, and also return the cotangents of a function's free variables.",
    ),
    "tagged_forward": Said(
        "Forward mode, with a tag for each call of the derivative, so that nested ones are not confused.",
        "It is the baseline of reverse mode: one run for every input.",
    ),
    "cps": Said(
        "An operation is given its continuation as a function, calls it, and then adds to its arguments' cotangents.",
        "The reverse pass visits operations in the order of ids from the highest down; here calls and returns make it.",
    ),
    "shift_reset": Said(
        "The same, but the operation captures its continuation itself, so that programs need no change.",
        "The operations that wait for their continuation are the tape: it is the stack.",
    ),
    "global_tape": Said(
        "The work that would wait on the stack becomes a function on a tape.",
        "With data in place of the functions it is the stage tape: the step of lists and contrib, made here too.",
    ),
    "functional": Said(
        "Nothing is updated in place: the continuation returns a map from numbers to their cotangents.",
        "The map is that of sparse, and so is the logarithm that it costs.",
    ),
    "delcont": Said(
        "An operation is lifted with its pullback, of any types, and written only once.",
        "It is shift_reset, ready for arrays: value and cotangent need not have one type.",
    ),
    "lantern": Said(
        "The program runs once, on symbolic numbers, and generates the program of its derivative.",
        "It is shift_reset without the cost of running it: the waiting work is in the generated text.",
    ),
    "factored": Said(
        "The calls of backpropagators are a program, which is rewritten until it calls each of them once.",
        "staged does the same at run time: its ids are the order of the lets, its map the sum of calls.",
    ),
    "addresses": Said(
        "A number's address in memory is its id: there is no counter, and unused numbers are garbage at once.",
        "It is lists without ids; a search finds the order, which addresses do not give.",
    ),
    "chad": Said(
        "Numbers carry nothing: each term has one linear function, from its cotangent to that of its variables.",
        "naive asks a number for the input's cotangent; here a term answers for all variables in scope.",
    ),
    "efficient_chad": Said(
        "The cotangents of the variables in scope are accumulated in an array, and not returned as a tuple.",
        "On one run of a program it is lists without ids: where a scope ends is the order.",
    ),
    "linearize": Said(
        "Forward mode, in three passes: its equations, the linear ones alone, and these transposed.",
        "The transposed program is what tape's loop interprets: a line for each operation, the last one first.",
    ),
    "elliott": Said(
        "A program is a composition of combinators, and reverse mode its interpretation by the dual of linear maps.",
        "A variable is a path into the environment, as in chad; the dual of a copy is an addition.",
    ),
    "tape": Said(
        "Where Smeding and Vákár's stages end: every operation writes a row, and a loop reads the rows backwards.",
        "delta_array and global_tape arrive at the same algorithm.",
    ),
}


def write_relatives(path: Path | str, shown: Sequence[build.Shown], growths: Sequence[Growth] = ()) -> int:
    """Write the page, and return the number of its bytes."""
    return Path(path).write_bytes(relatives_page(shown, growths).encode())


def relatives_page(shown: Sequence[build.Shown], growths: Sequence[Growth] = ()) -> str:
    """The page as one string of HTML, without references to anything outside of it."""
    names = list(dict.fromkeys(result.stage for one in shown for result in one.result.stages))
    groups: set[str] = set()
    return build.template("relatives.html").render(
        style=build.style(),
        script=(Path(__file__).parent / "script" / "choose.js").read_text(encoding="utf-8"),
        kind="algorithm",
        programs=[build.program(k, one) for k, one in enumerate(shown)],
        stages=[_algorithm(name, groups) for name in names],
        counts=words.COUNTS,
        growths=build.growths(growths, names),
    )


def _algorithm(name: str, groups: set[str]) -> dict[str, Any]:
    """Return the description of an algorithm; the first algorithm of a paper has the paper as heading."""
    fields = report.fields(name)
    said = SAID.get(name, Said("", ""))
    paper, _, place = fields["Paper"].partition(", ")
    own = name == "tape"
    paper = "Smeding and Vákár 2023" if own else paper
    group = "" if paper in groups else paper
    groups.add(paper)
    return {
        "name": name,
        "group": group,
        "paper": fields["Paper"] if own else place or paper,
        "in_short": said.in_short,
        "meets": said.meets,
        "changed": notation(build.sentence(fields["Changed"])),
        "needs": notation(build.sentence(fields.get("Needs", ""))),
        "type": [notation(part.strip()) for part in re.split(r"\s{2,}", fields["D[R]"]) if part.strip()],
        "cost": notation(build.sentence(fields["Cost"])),
        "rules": notation(_rules(name)),
        "files": [_file(path) for path in _files(name)],
    }


def _rules(name: str) -> str:
    """The indented rules below the fields of a docstring."""
    text = inspect.cleandoc(algorithm(name).__doc__ or "").partition("\nCost:")[2]
    lines = text.partition("\n\n")[2].splitlines()
    indented = [line[4:] for line in lines if line.startswith("    ")]
    return "\n".join(indented)


def _files(name: str) -> list[Path]:
    file = Path(str(algorithm(name).__file__))
    return sorted(file.parent.glob("*.py")) if file.name == "__init__.py" else [file]


def _file(path: Path) -> dict[str, Any]:
    root = Path(__file__).parent.parent.parent
    return {"name": path.relative_to(root).as_posix(), "lines": code.whole(path)}
