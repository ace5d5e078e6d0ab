"""docs/numba_features.md says what becomes of the features of programs/features; a dozen of them are run.

All of them, which takes long: pytest -m slow tests/compiler/end_to_end/test_numba_features.py
To write the page anew, from the folder tests: python -m programs.features
"""

import re
from itertools import groupby

import pytest
from programs.features import FEATURES
from programs.features.checking import NOT_NUMBA, RIGHT, outcomes
from programs.features.page import PAGE, printed, read

TEXT = PAGE.read_text(encoding="utf-8")
SAID = read(TEXT)
HEADINGS = {heading: list(of) for heading, of in groupby(FEATURES, key=lambda f: f.heading)}
SAMPLE = [f for f in FEATURES if f.heading.startswith(("Language", "Built-in types", "Arrays: types"))][4::17]


def test_every_feature_is_on_the_page_once():
    names = [(f.heading, f.name) for f in FEATURES]
    assert len(names) == len(set(names)) > 450
    assert set(SAID) == set(names)
    assert printed(SAID) == TEXT, "python -m programs.features, in the folder tests, writes the page anew"


def test_a_page_that_is_read_is_the_one_that_was_printed():
    found = {(f.heading, f.name): "a list, of `x`: no. Write y." if k % 3 else RIGHT for k, f in enumerate(FEATURES)}
    assert read(printed(found)) == found


def test_what_is_refused_has_a_reason_and_a_remedy():
    for feature, said in SAID.items():
        if said != RIGHT and not said.startswith(NOT_NUMBA):
            assert re.search(r"(cannot be differentiated: .+|is not supported here)\. Write .+\.$", said), feature


def test_what_is_compiled_is_right_mostly():
    compiled = [said for said in SAID.values() if not said.startswith(NOT_NUMBA)]
    assert compiled.count(RIGHT) >= 0.95 * len(compiled)


def agrees(found, said):
    """Whether the outcome is the page's, or numba refuses the feature, as other versions may."""
    return found == said or found.startswith(NOT_NUMBA)


@pytest.mark.parametrize("number", range(len(SAMPLE)), ids=[f.name for f in SAMPLE])
def test_some_features(number, tmp_path):
    of = SAMPLE[number]
    (found,) = outcomes([of], tmp_path)
    assert agrees(found, SAID[of.heading, of.name])


@pytest.mark.slow
@pytest.mark.parametrize("heading", HEADINGS)
def test_all_features(heading, tmp_path):
    of = HEADINGS[heading]
    found = outcomes(of, tmp_path)
    assert [f.name for f, x in zip(of, found, strict=True) if not agrees(x, SAID[heading, f.name])] == []
