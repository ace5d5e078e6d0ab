"""bench/: what a run saves, leaves out, cuts off and refuses to time, and how a saved run is read. No time is asserted.

Benchmarks run in a process of their own, since `make test` switches pytest-benchmark off in this one.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench.measuring import machine, memory, runs

ROOT = Path(__file__).parents[2]


@dataclasses.dataclass
class Done:
    """A finished run of pytest: what became of every test, with the message, and the JSON that it saved."""

    file: Path
    output: str
    outcomes: dict[str, tuple[str, str]]

    @property
    def saved(self) -> Any:
        return json.loads(self.file.read_text(encoding="utf-8"))

    def status(self, test: str) -> str:
        return self.outcomes[test][0]


def bench(folder: Path, source: str, *arguments: str) -> Done:
    """Run a file of benchmarks under bench/suite/conftest.py, in a folder that has nothing else."""
    folder.joinpath("test_made_up.py").write_text(textwrap.dedent(source), encoding="utf-8")
    file, report = folder / "saved.json", folder / "report.xml"
    command = ["-m", "pytest", "-p", "bench.suite.conftest", "-p", "no:xdist", "-p", "no:cacheprovider", "-q"]
    command += ["-p", "no:randomly"]  # in the order in which they stand
    command += ["--benchmark-quiet", f"--benchmark-json={file}", f"--junitxml={report}", *arguments, str(folder)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    output = done.stdout + done.stderr
    assert report.exists(), output
    outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        problems = [child for child in case if child.tag in ("failure", "error", "skipped")]
        first = problems[0] if problems else None
        outcomes[case.attrib["name"]] = ("passed", "") if first is None else (first.tag, first.attrib["message"])
    return Done(file, output, outcomes)


def labels(done: Done, suite: str) -> list[dict[str, Any]]:
    return [measure.labels for measure in runs.load(done.file).select(suite)]


# What a run saves

TINY = """
    import gc

    import pytest

    def test_sum(timed):
        assert timed(lambda: sum(range(500)), "tiny", what="sum", n=500) > 0.0

    @pytest.mark.full
    def test_large(timed):
        timed(lambda: sum(range(5000)), "tiny", what="sum", n=5000)

    def test_absent(absent):
        absent("tiny", "not today", what="product", n=3)
        raise AssertionError("absent has skipped")

    def test_memory(record):
        record("memory", program="tiny", sizes=[1, 2], bytes=[8.0, 16.0])

    def test_collector(timed, record):
        seen = []
        timed(lambda: seen.append(gc.isenabled()), "collector")
        record("collector", on=any(seen[1:-1]))  # the first and the last call are not timed

    def test_failing(timed):
        assert not timed, "on purpose"
