"""`python -m stages`: what it prints and saves, and how it answers to a wrong command line."""

import dataclasses
import io
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dualrev import value
from stages import STAGES
from stages.__main__ import main
from stages.comparison import measure, report
from stages.comparison.space import kept
from stages.programs import PROGRAMS
from stages.relatives import RELATIVES

pytestmark = pytest.mark.usefixtures("timed_once")

# ---- the command line ------------------------------------------------------------------------------------------------


def test_python_m_stages_runs_as_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "stages", "--program", "fig1", "--stage", "naive", "--stage", "tape"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    lines = done.stdout.splitlines()
    assert any(line.split()[:3] == ["naive", "4", "5"] for line in lines)
    assert any(line.split()[:3] == ["tape", "4", "4"] for line in lines)
    assert done.stderr == ""  # no progress bar where nobody watches


def test_one_program_shows_counts_agreement_and_growth(capsys):
    assert main(["--program", "doublings", "--size", "10"]) == 0
    out = capsys.readouterr().out
    assert "2,047" in out
    assert out.count(" 11 ") >= 7
    assert "gradient (1024), of norm 1024" in out
    assert "grows" not in out  # a size was asked for
    assert main(["--program", "doublings", "--stage", "naive", "--stage", "staged"]) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines() if line.split()[:1] in (["naive"], ["staged"])]
    assert rows[-2][-1] == "2^n"
    assert rows[-1][-2:] == ["n", "<"]  # this stage changed it


def test_the_paper_s_figures_are_shown_beside_their_programs(capsys):
    assert main(["--program", "fig1", "--program", "section4", "--stage", "staged"]) == 0
    out = capsys.readouterr().out
    assert "SCall d0" in out
    assert "(2, [(1, d0), (1, d1)])" in out
    assert "f4(1) f3(2) f2(9) f1(55)" in out
    assert "15 = (3, [(5, d0), (3, d2)])" in out


@pytest.fixture(scope="module")
def tables():
    program = PROGRAMS["doublings"]
    result = measure.compare(program, program.make(6, 0), 6, ["naive", "tape"], limit=500)
    family = measure.Family("doublings", "sharing", (4, 6, 8, 10, 64, 256, 512, 1000))
    return report.comparison(result), report.growth(family, list(measure.grow(family, ["naive", "tape"], 500)))


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_tables_that_are_too_wide_stand_below_each_other(width, tables):
    text = io.StringIO()
    for table in tables:
        report.Console(file=text, width=width).print(table)
    text = text.getvalue()
    assert "…" not in text
    assert all(len(line) <= width for line in text.split("\n"))
    headings = [word for line in text.split("\n") if line.startswith("  stage ") for word in line.split()]
    whole = ["created", "calls", "scalars", "pairs", "map", "writes", "time", "x", "plain", "value", "grad", "diffs"]
    assert [word for word in headings if word != "stage"][: len(whole)] == whole
    assert text.count("n=1000") == text.count("misfit ") == text.count("work grows as") == 1
    assert text.count("\n  tape ") == headings.count("stage") >= 2 + 2 * (width < 120)


@pytest.mark.parametrize("width", [60, 80, 100, 120])
@pytest.mark.parametrize("names", [tuple(STAGES), (*RELATIVES, "tape")])
def test_no_word_of_the_overview_is_cut(width, names):
    text = io.StringIO()
    report.Console(file=text, width=width).print(report.overview(names))
    lines = text.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    shown = text.getvalue().split()
    for name in names:
        about = report.fields(name)
        first = about["Changed"].partition(". ")[0]
        for word in f"{name} {about['Paper']} {about['D[R]'].partition('  ')[0]} {first}".split():
            assert any(word.rstrip(".") in one for one in shown), (name, word)


