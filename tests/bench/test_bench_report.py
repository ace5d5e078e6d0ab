"""bench/reporting: the report of a saved run whose times are made up, so that what it has to say is known."""

from __future__ import annotations

import html.parser
import itertools
import json
import re
from xml.etree import ElementTree

import pytest

from bench.measuring import runs
from bench.peers import LIBRARIES, PROGRAMS
from bench.programs.families import CLAIMS, ENGINES, FAMILIES
from bench.programs.fork_programs import FORKS
from bench.programs.table1 import COLUMNS, ROWS
from bench.reporting import __main__ as command
from bench.reporting import content, plots, render


def entry(suite, seconds, **labels):
    extra = {**labels, "suite": suite, "loop": "python", "calibration": [1e-3, 1.1e-3]}
    stats = {"min": seconds, "q1": 1.01 * seconds, "median": 1.02 * seconds, "rounds": 3, "iterations": 1}
    return {"name": suite, "group": suite, "extra_info": extra, "stats": stats}


def made_up():
    """Every stage follows its claim at 1 us, until that is 0.3 s; compiled code takes 10 us, all others 20."""
    benchmarks, records = [], []
    for family in FAMILIES.values():
        for engine in ENGINES:
            claim = CLAIMS[family.claims.get(engine, "n")]
            for n in family.quick:
                labels = {"family": family.name, "engine": engine, "n": n}
                if claim(n) > 3e5:
                    records.append({"suite": "families", "absent": "cut off: too long", **labels})
                else:
                    benchmarks.append(entry("families", 1e-6 * claim(n), **labels))
    for row in ROWS.values():
        for column in COLUMNS:
            for n in map(row.count, row.sizes):
                benchmarks.append(entry("table1", 5e-6 + 2e-6 * n, row=row.name, column=column, n=n))
    for program in PROGRAMS.values():
        for version in program.versions:
            labels = {"program": program.name, "version": version.name}
            if version.refused:
                records.append({"suite": "peers", "absent": "refuses: ValueError: no | no", **labels})
            elif version.library == "casadi":
                records.append({"suite": "peers", "absent": "not installed", **labels})
            else:
                seconds = 1e-5 if version.library == "compiled" else 2e-5
                benchmarks.append(entry("peers", seconds, **labels, size=program.quick, first_call=0.5))
    for name in FORKS:
        records.append({"suite": "fork_join", "what": "counts", "program": name, "n": 8, "work": 8000, "span": 1003})
        for step, n in itertools.product(("forward", "reverse"), (1, 2)):
            seconds = 4e-3 / (n if step == "reverse" else 1)
            labels = {"program": name, "step": step, "threads": n}
            benchmarks.append(entry("fork_join", seconds, **labels, locked=True))
            records.append(
                {"suite": "fork_join", "what": "processor", **labels, "joining": 4e-3 / n**0.5, "together": 4e-3}
            )
    sizes = [1000, 2000, 4000]
    for library, cost in (("dualrev", 400), ("compiled", 16)):
        records.append(
            {
                "suite": "memory",
                "program": "oscillator",
                "library": library,
                "sizes": sizes,
                "bytes": [5000 + cost * n for n in sizes],
                "operations": 10.0,
            }
        )
    for what, seconds in (("primal", 1e-5), ("gradient", 2.5e-5), ("adjoint", 2e-5)):
        benchmarks.append(entry("compiled", seconds, program="dot", what=what))
    about = {"Python": "3.x", "processor": "made up", "quick": True}
    commit = {"id": "0123456789abcdef", "dirty": False}
    return {
        "machine_info": about,
        "commit_info": commit,
        "datetime": "2026-01-02T03:04:05+00:00",
        "benchmarks": benchmarks,
        "records": records,
    }


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run.json"
    path.write_text(json.dumps(made_up()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(file):
    return runs.load(file)


def only(**suites):
    """A run of some suites."""
    whole = made_up()
    whole["benchmarks"] = [b for b in whole["benchmarks"] if b["extra_info"]["suite"] in suites]
    whole["records"] = [r for r in whole["records"] if r["suite"] in suites]
    return whole


# What is said


def test_the_laws_stand_beside_the_claims_and_say_what_was_cut_off(run):
    tables = dict(zip(FAMILIES, content.families(run).tables, strict=True))
    doublings = {row[0]: row[1:] for row in tables["doublings"].rows}
    assert list(doublings) == list(ENGINES)
    assert doublings["naive"] == ["2.00^n (2.00 to 2.00)", "2^n", "2.00^n", "12", "341", "at 32"]
    assert doublings["tape"] == ["n^1.00 (1.00 to 1.00)", "n", "n^1.00", "256", "1.00", ""]
    wide = {row[0]: row[1:] for row in tables["wide"].rows}
    assert wide["staged"][:3] == ["n^2.00 (2.00 to 2.00)", "n^2", "n^2.00"]
    fitted, claim, power = wide["cayley"][:3]
    assert claim == "n log n"
    assert fitted.startswith(power)  # times that are n log n are fitted by the power that the table says


def test_a_law_whose_interval_says_nothing_is_not_shown(tmp_path):
    whole = only(families=True)
    noise = itertools.cycle([1.0, 30.0, 0.2])
    for benchmark in whole["benchmarks"]:
        benchmark["stats"]["min"] *= next(noise)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(whole), encoding="utf-8")
    fitted = [row[1] for table in content.families(runs.load(path)).tables for row in table.rows]
    assert "too noisy" in fitted
    intervals = [re.findall(r"[\d.-]+(?= to )|(?<= to )[\d.-]+", law) for law in fitted if " to " in law]
    assert all(float(high) - float(low) <= 1.01 for low, high in intervals)


def test_what_users_ask_for_comes_first(run):
    names = [section.name for section in content.sections(run)]
    assert names == ["peers", "compiled", "memory", "families", "table1", "fork_join", "about"]


def test_the_slope_is_per_unit_of_n_beside_the_papers(run):
    (table,) = content.table1(run).tables
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["dot product"] == ["entries", "2.21", "2.07", *["2.00"] * len(COLUMNS)]
    assert rows["neural"][:3] == ["weights", "-", "-"]


def test_both_passes_of_programs_that_fork_have_work_and_span_and_a_speed_up(run):
    section = content.fork_join(run)
    assert "This one has the lock." in section.text[1]
    (table,) = section.tables
    assert table.rows[:2] == [
        ["balanced tree of sines, forward pass", "8,000", "1,003", "4.00", "4.00", "1.00", "1.41"],
        ["balanced tree of sines, reverse pass", "8,000", "1,003", "4.00", "2.00", "2.00", "1.41"],
    ]


def test_every_stage_is_in_the_report_or_named_as_left_out(run):
    """A column of Table 1 without times is left out; the words say what each column is."""
    assert not any("left out" in text for text in content.families(run).text)
    assert all(f"`{column}` " in content.table1(run).text[0] for column in COLUMNS)
    kept = [m for m in run.measures if "lists" not in m.labels.values()]
    older = runs.Run(run.about, run.commit, run.date, kept, run.records)
    assert content.families(older).text[-1] == "Not timed in this run, and left out: `lists`."
    assert "`lists`" not in content.table1(older).text[0]
    assert "lists" not in content.table1(older).tables[0].heading


def test_the_table_of_libraries_says_who_is_missing_and_who_refuses(run):
    section = content.peers(run)
    assert any("Not installed in this run, and left out: CasADi." in text for text in section.text)
    summary, *details = section.tables
    assert len(details) == len(PROGRAMS)
    by_title = {row[0].partition(" (")[0]: dict(zip(summary.heading, row, strict=True)) for row in summary.rows}
    row = by_title[PROGRAMS["newton"].title]
    assert row["dualrev, compiled"] == "10.0"
    assert row["PyTorch"] == "20.0 (2.0x)"
    assert "CasADi" not in summary.heading
    assert not any("not installed" in row for table in details for row in table.rows)
    assert by_title[PROGRAMS["network"].title]["micrograd"] == "-"
    newton = next(t for t in details if t.caption.startswith(PROGRAMS["newton"].title))
    assert ["JAX, jit: while_loop", "-", "", "", "refuses: ValueError: no | no"] in newton.rows
    assert any(row[:4] == ["JAX, jit: scan", "20.0", "2.0x", "500"] for row in newton.rows)


def test_memory_is_per_operation(run):
    (table,) = content.memory(run).tables
    assert [row[1:4] for row in table.rows] == [["10.0", "400.0", "40.0"], ["10.0", "16.0", "1.6"]]


def test_compiled_gradients_are_ratios(run):
    section = content.compiled(run)
    assert section.tables[0].rows == [["dot", "10.0", "2.50", "2.00", "1.25"]]
    assert "Median of gradient / primal: 2.50." in section.text[0]


def test_the_machine_and_the_noise_are_said(run):
    section = content.about(run)
    assert ["processor", "made up"] in section.tables[0].rows
    assert ["commit", "0123456789ab"] in section.tables[0].rows
    assert "A quick run" in section.text[0]
    assert "its two times differ by 10% in the median" in section.text[0]


@pytest.mark.parametrize("suite", ["families", "table1", "peers", "memory", "compiled", "fork_join"])
def test_a_run_of_one_suite_has_its_section_and_the_machine(tmp_path, suite):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(only(**{suite: True})), encoding="utf-8")
    assert [section.name for section in content.sections(runs.load(path))] == [suite, "about"]
    assert command.main([str(path), "--to", str(tmp_path / "report")]) == 0


