"""docs/papers.md is what the tables of docs/papers give, and their tests, commands, modules and pages exist.

To write the page anew: python -m paper_figures.papers
"""

import ast
import importlib.util
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from paper_figures import papers

ROOT = Path(__file__).parents[2]
PAPERS = papers.papers()

every_paper = pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)


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


def exists(evidence):
    """Whether there is such a test, or a module that such a command runs."""
    if not evidence.startswith("python "):
        file, _, name = evidence.partition("::")
        return file.startswith("tests/") and (ROOT / file).exists() and name in known_tests(file)
    module = re.match(r"python -m ([\w.]+)( |$)", evidence)[1]
    found = importlib.util.find_spec(module)
    return found is not None and (
        found.submodule_search_locations is None or importlib.util.find_spec(f"{module}.__main__") is not None
    )


@every_paper
def test_the_evidence_exists(paper):
    assert not [(row.at, one) for row in paper.rows for one in row.evidence if not exists(one)]


@pytest.mark.parametrize(
    ("evidence", "there"),
    [
        ("tests/docs/test_papers.py::test_the_evidence_exists", True),
        ("tests/docs/test_papers.py::test_that_is_not_there", False),
        ("tests/docs/test_papers.py::exists", False),
        ("tests/docs/test_no_file.py::test_the_evidence_exists", False),
        ("python -m stages --program fig1", True),
        ("python -m paper_figures.papers", True),
        ("python -m paper_figures.drawing", False),
        ("python -m paper_figures.nothing", False),
    ],
)
def test_what_does_not_exist_is_seen(evidence, there):
    assert exists(evidence) == there


@every_paper
def test_the_places_exist(paper):
    assert not [(row.at, path) for row in paper.rows for path in row.where if not (ROOT / path).is_file()]
    # a row without a place is missing or not executable; what is missing has no evidence
    assert not [row.at for row in paper.rows if not (row.where or row.missing or row.not_executable)]
    assert not [row.at for row in paper.rows if row.missing and row.evidence]


@every_paper
def test_a_row_is_made_of_sentences(paper):
    sentences = [x for row in paper.rows for x in (row.says, row.reason(row.status)) if x]
    assert not [x for x in sentences if not x.endswith(".") or "\n" in x]


@every_paper
def test_a_place_has_one_row(paper):
    assert not [at for at, n in Counter(row.at for row in paper.rows).items() if n > 1]


def test_the_page_is_what_the_tables_give():
    assert papers.PAGE.read_text(encoding="utf-8") == papers.text(PAPERS), "python -m paper_figures.papers writes it"


def test_every_table_is_on_the_page():
    assert sorted(papers.NAMES) == sorted(file.stem for file in papers.FOLDER.iterdir())
    page = papers.PAGE.read_text(encoding="utf-8")
    assert re.findall(r"(?m)^## (.*)$", page) == [paper.name for paper in PAPERS]
    assert len(re.findall(r"\*\*(?:shown|simplified|missing|not executable)\*\*:", page)) == sum(
        len(paper.rows) for paper in PAPERS
    )


def test_a_row_has_one_status():
    shown = papers.Row("Fig. 1", "It holds.", evidence=("tests/docs/test_papers.py::test_a_row_has_one_status",))
    assert shown.status == "shown"
    assert papers.Row("Fig. 1", "It holds.", missing="No.").status == "missing"
    assert papers.Row("Fig. 1", "It holds.", not_executable="A proof.").status == "not executable"
    with pytest.raises(ValueError, match="needs a test or a command"):
        papers.Row("Fig. 1", "It holds.")
    with pytest.raises(ValueError, match="a row has one status"):
        papers.Row("Fig. 1", "It holds.", missing="No.", simplified="Less.")