"""


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return bench(tmp_path_factory.mktemp("full"), TINY)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    return bench(tmp_path_factory.mktemp("quick"), TINY, "--quick")


def test_a_time_is_saved_with_its_labels_and_calibration(full):
    first, second, *_ = full.saved["benchmarks"]
    extra = dict(first["extra_info"])
    before, after = extra.pop("calibration")
    assert before > 0.0
    assert after > 0.0
    assert extra == {"suite": "tiny", "loop": "python", "what": "sum", "n": 500}
    assert second["extra_info"]["n"] == 5000
    assert first["group"] == "tiny"
    assert set(first["stats"]) == {"min", "q1", "median", "rounds", "iterations"}
    assert first["stats"]["rounds"] >= 3
    assert 0.0 < first["stats"]["min"] <= first["stats"]["q1"] <= first["stats"]["median"]


def test_what_has_no_time_is_saved_as_a_record(full):
    assert full.saved["records"][:2] == [
        {"suite": "tiny", "absent": "not today", "what": "product", "n": 3},
        {"suite": "memory", "program": "tiny", "sizes": [1, 2], "bytes": [8.0, 16.0]},
    ]


def test_what_is_absent_is_skipped_and_what_fails_does_not_stop_the_rest(full):
    assert full.outcomes["test_absent"] == ("skipped", "not today")
    assert full.status("test_failing") == "failure"
    assert [full.status(test) for test in ("test_sum", "test_large", "test_memory")] == ["passed"] * 3


def test_the_garbage_collector_is_off_while_the_clock_runs(full):
    (record,) = runs.load(full.file).recorded("collector")
    assert record["on"] is False
    assert "off" in full.saved["machine_info"]["garbage collector"]


def test_without_times_everything_is_run_and_checked_nevertheless(tmp_path):
    done = bench(tmp_path, TINY, "--benchmark-disable")
    assert not done.file.exists()
    assert [done.status(test) for test in ("test_sum", "test_absent", "test_failing")] == [
        "passed",
        "skipped",
        "failure",
    ]


def test_the_machine_is_saved_without_its_name(full):
    about = full.saved["machine_info"]
    assert {"Python", "dualrev", "numpy", "numba", "pytest-benchmark"} <= set(about)
    assert {"processor", "cores", "system", "threads", "garbage collector"} <= set(about)
    assert about["Python"] == platform.python_version()
    assert about["threads"] == "OMP_NUM_THREADS=1"
    assert "node" not in about
    assert platform.node() not in about.values()


def test_a_saved_run_is_read(full):
    run = runs.load(full.file)
    assert run.about["quick"] is False
    assert run.date[:2] == "20"
    assert run.commit
    first, second, *_ = run.measures
    assert first.name == "tiny sum 500"
    assert first.loop == "python"
    assert first.relative == first.seconds / first.unit
    assert min(m.unit for m in run.measures) == max(m.unit for m in run.measures if m.loop == first.loop)
    assert first.noise >= 0.0
    assert run.select("tiny", n=5000) == [second]
    assert run.select("tiny", what="product") == run.select("other") == []
    assert [record["absent"] for record in run.recorded("tiny")] == ["not today"]
    assert not list(run.recorded("memory", program="other"))


def test_a_run_outside_of_git_says_so(full):
    saved = full.saved | {"commit_info": {"id": "unversioned", "dirty": False}}
    file = full.file.with_name("unversioned.json")
    file.write_text(json.dumps(saved), encoding="utf-8")
    assert runs.load(file).commit == "unversioned"


def test_the_commit_of_a_run_says_whether_there_were_changes(full):
    saved = full.saved | {"commit_info": {"id": "0123456789abcdef" * 2, "dirty": True}}
    file = full.file.with_name("dirty.json")
    file.write_text(json.dumps(saved), encoding="utf-8")
    commit, _, rest = runs.load(file).commit.partition(" ")
    assert "0123456789abcdef".startswith(commit)
    assert len(commit) >= 7
    assert rest == "with changes"


def test_quick_leaves_out_what_is_marked_full(quick):
    assert "test_large" not in quick.outcomes
    assert "1 deselected" in quick.output
    assert labels(quick, "tiny") == [{"what": "sum", "n": 500}]
    assert runs.load(quick.file).about["quick"] is True


# What is cut off

FAMILIES = """
    import dataclasses

    import bench.suite.conftest
    import bench.programs.families
    import stages

    bench.suite.conftest.FULL["longest"] = 0.0  # so that only the first size is not expected to take longer
    family = dataclasses.replace(bench.programs.families.FAMILIES["doublings"], sizes=(1, 2, 40), quick=(1,))
    bench.programs.families.FAMILIES = {"doublings": family}
    stages.STAGES = {"naive": stages.STAGES["naive"]}

    from bench.suite.test_families import test_family
