"""The pages of the site to step through: one for each program of stages/programs.py, and the related algorithms.

docs/conf.py writes them when Sphinx makes the site. The pages of docs/ link to them as steps/NAME.html#STAGE.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path

from stages.comparison.api import GROWTH_LIMIT
from stages.comparison.measure import compare
from stages.comparison.page.build import Shown, write
from stages.comparison.page.relatives import write_relatives
from stages.comparison.page.samples import sample
from stages.order import STAGES
from stages.programs import PROGRAMS
from stages.relatives import RELATIVES

__all__ = ["STEPPED", "write_steppers"]

#: The programs that are short enough to step through.
STEPPED = tuple(name for name in PROGRAMS if name != "particles")


def write_steppers(folder: Path, names: Sequence[str] = STEPPED) -> list[Path]:
    """Write a page to step through for each program, and `relatives.html`; return the files.

    Args:
        folder: where the pages go; it is made if it does not exist
        names: programs of stages/programs.py

    Raises:
        KeyError: a name of no program
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    gc.freeze()  # every measurement of a time collects garbage first: among a site's objects that takes long
    try:
        for name in names:
            files.append(folder / f"{name}.html")
            write(files[-1], [_shown(name, tuple(STAGES))])
        files.append(folder / "relatives.html")
        write_relatives(files[-1], [_shown(name, (*RELATIVES, "tape")) for name in ("fig1", "doublings")])
    finally:
        gc.unfreeze()
    return files


def _shown(name: str, stages: tuple[str, ...]) -> Shown:
    """Return a program with the arguments of the page, and its comparison."""
    program, sizes = PROGRAMS[name], sample(name)
    primals = sizes.make(sizes.start)
    return Shown(program.function, primals, compare(program, primals, sizes.start, stages, GROWTH_LIMIT), sizes)
