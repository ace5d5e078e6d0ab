"""Fig. 17 of Krawiec et al. 2022 on docs/relatives.md: the figure's marks, and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

from support.pages import table

from stages import STAGES
from stages.calculus.__main__ import ALL
from stages.relatives import RELATIVES

ROOT = Path(__file__).parents[2]
#: Reverse mode, higher order, asymptotically efficient, correctness proof, as the figure is printed.
FIG_17 = {
    "Pearlmutter and Siskind 2008": "yes yes yes no",
    "Elliott 2018": "yes no no yes",
    "Wang et al. 2019": "yes yes yes no",
    "Plotkin and Abadi 2020": "yes no yes yes",
    "Sherman et al. 2021": "yes yes yes no",
    "Huot et al. 2020": "yes yes no no",
    "Mazza and Pagani 2021": "yes yes no yes",
    "Krawiec et al. 2022": "yes yes yes yes",
}
ROWS = {row[0]: row[1:] for row in table(ROOT / "docs" / "relatives.md", "fig17")}


def test_the_marks_are_those_of_the_figure():
    marks = {
        work: " ".join(re.findall(r"yes|no", " ".join(c.split(":")[0] for c in cells)))
        for work, (_, *cells) in ROWS.items()
    }
    assert {work: marks[work] for work in FIG_17} == FIG_17
    assert [*ROWS] == [*FIG_17, "Smeding and Vákár 2023"]


def test_each_cell_names_a_test_or_is_in_parentheses():
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    known = set(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))
    for where, *cells in ROWS.values():
        names = re.findall(r"[\w-]+", where.replace("--to ", ""))
        assert all(name in RELATIVES or name in STAGES or name in ALL for name in names if name != "-")
        for cell in cells:
            found = re.findall(r"test_\w+", cell)
            assert set(found) <= known
            assert bool(found) == (where != "-")
            assert cell.startswith("(") == (where == "-")
