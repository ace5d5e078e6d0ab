"""Fixtures of all benchmarks: how long they run, what they save in the JSON, and which are cut off.

Every benchmark is timed by the fixture `timed`. In addition to pytest-benchmark's statistics it saves labels and the
time of a calibration loop that runs just before and after. A benchmark without a time saves a record with the reason.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable
from typing import Any

import pytest

from bench import use_one_thread

use_one_thread()

from bench.measuring import machine  # noqa: E402 - it imports numpy

FULL = {"budget": 0.15, "longest": 0.5}  # seconds: of all rounds of a benchmark, and of one call
QUICK = {"budget": 0.01, "longest": 0.02}
ROUND = 1e-4  # seconds: calls shorter than this are timed several at once
ROUNDS = 3  # at least

records = pytest.StashKey[list[dict[str, Any]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --quick."""
    parser.addoption("--quick", action="store_true", help="a part of the benchmarks, at small sizes")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `full`, and start an empty list of records."""
    config.addinivalue_line("markers", "full: left out by --quick")
    # other libraries' warnings are not ours to mend
    config.addinivalue_line("filterwarnings", "default")
    config.option.benchmark_disable_gc = True  # as machine.COLLECTOR says
    config.stash[records] = []


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the benchmarks marked `full` in a quick run."""
    if config.getoption("--quick"):
        left_out = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("full")]


@pytest.hookimpl(optionalhook=True)  # so that doctests run with -p no:benchmark
def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """Save what machine.py says about the machine, without the host's name."""
    machine_info.clear()  # the host's name is nobody's business
    machine_info.update(machine.about(), quick=config.getoption("--quick"))


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_json(config: pytest.Config, benchmarks: Any, output_json: dict[str, Any]) -> None:
    """Keep what bench/measuring/runs.py reads, and add the records."""
    kept = ("min", "q1", "median", "rounds", "iterations")
    output_json["benchmarks"] = [
        {
            "name": entry["name"],
            "group": entry["group"],
            "extra_info": entry["extra_info"],
            "stats": {key: entry["stats"][key] for key in kept},
        }
        for entry in output_json["benchmarks"]
    ]
    output_json["records"] = config.stash[records]


@pytest.fixture
def quick(request: pytest.FixtureRequest) -> bool:
    """Whether --quick was given."""
    return request.config.getoption("--quick")


@pytest.fixture
def limits(quick: bool) -> dict[str, float]:
    """Seconds for a benchmark and for one call, in a quick or a full run."""
    return QUICK if quick else FULL


@pytest.fixture
def record(request: pytest.FixtureRequest) -> Callable[..., None]:
    """A function `record(suite, **facts)` that saves facts other than times in the JSON."""
    return lambda suite, **facts: request.config.stash[records].append({"suite": suite, **facts})


@pytest.fixture
def absent(record: Callable[..., None]) -> Callable[..., None]:
    """A function `absent(suite, reason, **labels)` that records why a benchmark has no time, and skips it."""

    def skip(suite: str, reason: str, **labels: Any) -> None:
        """Record the reason, and skip the benchmark."""
        record(suite, absent=reason, **labels)
        pytest.skip(reason)

    return skip


@pytest.fixture
def timed(benchmark: Any, limits: dict[str, float]) -> Callable[..., float]:
    """A function `timed(run, suite, calibration, **labels)` that times `run()` and returns its shortest time.

    Call `run` once before, so that everything is compiled.
    """

    def time_it(run: Callable[[], Any], suite: str, calibration: str = "python", **labels: Any) -> float:
        """Time `run` between two runs of the calibration loop; return its shortest time in seconds."""
        start = time.perf_counter()
        run()
        once = time.perf_counter() - start
        iterations = max(1, math.ceil(ROUND / max(once, 1e-9)))
        rounds = max(ROUNDS, min(1000, int(limits["budget"] / (once * iterations))))
        gc.collect()
        gc.freeze()  # what is alive stays alive: no later collection has to look at it
        before = machine.calibrate(calibration)
        benchmark.group = suite
        benchmark.pedantic(run, rounds=rounds, iterations=iterations)
        after = machine.calibrate(calibration)
        benchmark.extra_info.update(labels, suite=suite, loop=calibration, calibration=[before, after])
        return benchmark.stats.stats.min if benchmark.enabled else once  # it is not, with --benchmark-disable

    return time_it


class Ladder:
    """The times of benchmarks at growing sizes, to predict when a call takes too long."""

    def __init__(self) -> None:
        self.times: dict[Any, list[tuple[int, float]]] = {}

    def climb(self, key: Any, n: int, seconds: float) -> None:
        """Add a time at size n."""
        self.times.setdefault(key, []).append((n, seconds))

    def expected(self, key: Any, n: int) -> float:
        """Predict the seconds at size n by a power law through the last two sizes, with a power of 1 or more."""
        times = self.times.get(key, [])
        if not times:
            return 0.0
        (m, last), power = times[-1], 1.0
        if len(times) > 1:
            k, before = times[-2]
            power = max(1.0, math.log(last / before) / math.log(m / k))
        return last * (n / m) ** power


@pytest.fixture(scope="session")
def ladder() -> Ladder:
    """The times measured so far, for all benchmarks of the session."""
    return Ladder()