def test_the_overview_has_the_whole_description_of_a_related_algorithm(capsys):
    assert main(["--relatives", "--program", "fig1", "--stage", "cps", "--stage", "shift_reset"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    for name in ("cps", "shift_reset"):  # the first sentences are about the algorithm before
        assert report.fields(name)["Changed"] in words


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--program", "doubling"], ["unknown program 'doubling'", "Did you mean doublings?", "fig1", "wide"]),
        (["--stage", "d1"], ["unknown stage 'd1'", *STAGES]),
        (["--size", "0"], ["--size 0", "at least 1"]),
        (["--args", "1.0"], ["--args needs --file FILE.py:FUNCTION"]),
        (["--seed", "-1"], ["--seed -1", "at least 0"]),
        (["--limit", "nan"], ["--limit nan", "above 0"]),
        (["--program", "dot", "--size", "9" * 23], ["cannot make the input of dot at this size"]),
        (["--json", "no/such/folder/x.json"], ["expected a file in an existing folder"]),
        (["--file", "nowhere.py:f"], ["nowhere.py:f", "FILE.py:FUNCTION"]),
        (["--file", "nowhere.py"], ["FILE.py:FUNCTION"]),
        (["--unknown"], ["unrecognized arguments"]),
    ],
)
def test_a_wrong_command_line_exits_with_2_and_says_what_is_known(argv, words, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(argv)
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert all(word in error for word in words)


def test_json_has_all_numbers(tmp_path, capsys):
    file = tmp_path / "numbers.json"
    assert main(["--program", "wide", "--stage", "cayley", "--stage", "arrays", "--json", str(file)]) == 0
    data = json.loads(file.read_text())
    (comparison,) = data["comparisons"]
    assert comparison["program"] == "wide"
    assert [stage["stage"] for stage in comparison["stages"]] == ["cayley", "arrays"]
    assert all(stage["counts"]["calls"] > 0 and stage["seconds"] > 0 for stage in comparison["stages"])
    assert [growth["law"] for growth in data["growth"]] == ["n log n", "n"]


UNION = """
from __future__ import annotations
from dataclasses import dataclass
from stages.calculus.python import union

@dataclass
class A:
    x: float

@dataclass
class B:
    left: AB
    right: "AB"

AB = union("AB", A, B)

def of_float(x: float) -> float:
    match A(x):
        case A(y): return y * y
        case B(l, r): return 0.0
"""


# ---- the user's own function -----------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        '"""My programs."""\n'
        "from dualrev import math\n\n\n"
        "def f(x, ys):\n"
        '    """A product with a sum."""\n'
        "    return math.sin(x) * sum(ys)\n\n\n"
        "def no_return(x):\n"
        "    x * x\n\n\n"
        "def loses(x):\n"
        "    import math\n"
        "    return math.sin(x)\n\n\n"
        "def divides(x):\n"
        "    return 1.0 / (x - x)\n\n\n"
        "def root(x):\n"
        "    return math.sqrt(x)\n\n\n"
        "def grows(xs):\n"
        "    xs.append(1.0)\n"
        "    return sum(xs)\n\n\n"
        "def loop(x):\n"
        "    return x * x\n\n\n"
        "def infinite(x):\n"
        "    return x * math.inf\n"
    )
    return file


def test_a_function_of_the_user_s(own, capsys):
    assert main(["--file", f"{own}:f", "--args", "0.5, [1.0, 2.0]"]) == 0
    out = capsys.readouterr().out
    assert "A product with a sum." in out
    assert f"value {math.sin(0.5) * 3:.10g}" in out
    assert "gradient (2.63275, 0.479426, 0.479426), of norm" in out
    assert all(name in out for name in STAGES)


@pytest.mark.parametrize(
    ("function", "arguments", "code", "words"),
    [
        ("g", "1.0", 2, ["no function 'g'", "f, no_return, loses, divides"]),
        ("f", "1.0, [", 2, ["--args", "Python literals"]),
        ("f", "1, [2]", 1, ["hold no real scalar", "Write 2.0"]),
        ("no_return", "1.0", 1, ["returned None", "lack its `return`"]),
        ("loses", "1.0", 1, ["mine.py:16", "return math.sin(x)", "dualrev.math", "in the algorithm naive"]),
        ("divides", "1.0", 1, ["line 20, in divides", "return 1.0 / (x - x)", "ZeroDivisionError"]),
        ("f", "1.0", 2, ["--args '1.0' does not fit f(x, ys)", "missing a required argument: 'ys'"]),
    ],
)
def test_what_is_wrong_with_the_user_s_function_is_said(own, function, arguments, code, words, capsys):
    try:
        found = main(["--file", f"{own}:{function}", "--args", arguments])
    except SystemExit as exit_:
        found = exit_.code
    assert found == code
    out, error = capsys.readouterr()
    assert out == ""  # no table stands above the error
    assert all(word in error for word in words), error
    assert "comparison.py" not in error  # the user's lines, not ours