"""


def test_a_family_is_cut_off_engine_by_engine(tmp_path):
    done = bench(tmp_path, FAMILIES)
    engines = ("plain", "naive", "dualrev")
    first = [{"family": "doublings", "engine": engine, "n": 1} for engine in engines]
    assert labels(done, "families") == first
    others = [one | {"n": n} for one in first for n in (2, 40)]
    assert [{key: one[key] for key in first[0]} for one in done.saved["records"]] == others
    assert all(record["absent"].startswith("cut off: a call would take ") for record in done.saved["records"])
    assert done.status("test_family[doublings-naive-1]") == "passed"
    assert done.status("test_family[doublings-naive-40]") == "skipped"


# Other libraries: these know that the square of 3 is 9 and its derivative 6

PEERS = """
    import bench.peers
    from bench.peers import Library, Program

    def answering(value, *gradient, **fields):
        def prepare(version, size):
            return lambda: (version.build()(value), gradient), lambda answer: answer
        return Library("made up", **({"module": "math", "prepare": prepare, "calibration": "python"} | fields))

    def same(y):
        return y

    def nan(y):
        return float("nan")

    def refusing(y):
        raise TypeError("not this\\nand more lines")

    bench.peers.LIBRARIES = {
        "plain": answering(9.0, gradient=False),
        "dualrev": answering(9.0, 6.0),
        "off by a little": answering(9.0, 6.000001),
        "no gradient": answering(9.0),
        "away": answering(9.0, 6.0, module="no_such_library"),
    }
    bench.peers.PROGRAMS = {
        name: Program(name, name, "", lambda size: (3.0,), (0,), size=7, unit="", quick=2, small=1, in_quick=True)
        for name in ("square", "bad")
    }
    square, bad = bench.peers.PROGRAMS.values()
    square.version("plain", "dualrev", "off by a little", "no gradient")(lambda: same)
    square.version("away")(lambda: refusing)
    square.version("dualrev", form="another")(lambda: same)
    square.version("dualrev", form="nan")(lambda: nan)
    square.version("dualrev", form="refusing", refused=True)(lambda: refusing)
    square.version("dualrev", form="failing")(lambda: refusing)
    square.version("dualrev", form="improved", refused=True)(lambda: same)
    square.version("dualrev", form="full", in_quick=False)(lambda: same)
    bad.version("plain")(lambda: same)
    bad.version("dualrev")(lambda: lambda y: y + 1e-6)

    from bench.suite.test_peers import expected, test_peer
