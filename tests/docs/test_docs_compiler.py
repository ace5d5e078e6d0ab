"""docs/compiler.md: the blocks of code on it are what the compiler prints. docs/glossary.md: its terms are used.

To write them anew: python tests/docs/test_docs_compiler.py
"""

import ast
import inspect
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

import dualrev as dr
from dualrev.compiler.driver.__main__ import table
from dualrev.compiler.driver.passes import PASSES

PAGE, LOOP = (Path(__file__).parents[2] / "docs" / name for name in ("compiler.md", "while_loop.md"))
GLOSSARY, COMPILER = PAGE.with_name("glossary.md"), PAGE.parents[1] / "dualrev" / "compiler"
BLOCK = re.compile(r"(?<=<!-- )(?P<how>[^\n]*)(?P<middle> -->\n```python\n)(?P<text>.*?)(?=```\n)", re.DOTALL)
STAGES = {"lowered", "expanded", "forward", "reverse"}


@njit
def swing(x, v, dt):
    energy = 0.0
    for k in range(len(v)):
        if x > 2.0:
            break
        x += dt * math.sin(v[k])
        energy += x * x
    return energy + np.sum(v * v)


@njit
def square_root(a, x):
    while abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


@njit
def damped(v, n):
    for _ in range(n):
        for i in range(len(v)):
            v[i] -= 0.01 * v[i] * v[i]
    return np.sum(v)


ARGUMENTS = (0.5, np.array([0.3, 0.8, 1.1]), 0.1)
GIVEN = {swing: ARGUMENTS, damped: (ARGUMENTS[1], 3), square_root: (2.0, 1.0)}


def printed(how):
    """Text that has to stand below a comment: a function, or its `derivative_source` with these keywords."""
    options = read(how)
    if "function" in options:
        return inspect.getsource(options["function"].py_func)
    f = options.pop("of", swing)
    return dr.derivative_source(f, *GIVEN[f], **options).rstrip("\n") + "\n"


def read(how):
    return {"function": swing} if how == "function" else eval(f"dict({how})")


def passes():
    """The table of passes, a row for each; and one with the name of each list."""
    rows, before = ["| pass | what it does | file |", "| --- | --- | --- |"], ""
    optional = {p.name for p in PASSES if p.optional}
    for name, called, title, files in table():
        rows += [f"| **{name}** | {HEADS[name]} | |"] * (name != before)
        before = name
        rows.append(f"| {called}{' *' * (called in optional)} | {title} | `{files.replace(', ', '`, `')}` |")
    return "\n".join(rows) + "\n"


HEADS = {
    "read": "syntax tree -> A-normal form (ANF) with types",
    "lower": "ANF -> ANF of scalars -> core",
    "optimise": "core -> core, before it is differentiated",
    "forward": "core -> core with tangents",
    "directions": "core with tangents, or both sweeps of it -> the same for several directions",
    "reverse": "core -> both sweeps, in core",
    "loops": "a loop of the reverse sweep -> what stands in its place",
    "emit": "core -> text, a function",
    "link": "text -> text, the module",
}


def regenerated(page):
    page = BLOCK.sub(lambda found: found["how"] + found["middle"] + printed(found["how"]), page)
    return re.sub(r"(?<=<!-- passes -->\n)\n?(\|[^\n]*\n)*", lambda _: passes(), page)


def test_the_page_shows_what_the_compiler_prints():
    page = PAGE.read_text(encoding="utf-8")
    hows = [found["how"] for found in BLOCK.finditer(page)]
    assert page.count("```python\n") == len(hows)
    made = [options for options in map(read, hows) if "function" not in options]
    assert {options.get("stage", "emitted") for options in made} == STAGES | {"emitted"}
    assert regenerated(page) == page, "python tests/docs/test_docs_compiler.py writes the blocks anew"


def test_the_page_of_a_loop_shows_what_the_compiler_prints():
    page = LOOP.read_text(encoding="utf-8")
    assert page.count("```python\n") == len(BLOCK.findall(page)) == 6
    assert regenerated(page) == page, "python tests/docs/test_docs_compiler.py writes the blocks anew"
    steps, x = 0, 1.0
    while abs(x * x - 2.0) > 2e-12:
        x, steps = 0.5 * (x + 2.0 / x), steps + 1
    assert steps == 5  # as the page says
    assert dr.grad(square_root)(2.0, 1.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-12)


def test_the_modules_of_the_page_are_there():
    page, folder = PAGE.read_text(encoding="utf-8") + LOOP.read_text(encoding="utf-8"), PAGE.parent.parent
    names = re.findall(r"`([\w/]+\.py)`", page)
    assert len(names) > 20
    for name in names:
        assert (folder / name).exists() or (folder / "dualrev" / "compiler" / name).exists(), name


def test_what_is_said_of_the_function_holds():
    """It breaks off for some arguments; its Hessian by x is 2 for every round."""
    x, v, dt = ARGUMENTS
    assert swing(2.5, v, dt) == np.sum(v * v) != swing(x, v, dt)
    assert dr.hvp(swing)(x, 1.0, v, dt) == 2.0 * len(v)
    assert dr.hvp(swing)(1.95, 1.0, v, 10.0 * dt) == 2.0


def glossary():
    """The two tables of the glossary: for each row the spellings of a term, and the files that it links to."""
    tables = GLOSSARY.read_text(encoding="utf-8").split("| --- | --- | --- |\n")[1:]
    rows = [[line.strip("| ").split(" | ") for line in table.partition("\n\n")[0].splitlines()] for table in tables]
    return [
        [
            (re.findall(r"[^,()\s][^,()]*[^,()\s]", term.lower()), re.findall(r"\]\(([^)]+)\)", where))
            for term, _, where in some
        ]
        for some in rows
    ]


def test_the_glossary_is_in_alphabetical_order_and_names_files_that_exist():
    fields, house = glossary()
    assert len(fields) > 70
    assert len(house) > 10
    for some in (fields, house):
        first = [spellings[0] for spellings, _ in some]
        assert first == sorted(set(first))
        for spellings, files in some:
            assert files, spellings
            assert [file for file in files if not (GLOSSARY.parent / file).is_file()] == []


def test_the_first_sentence_of_every_module_of_the_compiler_has_a_term_of_the_glossary():
    """As words of their own, or in the plural."""
    terms = {re.escape(x) for some in glossary() for spellings, _ in some for x in spellings}
    term = re.compile(rf"\b({'|'.join(terms)})(s|es)?\b", re.IGNORECASE)
    modules = [x for x in sorted(COMPILER.rglob("*.py")) if x.name != "__init__.py"]
    said = {x: ast.get_docstring(ast.parse(x.read_text(encoding="utf-8"))) for x in modules}
    first = {
        str(x.relative_to(COMPILER)): re.split(r"\n\n|\. ", text)[0].replace("\n", " ") for x, text in said.items()
    }
    assert {name: text for name, text in first.items() if not term.search(text)} == {}


if __name__ == "__main__":
    sys.path.insert(0, str(PAGE.parent.parent))
    for page in (PAGE, LOOP):
        page.write_text(regenerated(page.read_text(encoding="utf-8")), encoding="utf-8")
