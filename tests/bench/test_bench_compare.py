"""bench/compare.py on runs that are made up: what is slower beyond noise, what is not, and what is told of the rest."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import bench.compare
from bench.compare import choose, compare, main
from bench.measuring.runs import Measure, Run, RunError, load

NOISE = 0.02


def measure(n, seconds, *, noise=NOISE, calibration=1e-4, loop="python", engine="tape", suite="families", **labels):
    """A time of so much noise, all of it in the quartile."""
    fixed = {"engine": engine, "n": n, **labels}
    return Measure(suite, fixed, seconds, seconds * (1.0 + noise), loop, (calibration, calibration), calibration)


def run(*measures, records=(), commit="abc", **about):
    known = {"processor": "one", "Python": "3.11.7", "quick": False}
    return Run(known | about, commit, "2026-11-22", list(measures), list(records))


SIZES = (10, 20, 40, 80)
USUAL = [measure(n, 1e-4 * n) for n in SIZES] + [measure(n, 2e-5 * n, suite="table1", loop="compiled") for n in SIZES]


def changed(which, factor, noise=NOISE):
    """Return the usual times, with one of them longer."""
    return [
        dataclasses.replace(m, seconds=m.seconds * factor, quartile=m.seconds * factor * (1.0 + noise))
        if m.name == which
        else m
        for m in USUAL
    ]


def names(pairs):
    return [pair.new.name for pair in pairs]


def nothing_changed(found):
    return not any(
        getattr(found, field.name) for field in dataclasses.fields(found) if field.name not in ("pairs", "quick")
    )


# What is slower


def test_a_run_is_not_slower_than_itself():
    found = compare(run(*USUAL), run(*USUAL))
    assert len(found.pairs) == len(USUAL)
    assert nothing_changed(found)
    assert found.means == pytest.approx({"families": 1.0, "table1": 1.0})


def test_a_machine_that_is_half_as_fast_is_no_change():
    half = [
        dataclasses.replace(
            m,
            seconds=2.0 * m.seconds,
            quartile=2.0 * m.quartile,
            calibration=tuple(2.0 * c for c in m.calibration),
            unit=2.0 * m.unit,
        )
        for m in USUAL
    ]
    for found in (compare(run(*USUAL), run(*half)), compare(run(*half), run(*USUAL))):
        assert nothing_changed(found)
        assert found.means == pytest.approx({"families": 1.0, "table1": 1.0})


def test_what_takes_as_long_on_a_machine_that_is_twice_as_fast_is_slower():
    fast = [dataclasses.replace(m, calibration=(5e-5, 5e-5), unit=5e-5) for m in USUAL]
    found = compare(run(*USUAL), run(*fast))
    assert len(found.slower) == len(USUAL)
    assert found.means == pytest.approx({"families": 2.0, "table1": 2.0})


def test_just_what_takes_longer_is_slower():
    found = compare(run(*USUAL), run(*changed("families tape 40", 1.3)))
    assert names(found.slower) == ["families tape 40"]
    assert found.slower[0].ratio == pytest.approx(1.3)
    assert found.slower[0].noise == pytest.approx(2 * NOISE)
    assert found.faster == []
    assert found.means == pytest.approx({"families": 1.3**0.25, "table1": 1.0})


def test_what_is_lost_in_the_noise_is_not_slower():
    noisy = changed("families tape 40", 1.3, noise=0.5)
    assert compare(run(*USUAL), run(*noisy)).slower == []
    assert compare(run(*changed("families tape 40", 1 / 1.3, noise=0.5)), run(*USUAL)).slower == []  # of the old one


def test_a_calibration_that_moved_is_noise():
    new = [dataclasses.replace(m, calibration=(1e-4, 1.3e-4)) for m in changed("families tape 40", 1.3)]
    assert compare(run(*USUAL), run(*new)).slower == []


def test_the_bound_is_a_tenth_beyond_the_noise():
    bound = 1.1 * (1.0 + 2 * NOISE)
    assert compare(run(*USUAL), run(*changed("table1 tape 10", 0.999 * bound))).slower == []
    assert len(compare(run(*USUAL), run(*changed("table1 tape 10", 1.001 * bound))).slower) == 1


def test_another_bound():
    new = run(*changed("table1 tape 10", 1.3))
    assert compare(run(*USUAL), new, more=0.5).slower == []
    assert len(compare(run(*USUAL), new, more=0.2).slower) == 1


def test_what_is_slower_from_here_is_faster_from_there():
    old, new = run(*USUAL), run(*changed("families tape 40", 1.3))
    there, back = compare(old, new), compare(new, old)
    assert names(there.slower) == names(back.faster) == ["families tape 40"]
    assert there.faster == back.slower == []


def test_the_worst_and_the_best_come_first():
    factors = dict(zip(SIZES, (1.5, 3.0, 0.5, 0.25), strict=True))
    new = [measure(n, 1e-4 * n * factor) for n, factor in factors.items()]
    found = compare(run(*USUAL), run(*new))
    assert names(found.slower) == ["families tape 20", "families tape 10"]
    assert names(found.faster) == ["families tape 80", "families tape 40"]


# What is in one run only


def test_missing_and_new_times():
    found = compare(run(*USUAL), run(*USUAL[1:], measure(160, 1.0)))
    assert found.missing == ["families tape 10"]
    assert found.added == ["families tape 160"]
    assert len(found.pairs) == len(USUAL) - 1


def test_times_beside_another_loop_are_not_compared():
    found = compare(run(measure(1, 1.0), measure(2, 1.0)), run(measure(1, 9.0, loop="compiled"), measure(2, 1.0)))
    assert found.recalibrated == ["families tape 1"]
    assert names(found.pairs) == ["families tape 2"]
    assert found.slower == found.missing == found.added == []


def test_runs_that_have_nothing_in_common():
    found = compare(run(measure(1, 1.0)), run(measure(2, 1.0)))
    assert (found.pairs, found.means, found.missing, found.added) == (
        [],
        {},
        ["families tape 1"],
        ["families tape 2"],
    )


def test_what_a_first_call_takes_does_not_make_it_another_time():
    old, new = (run(measure(5, 1.0, suite="peers", first_call=seconds)) for seconds in (1.0, 7.0))
    assert nothing_changed(compare(old, new))


# Records


def absent(reason, suite="families", **labels):
    return {"suite": suite, "absent": reason, **labels}


def test_what_was_timed_and_is_absent_now_is_told_with_the_reason():
    record = absent("cut off: a call would take 3 s or more", engine="tape", n=80)
    unrelated = absent("cut off: a call would take 9 s or more", engine="naive", n=80)
    new = run(*(m for m in USUAL if m.name != "families tape 80"), records=[unrelated, record])
    found = compare(run(*USUAL, records=[unrelated]), new)
    assert found.lost == {"families tape 80": "cut off: a call would take 3 s or more"}
    assert found.missing == []
    back = compare(new, run(*USUAL))
    assert back.gained == ["families tape 80"]
    assert back.added == []


def test_a_library_that_is_away_is_the_reason_for_all_its_sizes():
    old = run(*(measure(n, 1.0, suite="peers", engine="jax", size=2) for n in SIZES))
    found = compare(old, run(records=[absent("not installed", "peers", engine="jax")]))
    assert list(found.lost.values()) == ["not installed"] * len(SIZES)
    other = compare(old, run(records=[absent("not installed", "table1", engine="jax")]))
    assert len(other.missing) == len(SIZES)


def memory(*taken, program="garch"):
    return {"suite": "memory", "program": program, "sizes": [10, 20, 40, 80], "bytes": list(taken), "operations": 9.0}


def test_memory_per_n_is_told_if_it_grew_by_more_than_a_tenth():
    old = run(records=[memory(1008.0, 1016.0, 1032.0, 1064.0), memory(10.0, 20.0, 40.0, 80.0, program="rotate")])
    more = run(records=[memory(1009.0, 1018.0, 1036.0, 1072.0), memory(10.9, 21.8, 43.6, 87.2, program="rotate")])
    (growth,) = compare(old, more).grown
    assert growth.name == "memory garch"
    assert growth.old == pytest.approx(0.8)
    assert growth.new == pytest.approx(0.9)
    assert compare(more, old).grown == []
    assert compare(old, old).grown == []


def test_memory_of_two_sizes_or_of_nothing_is_not_compared():
    nothing = memory(0.0, 0.0, 0.0, 0.0)
    two = memory(10.0, 20.0) | {"sizes": [10, 20]}
    assert compare(run(records=[nothing]), run(records=[memory(1.0, 2.0, 4.0, 8.0)])).grown == []
    assert compare(run(records=[two]), run(records=[two | {"bytes": [20.0, 40.0]}])).grown == []


# Files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty bench/runs/."""
    made = tmp_path / "runs"
    made.mkdir()
    monkeypatch.setattr(bench.compare, "RUNS", made)
    return made


