"""The pages of the site to step through."""

import re

import pytest

pytest.importorskip("jinja2")

from stages.comparison.page.site import STEPPED, write_steppers
from stages.order import STAGES
from stages.relatives import RELATIVES

pytestmark = pytest.mark.usefixtures("timed_once")


def test_a_page_for_a_program_and_one_for_the_related_algorithms(tmp_path):
    files = write_steppers(tmp_path / "steps", ("fig1",))
    assert [file.name for file in files] == ["fig1.html", "relatives.html"]
    stages, relatives = (file.read_text(encoding="utf-8") for file in files)
    assert set(STAGES) <= set(re.findall(r'<section id="(\w+)"', stages))
    assert set(RELATIVES) <= set(re.findall(r'id="(\w+)"', relatives))


def test_an_unknown_program_is_an_error(tmp_path):
    with pytest.raises(KeyError):
        write_steppers(tmp_path, ("no_program",))
    assert "fig1" in STEPPED
