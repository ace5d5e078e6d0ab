"""bench/numbers.py: all measurements of the documentation, in one command."""

import re
import shlex
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest

from bench import numbers
from bench.numbers import Measurement

ROOT = Path(__file__).parents[2]


def test_every_benchmark_of_the_page_is_a_measurement():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    table = page.split("## ")[0].splitlines()
    listed = [
        found for line in table if line.startswith("| ") for found in re.findall(r"`([^`]+)`", line.split("|")[3])
    ]
    commands = {m.how for m in numbers.MEASUREMENTS}
    assert len(listed) > 12
    assert [command for command in listed if command not in commands | {"make peers"}] == []


@pytest.mark.parametrize("measurement", numbers.MEASUREMENTS, ids=lambda m: m.name)
def test_a_measurement_is_a_command_of_the_project_and_its_page_shows_it(measurement):
    page = (ROOT / measurement.page).read_text(encoding="utf-8")
    assert measurement.how.split(" ARGS")[0] in page
    make, target = shlex.split(measurement.how)[:2]
    if make == "make":
        assert re.search(rf"^{target}: \$\(SETUP\)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    if measurement.arguments[0] == "-m":
        assert find_spec(measurement.arguments[1])


def test_what_is_printed_is_kept_and_a_failure_does_not_stop_the_others(tmp_path, monkeypatch, capsys):
    def fake(name, code):
        return Measurement(name, f"make {name}", "docs/benchmarks.md", ("-c", code))

    fakes = (fake("bad", "raise SystemExit('no')"), fake("good", "print('| us |')"), fake("other", "print(1)"))
    monkeypatch.setattr(numbers, "MEASUREMENTS", fakes)
    assert numbers.main(["bad", "good", "--to", str(tmp_path)]) == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["README.md", "bad.txt", "good.txt"]
    assert (tmp_path / "good.txt").read_text() == "| us |\n"
    assert (tmp_path / "bad.txt").read_text() == "no\n"
    told = capsys.readouterr().out
    assert re.search(r"bad: make bad \.\.\. \S+ minutes, failed\n", told)
    assert numbers.main(["good", "--to", str(tmp_path)]) == 0


def test_a_measurement_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(SystemExit, match="2"):
        numbers.main(["compield", "--to", str(tmp_path)])


def test_the_report_has_the_machine_the_date_and_the_time_of_each():
    done = [numbers.Outcome(m, k, 90.0) for k, m in enumerate(numbers.MEASUREMENTS[:2])]
    text = numbers.report(done, datetime(2026, 1, 2, 3, 4, tzinfo=UTC), {"processor": "P"})
    assert text.startswith("# Measurements of 02 January 2026, 03:04 UTC\n")
    assert "- processor: P\n" in text
    assert "| [compiled](compiled.txt) | `make compiled` | docs/benchmarks.md | 1.5 | written |\n" in text
    assert "| 1.5 | failed, exit status 1 |\n" in text
    assert "| all | `make numbers` | | 3.0 | |\n" in text