def save(path, saved):
    """As bench/suite/conftest.py does."""
    benchmarks = [
        {
            "extra_info": {**m.labels, "suite": m.suite, "loop": m.loop, "calibration": m.calibration},
            "stats": {"min": m.seconds, "q1": m.quartile},
        }
        for m in saved.measures
    ]
    content = {
        "machine_info": saved.about,
        "commit_info": {"id": saved.commit, "dirty": False},
        "datetime": f"{saved.date}T10:00:00+00:00",
        "benchmarks": benchmarks,
        "records": saved.records,
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path):
    """The usual run, and one that is slower in one time."""
    old, new = run(*USUAL), run(*changed("families tape 40", 1.3), commit="def")
    return save(tmp_path / "old.json", old), save(tmp_path / "new.json", new)


def test_what_is_saved_here_is_what_a_run_is(tmp_path):
    usual = run(*USUAL, records=[memory(1.0, 2.0, 3.0, 4.0)])
    assert dataclasses.replace(load(tmp_path / save(tmp_path / "x.json", usual)), date="2026-11-22") == usual


def chosen(*files, folder):
    return tuple(saved.file for saved in choose(files, folder))


def test_two_files_are_taken_as_they_come(files, folder):
    old, new = map(Path, files)
    save(folder / "2026-01-01.json", run())
    assert chosen(new, old, folder=folder) == (new, old)