# What is drawn and written


@pytest.mark.parametrize("name", plots.PICTURES)
def test_a_picture_is_svg_with_axes_that_say_what_they_are_and_the_same_in_every_run(run, name):
    picture = plots.draw(name, run)
    assert plots.draw(name, run) == picture
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    figure = plots.PICTURES[name](run)
    for panel in figure.axes:
        assert panel.get_xlabel()
        assert panel.lines or panel.patches or panel.collections


def test_lines_that_were_cut_off_are_marked(run):
    figure = plots.families(run)
    marks = {panel.get_title().partition(":")[0]: len(panel.texts) for panel in figure.axes}
    assert marks == {"doublings": 1, "wide": 2, "deep": 0, "chains": 0}


def test_no_two_lines_look_the_same():
    assert len(set(plots.LINES.values())) == len(plots.LINES)
    assert len(set(plots.MARKS.values())) == len(plots.MARKS)
    assert set(plots.MARKS) == set(LIBRARIES)


class Page(html.parser.HTMLParser):
    """Parser of a page: its references, its tables, and elements that are not closed."""

    EMPTY = frozenset({"meta", "img", "link", "br"})

    def __init__(self):
        super().__init__()
        self.open, self.references, self.alts, self.ids, self.rows = [], [], [], [], 0

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.references += [found[key] for key in ("src", "href") if key in found]
        self.ids += [found["id"]] if "id" in found else []
        self.alts += [found["alt"]] if tag == "img" else []
        self.rows += tag == "tr"
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_nothing_else_and_its_pictures_are_described(run):
    sections = content.sections(run)
    pictures = {picture.name: "<svg/>" for section in sections for picture in section.pictures}
    text = render.html(sections, pictures)
    page = Page()
    page.feed(text)
    assert not page.open
    assert len(page.alts) == 5
    assert all(page.alts)
    assert all(reference.startswith(("data:image/svg+xml;base64,", "#")) for reference in page.references)
    assert {reference[1:] for reference in page.references if reference.startswith("#")} <= set(page.ids)
    assert page.rows == sum(len(table.rows) + 1 for section in sections for table in section.tables)
    assert "<code>stages/</code>" in text
    assert "@import" not in text


