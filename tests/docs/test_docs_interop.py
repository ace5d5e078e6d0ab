"""The examples of docs/interop.md run, where their libraries are installed."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

import dualrev as dr

PAGE = Path(__file__).parents[2] / "docs" / "interop.md"
INTRODUCTION, *SECTIONS = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
NEEDED = {
    "JAX": "jax",
    "PyTorch": "torch",
    "PyTensor and PyMC": "pytensor",
    "nutpie": "nutpie",
    "CasADi": "casadi",
    "Ipopt by cyipopt": "cyipopt",
    "SciPy's LowLevelCallable": "scipy",
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The file that the page begins with, as a module."""
    path = tmp_path_factory.mktemp("page") / "model.py"
    path.write_text(re.search(r"```python\n(.*?)```", INTRODUCTION, re.DOTALL)[1], encoding="utf-8")
    spec = importlib.util.spec_from_file_location("model", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.filterwarnings("ignore")  # ArviZ announces its next version
@pytest.mark.parametrize("section", SECTIONS, ids=NEEDED.values())
def test_the_page(section, model):
    heading = section.splitlines()[0]
    name = NEEDED[heading]
    pytest.importorskip(name, reason=f"{name} is not installed", exc_type=ImportError)  # cyipopt may lack Ipopt
    example = doctest.DocTestParser().get_doctest(section, vars(model) | {"dr": dr}, heading, str(PAGE), 0)
    assert doctest.DocTestRunner().run(example).failed == 0
