"""paper/: each number is the one of docs/ and bench/, each reference is cited and each citation has a reference."""

import importlib.util
import re

import pytest

from tools import paper

TEXT = paper.PAPER.read_text(encoding="utf-8")
REPORT = paper.REPORT.read_text(encoding="utf-8")
PLAIN = " ".join(TEXT.split())
BENCHMARKS = " ".join((paper.ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8").split())
README = " ".join((paper.ROOT / "README.md").read_text(encoding="utf-8").split())

NUMBER = r"([\d.]*\d)"
#: Where a statement comes from, as patterns: the page, its words, the paper's words. The groups must agree.
FACTS = [
    (
        BENCHMARKS,
        rf"\*\*Gradient / primal:\*\* median {NUMBER}, maximum {NUMBER}\. The goals were 2\.5 and 6",
        rf"takes {NUMBER} times as long as the function in the median, and {NUMBER} times at most",
    ),
    (
        BENCHMARKS,
        rf"\*\*Gradient / adjoint:\*\* median {NUMBER}, maximum {NUMBER}\.",
        rf"Compared with the adjoint by hand, the median is {NUMBER}, and the maximum {NUMBER}\.",
    ),
    (
        BENCHMARKS,
        rf"They take at most {NUMBER} seconds, or {NUMBER} from the cache",
        rf"it takes at most {NUMBER} seconds, or {NUMBER} from the cache",
    ),
    (
        BENCHMARKS,
        rf"- \*\*Ratio:\*\* median {NUMBER} .*?at most 3 in 45 of {NUMBER}; largest {NUMBER}, of",
        None,
    ),
    (
        README,
        r"In (nine) programs made of scalar loops, dualrev is the fastest in (\w+), JAX in (\w+)\.",
        r"In (nine) programs made of scalar loops, dualrev is the fastest of the AD libraries in (\w+), JAX in (\w+)\.",
    ),
]
RATIO = (
    rf"For {NUMBER} functions of many fields .*? takes {NUMBER} times as long .*? in the median, "
    rf"and {NUMBER} times at most"
)


@pytest.mark.parametrize("fact", FACTS, ids=range(len(FACTS)))
def test_a_statement_has_the_numbers_of_its_page(fact):
    page, theirs, ours = fact
    (expected,) = re.findall(theirs, page)
    if ours is None:
        median, count, largest = expected
        assert re.findall(RATIO, PLAIN) == [(count, median, largest)]
    else:
        assert re.findall(ours, PLAIN) == [expected]


def test_every_number_of_the_measurements_is_checked():
    text = PLAIN.partition("# Measurements")[2].partition("# Quality")[0]
    text = re.sub(r"<!-- peers -->.*<!-- /peers -->|\{width=\d+%\}|More than 1 means", "", text)
    compiled = re.search(r"<!-- compiled -->(.*?)\n\n", (paper.ROOT / "docs/benchmarks.md").read_text("utf-8"), re.S)
    checked = {str(len(compiled[1].strip().splitlines()) - 2)}  # of the programs with compiled gradients
    for _, _, ours in FACTS:
        checked |= set(re.findall(ours or RATIO, PLAIN)[0])
    assert set(re.findall(r"\d[\d.,]*\d|\d", text)) <= checked


def test_the_table_is_that_of_the_report():
    assert paper.filled(TEXT, REPORT) == TEXT
    ratios = r"(?: [\d.,]+ \|){5}$"  # of five libraries
    assert re.search(r"^\| GARCH\(1,1\) \(1,000 returns\) \|" + ratios, paper.peers(REPORT), re.MULTILINE)
    assert paper.filled(TEXT.replace("(1,000 returns) | ", "(1,000 returns) | 9"), REPORT) == TEXT


def test_the_citations_are_the_references():
    entries = re.findall(r"@\w+\{(\w+),", (paper.PAPER.parent / "paper.bib").read_text(encoding="utf-8"))
    assert len(set(entries)) == len(entries)
    assert set(re.findall(r"\[-?@(\w+)\]", TEXT)) == set(entries)


def test_the_paper_has_the_parts_of_a_joss_paper_and_its_figures():
    headings = re.findall(r"(?m)^# (.*)$", TEXT)
    assert [h for h in headings if h in ("Summary", "Statement of need", "State of the field", "References")] == [
        "Summary",
        "Statement of need",
        "State of the field",
        "References",
    ]
    assert 750 <= len(PLAIN.split()) <= 1750  # JOSS's limits
    figures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", TEXT)
    assert figures
    assert all((paper.PAPER.parent / figure).exists() for figure in figures)


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("pypandoc", "typst")), reason="no pandoc and typst"
)
def test_the_pdf_is_written(tmp_path):
    paper.pdf(tmp_path / "paper.pdf")
    assert (tmp_path / "paper.pdf").read_bytes().startswith(b"%PDF")
