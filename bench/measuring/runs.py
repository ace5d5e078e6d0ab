"""A saved run of the suite: pytest-benchmark's JSON, as bench/suite/conftest.py writes it."""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class RunError(Exception):
    """A file that is not a saved run of this suite."""


@dataclasses.dataclass(frozen=True)
class Measure:
    """The time of one benchmark: suite, labels like {"family": "wide", "engine": "tape", "n": 128}, and seconds."""

    suite: str
    labels: dict[str, Any]
    seconds: float  # the shortest
    quartile: float  # the first: a quarter of all calls took less
    loop: str  # the calibration loop
    calibration: tuple[float, float]  # its seconds before and after
    unit: float  # its median over the run: what a time is compared by

    @property
    def name(self) -> str:
        """The suite and the labels, the same in every run."""
        fixed = {key: value for key, value in self.labels.items() if key != "first_call"}
        return " ".join([self.suite, *map(str, fixed.values())])

    @property
    def relative(self) -> float:
        """The time divided by the median time of the calibration loop in this run."""
        return self.seconds / self.unit

    @property
    def noise(self) -> float:
        """The spread as a share: first quartile over minimum, plus largest over smallest calibration time, minus 2."""
        times = [*self.calibration, self.unit]
        return self.quartile / self.seconds - 1.0 + max(times) / min(times) - 1.0


@dataclasses.dataclass(frozen=True)
class Run:
    """A saved run: all times, and records without a time (cut off, not installed, refused, memory)."""

    about: dict[str, Any]
    commit: str
    date: str
    measures: list[Measure]
    records: list[dict[str, Any]]

    def select(self, suite: str, **labels: Any) -> list[Measure]:
        """Measures of a suite that have these labels, in their order."""
        return [m for m in self.measures if m.suite == suite and labels.items() <= m.labels.items()]

    def recorded(self, suite: str, **labels: Any) -> Iterator[dict[str, Any]]:
        """Records of a suite that have these labels."""
        return (r for r in self.records if r["suite"] == suite and labels.items() <= r.items())


def load(path: Path) -> Run:
    """Read a saved run. RunError if the file is not one."""
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        commit = saved["commit_info"]
        return Run(
            about=saved["machine_info"],
            commit=(commit.get("id") or "")[:12] + (" with changes" if commit.get("dirty") else ""),
            date=saved["datetime"][:16].replace("T", " "),
            measures=_measures(saved["benchmarks"]),
            records=saved["records"],
        )
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path} is not a run saved by `make bench`: {type(error).__name__}: {error}") from error


def _measures(entries: list[dict[str, Any]]) -> list[Measure]:
    times: dict[str, list[float]] = {}
    for entry in entries:
        times.setdefault(entry["extra_info"]["loop"], []).append(min(entry["extra_info"]["calibration"]))
    units = {loop: statistics.median(seconds) for loop, seconds in times.items()}
    return [_measure(entry, units) for entry in entries]


def _measure(entry: dict[str, Any], units: dict[str, float]) -> Measure:
    labels = dict(entry["extra_info"])
    before, after = labels.pop("calibration")
    suite, loop = labels.pop("suite"), labels.pop("loop")
    stats = entry["stats"]
    return Measure(suite, labels, stats["min"], stats["q1"], loop, (before, after), units[loop])
