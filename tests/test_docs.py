"""docs/numpy.md lists what has a rule, and nothing else; the examples of docs/numba.md, second_order.md
and calculus.md run."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

from dualrev.eager.arrays import functions, linalg, numerics, places, products, reductions, ufuncs
from stages.calculus.__main__ import main as calculus

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "numpy.md").read_text(encoding="utf-8")
OF_SCIPY = {"erf", "erfc", "gamma", "gammaln", "psi", "expit"}
ELEMENTWISE = set(ufuncs.table_by_ufunc())  # now, before other tests add lines of their own


def listed(mark):
    """The names below a comment, those that this version of numpy has."""
    found = re.findall(r"`([\w.]+)`", PAGE.partition(f"<!-- {mark} -->\n")[2].partition("\n\n")[0])
    return {
        name for name in found if hasattr(np.linalg if "." in name else np, name.rpartition(".")[2]) or mark == "scipy"
    }


def names(found):
    return {("linalg." if "linalg" in (f.__module__ or "") else "") + f.__name__ for f in found}


def test_the_elementwise_functions():
    assert listed("scipy") == OF_SCIPY
    assert listed("elementwise") == {
        n for n in ELEMENTWISE | set(ufuncs._COMPOSED) | set(ufuncs._PRODUCTS) if hasattr(np, n)
    }


@pytest.mark.parametrize("module", [reductions, products, linalg, numerics, places])
def test_the_functions_of_a_kind_are_below_its_heading(module):
    mark = module.__name__.rpartition(".")[2]
    assert listed(mark) <= names(module.HANDLERS)


def test_all_functions_are_on_the_page_once():
    marks = ["reductions", "products", "linalg", "numerics", "places", "moving"]
    assert set().union(*map(listed, marks)) == names(functions.HANDLERS)
    assert sum(len(listed(mark)) for mark in marks) == len(names(functions.HANDLERS))


def test_what_looks_at_values():
    assert listed("values") == names(functions._OF_VALUES) | set(ufuncs._OF_VALUES)


def test_the_examples_with_numba_run():
    found = doctest.testfile(str(DOCS / "numba.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted >= 25


def test_the_examples_of_second_derivatives_run():
    found = doctest.testfile(str(DOCS / "second_order.md"), module_relative=False)
    assert found.failed == 0
    assert found.attempted >= 25


def test_the_examples_of_the_calculus_run():
    found = doctest.testfile(str(DOCS / "calculus.md"), module_relative=False)
    assert found.failed == 0
    assert found.attempted >= 15


def test_the_derivative_on_the_page_of_the_calculus_is_the_one_that_is_printed(capsys):
    text = (DOCS / "calculus.md").read_text(encoding="utf-8")
    commands = re.findall(r'(?m)^python -m stages\.calculus "(.*)" --to (\w+)$', text)
    assert commands
    for term, name in commands:
        assert calculus([term, "--to", name]) == 0
        assert f"```\n{capsys.readouterr().out}```" in text


def test_the_versions_of_python_are_the_same_everywhere():
    """Those of the package's classifiers, of the README, and those that `make` looks for."""
    root = DOCS.parent
    package, readme, makefile = (root.joinpath(x).read_text() for x in ("pyproject.toml", "README.md", "Makefile"))
    versions = re.findall(r"Python :: (3\.\d+)", package)
    minors = [int(version.partition(".")[2]) for version in versions]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert f'requires-python = ">={versions[0]}"' in package
    spoken = f"Python {versions[0]} to {versions[-1]}"
    assert spoken in readme
    assert makefile.count(spoken) == 2
    assert re.findall(r"(?<=python)3\.\d+(?=.*; do)", makefile) == versions[::-1]
    assert f"(3, {minors[0]}) <= sys.version_info < (3, {minors[-1] + 1})" in makefile
