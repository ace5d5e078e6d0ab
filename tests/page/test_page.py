"""`python -m stages --html` and `stages.compare`: what the page and the object hold."""

import json
import math
import re
import subprocess
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

import stages
from dualrev import math as dmath
from stages import STAGES, count, sharing
from stages.__main__ import main
from stages.comparison import measure
from stages.comparison.page import Shown, code, page, relatives_page, sample, words
from stages.comparison.page.data import STEPPED
from stages.comparison.page.drawing import drawing
from stages.comparison.page.notation import notation
from stages.comparison.page.plots import plot
from stages.comparison.page.relatives import SAID
from stages.comparison.space import kept
from stages.comparison.steps import walk
from stages.order import STAGES as ORDER
from stages.programs import PROGRAMS
from stages.relatives import RELATIVES

pytestmark = pytest.mark.usefixtures("timed_once")

ROOT = Path(__file__).parents[2]
FIELDS = list(words.COUNTS)


class Elements(HTMLParser):
    """Every element with its attributes, and the text of the whole."""

    VOID = ("meta", "link", "input", "br", "path", "rect")

    def __init__(self, html):
        super().__init__()
        self.found, self.open, self.texts = [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag, f"</{tag}> in {self.open}"

    def handle_data(self, text):
        self.texts.append(text)

    def all(self, tag):
        return [attributes for found, attributes in self.found if found == tag]


def shown(name, primals=None, limit=1.5e6):
    program, sizes = PROGRAMS[name], sample(name)
    if primals is None:
        primals = sizes.make(sizes.start)
        return Shown(program.function, primals, measure.compare(program, primals, sizes.start, limit=limit), sizes)
    return Shown(program.function, primals, measure.compare(program, primals, 1, limit=limit))


def rows(html):
    """The cells of the rows of tables of counts, by stage, tags removed."""
    found = re.findall(r'<tr data-stage="(\w+)">(.*?)</tr>', html)
    return [
        (stage, [re.sub("<.*?>", "", cell) for cell in re.findall(r"<td.*?>.*?</td>", row)]) for stage, row in found
    ]


def data(html):
    """Data of each program that the page hands to its script."""
    return json.loads(re.search(r'<script type="application/json" id="programs">(.*?)</script>', html)[1])


def recording(html):
    """The first program at the size that is shown first."""
    first = data(html)[0]
    return first["recordings"][first["start"]]


@pytest.fixture(scope="module")
def fig1():
    growths = [
        measure.Growth(family.program, stage, {n: 10 * n for n in family.sizes}, "n")
        for family in measure.FAMILIES
        for stage in STAGES
    ]
    return page([shown("fig1")], growths)


@pytest.fixture
def small_families(monkeypatch):
    """Growth is measured at three small sizes: what is fitted is not the point here."""
    family = measure.Family("doublings", "sharing", (2, 3, 4))
    for module in ("stages.__main__", "stages.comparison.api", "stages.comparison.page.build"):
        monkeypatch.setattr(f"{module}.FAMILIES", (family,))


# ---- the page --------------------------------------------------------------------------------------------------------


def test_the_page_is_one_well_formed_file_that_refers_to_nothing_else(fig1):
    elements = Elements(fig1)
    assert elements.open == []
    assert len(fig1.encode()) < 1_000_000
    for tag, attributes in elements.found:
        assert "src" not in attributes, tag
        href = attributes.get("href", "#")
        assert href.startswith("#") or href == "data:,", href
    assert "http" not in re.sub("http-equiv|http://www.w3.org/2000/svg", "", fig1)  # the name of SVG is no address
    assert "@import" not in fig1
    assert not re.findall(r"url\((?!#)", fig1)


def test_every_id_on_the_page_is_there_once_and_every_reference_leads_somewhere(fig1):
    elements = Elements(fig1)
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    references = {attributes["href"][1:] for attributes in elements.all("a")}
    references |= set(re.findall(r"url\(#([\w-]*?)\)", fig1))
    for _, attributes in elements.found:
        references |= set(attributes.get("aria-labelledby", "").split())
    assert references <= set(ids)


def test_the_counts_of_the_table_are_those_of_count(fig1):
    table = rows(fig1)
    assert [stage for stage, _ in table] == list(STAGES)
    for stage, cells in table:
        counts = count(stage, PROGRAMS["fig1"].function, 3.0, 2.0)
        numbers = [getattr(counts, field) for field in FIELDS]
        assert cells[: len(FIELDS)] == [f"{n:,}" if n else "-" for n in numbers]
        assert cells[-1] == "yes"


def test_each_stage_says_which_problem_it_finds_what_it_changes_and_its_type(fig1):
    text = re.sub(r"\s+", " ", "".join(Elements(fig1).texts))
    for stage in STAGES:
        fields = stages.comparison.report.fields(stage)
        assert words.LEFT[stage] in text
        assert notation(fields["D[R]"].partition("  ")[0]) in text
        assert notation(fields["Cost"])[1:] in text
        if stage != "naive":
            assert notation(fields["Changed"])[1:] in text
    assert "(ℝ, (Int, ℝ ⊸ Staged c))" in text
    assert "2ⁿ paths for n doublings" in text
    assert not re.search(r"-o |\bR\b|\^\w", text.partition("import annotations")[0])


def test_what_there_is_to_try_is_on_the_page_only_with_its_program_and_stages(fig1):
    assert set(re.findall(r'data-scene="(.*?)"', fig1)) == {
        escape(json.dumps(scene.sets, sort_keys=True), quote=True).replace("&quot;", "&#34;")
        for stage in words.SCENES.values()
        for scene in stage
        if scene.sets["program"] == "fig1"
    }
    html = page([shown("doublings")])
    assert re.findall(r'id="growing-(\w+)"', html) == ["staged"]
    few = stages.compare(PROGRAMS["doublings"].function, 1.0, 3, stages=["staged", "tape"]).result
    assert "growing-" not in page([Shown(PROGRAMS["doublings"].function, (1.0, 3), few)])


def test_an_output_of_several_numbers_is_shown_with_its_sum():
    """Item by item, and what the gradient is of is said."""
    text = re.sub(r"\s+", " ", "".join(Elements(page([shown("scalar_mult", ([(1.0, 2.0), (3.0, 4.0)],))])).texts))
    assert "value2, 12: 2 numbers" in text
    assert "their sum14" in text
    assert "gradient2, 1, 4, 3 – of the sum: the pullback gets the cotangent 1 for each of the 2 numbers" in text


def test_the_sharing_structures_are_those_of_fig_10(fig1):
    text = "".join(Elements(fig1).texts)
    for stage in ("collectorless", "lists", "contrib", "tape"):
        assert notation("\n".join(map(str, sharing(stage, PROGRAMS["fig1"].function, 3.0, 2.0)))) in text


def test_programs_above_a_size_have_no_drawing_and_those_above_a_larger_one_no_steps():
    html = page([shown("dot", PROGRAMS["dot"].make(40, 0), limit=20_000)])
    assert 'class="drawing"' not in html
    assert recording(html)["layout"] is None
    assert len(recording(html)["scalars"]) == 159
    counts = count("arrays", PROGRAMS["dot"].function, *PROGRAMS["dot"].make(40, 0))
    assert dict(rows(html))["arrays"][:2] == [str(counts.created), str(counts.calls)]
    html = page([shown("dot", PROGRAMS["dot"].make(400, 0), limit=10)])
    assert recording(html) == {
        "size": 1,
        "parameters": [],
        "fixed": "No steps: the program does more than 600 operations.",
    }


def test_a_stage_that_was_cut_off_says_so():
    html = page([shown("doublings", (1.0, 12), limit=2000)])
    assert dict(rows(html))["naive"] == ["cut off after more than 2,000 steps"]
    assert dict(rows(html))["staged"][1] == "13"


def test_text_of_the_user_s_cannot_break_the_page():
    def f(x, label):
        """A <script>alert(1)</script> & "more"."""
        return x * len("</script><!-- <b>") if label else x

    result = stages.compare(f, 2.0, "</script><i>", stages=["naive", "tape"]).result
    html = page([Shown(f, (2.0, "</script><i>"), result)])
    elements = Elements(html)
    assert elements.open == []
    assert len(elements.all("script")) == 3
    assert elements.all("i") == []
    assert "alert(1)</script>" not in html


def test_numbers_that_are_not_finite_are_shown():
    html = page([Shown(f := lambda x: x * math.inf, (1.0,), stages.compare(f, 1.0, stages=["tape"]).result)])
    assert [one.get("value") for one in recording(html)["scalars"]] == [1.0, "Infinity", None]


def test_a_function_whose_source_is_unknown_is_shown_without_it():
    f = eval("lambda x: x * x")
    html = page([Shown(f, (3.0,), stages.compare(f, 3.0, stages=["tape"]).result)])
    assert "data-line=" not in html
    assert data(html)[0]["source"] is False
    assert len(recording(html)["scalars"]) == 2


# ---- the code --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", STAGES)
def test_the_changes_of_a_stage_are_those_between_the_real_files(stage):
    """Lines shown as new are in the new file, at their numbers; all other lines are the same in both files."""
    names = list(ORDER)
    lines = code.changes(stage)
    new = Path(STAGES[stage].__file__).read_text().splitlines()
    before = STAGES[names[names.index(stage) - 1]] if stage != "naive" else STAGES[stage]
    old = Path(before.__file__).read_text().splitlines()
    for line in lines:
        text = Elements(line.html).texts
        for number, file in ((line.old, old), (line.new, new)):
            if number is not None:
                assert "".join(text) == file[number - 1]
    if stage != "naive":
        shown_old = {line.old for line in lines if line.sign == "-"}
        shown_new = {line.new for line in lines if line.sign == "+"}
        start_old, start_new = (
            next(k for k, text in enumerate(file) if text == "from __future__ import annotations")
            for file in (old, new)
        )
        rest_old = [text for k, text in enumerate(old[start_old:], start_old + 1) if k not in shown_old]
        rest_new = [text for k, text in enumerate(new[start_new:], start_new + 1) if k not in shown_new]
        assert rest_old == rest_new


def test_the_program_is_shown_without_decorators_and_docstring():
    lines = code.program(PROGRAMS["fig1"].function)
    texts = ["".join(Elements(html).texts) for _, html in lines]
    assert texts == ["def fig1(x, y):", "    z = x + y", "    return x * z"]
    assert lines[1][0] == lines[0][0] + 2


# ---- drawings and plots ----------------------------------------------------------------------------------------------


def test_a_drawing_has_a_box_for_every_backpropagator_and_an_arrow_for_every_reference():
    run = walk("naive", *(PROGRAMS["section4"].function, 1.0))
    svg = drawing(run.scalars, run.times_called(), "t").svg
    boxes = re.findall(r'class="node \w+" data-id="(\d+)" data-times="(\d+)"', svg)
    assert sorted(boxes) == [("0", "5"), ("1", "2"), ("2", "1"), ("3", "1")]
    arrows = re.findall(r'data-from="(\d)" data-to="(\d)"><path', svg)
    assert sorted(arrows) == sorted([("3", "1"), ("3", "2"), ("2", "1"), ("2", "0"), ("1", "0"), ("1", "0")])
    assert sorted(re.findall(r'class="factor".*?>(\w+)<', svg)) == ["1z", "2z", "2z", "3z", "4z", "5z"]
    assert "d0 is called 5 times and belongs to input x1." in svg
    assert "d1 is called 2 times and calls d0 with 2 z and d0 with 3 z." in svg


def test_the_boxes_of_a_drawing_do_not_overlap_and_arrows_go_down():
    for name in ("dot", "deep", "compose", "loop"):
        run = walk("tape", PROGRAMS[name].function, *PROGRAMS[name].make(4, 0))
        svg = drawing(run.scalars, run.times_called(), "t").svg
        found = re.findall(r'data-id="(\d+)".*?<rect x="([-\d.]+)" y="([-\d.]+)" width="(\d+)"', svg)
        place = {int(i): (float(x), float(y), float(w)) for i, x, y, w in found}
        for a in place.values():
            assert not [b for b in place.values() if b is not a and b[1] == a[1] and abs(a[0] - b[0]) < a[2]]
        for scalar in run.scalars:
            assert all(place[i][1] > place[scalar.id][1] for _, i in scalar.refers)


def test_a_plot_has_a_line_for_every_stage_that_ends_where_it_was_cut_off():
    family = measure.FAMILIES[0]
    growths = list(measure.grow(family, list(STAGES), limit=1500))
    svg = plot(family, growths, list(STAGES))
    lines = dict(re.findall(r"<title>(\w+)</title>(.*?)</g>", svg))
    assert list(lines) == list(STAGES)
    assert {stage: line.count("<path") - 1 for stage, line in lines.items()} == {
        g.stage: sum(w is not None for w in g.work.values()) for g in growths
    }
    assert "naive 2^n; staged n" in svg


# ---- the command line ------------------------------------------------------------------------------------------------


def test_the_command_writes_a_page_of_the_paper_s_programs(tmp_path, capsys, small_families):
    file = tmp_path / "out.html"
    assert main(["--html", str(file), "--stage", "naive", "--stage", "tape"]) == 0
    assert f"wrote {file} (" in capsys.readouterr().out
    html = file.read_text(encoding="utf-8")
    programs = re.findall(r'name="program" value="\d+"(?: checked)?> <span>(\w+)', html)
    assert programs == ["fig1", "doublings", "section4", "wide", "deep"]
    assert re.findall(r'<section id="(\w+)"', html) == ["program", "naive", "tape", "growth"]
    assert re.findall(r'class="stepper" data-stage="(\w+)"', html) == ["naive", "tape"]
    sizes = {one["name"]: [recording["size"] for recording in one["recordings"]] for one in data(html)}
    assert sizes["doublings"] == list(range(1, 13))
    assert len(sizes["wide"]) >= 4 <= len(sizes["deep"])
    assert len(html.encode()) < 1_000_000


def test_a_page_of_one_program_has_nothing_of_others(tmp_path, small_families):
    file = tmp_path / "out.html"
    assert main(["--html", str(file), "--program", "fig1", "--stage", "naive", "--stage", "tape"]) == 0
    html = file.read_text(encoding="utf-8")
    assert [one["name"] for one in data(html)] == ["fig1"]
    assert re.findall(r"<title id=\"growth-(\w+)-title", html) == []


def test_the_command_writes_a_page_of_the_user_s_function(tmp_path, capsys, small_families):
    mine = tmp_path / "mine.py"
    mine.write_text("from dualrev import math\n\n\ndef f(x, ys):\n    return math.sin(x) * sum(ys)\n")
    file = tmp_path / "out.html"
    assert main(["--file", f"{mine}:f", "--args", "0.5, [1.0, 2.0]", "--html", str(file)]) == 0
    html = file.read_text(encoding="utf-8")
    assert "The program" in html
    assert 'type="radio"' not in html
    for stage, cells in rows(html):
        counts = count(stage, lambda x, ys: dmath.sin(x) * sum(ys), 0.5, [1.0, 2.0])
        assert cells[1] == str(counts.calls)
    assert [one["line"] for one in recording(html)["scalars"][3:5]] == [5, 5]


SQUARES = """
def squares(xs):
    total = 0.0
    for x in xs:
        total = total + x * x
    return total


def inputs(n):
    return ([float(k) for k in range(n)],)


def wrong(n):
    return [1.0]
"""


def test_growth_of_the_user_s_function_at_sizes_of_his_own(tmp_path, capsys, small_families):
    mine = tmp_path / "mine.py"
    mine.write_text(SQUARES)
    file = tmp_path / "out.html"
    command = ["--file", f"{mine}:squares", "--inputs", "inputs", "--sizes", "20,10,40,80", "--html", str(file)]
    assert main([*command, "--stage", "naive", "--stage", "tape"]) == 0
    out = capsys.readouterr().out
    found = [line.split() for line in out.splitlines() if line.split()[:1] in (["naive"], ["tape"])]
    assert found[-2][-1] == "n^2"
    assert found[-1][-2:] == ["n", "<"]
    assert re.search(r"stage +n=10 +n=20 +n=40 +n=80 ", out)
    html = file.read_text(encoding="utf-8")
    assert [one["size"] for one in data(html)[0]["recordings"]] == [10, 20, 40, 80]
    assert re.findall(r"<title id=\"growth-(\w+)-title", html) == ["squares", "doublings"]
    assert "size 10" in html


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sizes", "1,2,3"], "--inputs FUNCTION makes the arguments for each size of --sizes"),
        (["--inputs", "inputs"], "give both"),
        (["--inputs", "inputs", "--sizes", "1,2"], "at least three sizes"),
        (["--inputs", "inputs", "--sizes", "1,b,3"], "--sizes 1,b,3: expected comma-separated integers"),
        (["--inputs", "nothing", "--sizes", "1,2,3"], "mine.py has no such function"),
        (["--inputs", "wrong", "--sizes", "1,2,3"], "wrong(1) gave [1.0]; expected a tuple"),
        (
            ["--inputs", "inputs", "--sizes", "1,2,3", "--args", "1.0"],
            "--args and --inputs both give arguments: drop --args",
        ),
    ],
)
def test_wrong_sizes_are_refused(options, said, tmp_path, capsys):
    mine = tmp_path / "mine.py"
    mine.write_text(SQUARES)
    with pytest.raises(SystemExit) as exit_:
        main(["--file", f"{mine}:squares", *options])
    assert exit_.value.code == 2
    assert said in capsys.readouterr().err


