"""The checked-in figures of the papers equal what the code makes now."""

import dataclasses
import doctest
import json
import re
from xml.etree import ElementTree

import pytest

from bench.measuring.runs import Run
from paper_figures import (
    __main__,
    complexity,
    diffs,
    fig2,
    fig3,
    fig10,
    krawiec_fig12,
    onehot,
    scaling,
    section4,
    table1,
)
from paper_figures.drawing import calls, figure, graphs, index
from stages import STAGES
from stages.programs import PROGRAMS

FOLDER = figure.FOLDER
DRAWN_BY_MATPLOTLIB = {"scaling.svg", "complexity.svg"}  # whose versions do not draw the same bytes

every_script = pytest.mark.parametrize("name", index.SCRIPTS)


@pytest.fixture(scope="module")
def made():
    """Every figure, made once."""
    pytest.importorskip("matplotlib")
    return {name: script.figure() for name, script in index.SCRIPTS.items()}


def labels(svg):
    """The texts in a picture of matplotlib, which writes them as comments beside their outlines."""
    return sorted(set(re.findall(r"<!-- (.*?) -->", svg)))


@every_script
def test_what_is_checked_in_is_what_the_script_makes(made, name):
    assert made[name].name == name
    for file, text in made[name].all_files().items():
        saved = (FOLDER / file).read_text(encoding="utf-8")
        if file in DRAWN_BY_MATPLOTLIB:
            assert labels(saved) == labels(text) != []
        else:
            assert saved == text, f"paper_figures/{file} is stale: run `make figures`"


@every_script
def test_a_script_says_which_figure_it_makes_and_what_the_paper_claims_there(made, name):
    first, _, rest = index.SCRIPTS[name].__doc__.partition("\n")
    assert re.match(
        r"(Figs?\. \d|Section \d|Table 1|The plots of the appendix|Krawiec et al\. 2022, Fig\. 12|Wang)", first
    )
    assert re.search(r"paper('s)?\b", rest)
    assert made[name].claim
    assert made[name].found


def test_every_file_of_the_folder_is_made_by_a_script(made):
    known = {name for each in made.values() for name in each.all_files()}
    known |= {name for names in index.MEASURED.values() for name in names} | {"README.md", krawiec_fig12.FIGURE.name}
    found = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.suffix not in (".py", ".pyc", "")}
    assert {name for name in found if not name.startswith("walkthrough")} == known


def test_the_index_has_a_row_for_every_figure_and_is_up_to_date(made):
    text = index.INDEX.read_text(encoding="utf-8")
    assert text == index.text(made), "paper_figures/README.md is stale: run `make figures`"
    for each in made.values():
        (row,) = [line for line in text.splitlines() if f"]({each.page})" in line]
        assert each.claim in row
        assert each.found in row


def test_links_of_pages_lead_to_files(made):
    for page in [index.INDEX, *(FOLDER / each.page for each in made.values())]:
        text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
        for link in re.findall(r"\]\(([^)#]+)\)", text):
            assert (FOLDER / link).exists(), f"{page.name}: {link}"


def test_drawings_are_xml_with_a_title_and_a_description():
    drawings = [path for path in FOLDER.glob("*.svg") if path.name in {"fig2.svg", "fig3.svg", "section4.svg"}]
    drawings += [FOLDER / f"{name}.svg" for name in ("onehot", "fig10", "wang_fig2", "wang_fig6")]
    assert len(drawings) == 7
    for path in drawings:
        root = ElementTree.parse(path).getroot()
        assert root.get("role") == "img"
        assert [child.tag.rpartition("}")[2] for child in root][:2] == ["title", "desc"]
        assert all(child.text for child in list(root)[:2])
        width, height = float(root.get("width")), float(root.get("height"))
        assert width <= 520
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            assert 0 < float(text.get("x")) < width
            assert 0 < float(text.get("y")) < height