def test_without_files_the_two_newest_are_taken(folder):
    for day in ("03", "01", "02"):
        save(folder / f"2026-01-{day}.json", run())
    folder.joinpath("notes.txt").write_text("", encoding="utf-8")
    assert chosen(folder=folder) == (folder / "2026-01-02.json", folder / "2026-01-03.json")


def test_one_file_is_compared_with_the_newest_other(tmp_path, folder):
    for day in ("01", "02"):
        save(folder / f"2026-01-{day}.json", run())
    mine, newest = tmp_path / "mine.json", folder / "2026-01-02.json"
    save(mine, run())
    assert chosen(mine, folder=folder) == (newest, mine)
    assert chosen(newest, folder=folder) == (folder / "2026-01-01.json", newest)


def test_a_quick_run_is_compared_with_a_quick_one_if_there_is_one(folder):
    for day, quick in (("01", True), ("02", False), ("03", True)):
        save(folder / f"2026-01-{day}.json", run(quick=quick))
    first, second, third = sorted(folder.iterdir())
    assert chosen(folder=folder) == (first, third)
    assert chosen(second, folder=folder) == (third, second)


def test_a_file_that_is_not_needed_is_not_read(folder):
    folder.joinpath("2025-01-01.json").write_text("", encoding="utf-8")
    for day in ("01", "02"):
        save(folder / f"2026-01-{day}.json", run())
    assert chosen(folder=folder) == (folder / "2026-01-01.json", folder / "2026-01-02.json")


def test_too_few_files_say_what_to_do(tmp_path, folder):
    mine = tmp_path / "mine.json"
    save(mine, run())
    with pytest.raises(RunError, match="has no runs to compare: save one there by `make bench`, or name two files"):
        choose([], folder)
    with pytest.raises(RunError, match="has no other run to compare: save one there by `make bench`, or name the old"):
        choose([mine], folder)
    save(folder / "2026-01-01.json", run())
    with pytest.raises(RunError, match="has only one run to compare"):
        choose([], folder)
    with pytest.raises(RunError, match="has no runs"):
        choose([], folder / "not there")


# Output


def test_the_exit_code_is_1_only_with_fail(files, capsys):
    old, new = files
    assert main([old, new]) == 0
    assert main([old, new, "--fail"]) == 1
    assert main([old, new, "--fail", "--more", "0.4"]) == 0
    assert main([new, old, "--fail"]) == 0
    capsys.readouterr()


