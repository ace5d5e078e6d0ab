"""Find the benchmarks that became slower between two saved runs: `python -m bench.compare OLD.json NEW.json`.

Each time is divided by the time of a calibration loop in the same run, so that runs on different machines can be
compared. The ratio of a benchmark is the new quotient over the old one. A benchmark is slower if its ratio is above

    (1 + more) (1 + noise of the old time + noise of the new time),

where `more` is the value of --more. It is faster if the ratio is below one over this bound.

With one file, that is the new run; without files, the new run is the newest in bench/runs/. The old run is then the
newest other one in bench/runs/ of the same kind, quick or full.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.measuring.laws import fit_slope
from bench.measuring.runs import Measure, Run, RunError, load

RUNS = Path(__file__).parent / "runs"
MORE = 0.10
FEW = 5  # names in a line
MEASURED = ("sizes", "bytes", "operations")  # in a record of memory; all else are labels

# ----------------------------------------------------------------------------------------------------------------------
# Two runs


@dataclasses.dataclass(frozen=True)
class Pair:
    """A benchmark that was timed in both runs."""

    old: Measure
    new: Measure

    @property
    def ratio(self) -> float:
        """The new relative time over the old one: above 1 is slower."""
        return self.new.relative / self.old.relative

    @property
    def noise(self) -> float:
        """The noise of both times together, as a share."""
        return self.old.noise + self.new.noise

    def slower(self, more: float) -> bool:
        """Whether the ratio is above 1 by more than noise and the share `more`."""
        return self.ratio > (1.0 + more) * (1.0 + self.noise)

    def faster(self, more: float) -> bool:
        """Whether the inverse ratio is above 1 by more than noise and the share `more`."""
        return 1.0 / self.ratio > (1.0 + more) * (1.0 + self.noise)


@dataclasses.dataclass(frozen=True)
class Growth:
    """Bytes per unit of n in both runs."""

    name: str
    old: float
    new: float


@dataclasses.dataclass(frozen=True)
class Comparison:
    """The result of comparing two runs. The largest changes come first in `slower`, `faster` and `grown`."""

    pairs: list[Pair]
    slower: list[Pair]
    faster: list[Pair]
    missing: list[str]  # only in the old run, for no recorded reason
    added: list[str]  # only in the new one
    lost: dict[str, str]  # timed in the old run -> why it is not in the new one
    gained: list[str]  # timed in the new run, and recorded in the old one as absent
    recalibrated: list[str]  # with another calibration loop, so that the two cannot be compared
    grown: list[Growth]  # the worst first
    quick: tuple[bool, bool]

    @property
    def means(self) -> dict[str, float]:
        """The geometric mean of the ratios of every suite."""
        suites = dict.fromkeys(pair.new.suite for pair in self.pairs)
        return {
            suite: statistics.geometric_mean(p.ratio for p in self.pairs if p.new.suite == suite) for suite in suites
        }


def compare(old: Run, new: Run, more: float = MORE) -> Comparison:
    """Compare all benchmarks that have the same name in both runs, and the records of memory."""
    before, after = ({m.name: m for m in run.measures} for run in (old, new))
    both = [Pair(before[name], after[name]) for name in before if name in after]
    pairs = [pair for pair in both if pair.old.loop == pair.new.loop]
    lost, gained = _reasons(before, after, new), _reasons(after, before, old)
    return Comparison(
        pairs=pairs,
        slower=sorted((p for p in pairs if p.slower(more)), key=lambda p: p.ratio, reverse=True),
        faster=sorted((p for p in pairs if p.faster(more)), key=lambda p: p.ratio),
        missing=[name for name in before if name not in after and name not in lost],
        added=[name for name in after if name not in before and name not in gained],
        lost=lost,
        gained=list(gained),
        recalibrated=[pair.new.name for pair in both if pair.old.loop != pair.new.loop],
        grown=_grown(old, new, more),
        quick=(bool(old.about.get("quick")), bool(new.about.get("quick"))),
    )


def _reasons(timed: dict[str, Measure], others: dict[str, Measure], run: Run) -> dict[str, str]:
    """Return the benchmarks that one run timed and the other left out, with the recorded reason."""
    absences = [(_labels(record, "absent"), record["absent"]) for record in run.records if "absent" in record]
    return {
        name: reason
        for name, measure in timed.items()
        for labels, reason in absences
        if name not in others and labels.items() <= (measure.labels | {"suite": measure.suite}).items()
    }


def _grown(old: Run, new: Run, more: float) -> list[Growth]:
    before, after = _bytes(old), _bytes(new)
    found = [Growth(name, before[name], after[name]) for name in before if name in after]
    grown = (growth for growth in found if growth.new > (1.0 + more) * growth.old > 0.0)
    return sorted(grown, key=lambda growth: growth.new / growth.old, reverse=True)


def _bytes(run: Run) -> dict[str, float]:
    """Return the bytes per unit of n by the name of a record, for records of three sizes or more."""
    slopes = {
        " ".join(map(str, _labels(record, *MEASURED).values())): fit_slope(record["sizes"], record["bytes"])
        for record in run.records
        if "bytes" in record and min(record["bytes"]) > 0.0
    }
    return {name: slope.value for name, slope in slopes.items() if slope}


def _labels(record: dict[str, Any], *others: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in others}


# ----------------------------------------------------------------------------------------------------------------------
# Which files


@dataclasses.dataclass(frozen=True)
class Saved:
    """A run with its file."""

    file: Path
    run: Run

    @property
    def quick(self) -> bool:
        """Whether the run was made by `make bench-quick`."""
        return bool(self.run.about.get("quick"))


def choose(files: Sequence[Path], folder: Path) -> tuple[Saved, Saved]:
    """Choose the old and the new run from `files` and the runs saved in `folder`; RunError if these are too few.

    A quick run is compared with a full one only if the folder has no other run of the same kind.
    """
    if len(files) == 2:
        return _read(files[0]), _read(files[1])
    named = {path.resolve() for path in files}
    saved = [path for path in sorted(folder.glob("*.json"), reverse=True) if path.resolve() not in named]
    if len(files) + len(saved) < 2:
        what = "no other run" if files else "only one run" if saved else "no runs"
        remedy = "name the old one, too" if files else "name two files"
        raise RunError(f"{folder} has {what} to compare: save one there by `make bench`, or {remedy}")
    runs = map(_read, [*files, *saved])  # as far as they are looked at
    new, old = next(runs), next(runs)
    return old if old.quick == new.quick else next((other for other in runs if other.quick == new.quick), old), new


def _read(file: Path) -> Saved:
    return Saved(file, load(file))


# ----------------------------------------------------------------------------------------------------------------------
# Output


def duration(seconds: float) -> str:
    """Format seconds to three digits, in s, ms, us or ns.

    >>> duration(6.5429e-05), duration(0.99994), duration(0.1), duration(75.26), duration(2e-10)
    ('65.4 us', '1.00 s', '100 ms', '75.3 s', '0.200 ns')
    """
    units = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
    unit = next((unit for unit, scale in units.items() if seconds >= 0.9995 * scale), "ns")
    return f"{seconds / units[unit]:#.3g}".rstrip(".") + f" {unit}"


def origins(*both: Saved) -> Table:
    """Return the names of the two runs, and the versions that differ."""
    runs, here = [saved.run for saved in both], Path.cwd()
    files = (saved.file.relative_to(here) if saved.file.is_relative_to(here) else saved.file for saved in both)
    made = _table("", *(f"{age}: {file}" for age, file in zip(("old", "new"), files, strict=True)))
    made.add_row("date", *(run.date for run in runs))
    made.add_row("commit", *(escape(run.commit) or "-" for run in runs))
    made.add_row("extent", *("quick" if saved.quick else "full" for saved in both))
    known = dict.fromkeys(key for run in runs for key in run.about if key not in ("processor", "quick"))
    values = {key: [str(run.about.get(key, "-")) for run in runs] for key in ("processor", *known)}
    for key, (old, new) in values.items():
        if key == "processor" or old != new:
            made.add_row(key, escape(old), escape(new))
    for loop in dict.fromkeys(m.loop for run in runs for m in run.measures):
        times = ([min(m.calibration) for m in run.measures if m.loop == loop] for run in runs)
        made.add_row(f"{loop} loop", *(duration(statistics.median(ts)) if ts else "-" for ts in times))
    return made


def suites(comparison: Comparison) -> Table:
    """Return how many times each suite compared, and the geometric mean of the ratios."""
    made = _table("suite", "compared", "slower", "faster", "mean ratio")
    for suite, mean in comparison.means.items():
        groups = (comparison.pairs, comparison.slower, comparison.faster)
        counts = [sum(pair.new.suite == suite for pair in pairs) for pairs in groups]
        made.add_row(suite, *map(str, counts), f"{mean:.3f}")
    return made


def slower(pairs: Iterable[Pair]) -> Table:
    """Return the times that became slower, the worst first."""
    made = _table("slower", "old", "new", "ratio", "noise")
    for pair in pairs:
        times = duration(pair.old.seconds), duration(pair.new.seconds)
        made.add_row(escape(pair.new.name), *times, f"{pair.ratio:.2f}", f"{pair.noise:.2f}")
    return made


def _table(first: str, *others: str) -> Table:
    made = Table(box=box.SIMPLE_HEAD, header_style="")
    made.add_column(first, style="bold")
    for heading in others:
        made.add_column(escape(heading), justify="right" if first else "left")
    return made


def some(names: Sequence[str]) -> str:
    """Format the number of names, and the first few of them.

    >>> some(["a", "b"]), some([*"abcdefg"])
    ('2 (a, b)', '7 (a, b, c, d, e and others)')
    """
    return f"{len(names)} ({', '.join(names[:FEW])}{' and others' if len(names) > FEW else ''})"


def extents(comparison: Comparison) -> list[str]:
    """Return the warning about quick runs."""
    old, new = ("quick" if quick else "full" for quick in comparison.quick)
    if old != new:
        return [f"The old run is {old}, the new one {new}: most sizes differ; only benchmarks in both are compared."]
    if old == "quick" and comparison.slower:
        return [
            "These are quick runs: other work on the machine can slow down all calls of a benchmark. Repeat the run "
            "before you trust a slower time."
        ]
    return []


def remarks(comparison: Comparison) -> list[str]:
    """Return a line for each faster benchmark, each benchmark of one run only, and each changed record."""
    reasons: dict[str, list[str]] = {}
    for name, reason in comparison.lost.items():
        reasons.setdefault("cut off" if reason.startswith("cut off") else reason, []).append(name)
    named = {
        "Faster beyond noise": [f"{pair.new.name} {pair.ratio:.2f}" for pair in comparison.faster],
        "Only in the old run": comparison.missing,
        "Only in the new run": comparison.added,
        "Not compared, as the calibration loop is another one": comparison.recalibrated,
        **{f"No longer timed, {reason}": names for reason, names in reasons.items()},
        "Timed only in the new run, recorded as absent in the old one": comparison.gained,
        "More memory": [f"{g.name}: {g.old:.1f} -> {g.new:.1f} bytes per n" for g in comparison.grown],
    }
    lines = [] if comparison.slower or not comparison.pairs else ["Nothing is slower beyond noise."]
    return lines + [f"{what}: {some(names)}." for what, names in named.items() if names]


def terminal(comparison: Comparison, heading: Table, console: Console) -> None:
    """Print the whole comparison."""

    def say(lines: list[str]) -> None:
        """Print each line as plain text."""
        for line in lines:
            console.print(line, markup=False, highlight=False)

    console.print(heading)
    say([*extents(comparison), f"{len(comparison.pairs)} times are compared."])
    if comparison.pairs:
        console.print(suites(comparison))
    if comparison.slower:
        console.print(slower(comparison.slower))
    say(remarks(comparison))


def parser() -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="python -m bench.compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("files", nargs="*", type=Path, metavar="FILE", help="the old run and the new one")
    made.add_argument("--more", type=float, default=MORE, help="ignore smaller changes than this share (0.10)")
    made.add_argument("--fail", action="store_true", help="exit with 1 if a benchmark is slower")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Print the comparison. Return 1 if a benchmark is slower and --fail is given, 2 without two runs."""
    options = (made := parser()).parse_args(argv)
    if len(options.files) > 2:
        made.error(f"{len(options.files)} files: two are compared")
    try:
        old, new = choose(options.files, RUNS)
    except RunError as error:
        print(error, file=sys.stderr)
        return 2
    comparison = compare(old.run, new.run, options.more)
    console = Console()
    terminal(comparison, origins(old, new), console if console.is_terminal else Console(width=160))
    return 1 if options.fail and comparison.slower else 0


if __name__ == "__main__":
    sys.exit(main())
