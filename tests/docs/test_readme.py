"""The README and the pages of its numbers are true: examples run, and tables hold what the code gives."""

import os
import re
import subprocess
import sys
from pathlib import Path

from support.pages import table

from bench.measuring.runs import load
from bench.programs.compiled_programs import PROGRAMS as COMPILED
from bench.reporting import content, markdown, sections
from stages import STAGES, count
from stages.comparison import measure
from stages.programs import PROGRAMS

ROOT = Path(__file__).parents[2]
COMPARISON, BENCHMARKS = ROOT / "docs" / "comparison.md", ROOT / "docs" / "benchmarks.md"
PUBLISHED = ROOT / "bench" / "published"


def test_the_example_prints_what_the_page_says(tmp_path):
    """Saved to a file, as the page says: at Python's prompt numba functions have no source before 3.13."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"(?s)```python\n(.*?)```", text)
    (printed,) = re.findall(r"(?m)^# (.*)\n\Z", code)
    (tmp_path / "garch.py").write_text(code, encoding="utf-8")
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, str(tmp_path / "garch.py")]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed + "\n"


def test_the_times_in_the_table_are_those_of_the_published_run():
    """Multiples of dualrev's compiled derivative, for one program, and from the least to the largest of three."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    published = content.peers(load(PUBLISHED / "run.json")).tables[0]
    columns = [published.heading.index(name) for name in ("JAX, jit", "autograd", "PyTorch")]

    def multiples(programs):
        rows = [row for row in published.rows if row[0].startswith(programs)]
        return [[re.search(r"\((.*x)\)", row[k])[1] for row in rows] for k in columns]

    garch = [times for (times,) in multiples("GARCH")]
    arrays = multiples(("Dot product, arrays", "Matrix times vector, arrays", "Two-layer network"))
    spans = [" to ".join((min(x, key=number), max(x, key=number))) for x in arrays]
    assert all(len(x) == 3 for x in arrays)
    for title, times in (("GARCH(1,1), 1,000 returns", garch), ("three array programs on a CPU", spans)):
        (line,) = [line for line in text.splitlines() if line.startswith(f"| {title}: time |")]
        said = [re.sub(r"\*\*\[(.*)\]\(.*\)\*\*", r"\1", cell.strip()) for cell in line.split("|")[2:7]]
        assert said == ["1x", *times, "-"]


def number(multiple):
    return float(multiple.rstrip("x").replace(",", ""))


def test_it_is_short():
    assert len((ROOT / "README.md").read_bytes()) < 7000, "the rest belongs to a page of docs/"


def test_the_counts_are_those_of_ten_doublings():
    program = PROGRAMS["doublings"]
    rows = table(COMPARISON, "counts")
    assert [row[0] for row in rows] == ["naive", "staged", "tape"]
    for stage, *cells in rows:
        c = count(stage, program.function, *program.make(10, 0))
        numbers = [c.created, c.calls, c.scalars, c.pairs, c.map_steps, c.array_writes]
        assert cells == [f"{n:,}" if n else "-" for n in numbers]


def test_the_laws_are_those_of_the_fit():
    rows = table(COMPARISON, "growth")
    assert [row[0] for row in rows] == list(STAGES)
    for column, family in enumerate(measure.FAMILIES, start=1):
        found = {growth.stage: growth.law for growth in measure.grow(family, list(STAGES), limit=500_000)}
        said = {row[0]: row[column] for row in rows}
        assert said == {stage: law or said[stage] for stage, law in found.items()}  # None: cut off too early here


def test_the_stages_are_all_there():
    text = COMPARISON.read_text(encoding="utf-8")
    for name, module in STAGES.items():
        assert f"| `{name}`" in text
        assert f"`stages/{module.__name__.rpartition('.')[2]}.py`" in text


def test_the_compiled_programs_are_all_there():
    rows = table(BENCHMARKS, "compiled")
    assert [row[0] for row in rows] == list(COMPILED)
    assert [row[1] for row in rows] == [str(program.lines) for program in COMPILED.values()]


def test_the_table_of_libraries_is_that_of_the_published_run():
    rows = table(BENCHMARKS, "peers")
    assert rows == content.peers(load(PUBLISHED / "run.json")).tables[0].rows
    assert len(rows) == 12


def test_the_published_report_is_that_of_its_run():
    made = sections(load(PUBLISHED / "run.json"))
    assert (PUBLISHED / "report.md").read_text(encoding="utf-8") == markdown(made)
    assert all((PUBLISHED / f"{picture.name}.svg").exists() for section in made for picture in section.pictures)


def test_the_published_run_has_every_library():
    """A machine without some of them would publish less."""
    run = load(PUBLISHED / "run.json")
    assert not list(run.recorded("peers", absent="not installed"))
    assert not run.about["quick"]
