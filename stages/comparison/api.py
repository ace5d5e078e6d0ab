"""`stages.compare(f, *args)`: the comparison as an object, for notebooks and programs."""

from __future__ import annotations

import dataclasses
import functools
import io
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from stages.comparison.measure import FAMILIES, Comparison, grow
from stages.comparison.measure import compare as compare_program
from stages.order import STAGES
from stages.programs import Program

__all__ = ["GROWTH_LIMIT", "Compared", "Frame", "compare"]


@dataclasses.dataclass(frozen=True, repr=False)
class Frame:
    """A page as a frame in a notebook, separate from the notebook's styles and scripts."""

    page: str
    height: int

    def _repr_html_(self) -> str:
        page = self.page.replace("<head>", '<head><base href="about:srcdoc">', 1)  # links stay in the frame
        return f'<iframe srcdoc="{escape(page)}" width="100%" height="{self.height}" style="border: 0"></iframe>'


@dataclasses.dataclass(frozen=True, repr=False)
class Compared:
    """The comparison of all stages on a function at some arguments: a table in the terminal, more in a notebook.

    `to_html` writes the whole page, `to_dict` gives the numbers.
    """

    function: Callable[..., Any]
    primals: tuple[Any, ...]
    result: Comparison
    limit: float

    def to_dict(self) -> dict[str, Any]:
        """The numbers as nested data, as one comparison of `python -m stages --json`."""
        return dataclasses.asdict(self.result)

    def to_html(self, path: Path | str, growth: bool = False) -> None:
        """Write the page of `python -m stages --html`, for this function.

        With `growth`, the page also plots how the stages' work grows on three of the paper's programs, which takes
        some ten seconds. OSError if the file cannot be written.
        """
        from stages.comparison.page import Shown, write  # needs jinja2

        limit = min(self.limit, GROWTH_LIMIT)
        names = [stage.stage for stage in self.result.stages]
        growths = [made for family in FAMILIES for made in grow(family, names, limit)] if growth else []
        write(path, [Shown(self.function, self.primals, self.result)], growths)

    def stepper(self, height: int = 800) -> Frame:
        """Return the page of `to_html` as a frame for a notebook, to step through the stages; needs jinja2.

        Args:
            height: height of the frame in pixels

        >>> compare(lambda x, y: x * (x + y), 3.0, 2.0).stepper()._repr_html_().startswith("<iframe srcdoc=")
        True
        """
        from stages.comparison.page import Shown, page

        return Frame(page([Shown(self.function, self.primals, self.result)]), height)

    def __str__(self) -> str:
        from stages.comparison import report

        text = io.StringIO()
        console = report.Console(file=text, width=120)
        console.print(report.comparison(self.result))
        return text.getvalue().strip("\n")

    __repr__ = __str__

    def __rich__(self) -> Any:
        from stages.comparison import report

        return report.comparison(self.result)

    @functools.cached_property
    def _html(self) -> str:
        from stages.comparison.page import Shown, short

        return short(Shown(self.function, self.primals, self.result), self.limit)

    def _repr_html_(self) -> str | None:
        try:
            return self._html
        except ImportError:  # without jinja2, the table of the terminal
            return None


#: Steps after which a stage is cut off in plots of growth: the laws can be told by then.
GROWTH_LIMIT = 2e5


def compare(
    f: Callable[..., Any], *primals: Any, stages: Sequence[str] = tuple(STAGES), limit: float = 1.5e6
) -> Compared:
    """Run f through all stages, and compare their counts, times, values and gradients.

    The gradients are also compared with finite differences. A stage whose counts together exceed `limit` is cut off.
    ValueError for an unknown stage; errors of f and of `dualrev.errors` propagate.

    >>> found = compare(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> [stage["counts"]["calls"] for stage in found.to_dict()["stages"]]
    [5, 4, 4, 4, 4, 4, 4, 4, 4, 4]
    """
    for name in stages:
        if name not in STAGES:
            raise ValueError(f"there is no stage '{name}'; known: {', '.join(STAGES)}")
    name = getattr(f, "__name__", type(f).__name__)
    about = (getattr(f, "__doc__", None) or "").strip().partition("\n")[0]
    program = Program(name, "own function", about, f, lambda n, seed: primals, 1, "")
    ordered = [stage for stage in STAGES if stage in stages]
    return Compared(f, primals, compare_program(program, primals, None, ordered, limit), limit)
