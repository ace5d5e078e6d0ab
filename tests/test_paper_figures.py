"""What is checked in of the paper's figures is what the code makes now."""

import json

import pytest

from paper_figures import complexity
from paper_figures.diffs import FOLDER, diffs


def test_the_differences_between_stages_are_up_to_date():
    made = diffs()
    assert sorted(made) == sorted(file.name for file in FOLDER.glob("*.diff"))
    for name, text in made.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"{name} is stale: run `make figures`"


def test_the_costs_of_gradients_are_up_to_date():
    """At small sizes: `make figures` measures the others, too."""
    saved = json.loads(complexity.TABLE.read_text(encoding="utf-8"))
    for family, lines in complexity.ratios((4, 16)).items():
        for name, line in lines.items():
            assert {n: saved[family][name][n] for n in line} == line, "stale: run `make figures`"


def test_the_picture_of_the_costs_has_a_panel_for_each_family(tmp_path):
    pytest.importorskip("matplotlib")
    complexity.draw(complexity.ratios((4, 8)), tmp_path / "picture.svg")
    text = (tmp_path / "picture.svg").read_text(encoding="utf-8")
    assert text.startswith("<?xml")
    assert complexity.PICTURE.read_text(encoding="utf-8").startswith("<?xml")
