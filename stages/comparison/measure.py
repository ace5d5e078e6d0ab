"""The comparison's numbers: agreement, counts, times and growth of the stages on a program. report.py prints them."""

from __future__ import annotations

import dataclasses
import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from dualrev import tree
from stages.comparison.counting import count
from stages.comparison.counts import Counts, LimitReached
from stages.comparison.differences import distance, slopes
from stages.comparison.space import reachable
from stages.order import STAGES, algorithm
from stages.programs import PROGRAMS, Program

__all__ = ["FAMILIES", "LAWS", "Comparison", "Family", "Fit", "Growth", "StageResult", "compare", "fit", "grow"]


@dataclasses.dataclass
class StageResult:
    """The result of one stage on a program; `cut_off` says why a stage was cut off or refused the program."""

    stage: str
    cut_off: str = ""
    refused: bool = False  #: the program is not of the kind that the algorithm takes
    counts: Counts | None = None
    value_deviation: float | None = (
        None  #: the largest difference from the plain program's value, over its largest entry
    )
    deviation: float | None = None  #: the same of the gradient, from the last stage's
    difference: float | None = None  #: the same against finite differences, along random directions; None at kinks
    kept: int | None = None  #: words that the forward pass keeps for the pullback (space.py)
    seconds: float | None = None  #: for the value and one pullback, the best of several runs
    ratio: float | None = None  #: seconds over those of the plain program


@dataclasses.dataclass
class Comparison:
    """The results of all stages on one program at one size."""

    program: str
    paper: str
    about: str
    size: int | None
    unit: str
    value: float  #: the sum of the real scalars of the program's value
    values: list[float]  #: the first of these
    outputs: int  #: how many there are
    gradient: list[float]  #: the first entries of that sum's gradient
    norm: float  #: its Euclidean norm
    scalars: int  #: how many entries it has
    plain_seconds: float
    stages: list[StageResult]

    @property
    def sized(self) -> str:
        """The size as text; empty for a program without a size."""
        if not self.size or not self.unit:
            return ""
        return f"size {self.size:,}" if self.unit == "size" else f"{self.size:,} {self.unit}"


def compare(
    program: Program,
    primals: tuple[Any, ...],
    size: int | None = None,
    stages: Sequence[str] = tuple(STAGES),
    limit: float = 1.5e6,
    progress: Callable[[str], None] = lambda stage: None,
) -> Comparison:
    """Run a program through the stages.

    A stage whose counts together exceed `limit` is cut off. `progress` is called with the name of each stage before it
    runs. Errors of the program, and the stages' own (`dualrev.errors`), propagate; a note on an error of a stage names
    the stage.
    """
    f = program.function
    scalars, structure = tree.inputs(primals)

    def copies() -> tuple[Any, ...]:
        """Fresh copies of the primals, since f may change its arguments."""
        return structure.rebuild(scalars)  # f may change its arguments

    values, plain_seconds = np.array(tree.outputs(f(*copies()))[0]), _best(f, copies)
    results = [StageResult(name) for name in stages]
    gradients = {}
    for result in results:
        progress(result.stage)
        with _named(result.stage):
            try:
                result.counts = count(result.stage, f, *primals, limit=limit)
            except LimitReached as reached:
                result.cut_off = str(reached)
                continue
            except refusals(result.stage) as refused:
                result.refused, result.cut_off = True, f"refused: {str(refused).partition(chr(10))[0]}"
                continue
            made = _first(result.stage, f, primals)
            result.value_deviation = _distance(np.array(tree.outputs(made.y)[0]), values)
            gradients[result.stage], result.kept = np.array(made.gradient), made.kept
            result.seconds = _best(_value_and_gradient(result.stage, f, primals), first=made.seconds)
            result.ratio = result.seconds / plain_seconds
    if gradients:
        *_, reference = gradients.values()  # the last of the stages that ran
        expected = slopes(f, primals)
        for result in results:
            if (gradient := gradients.get(result.stage)) is not None:
                result.deviation = _distance(gradient, reference)
                if expected:
                    result.difference = distance(gradient, expected)
    else:
        reference = np.array([])
    return Comparison(
        program=program.name,
        paper=program.paper,
        about=program.about,
        size=size,
        unit=program.unit,
        value=float(sum(values)),
        values=values[:5].tolist(),
        outputs=len(values),
        gradient=reference[:5].tolist(),
        norm=float(np.linalg.norm(reference)),
        scalars=len(scalars),
        plain_seconds=plain_seconds,
        stages=results,
    )


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Add a note with the name of the algorithm to every error that it raises."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the algorithm {name}")
        raise