def test_markdown_has_rows_of_one_length(run):
    text = render.markdown(content.sections(run))
    lengths = {}
    for line in text.splitlines():
        if line.startswith("|"):
            lengths.setdefault(len(lengths), []).append(len(re.findall(r"(?<!\\)\|", line)))
        else:
            lengths[len(lengths)] = []
    assert any(lengths.values())
    assert all(len(set(found)) <= 1 for found in lengths.values())
    assert "no \\| no" in text
    assert "![Time against size" in text


def test_the_command_writes_all_files(file, tmp_path, capsys):
    assert command.main([str(file), "--to", str(tmp_path / "a" / "report")]) == 0
    assert {path.name for path in (tmp_path / "a" / "report").iterdir()} == {
        "index.html",
        "report.md",
        *(f"{name}.svg" for name in plots.PICTURES),
    }
    assert "index.html" in capsys.readouterr().out


def test_a_file_that_is_no_run_is_an_error(tmp_path, capsys):
    path = tmp_path / "other.json"
    path.write_text("{}", encoding="utf-8")
    assert command.main([str(path), "--to", str(tmp_path / "report")]) == 2
    assert "not a run saved by `make bench`" in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def test_numbers_have_three_digits():
    assert [content.significant(x) for x in (0.0, 0.0012345, 0.9996, 9.999, 99.96, 123456.0)] == [
        "0",
        "0.00123",
        "1.00",
        "10.0",
        "100",
        "123,000",
    ]


# What is checked in


def test_publishing_writes_the_run_the_report_and_the_table_of_the_page(file, tmp_path):
    page = tmp_path / "benchmarks.md"
    page.write_text("before\n\n<!-- peers -->\n| old |\n| --- |\n\nafter\n\nend\n", encoding="utf-8")
    command.publish(file, tmp_path / "published", page)
    assert runs.load(tmp_path / "published" / "run.json") == runs.load(file)
    assert not (tmp_path / "published" / "index.html").exists()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n\n<!-- peers -->\n| us | dualrev, compiled |")
    assert text.endswith(" |\n\nafter\n\nend\n")
    assert "old" not in text
    command.publish(file, tmp_path / "published", page)
    assert page.read_text(encoding="utf-8") == text


def test_a_run_without_other_libraries_is_not_published(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(only(families=True)), encoding="utf-8")
    with pytest.raises(runs.RunError, match="no times of other libraries"):
        command.publish(path, tmp_path / "published", tmp_path / "benchmarks.md")


def test_without_a_run_there_is_nothing_to_report(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "BENCH", tmp_path)
    assert command.main(["--publish"]) == 2
    assert "`make bench` makes one" in capsys.readouterr().err
