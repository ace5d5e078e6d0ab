"""The page of the neighbours: `python -m stages --relatives --html OUT.html`."""

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
        "It is where Krawiec et al. begin, as Smeding and Vákár begin with naive: easy to prove right, and too slow.",
    ),
    "delta": Said(
        "The vector is not computed but written down, as an expression, and evaluated at the end.",
        "It loses sharing as naive does: what is used twice is evaluated twice.",
    ),
    "delta_map": Said(
        "Every expression gets a name, and an expression that is used twice is evaluated once, with the sum.",
        "The names are the ids of staged, and the map of sums is its map of delayed calls.",
    ),
    "delta_array": Said(
        "The names are numbers, and what they stand for is in an array that grows.",
        "It is the tape: from forward mode to the same place as from closures.",
    ),
    "vlad": Said(
        "Reverse mode is a function of a language, which takes functions to functions, its own results too.",
        "Its backpropagators are those of naive, and return what a function's free variables receive, too.",
    ),
    "tagged_forward": Said(
        "Forward mode, with a tag for each call of the derivative, so that nested ones are not confused.",
        "It is what reverse mode is compared with: one run for every input.",
    ),
    "cps": Said(
        "An operation is given what follows it as a function, calls it, and then adds to its arguments.",
        "The order of the way back is that of ids from the highest down: it comes from calls and returns.",
    ),
    "shift_reset": Said(
        "The same, but the operation takes what follows by itself, so that programs stay as they are.",
        "The operations that wait for what follows are the tape: it is the stack.",
    ),
    "global_tape": Said(
        "What would wait on the stack is written down as a function, on a tape.",
        "With data in place of the functions it is the stage tape: contrib's step, made here too.",
    ),
    "functional": Said(
        "Nothing is changed in place: what follows returns a map from numbers to what they receive.",
        "The map is that of sparse, and so is the logarithm that it costs.",
    ),
    "delcont": Said(
        "An operation is lifted with its pullback, of any types, and written only once.",
        "It is shift_reset, ready for arrays: value and cotangent need not have one type.",
    ),
    "lantern": Said(
        "The program runs once, on names of numbers, and leaves the program of its derivative behind.",
        "That is shift_reset, without the cost of running it: what waits for what follows is in the text.",
    ),
    "factored": Said(
        "What calls the backpropagators is a program, which is rewritten until it calls each of them once.",
        "staged does it to functions that run: its ids are the order of the lets, its map the sum of calls.",
    ),
    "addresses": Said(
        "A number is known by where it lies in memory: nothing counts, and what nobody needs is garbage.",
        "It is lists without ids; the order, which addresses do not give, is searched for.",
    ),
    "tape": Said(
        "Where the stages of Smeding and Vákár arrive: every operation writes a row, and a loop reads them backwards.",
        "delta_array and global_tape come to the same place.",
    ),
}


def write_relatives(path: Path | str, shown: Sequence[build.Shown], growths: Sequence[Growth] = ()) -> int:
    """Write the page; the number of its bytes."""
    return Path(path).write_bytes(relatives_page(shown, growths).encode())


def relatives_page(shown: Sequence[build.Shown], growths: Sequence[Growth] = ()) -> str:
    """The page, as one string of HTML without references to anything outside of it."""
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
    """The indented lines below the fields of a docstring."""
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