def refusals(name: str) -> tuple[type[Exception], ...]:
    """Return the exceptions by which an algorithm refuses a program."""
    return getattr(algorithm(name), "REFUSALS", ())


class _Run(NamedTuple):
    """A run of a stage: the value, the gradient as a flat list, the words kept between both passes, the time."""

    y: Any
    gradient: list[float]
    kept: int
    seconds: float


def _value_and_gradient(
    stage: str, f: Callable[..., Any], primals: tuple[Any, ...], between: Callable[[Any], None] = lambda pullback: None
) -> Callable[[], Any]:
    """Return a function for the value, and the gradient of the sum of its real scalars as a flat list.

    `between` is called with the pullback before the reverse pass.
    """
    _, input_structure = tree.inputs(primals)

    def run() -> tuple[Any, list[float]]:
        """Run one forward pass, and one pullback of ones."""
        y, pullback = algorithm(stage).vjp(f, *primals)
        between(pullback)
        scalars, structure = tree.outputs(y)
        return y, input_structure.read(pullback(structure.cotangent([1.0] * len(scalars))))

    return run


def _first(stage: str, f: Callable[..., Any], primals: tuple[Any, ...]) -> _Run:
    """Run a stage once, for all that the comparison needs: slow ones need not run again."""
    found = 0.0, 0

    def measure(pullback: Any) -> None:
        """Measure what the forward pass has kept, while the clock stands."""
        nonlocal found
        start = time.perf_counter()
        words = reachable(pullback, f)
        found = time.perf_counter() - start, words

    run = _value_and_gradient(stage, f, primals, measure)
    with _without_collection():
        start = time.perf_counter()
        y, gradient = run()
        seconds = time.perf_counter() - start
    paused, words = found
    return _Run(y, gradient, words, seconds - paused)


def _distance(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest absolute difference over the largest absolute value; NaN if any entry is NaN."""
    if np.array_equal(found, expected, equal_nan=True):
        return 0.0
    scale = float(np.max(np.abs(expected)))
    return float(np.max(np.abs(found - expected))) / (scale or 1.0)


@contextmanager
def _without_collection() -> Iterator[None]:
    """Collect garbage now, and not until the end."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _best(
    run: Callable[..., Any],
    arguments: Callable[[], tuple[Any, ...]] = tuple,
    first: float = math.inf,
    budget: float = 0.1,
    most: float = 0.5,
) -> float:
    """The shortest of at least 3 runs, in seconds, without garbage collection and without making the arguments.

    Functions too short for the clock run many times per measurement. `first` is the time of a run before: it may
    include work that is done once, so at least one more is made. No further one begins after `most` seconds of runs.
    """
    times = [first] if first < math.inf else []
    with _without_collection():
        start = time.perf_counter() - sum(times)
        repeats, least = 1, len(times) + 1
        while len(times) < least or time.perf_counter() - start < (budget if len(times) >= 3 else most):
            made = [arguments() for _ in range(repeats)]
            before = time.perf_counter()
            for args in made:
                run(*args)
            times.append((time.perf_counter() - before) / repeats)
            repeats = max(1, int(2e-5 / max(times[-1], 1e-9)))
        return min(times)


# ---- growth ----------------------------------------------------------------------------------------------------------