def test_what_is_printed(files, capsys):
    main([*files])
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()]
    assert ["families", "tape", "40", "4.00", "ms", "5.20", "ms", "1.30", "0.04"] in rows
    assert ["families", "4", "1", "0", "1.068"] in rows
    assert ["table1", "4", "0", "0", "1.000"] in rows
    assert ["commit", "abc", "def"] in rows
    assert ["processor", "one", "one"] in rows
    assert not any(row[:1] == ["Python"] for row in rows)  # the same in both
    assert "8 times are compared." in out
    assert out.index("processor") < out.index("are compared") < out.index("table1") < out.index("families tape 40")


def test_what_is_faster_or_gone_is_in_a_line_each(tmp_path, capsys):
    old = run(*USUAL, measure(9, 1.0, suite="peers", engine="jax"), measure(160, 1.0), records=[memory(1, 2, 4, 8)])
    news = [measure(n, 1.0, suite="other") for n in range(7)]
    records = [absent("refuses: TypeError: [no]", "peers", engine="jax"), memory(3, 6, 12, 24)]
    new = run(*changed("table1 tape 20", 0.5), *news, records=records, Python="3.12.1", jax="0.4")
    assert main([save(tmp_path / "old.json", old), save(tmp_path / "new.json", new), "--fail"]) == 0
    out = capsys.readouterr().out
    for line in (
        "Nothing is slower beyond noise.",
        "Faster beyond noise: 1 (table1 tape 20 0.50).",
        "Only in the old run: 1 (families tape 160).",
        "Only in the new run: 7 (other tape 0, other tape 1, other tape 2, other tape 3, other tape 4 and others).",
        "No longer timed, refuses: TypeError: [no]: 1 (peers jax 9).",
        "More memory: 1 (memory garch: 0.1 -> 0.3 bytes per n).",
    ):
        assert line in out.splitlines()
    rows = [line.split() for line in out.splitlines()]
    assert ["Python", "3.11.7", "3.12.1"] in rows
    assert ["jax", "-", "0.4"] in rows


def test_what_is_cut_off_is_one_line_whatever_it_would_have_taken(tmp_path, capsys):
    records = [absent(f"cut off: a call would take {n} s or more", engine="tape", n=n) for n in SIZES]
    old, new = run(*USUAL), run(*USUAL[len(SIZES) :], records=records)
    main([save(tmp_path / "old.json", old), save(tmp_path / "new.json", new)])
    expected = "No longer timed, cut off: 4 (families tape 10, families tape 20, families tape 40, families tape 80)."
    assert expected in capsys.readouterr().out.splitlines()


def test_a_quick_run_beside_a_full_one_is_said(tmp_path, capsys):
    old, new = save(tmp_path / "old.json", run(*USUAL)), save(tmp_path / "new.json", run(*USUAL, quick=True))
    main([old, new])
    assert "The old run is full, the new one quick: most sizes differ" in capsys.readouterr().out
    main([new, new])
    assert "quick run" not in capsys.readouterr().out


def test_what_is_slower_in_a_quick_run_is_to_be_timed_again(tmp_path, capsys):
    old, new = run(*USUAL, quick=True), run(*changed("families tape 40", 1.3), quick=True)
    main([save(tmp_path / "old.json", old), save(tmp_path / "new.json", new)])
    assert "These are quick runs" in capsys.readouterr().out


def test_runs_without_anything_in_common_are_printed(tmp_path, capsys):
    files = [save(tmp_path / f"{n}.json", run(measure(n, 1.0))) for n in (1, 2)]
    assert main([*files, "--fail"]) == 0
    out = capsys.readouterr().out
    assert "0 times are compared." in out
    assert "Nothing is slower" not in out


def test_an_empty_folder_is_said_and_is_2(folder, capsys):
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"{folder} has no runs to compare: save one there by `make bench`, or name two files\n"


def test_a_file_that_is_no_run_is_said_and_is_2(tmp_path, files, capsys):
    other = tmp_path / "other.json"
    other.write_text("[]", encoding="utf-8")
    assert main([files[0], str(other), "--fail"]) == 2
    assert capsys.readouterr().err.startswith(f"{other} is not a run saved by `make bench`: ")
    assert main([files[0], str(tmp_path / "missing.json")]) == 2
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["a", "b", "c"], ["--more", "much"], ["--no-such-option"]])
def test_a_wrong_command_line(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: python -m bench.compare" in capsys.readouterr().err
