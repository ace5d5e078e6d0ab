"""stages/comparison/measure.py: how often an algorithm runs for its time. A clock that the test moves, no real time."""

from types import SimpleNamespace

import pytest

from stages.comparison import measure


@pytest.fixture
def run(monkeypatch):
    """A function that takes a given time by the clock of `measure`; `run.calls` counts."""
    now = [0.0]
    monkeypatch.setattr(measure, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def made(seconds):
        def call():
            now[0] += seconds
            call.calls += 1

        call.calls = 0
        return call

    return made


def test_a_slow_algorithm_runs_once_more_for_its_time(run):
    """The first run, which another function timed, may have compiled something."""
    slow = run(8.0)
    assert measure._best(slow, first=10.0) == 8.0
    assert slow.calls == 1


def test_an_algorithm_of_half_a_second_runs_once(run):
    once = run(0.6)
    assert measure._best(once) == pytest.approx(0.6)
    assert once.calls == 1


def test_a_fast_algorithm_runs_at_least_three_times(run):
    fast = run(0.15)
    measure._best(fast)
    assert fast.calls == 3


def test_what_is_too_short_for_the_clock_runs_many_times_per_measurement(run):
    short = run(1e-6)
    assert measure._best(short, budget=1e-3) == pytest.approx(1e-6)
    assert short.calls > 500