#: The laws that growth is fitted to: the logarithm of each, up to a constant.
LAWS: dict[str, Callable[[float], float]] = {
    "1": lambda n: 0.0,
    "n": math.log,
    "n log n": lambda n: math.log(n) + math.log(math.log(n)),
    "n^2": lambda n: 2 * math.log(n),
    "n^3": lambda n: 3 * math.log(n),
    "2^n": lambda n: n * math.log(2),
}


@dataclasses.dataclass(frozen=True)
class Family:
    """A program at growing sizes, and the problem that it exposes."""

    program: str
    problem: str
    sizes: tuple[int, ...]


FAMILIES = (
    Family("doublings", "sharing: every backpropagator is used twice", (4, 6, 8, 10, 12, 14, 64, 256, 1000)),
    Family("wide", "many inputs, few operations: whole cotangents", (100, 200, 400, 800, 1600, 3200)),
    Family("deep", "a list-like input: scalars far from the root", (25, 50, 100, 200, 400, 800, 1600)),
)


@dataclasses.dataclass
class Growth:
    """The growth of a stage on a family: its work at each size, None where it was cut off, and the fitted law.

    Work is the sum of all counts. `misfit` is the largest factor between work and law, minus 1: 0.03 is 3 per cent.
    """

    program: str
    stage: str
    work: dict[int, int | None]
    law: str | None
    misfit: float | None = None


def grow(
    family: Family,
    stages: Sequence[str],
    limit: float = 1.5e6,
    progress: Callable[[str], None] = lambda stage: None,
    program: Program | None = None,
) -> Iterator[Growth]:
    """Measure the growth of each stage on a family; a stage that was cut off is not tried at larger sizes.

    The family's program is looked up in PROGRAMS unless `program` is given.
    """
    program = program or PROGRAMS[family.program]
    for stage in stages:
        progress(stage)
        ends: tuple[type[Exception], ...] = (LimitReached, *refusals(stage))
        work: dict[int, int | None] = dict.fromkeys(family.sizes)
        try:
            with _named(stage):
                for n in family.sizes:
                    work[n] = count(stage, program.function, *program.make(n, 0), limit=limit).work
        except ends:
            pass
        law, misfit = fit({n: w for n, w in work.items() if w is not None})
        yield Growth(family.program, stage, work, law, misfit)


#: Above this misfit no law of the table is taken: a power or an exponential with a fitted exponent or base is.
POOR = 0.25


class Fit(NamedTuple):
    """A law, and the largest factor between the work and it, minus 1; None for fewer than three sizes."""

    law: str | None
    misfit: float | None


def fit(work: dict[int, int]) -> Fit:
    """The law that fits the work best, by least squares on its logarithm, over the larger half of the sizes.

    If none of LAWS fits: the best power n^b or exponential b^n. Small sizes are left out: fixed costs hide the law.

    >>> fit({n: 7 * n * n + 100 * n for n in (100, 200, 400, 800, 1600, 3200)}).law
    'n^2'
    >>> fit({n: round(100 * 1.618**n) for n in range(4, 20, 2)}).law
    '1.62^n'
    """
    sizes = sorted(work)
    sizes = sizes[min(len(sizes) // 2, len(sizes) - 3) :] if len(sizes) >= 3 else []
    if not sizes:
        return Fit(None, None)
    logs, ns = np.log([work[n] for n in sizes]), np.array(sizes, float)

    def misfit(expected: Any) -> float:
        """The largest factor between the work and this law, up to a constant factor, minus 1."""
        residuals = logs - np.asarray(expected)
        return float(np.expm1(np.max(np.abs(residuals - np.mean(residuals)))))

    laws = {name: [law(n) for n in sizes] for name, law in LAWS.items()}
    best = min(laws, key=lambda name: float(np.var(logs - np.array(laws[name]))))
    if misfit(laws[best]) > POOR:
        power, rate = np.polyfit(np.log(ns), logs, 1)[0], np.polyfit(ns, logs, 1)[0]
        laws = {f"n^{power:.2g}": power * np.log(ns), f"{math.exp(rate):.3g}^n": rate * ns}
        best = min(laws, key=lambda name: misfit(laws[name]))
    return Fit(best, misfit(laws[best]))