def test_the_derivative_of_a_function_in_a_file_with_a_union(tmp_path, capsys):
    file = tmp_path / "uni.py"
    file.write_text(UNION)
    argv = ["--file", f"{file}:of_float", "--args", "3.0", "--stage", "naive", "--derivative"]
    assert main(argv) == 0
    assert "DB(l, r) → (0.0, " in capsys.readouterr().out


def test_a_file_that_does_not_parse_is_said(tmp_path, capsys):
    file = tmp_path / "broken.py"
    file.write_text("def f(x)\n    return x\n")
    assert main(["--file", f"{file}:f", "--args", "1.0"]) == 1
    assert "SyntaxError" in capsys.readouterr().err


def test_differences_that_find_no_slope_are_left_out(own, capsys):
    assert main(["--file", f"{own}:root", "--args", "0.0,", "--stage", "tape"]) == 0
    (row,) = [line.split() for line in capsys.readouterr().out.splitlines() if line.split()[:2] == ["tape", "2"]]
    assert row[-2:] == ["ref", "-"]


def test_a_function_that_changes_its_arguments_is_compared_on_copies(own, capsys):
    assert main(["--file", f"{own}:grows", "--args", "[1.0, 2.0]"]) == 0
    assert "sum of the value 4 " in capsys.readouterr().out


def test_a_function_may_have_the_name_of_a_program_and_negative_arguments(own, capsys):
    assert main(["--file", f"{own}:loop", "--args=-3.0", "--stage", "tape"]) == 0
    assert "gradient (-6)" in capsys.readouterr().out


def test_infinite_numbers_are_null_in_json(own, tmp_path, capsys):
    file = tmp_path / "numbers.json"
    assert main(["--file", f"{own}:infinite", "--args", "1.0", "--json", str(file), "--stage", "tape"]) == 0
    (comparison,) = json.loads(file.read_text(), parse_constant=pytest.fail)["comparisons"]
    assert (comparison["value"], comparison["gradient"]) == (None, [None])