@pytest.mark.parametrize(("page", "picture"), [("scaling", "scaling"), ("complexity", "complexity")])
def test_pictures_of_matplotlib_have_their_panels(page, picture):
    text = (FOLDER / f"{picture}.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    names = ["doublings", "wide", "deep"] if picture == "complexity" else [row.title for row in scaling_rows()]
    assert all(any(name in label for label in labels(text)) for name in names)
    assert f"({picture}.svg)" in (FOLDER / f"{page}.md").read_text(encoding="utf-8")


def scaling_rows():
    return [scaling.ROWS[name] for name in scaling.NAMES]


def test_examples_in_docstrings_hold():
    for module in (calls, fig2, fig3, figure, graphs, *index.SCRIPTS.values()):
        assert doctest.testmod(module).failed == 0


# ---- what is measured, at small sizes --------------------------------------------------------------------------------


def test_the_growth_on_the_arrows_is_what_is_measured():
    saved = json.loads(fig3.MEASURED.read_text(encoding="utf-8"))
    for family, lines in fig3.measure(limit=15_000).items():
        assert list(lines) == list(saved[family]) == list(STAGES)
        for stage, line in lines.items():
            known = {n: work for n, work in line["work"].items() if work is not None}
            assert known == {n: saved[family][stage]["work"][n] for n in known}
            assert known


def test_the_costs_of_gradients_are_up_to_date():
    saved = json.loads(complexity.TABLE.read_text(encoding="utf-8"))
    for what, families in complexity.ratios((4, 16)).items():
        for family, lines in families.items():
            for name, line in lines.items():
                assert {n: saved[what][family][name][n] for n in line} == line, "stale: run `make figures`"


def test_the_picture_of_the_costs_has_a_panel_for_each_family(tmp_path):
    pytest.importorskip("matplotlib")
    found = complexity.ratios((4, 8))
    complexity.draw(found, tmp_path / "picture.svg")
    drawn = labels((tmp_path / "picture.svg").read_text(encoding="utf-8"))
    assert all(any(family in label for label in drawn) for family in complexity.FAMILIES)


# ---- the claims, in numbers ------------------------------------------------------------------------------------------


def test_fig_2_naive_calls_double_and_staged_calls_do_not():
    graph = calls.call_graph(PROGRAMS["doublings"].function, 1.0, 5)
    assert [graph.count("naive", i) for i in range(6)] == [32, 16, 8, 4, 2, 1]
    assert [graph.count("staged", i) for i in range(6)] == [1] * 6
    svg = fig2.draw(graph, 5)
    assert "63 calls" in svg
    assert ">6 calls<" in svg
    assert svg.count("<polygon") == 2 * 5 + 5  # two arrows of each naive backpropagator, one of each staged one


def test_section_4_the_maps_are_the_papers():
    maps = section4.staging_maps()
    assert maps == [{3: 1.0}, {2: 2.0, 1: 1.0}, {1: 9.0, 0: 10.0}, {0: 55.0}, {}]
    graph = calls.call_graph(section4.FUNCTION, section4.X)
    assert section4.formulas(graph)[1:] == [
        r"f2 = \z. f1 (2z) + f1 (3z)",
        r"f3 = \z. f2 (4z) + f1 (5z)",
        r"f4 = \z. f2 z + f3 (2z)",
    ]
    drawn = {pair: len(bends) for pair, bends in section4.BENDS.items()}
    assert drawn == {pair: sum((e.caller, e.callee) == pair for e in graph.edges) for pair in drawn}
    assert sum(drawn.values()) == len(graph.edges)


def test_fig_3_every_step_of_the_paper_changes_a_law_and_section_8_none():
    changed = fig3.changes(fig3.saved())
    assert {stage: sorted(laws) for stage, laws in changed.items() if laws} == {
        "staged": ["doublings"],
        "cayley": ["wide"],
        "sparse": ["deep"],
        "arrays": ["deep", "wide"],
    }


def test_section_5_2_only_the_way_to_the_scalar_is_built():
    collector, before, after = onehot.example()
    assert before == ((0.0, ()), (onehot.COTANGENT, 0.0))
    assert after == ((1.0, ()), (2.0 + onehot.COTANGENT, 3.0))
    assert after[0] is collector[0]
    assert onehot.built(after, collector) == 3
    for n in (2, 8, 32):
        whole, balanced, linked, entry, _ = onehot.costs(n)
        depth = n.bit_length() - 1
        assert (whole, balanced, linked) == (2 * n - 1, depth + 1, n + 1)
        assert entry <= 2 * depth + 1


def test_fig_10_each_box_has_an_arrow_to_what_it_refers_to():
    found = fig10.nodes()
    references = {(node.id, i) for node in found["lists"] for _, i in node.refers}
    assert references == set(fig10.ENDS)
    assert fig10.draw(found).count("<polygon") == 2 * len(references)


def test_krawiec_fig_12_bindings_are_paired_one_to_one():
    theirs, ours = krawiec_fig12.bindings(krawiec_fig12.printed()), krawiec_fig12.bindings(krawiec_fig12.ours())
    assert (len(theirs), len(ours)) == (40, 38)
    assert [name for name, delta in theirs.items() if delta == "Zero"] == ["x10", "x30"]
    pairs = krawiec_fig12.pairs()
    assert sorted(pairs.values()) == sorted(ours)
    assert pairs["x40"] == krawiec_fig12.ours()[-1].removeprefix("Var ")
    # With their names for our bindings, each of our lines is a line of theirs, but for constants and -1.0.
    back = {mine: name for name, mine in pairs.items()}
    for name, mine in pairs.items():
        again = re.sub(r"x\d+", lambda found: back[found[0]], ours[mine])
        assert again == re.sub(r"\(Var x(10|30)\)", "Zero", theirs[name].replace("(-1.0)", "(-1)"))


def test_table_1_has_the_papers_numbers():
    for name, (th, ad, ratio) in table1.PAPER.items():
        assert (float(th), float(ad)) == table1.ROWS[name].paper
        assert float(th) / float(ad) == pytest.approx(float(ratio), abs=0.06)  # sum-mat-vec: 1.55, printed as 1.50


def test_table_1_has_the_ratio_of_the_papers_algorithm_to_a_library_in_the_same_language():
    run = table1.published()
    times = {("lists", "dot"): 3e-6, ("micrograd", "dot"): 2e-6, ("lists", "rotate"): 1e-6}
    timed = [
        dataclasses.replace(
            run.measures[0], suite="table1", seconds=n * t, labels={"row": row, "column": column, "n": n}
        )
        for (column, row), t in times.items()
        for n in (10, 20, 40)
    ]
    rest = [m for m in run.measures if m.labels.get("column") not in ("lists", "micrograd")]
    both = Run(run.about, run.commit, run.date, rest + timed, run.records)
    assert table1.in_one_language(both) == pytest.approx({"dot": 1.5})
    page = table1.figure(both).body
    assert "lists / micrograd" in page
    assert "| dot product | 2.210 | 2.070 | 1.10 | 1.5 |" in page
    assert "lists / micrograd" not in table1.figure(Run(run.about, run.commit, run.date, rest, run.records)).body


def test_table_1_without_its_benchmarks_is_an_error():
    run = table1.published()
    empty = Run(run.about, run.commit, run.date, [], [])
    with pytest.raises(ValueError, match="no times of Table 1"):
        table1.figure(empty)


def test_table_1_without_other_libraries_says_so():
    run = table1.published()
    alone = Run(run.about, run.commit, run.date, [m for m in run.measures if m.suite == "table1"], [])
    assert table1.figure(alone).found == "the run has no times of other libraries."
    assert len(scaling.fits(alone)) == 4


# ---- the differences -------------------------------------------------------------------------------------------------


def test_the_differences_between_stages_are_all_there():
    assert sorted(diffs.diffs()) == sorted(file.name for file in diffs.FOLDER.glob("*.diff"))


def test_a_stages_code_is_its_file_without_the_docstring():
    for stage in STAGES.values():
        code = diffs.code(stage)
        assert code.startswith("from __future__ import annotations\n")
        assert diffs.source(stage).endswith("\n" + code)


def test_the_lines_that_stay_and_the_new_ones_are_the_file():
    for before, after in [("naive", "staged"), ("collectorless", "lists"), ("contrib", "tape")]:
        _, removed, added, kept = diffs.changed(before, after)
        assert kept + added == len(diffs.code(STAGES[after]).splitlines())
        assert kept + removed == len(diffs.code(STAGES[before]).splitlines())


# ---- the writer of SVG, and the command ------------------------------------------------------------------------------


def test_a_drawing_escapes_texts_and_points_its_arrows():
    picture = graphs.Drawing(100, 50, "a < b", "about & all")
    picture.text(10, 10, "x -> y & z")
    middle = picture.arrow((10.0, 0.0), (10.0, 40.0), bend=5.0)
    assert middle == (15.0, 20.0)  # down the page, left is on the reader's right
    text = picture.svg()
    root = ElementTree.fromstring(text)
    assert [child.text for child in list(root)[:2]] == ["a < b", "about & all"]
    assert 'points="10 40 ' in text
    assert graphs.Drawing(100, 50, "a", "b").svg() == graphs.Drawing(100, 50, "a", "b").svg()


def test_figures_are_written_as_they_are_made(tmp_path, capsys):
    made = figure.Figure("name", "Fig. 0", "about", "claim", "found", "body\n", {"name.svg": "<svg/>\n"})
    figure.write(made, tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == made.all_files()
    assert capsys.readouterr().out == "paper_figures/name.md\npaper_figures/name.svg\n"
    assert made.all_files()["name.md"].startswith(
        "# Fig. 0: about\n\n**The paper:** claim\n\n**Here:** found\n\nbody\n\n"
    )


def test_the_command_makes_the_figures_that_are_named(monkeypatch, capsys):
    done = []
    for name, script in index.SCRIPTS.items():
        monkeypatch.setattr(script, "main", lambda name=name: done.append(name))
    monkeypatch.setattr(index, "main", lambda: done.append("index"))
    assert __main__.main(["fig10", "fig2"]) == 0
    assert done == ["fig10", "fig2", "index"]
    assert __main__.main([]) == 0
    assert done[3:] == [*index.SCRIPTS, "index"]
    with pytest.raises(SystemExit):
        __main__.main(["fig99"])
    assert "unknown figure fig99; known: fig1," in capsys.readouterr().err
