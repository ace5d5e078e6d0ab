"""docs/numpy.md and docs/numba/supported.md list what the table of functions has, and nothing else; the examples of the
pages numpy.md, second_order.md, sparse.md and calculus.md run.

To write the lists anew: python tests/docs/test_docs.py
"""

import doctest
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from dualrev.eager.arrays import assignment, defined, fourier, functions, numerics, reductions, ufuncs
from dualrev.eager.arrays.linear_algebra import linalg, products
from dualrev.rules.functions import TABLE
from stages.calculus.__main__ import main as calculus

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [DOCS / "numpy.md", DOCS / "numba" / "supported.md"]
BLOCK = re.compile(r"(?<=<!-- )(?P<mark>[a-z ]+)(?P<middle> -->\n)(?P<text>.*?\n)(?=\n)", re.DOTALL)
TOPICS = ["elementwise", "scipy", "reductions", "products", "linalg", "numerics", "fourier", "places", "moving"]
TOPICS += ["values"]
ELEMENTWISE = set(ufuncs.table_by_ufunc())  # now, before other tests add lines of their own

#: What numba functions may call, by heading.
COMPILED = {
    "Python's, and types": lambda f: "." not in f.name or f.scalar == "float",
    "Of `math`": lambda f: f.name.startswith("math."),
    "Elementwise, of numbers and arrays": lambda f: f.topic == "elementwise" and f.kind != "discrete",
    "Making arrays": lambda f: f.topic == "" and (f.makes or f.core) and f.name.startswith("np."),
    "Moving, choosing, joining, writing": lambda f: f.topic in ("moving", "places"),
    "Sums, extremes, order statistics": lambda f: f.topic == "reductions",
    "Products": lambda f: f.topic == "products",
    "Linear algebra": lambda f: f.topic == "linalg",
    "Differences, interpolation, statistics": lambda f: f.topic == "numerics",
    "What looks at values": lambda f: f.topic == "values",
    "Of ints": lambda f: f.topic in ("", "elementwise") and f.kind == "discrete" and f.name.startswith("np."),
}


def names(lines):
    """Names of functions on the pages: without the module for numpy, math and SciPy."""
    found = {re.sub(r"^(np|math|scipy\.special)\.", "", f.name) for f in lines}
    return sorted(found, key=lambda name: ("." in name, name))


def printed(mark):
    """Text that has to stand below a comment."""
    if mark == "functions":
        lines = [f for f in TABLE.values() if f.compiled]
        parts = [f"- {title}: {listed(names(filter(of, lines)))}" for title, of in COMPILED.items()]
        return "\n".join(wrapped(part, "  ") for part in parts) + "\n"
    return wrapped(listed(names(f for f in TABLE.values() if f.topic == mark)), "") + "\n"


def listed(found):
    return ", ".join(f"`{name}`" for name in found)


def wrapped(text, indent):
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def regenerated(page):
    return BLOCK.sub(lambda found: found["mark"] + found["middle"] + printed(found["mark"]), page)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_lists_are_those_of_the_table(path):
    page = path.read_text(encoding="utf-8")
    marks = [found["mark"] for found in BLOCK.finditer(page)]
    assert marks == (TOPICS if path.name == "numpy.md" else ["functions"])
    assert regenerated(page) == page, "python tests/docs/test_docs.py writes the lists anew"


def test_all_that_the_compiler_knows_is_on_the_page_once():
    for f in TABLE.values():
        assert not f.compiled or sum(bool(of(f)) for of in COMPILED.values()) == 1, f.name


def of_this_numpy(topic):
    """The functions of a topic that this version of numpy has."""
    return {f.function for f in TABLE.values() if f.topic == topic and f.function is not None}


def test_the_elementwise_functions():
    known = ELEMENTWISE | set(ufuncs._COMPOSED) | set(ufuncs._CORES)
    found = {f.name.removeprefix("np.").removeprefix("scipy.special.") for f in TABLE.values()}
    assert known <= found
    assert {f.__name__ for f in of_this_numpy("elementwise")} <= known