"""


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    return bench(tmp_path_factory.mktemp("peers"), PEERS, "--quick")


def outcome(done: Done, version: str) -> tuple[str, str]:
    return done.outcomes[f"test_peer[square-{version}]"]


def test_what_agrees_is_timed(peers):
    names = [one["version"] for one in labels(peers, "peers")]
    assert names == ["plain", "dualrev", "dualrev: another"]


def test_the_first_call_of_a_library_is_kept_apart(peers):
    measure = runs.load(peers.file).select("peers", version="dualrev: another")[0]
    assert set(measure.labels) == {"program", "version", "size", "first_call"}
    assert measure.labels["size"] == 2  # the quick one
    assert measure.labels["first_call"] > 0.0
    assert measure.name == "peers square dualrev: another 2"


def test_a_wrong_gradient_fails_and_is_not_timed(peers):
    status, message = outcome(peers, "off by a little")
    assert status == "failure"
    assert "DisagreementError: off by a little on square: the gradient is 6.000001 in place of 6.0" in message
    assert "the gradient has 0 entries in place of 1" in outcome(peers, "no gradient")[1]


def test_a_value_that_is_no_number_fails(peers):
    status, message = outcome(peers, "dualrev: nan")
    assert status == "failure"
    assert "DisagreementError: dualrev: nan on square: the value is nan in place of 9.0" in message


def test_nothing_is_timed_against_a_wrong_reference(peers):
    for version in ("plain", "dualrev"):
        status, message = peers.outcomes[f"test_peer[bad-{version}]"]
        assert status == "failure"
        assert "DisagreementError: the value of dualrev on bad: the value is 9.000001 in place of 9.0" in message


def test_a_library_that_is_not_installed_is_recorded_and_skipped(peers):
    assert outcome(peers, "away") == ("skipped", "not installed")
    record = {"suite": "peers", "absent": "not installed", "program": "square", "version": "away"}
    assert record in peers.saved["records"]


def test_an_expected_refusal_is_recorded_with_the_first_line_of_its_message(peers):
    assert outcome(peers, "dualrev: refusing") == ("skipped", "refuses: TypeError: not this")
    (record,) = runs.load(peers.file).recorded("peers", version="dualrev: refusing")
    assert record["absent"] == "refuses: TypeError: not this"


def test_an_unexpected_refusal_fails(peers):
    status, message = outcome(peers, "dualrev: failing")
    assert status == "failure"
    assert message.startswith("TypeError: not this")


def test_what_was_expected_to_refuse_and_works_fails(peers):
    status, message = outcome(peers, "dualrev: improved")
    assert status == "failure"
    assert "dualrev: improved takes square by now: time it" in message


def test_only_absences_are_recorded(peers):
    assert [record["version"] for record in peers.saved["records"]] == ["away", "dualrev: refusing"]


def test_versions_that_are_not_in_quick_are_left_out(peers):
    assert "test_peer[square-dualrev: full]" not in peers.outcomes


# The machine


@pytest.mark.parametrize("loop", machine.CALIBRATION)
def test_a_calibration_loop_takes_time_and_always_does_the_same(loop):
    assert machine.calibrate(loop) > 0.0
    run = machine.CALIBRATION[loop]
    assert run() == run() > 0.0


def test_both_loops_iterate_the_same_map():
    total, x = 0.0, 0.5
    for _ in range(100):
        x = 3.7 * x * (1.0 - x)
        total += x if x > 0.5 else 0.0
    assert machine._compiled_loop(100) == total


def test_versions_are_of_what_is_installed():
    found = machine.versions()
    assert list(found)[:2] == ["Python", "dualrev"]
    assert set(found) <= {"Python", "dualrev", *machine.LIBRARIES}
    assert {"numpy", "numba", "pytest-benchmark"} <= set(found)


# Files that are no runs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "JSONDecodeError"),
        ('{"machine_info": {', "JSONDecodeError"),
        ("[1, 2]", "TypeError"),
        ('"text"', "TypeError"),
        ("{}", "KeyError: 'commit_info'"),
        ('{"commit_info": {}, "machine_info": {}, "datetime": "2026", "benchmarks": []}', "KeyError: 'records'"),
    ],
)
def test_a_file_that_is_no_run(tmp_path, text, message):
    file = tmp_path / "other.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(runs.RunError) as caught:
        runs.load(file)
    assert str(caught.value).startswith(f"{file} is not a run saved by `make bench`: {message}")


def test_a_file_that_is_not_text(tmp_path):
    file = tmp_path / "picture.json"
    file.write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(runs.RunError, match=r"picture\.json is not a run saved by `make bench`: UnicodeDecodeError"):
        runs.load(file)


def test_times_of_another_suite_are_no_run(full, tmp_path):
    """A file that pytest-benchmark saved without bench/suite/conftest.py is not a run, as it has no labels."""
    saved = full.saved
    saved["benchmarks"][0]["extra_info"] = {}
    file = tmp_path / "other.json"
    file.write_text(json.dumps(saved), encoding="utf-8")
    with pytest.raises(runs.RunError, match="is not a run saved by `make bench`: KeyError: 'loop'"):
        runs.load(file)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(runs.RunError) as caught:
        runs.load(tmp_path / "missing.json")
    assert str(caught.value) == f"{tmp_path / 'missing.json'}: No such file or directory"
    with pytest.raises(runs.RunError, match="Is a directory"):
        runs.load(tmp_path)


@pytest.mark.skipif(not memory.AVAILABLE, reason="memory is read from /proc")
def test_the_peak_memory_of_a_program_is_measured_in_a_process_of_its_own():
    steps = 20_000
    assert memory.peak_elsewhere("oscillator", "dualrev", steps) > 8 * steps  # the tape holds some numbers of each
