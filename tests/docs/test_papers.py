"""docs/papers.md is what the tables of docs/papers give, and their tests, commands, modules and pages exist.

To write the page anew: python -m paper_figures.papers
"""

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

from paper_figures import papers

ROOT = Path(__file__).parents[2]
PAPERS = papers.papers()
ROWS = [(paper, row) for paper in PAPERS for row in paper.rows]

every_row = pytest.mark.parametrize(("paper", "row"), ROWS, ids=[f"{paper.name}: {row.at}" for paper, row in ROWS])


@cache
def known_tests(file):
    """The tests of a file, as pytest names them, without the values of their parameters; read, not run."""
    found = set()
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return {name for name in found if name.rpartition("::")[2].startswith("test_")}


@every_row
def test_the_evidence_exists(paper, row):
    for evidence in row.evidence:
        if evidence.startswith("python "):
            module = re.match(r"python -m ([\w.]+)( |$)", evidence)[1]
            found = importlib.util.find_spec(module)
            assert found, module
            assert not found.submodule_search_locations or importlib.util.find_spec(f"{module}.__main__"), module
        else:
            file, _, name = evidence.partition("::")
            assert file.startswith("tests/")
            assert name in known_tests(file), evidence


@every_row
def test_the_places_exist(paper, row):
    assert all((ROOT / path).exists() for path in row.where), row.where
    assert row.where or row.missing or row.not_executable, "a row without a place is missing or not executable"
    assert not (row.missing and row.evidence), "what is missing has no evidence"


@every_row
def test_a_row_is_made_of_sentences(paper, row):
    assert row.at
    for sentence in (row.says, row.reason(row.status)):
        assert not sentence or sentence.endswith(".")
        assert "\n" not in sentence


def test_a_place_has_one_row():
    for paper in PAPERS:
        places = [row.at for row in paper.rows]
        assert sorted(set(places)) == sorted(places), paper.name


def test_the_page_is_what_the_tables_give():
    assert papers.PAGE.read_text(encoding="utf-8") == papers.text(PAPERS), "python -m paper_figures.papers writes it"


def test_every_table_is_on_the_page():
    assert sorted(papers.NAMES) == sorted(file.stem for file in papers.FOLDER.iterdir())
    page = papers.PAGE.read_text(encoding="utf-8")
    assert re.findall(r"(?m)^## (.*)$", page) == [paper.name for paper in PAPERS]
    assert len(re.findall(r"\*\*(?:shown|simplified|missing|not executable)\*\*:", page)) == len(ROWS)


def test_a_row_has_one_status():
    shown = papers.Row("Fig. 1", "It holds.", evidence=("tests/docs/test_papers.py::test_a_row_has_one_status",))
    assert shown.status == "shown"
    assert papers.Row("Fig. 1", "It holds.", missing="No.").status == "missing"
    assert papers.Row("Fig. 1", "It holds.", not_executable="A proof.").status == "not executable"
    with pytest.raises(ValueError, match="needs a test or a command"):
        papers.Row("Fig. 1", "It holds.")
    with pytest.raises(ValueError, match="a row has one status"):
        papers.Row("Fig. 1", "It holds.", missing="No.", simplified="Less.")
