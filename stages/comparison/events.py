"""Growth exponents of the stages, by the number of bytecode instructions that Python runs.

    events      = the bytecode instructions that Python runs for f's value and one pullback of ones
    n^b         : the exponent b is the slope of log (E(2n) - E(n)) against log n, at sizes n, 2n, 4n, ..
    a^n         : log a is the slope of log (E(n + 1) - E(n)) against n

The increments leave out the fixed cost, which would hide the law at small sizes. `count` counts the operations of the
paper, by wrappers around the names of each stage. Here Python counts, also what no wrapper sees. A compiled loop runs
as its Python function. Work inside of one instruction, such as the copy of an array, counts as one.

    python -m stages.comparison.events      the table of docs/comparison.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from dualrev import tree
from stages.comparison.columns import Columns
from stages.comparison.counting import fresh
from stages.order import STAGES
from stages.programs import PROGRAMS, sin

__all__ = ["SHAPES", "Exponent", "Shape", "events", "exponent", "table"]


def events(stage: str, f: Callable[..., Any], *primals: Any) -> int:
    """Count the bytecode instructions of a stage for f's value at the primals and one pullback of ones.

    What is made at first use, such as the code of a rule, counts the first time. KeyError for an unknown stage; errors
    of f propagate.

    >>> _, one, two, three = (events("tape", PROGRAMS["doublings"].function, 1.0, n) for n in (1, 1, 2, 3))
    >>> two - one == three - two > 100
    True
    """
    copy: Any = fresh(STAGES[stage])
    if (loop := getattr(getattr(copy, "resolve", None), "py_func", None)) is not None:
        copy.resolve = loop
    counted = 0

    def count(*_: Any) -> None:
        """Count an instruction."""
        nonlocal counted
        counted += 1

    with _each_instruction(count):
        y, pullback = copy.vjp(f, *primals)
        scalars, structure = tree.outputs(y)
        pullback(structure.cotangent([1.0] * len(scalars)))
    return counted


@contextmanager
def _each_instruction(count: Callable[..., None]) -> Iterator[None]:
    """Call a function for each bytecode instruction; from Python 3.12 on, a trace function misses some."""
    if sys.version_info >= (3, 12):
        monitoring, tool = sys.monitoring, 4
        monitoring.use_tool_id(tool, "dualrev")
        monitoring.register_callback(tool, monitoring.events.INSTRUCTION, count)
        monitoring.set_events(tool, monitoring.events.INSTRUCTION)
        try:
            yield
        finally:
            monitoring.set_events(tool, 0)
            monitoring.free_tool_id(tool)
        return

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        """Count an instruction, and ask for those of a frame that begins."""
        if event == "opcode":
            count()
        elif event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def lets(xs: list[float]) -> Any:
    """n inputs and n lets: each input is used once, and each let in the next one."""
    y: Any = 0.0
    for x in xs:
        y = x + sin(y)
    return y


class Shape(NamedTuple):
    """A program at growing sizes, with its arguments for each."""

    about: str
    function: Callable[..., Any]
    make: Callable[[int], tuple[Any, ...]]


def _of(name: str, about: str) -> Shape:
    return Shape(about, PROGRAMS[name].function, lambda n: PROGRAMS[name].make(n, 0))


SHAPES = {
    "doublings": _of("doublings", "n values, each used twice"),
    "loop": _of("loop", "n iterations on three scalars"),
    "lets": Shape("n inputs and n lets", lets, lambda n: (np.linspace(0.1, 1.0, n).tolist(),)),
    "deep": _of("deep", "an input of n nested pairs"),
}

SIZES = (20, 40, 80, 160, 320)
FEW = (6, 7, 8, 9, 10)  #: where a stage is exponential
ENOUGH = 2_000_000  #: instructions, after which no larger size is tried
EXPONENTIAL = {("naive", "doublings")}


class Exponent(NamedTuple):
    """The exponent b of n^b, or the base a of a^n."""

    number: float
    exponential: bool

    def __str__(self) -> str:
        return f"{self.number:.2f}^n" if self.exponential else f"n^{self.number:.2f}"


def exponent(stage: str, shape: str) -> Exponent:
    """Return how the instructions of a stage grow on a program of SHAPES.

    >>> print(exponent("tape", "doublings"), exponent("naive", "doublings"))
    n^1.00 2.00^n
    """
    exponential = (stage, shape) in EXPONENTIAL
    _, function, make = SHAPES[shape]
    sizes = FEW if exponential else SIZES
    STAGES[stage].vjp(function, *make(sizes[0]))  # what runs once, such as the rules that it makes, is not counted
    found: list[int] = []
    while len(found) < len(sizes) and (len(found) < 3 or found[-1] < ENOUGH):
        found.append(events(stage, function, *make(sizes[len(found)])))
    increments = np.log(np.diff(found))
    slope = np.polyfit(np.arange(len(increments)), increments, 1)[0]
    return Exponent(float(np.exp(slope) if exponential else slope / np.log(2.0)), exponential)


def table() -> dict[str, dict[str, Exponent]]:
    """Return the exponents of all stages on all programs."""
    return {stage: {shape: exponent(stage, shape) for shape in SHAPES} for stage in STAGES}


def main() -> None:
    """Print the table."""
    from stages.comparison.report import console

    shown = Columns("growth of the interpreter's instructions", ("stage", *SHAPES))
    for stage, row in table().items():
        shown.add_row(stage, *map(str, row.values()))
    console().print(shown)


if __name__ == "__main__":
    main()