@pytest.mark.parametrize("module", [reductions, products, linalg, numerics, fourier, assignment])
def test_the_functions_of_a_kind_are_below_its_heading(module):
    name = module.__name__.rpartition(".")[2]
    assert set(module.HANDLERS) == of_this_numpy("places" if module is assignment else name)


def test_the_tape_has_a_rule_for_all_others():
    """A handler, or a definition or a selection of the table."""
    topics = ["reductions", "products", "linalg", "numerics", "fourier", "places", "moving"]
    every = set().union(*map(of_this_numpy, topics))
    assert set(functions.HANDLERS) <= every
    assert all(map(defined.by_table, every - set(functions.HANDLERS)))


def test_what_the_page_for_contributors_shows_is_in_the_repository():
    """Its code line by line; the folders, files and targets that it names."""
    root = DOCS.parent
    page = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"<!-- (\S+) -->\n *```python\n(.*?) *```", page, re.DOTALL)
    assert len(blocks) == page.count("```python") >= 7
    for path, block in blocks:
        text, shown = (
            "\n".join(line.strip() for line in x.splitlines()) for x in (root.joinpath(path).read_text(), block)
        )
        assert shown in text, f"{path} has no {shown}"
    rooms = [root, root / "dualrev", root / "dualrev" / "compiler", root / "dualrev" / "rules" / "functions"]
    named = re.findall(r"`([\w/.]+(?:/\w+|\.py))`", page)
    assert len(named) > 15
    assert not [name for name in named if not any((room / name).exists() for room in rooms)]
    targets = re.findall(r"(?m)^([\w-]+):", root.joinpath("Makefile").read_text())
    assert set(re.findall(r"make ([\w-]+)", page)) <= {*targets, "sure"}


def test_the_examples_with_complex_numbers_run():
    found = doctest.testfile(str(DOCS / "numpy.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted >= 5


def test_the_examples_of_second_derivatives_run():
    found = doctest.testfile(str(DOCS / "second_order.md"), module_relative=False)
    assert found.failed == 0
    assert found.attempted >= 25


def test_the_examples_of_sparse_derivatives_run():
    found = doctest.testfile(str(DOCS / "sparse.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted >= 25


def test_the_examples_of_the_calculus_run():
    found = doctest.testfile(str(DOCS / "calculus.md"), module_relative=False)
    assert found.failed == 0
    assert found.attempted >= 15


def test_the_derivative_on_the_page_of_the_calculus_is_the_one_that_is_printed(capsys):
    text = (DOCS / "calculus.md").read_text(encoding="utf-8")
    commands = re.findall(r'(?m)^python -m stages\.calculus "(.*)" --to ([\w-]+)$', text)
    assert commands
    for term, name in commands:
        assert calculus([term, "--to", name]) == 0
        assert f"```\n{capsys.readouterr().out}```" in text


def test_the_commands_of_the_page_for_contributors_run():
    """make reads its targets; scripts look whether there is something to write; other commands print their help."""
    root = DOCS.parent
    page = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    spans = [" ".join(x.split()) for x in re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", page, flags=re.DOTALL))]
    lines = [x.strip() for block in re.findall(r"```\n(.*?)```", page, re.DOTALL) for x in block.splitlines()]
    found = [x for x in (*spans, *lines) if re.match(r"(make |cd |(PYTHONPATH=\. )?\S*python |DUALREV_\w+=\S+ )", x)]
    assert len(found) >= 15
    for command in found:
        assert all((root / name).exists() for name in re.findall(r"tests/[\w/]+\.py", command)), command
        if command.startswith("make "):
            asked = re.sub(r"PYTHON=\S+", "", command) + " --dry-run"
        elif "tests/test_" in command:
            asked = command + " --check"
        else:
            asked = re.sub(r"(-m [\w.]+).*", r"\1 --help", command)
        asked = re.sub(r"\S*python (?=tests|-m)", f"{sys.executable} ", asked)
        done = subprocess.run(asked, shell=True, cwd=root, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr}"


if __name__ == "__main__":
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = regenerated(before)
        if "--check" not in sys.argv:
            page.write_text(after, encoding="utf-8")
        elif after != before:
            sys.exit(f"{page} is out of date")