def test_an_interrupt_ends_the_comparison_without_a_traceback(monkeypatch, capsys):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("stages.__main__.compare", interrupted)
    assert main(["--program", "fig1"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


# ---- the numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "work"),
    [
        ("1", lambda n: 40),
        ("n", lambda n: 7 * n + 100),
        ("n log n", lambda n: int(3 * n * math.log2(n)) + 20 * n),
        ("n^2", lambda n: n * n + 50 * n),
    ],
)
def test_the_fitted_law(law, work):
    assert measure.fit({n: work(n) for n in (25, 50, 100, 200, 400, 800, 1600)}).law == law


def test_the_fitted_law_of_an_exponential_and_of_too_few_sizes():
    assert measure.fit({n: 5 * 2**n for n in (4, 6, 8, 10)}) == ("2^n", pytest.approx(0.0, abs=1e-9))
    assert measure.fit({10: 20, 20: 40}) == (None, None)


@pytest.mark.parametrize(
    ("law", "work", "sizes"),
    [
        ("n^3", lambda n: n**3, range(4, 21, 2)),
        ("1.62^n", lambda n: 1e4 * 1.618034**n, range(4, 21, 2)),
        ("n^1.5", lambda n: 1e4 * n**1.5, (10, 100, 1_000, 10_000)),
    ],
)
def test_a_law_that_is_not_among_the_common_ones_is_no_other_one(law, work, sizes):
    found = measure.fit({n: round(work(n)) for n in sizes})
    assert found.law == law
    assert found.misfit < 1e-3


def test_the_misfit_is_the_largest_factor_between_work_and_law():
    found = measure.fit({100: 100, 200: 200, 400: 400, 800: 880})
    assert found.law == "n"
    assert 1.05 < 1 + found.misfit < 1.1  # 880 is 1.1 times what n says, of which the constant takes a part


def test_growth_says_which_problem_each_stage_solves():
    laws = {}
    for family in measure.FAMILIES:
        few = dataclasses.replace(family, sizes=family.sizes[:-1])  # half of the time is that of the largest size
        for growth in measure.grow(few, list(STAGES), limit=150_000):
            laws[growth.program, growth.stage] = growth.law
    assert laws["doublings", "naive"] == "2^n"
    assert {laws["doublings", stage] for stage in list(STAGES)[1:]} == {"n"}
    assert (laws["wide", "naive"], laws["wide", "cayley"]) == ("n^2", "n log n")
    assert (laws["deep", "naive"], laws["deep", "cayley"], laws["deep", "sparse"]) == ("n^2", "n^2", "n log n")
    assert {laws[family, stage] for family in ("wide", "deep") for stage in list(STAGES)[4:]} == {"n"}


def test_a_stage_that_is_too_much_work_is_cut_off_and_the_others_go_on():
    program = PROGRAMS["scaled_doublings"]
    result = measure.compare(program, program.make(100, 0), 100, limit=20_000)
    assert result.stages[0].cut_off == "more than 20,000 steps"
    assert result.stages[0].seconds is None
    assert all(stage.deviation == 0.0 for stage in result.stages[1:])
    assert result.gradient == [1.0]


def test_a_stage_that_is_wrong_is_seen(monkeypatch, capsys):
    stage = STAGES["arrays"]
    right = stage.vjp

    def wrong(f, *primals):
        y, pullback = right(f, *primals)
        return y, lambda ct: tuple(x * (1 + 1e-6) for x in pullback(ct))

    monkeypatch.setattr(stage, "vjp", wrong)
    program = PROGRAMS["fig1"]
    result = measure.compare(program, (3.0, 2.0), 1)
    deviations = {stage.stage: stage.deviation for stage in result.stages}
    assert deviations["arrays"] == pytest.approx(1e-6, rel=1e-3)
    assert deviations["arrays"] > report.AGREES
    assert max(d for name, d in deviations.items() if name != "arrays") == 0.0
    assert main(["--program", "fig1"]) == 1
    rows = [line for line in capsys.readouterr().out.splitlines() if "1e-06 !" in line]
    assert [row.split()[0] for row in rows] == ["arrays"]


def test_a_gradient_on_which_all_stages_agree_but_which_is_wrong_is_seen():
    wrong = dataclasses.replace(PROGRAMS["fig1"], function=lambda x, y: x * (value(x) + y))  # drops a derivative
    result = measure.compare(wrong, (3.0, 2.0), 1)
    assert all(stage.deviation == 0.0 for stage in result.stages)
    assert all(stage.difference > report.DIFFERENCES for stage in result.stages)


def test_distances():
    assert measure._distance(np.array([1.0, 2.0]), np.array([1.0, 2.5])) == 0.2
    assert measure._distance(np.array([math.nan]), np.array([math.nan])) == 0.0
    assert math.isnan(measure._distance(np.array([math.nan]), np.array([1.0])))
    assert measure._distance(np.array([0.0]), np.array([0.0])) == 0.0


def test_every_stage_has_its_four_fields():
    for stage in STAGES:
        fields = report.fields(stage)
        assert list(fields) == ["Paper", "D[R]", "Changed", "Cost"]
        assert all(fields.values())


def test_one_run_has_the_value_the_gradient_and_the_words_kept():
    program = PROGRAMS["doublings"]
    found = measure._first("staged", program.function, (1.5, 3))
    assert (found.y, found.gradient) == (12.0, [8.0])
    assert found.kept == kept("staged", program.function, 1.5, 3)
    assert found.seconds > 0.0