def test_growth_of_a_program_of_ours_at_other_sizes(capsys):
    assert main(["--program", "dot", "--stage", "staged", "--stage", "tape", "--sizes", "10,20,40"]) == 0
    laws = [line.split() for line in capsys.readouterr().out.splitlines() if line.split()[:1] in (["staged"], ["tape"])]
    assert laws[-2][-1] == "n^2"
    assert laws[-1][-2:] == ["n", "<"]


@pytest.mark.parametrize("argument", ["no/such/folder/x.html", "."])
def test_a_page_that_cannot_be_written_is_refused_before_any_work(argument, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--html", argument])
    assert exit_.value.code == 2
    assert "--html" in capsys.readouterr().err


def test_the_command_writes_a_page_of_the_neighbours(tmp_path, capsys, small_families):
    file = tmp_path / "x.html"
    programs = [word for name in ("fig1", "doublings", "section4") for word in ("--program", name)]
    assert main(["--html", str(file), "--relatives", *programs]) == 0
    html = file.read_text(encoding="utf-8")
    elements = Elements(html)
    names = [*RELATIVES, "tape"]
    assert elements.open == []
    assert len(html.encode()) < 60_000 * len(names)  # the code of each algorithm, and its table for each program
    assert "http" not in re.sub("http-equiv", "", html)
    assert re.findall(r'<section id="(\w+)"', html) == ["program", *names, "growth"]
    assert dict(rows(html))["delta"][1] == str(count("delta", PROGRAMS["section4"].function, 1.0).calls)
    assert dict(rows(html))["delta"][6] == str(kept("delta", PROGRAMS["section4"].function, 1.0))
    assert dict(rows(html))["cps"][0].startswith("refused: ")
    text = re.sub(r"\s+", " ", "".join(elements.texts))
    for name in names:
        fields = stages.comparison.report.fields(name)
        assert notation(fields["Changed"])[1:] in text
        assert notation(fields.get("Needs", ""))[1:] in text
        assert SAID[name].in_short in text
    assert "eval x (Let i u b) m" in text  # a rule of delta_map's


def test_every_neighbour_has_a_sentence_and_says_where_it_meets_the_others():
    assert list(SAID) == [*RELATIVES, "tape"]
    assert all(said.in_short and said.meets for said in SAID.values())


def test_the_page_of_the_neighbours_shows_one_program_without_a_choice():
    program = PROGRAMS["fig1"]
    result = measure.compare(program, (3.0, 2.0), 1, ["delta", "tape"])
    html = relatives_page([Shown(program.function, (3.0, 2.0), result)])
    assert 'type="radio"' not in html
    assert re.findall(r'<section id="(\w+)"', html) == ["program", "delta", "tape"]


def test_a_seed_gives_other_arguments_than_those_that_are_easy_to_follow(tmp_path, capsys, small_families):
    file = tmp_path / "x.html"
    values = []
    for seed in ("0", "1"):
        assert main(["--html", str(file), "--program", "fig1", "--stage", "tape", "--seed", seed]) == 0
        values += re.findall("<dt>value</dt><dd>(.*?)</dd>", file.read_text(encoding="utf-8"))
    assert values[0] == "15" != values[1]


def test_without_jinja2_the_command_says_what_to_install(monkeypatch, capsys, tmp_path):
    find = sys.modules["importlib.util"].find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *more: None if name == "jinja2" else find(name, *more))
    with pytest.raises(SystemExit):
        main(["--html", str(tmp_path / "x.html")])
    assert "pip install 'dualrev[plots]'" in capsys.readouterr().err


def test_importing_stages_imports_no_jinja2_and_no_page():
    program = (
        "import sys, stages; print([m for m in sys.modules if m in ('jinja2', 'pygments', 'stages.comparison.page')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


# ---- stages.compare --------------------------------------------------------------------------------------------------


def product(x, ys):
    """The product with a sum."""
    return x * (ys[0] + ys[1])


@pytest.fixture(scope="module")
def compared():
    return stages.compare(product, 3.0, [2.0, 1.0])


def test_an_object_prints_as_the_table_of_the_terminal(compared):
    lines = str(compared).splitlines()
    assert [line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in STAGES] == list(STAGES)
    assert "gradient (3, 3, 3)" in str(compared)
    assert repr(compared) == str(compared)


def test_its_numbers_are_plain_data(compared):
    data = json.loads(json.dumps(compared.to_dict()))
    assert data["program"] == "product"
    assert [stage["stage"] for stage in data["stages"]] == list(STAGES)
    assert data["stages"][1]["counts"]["calls"] == count("staged", product, 3.0, [2.0, 1.0]).calls


def test_a_notebook_gets_tables_and_drawings_without_script(compared):
    html = compared._repr_html_()
    elements = Elements(html)
    assert elements.open == []
    assert elements.all("script") == []
    assert len(elements.all("svg")) == len(STAGES)
    for stage, cells in rows(html):
        assert cells[1] == str(count(stage, product, 3.0, [2.0, 1.0]).calls)
    assert html == compared._repr_html_()


def test_two_objects_in_a_notebook_have_no_id_in_common(compared):
    other = stages.compare(product, 3.0, [2.0, 1.0], stages=["tape"])._repr_html_()
    ids = [attributes["id"] for _, attributes in Elements(compared._repr_html_() + other).found if "id" in attributes]
    assert len(ids) == len(set(ids)) > 0


def test_without_jinja2_a_notebook_shows_the_text(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert stages.compare(product, 3.0, [2.0, 1.0], stages=["tape"])._repr_html_() is None


def test_the_page_of_an_object(compared, tmp_path, small_families):
    compared.to_html(tmp_path / "without.html")
    assert 'id="growth"' not in (tmp_path / "without.html").read_text(encoding="utf-8")
    compared.to_html(tmp_path / "with.html", growth=True)
    html = (tmp_path / "with.html").read_text(encoding="utf-8")
    assert 'id="growth"' in html
    assert html.count('class="stepper"') == len(STEPPED)


def test_stages_are_chosen_by_name_in_the_paper_s_order():
    found = stages.compare(product, 3.0, [2.0, 1.0], stages=["tape", "naive"])
    assert [stage.stage for stage in found.result.stages] == ["naive", "tape"]
    with pytest.raises(ValueError, match="there is no stage 'd1'; known: naive"):
        stages.compare(product, 3.0, [2.0, 1.0], stages=["d1"])
