"""Wang et al. 2019, section 4: docs/shift_reset.md shows what staging and the compiler write for the paper's examples.

To write the code on the page anew: PYTHONPATH=. python tests/relatives/test_relatives_staging.py
"""

import importlib.util
import re
import tempfile
import types
from pathlib import Path

import numpy as np
import pytest
from support.oracle import assert_same

import dualrev as dr
from stages.relatives.continuations import lantern, shift_reset
from stages.relatives.staging.staged import REAL, TREE_OF_REALS, stage

PAGE = Path(__file__).parents[2] / "docs" / "shift_reset.md"
TREE = (np.array([1, -1, -1]), np.array([2, -1, -1]), np.array([5.0, 3.0, 2.0]))  # a root with two children
SNIPPETS = [  # the section of the page, and arguments for its functions
    ("Straight-line code", [(3.0,)]),
    ("IF", [(3.0,), (-3.0,)]),
    ("WHILE", [(9.0,), (0.5,)]),
    ("WHILE", [(9.0,), (0.5,)]),
    ("FUN", [(3.0,)]),
    ("TREE", [(0.5, *TREE)]),
]


def loaded(source, folder, name):
    """The functions of a block of the page; numba and dualrev want them in a file."""
    path = folder / f"{name}.py"
    path.write_text(f"from numba import njit\n\n\n{source}", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def staged(source):
    """The program of a block of the page that is staged."""
    scope = {name: getattr(lantern, name) for name in ("FUN", "IF", "TREE", "WHILE")}
    scope |= {"stage": stage, "REAL": REAL, "TREE_OF_REALS": TREE_OF_REALS}
    exec(source, scope)
    return scope["snippet"]


def staged_blocks():
    """The staged programs of the page with the code that they write, as it stands there."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(r"```python staged\n(.*?)```\n\n```text generated\n(.*?)```", text, re.DOTALL)


def blocks():
    """The page's functions with their derivatives, as they stand there."""
    return re.findall(
        r"```python\n((?:(?!```).)*)```\n\n```python derivative\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )


def generated(function, args):
    """The derivative without the imports above it."""
    source = dr.derivative_source(function, *args)
    return source[source.index("@njit") :].rstrip() + "\n"


@pytest.fixture(scope="module")
def snippets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shift_reset")
    return [loaded(source, folder, f"snippet_{i}") for i, (source, _) in enumerate(blocks())]


def test_every_example_of_the_page_is_under_its_heading():
    found = [part.partition("\n")[0] for part in PAGE.read_text(encoding="utf-8").split("## ")[1:]]
    assert len(blocks()) == len(SNIPPETS)
    assert [name.split(" (")[0] for name in found] == [
        *dict.fromkeys(name for name, _ in SNIPPETS),
        "Staged tensors and TreeLSTM",  # whose example runs with the other code of the page
    ]


@pytest.mark.parametrize("i", range(len(SNIPPETS)))
def test_the_derivative_on_the_page_is_the_one_that_is_generated(snippets, i):
    assert blocks()[i][1] == generated(snippets[i].snippet, SNIPPETS[i][1][0])


@pytest.mark.parametrize("i", range(len(SNIPPETS)))
def test_the_generated_derivative_is_that_of_shift_and_reset(snippets, i):
    f = snippets[i].snippet
    plain = {name: getattr(g, "py_func", g) for name, g in vars(snippets[i]).items()}
    in_python = types.FunctionType(f.py_func.__code__, plain)
    for name in ("tree", "square"):
        if name in plain:
            plain[name] = types.FunctionType(plain[name].__code__, plain)
    for args in SNIPPETS[i][1]:
        y, pullback = shift_reset.vjp(in_python, *args)
        assert_same(dr.value_and_grad(f)(*args), (y, pullback(1.0)[0]), rtol=1e-15)


def test_the_examples_have_the_derivatives_of_the_paper(snippets):
    straight, branch, halving, _, _, tree = (dr.grad(s.snippet) for s in snippets)
    assert straight(3.0) == 6.0  # return 2 * in
    assert (branch(3.0), branch(-3.0)) == (-6.0, -6.0)  # -2.0 * in and 2.0 * in
    assert halving(9.0) == 0.5**4
    assert tree(0.5, *TREE) == pytest.approx(4 * 0.5**3 * 5.0 * 3.0 * 2.0)  # x^4 times the values


@pytest.mark.parametrize("i", range(len(SNIPPETS)))
def test_the_generated_code_on_the_page_is_the_one_that_is_written(i):
    source, code = staged_blocks()[i]
    assert staged(source).paper == code


def test_the_compiled_text_on_the_page_is_the_one_that_is_written():
    (text,) = re.findall(r"```text compiled\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert staged(staged_blocks()[-1][0]).numba == text


@pytest.mark.parametrize("i", range(len(SNIPPETS)))
def test_staged_compiled_and_derived_programs_agree(snippets, i):
    program = staged(staged_blocks()[i][0])
    for args in SNIPPETS[i][1]:
        given = (args[0], args[1:]) if len(args) > 1 else args
        assert_same(program.in_python(*given), dr.value_and_grad(snippets[i].snippet)(*args), rtol=1e-15)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        text = PAGE.read_text(encoding="utf-8")
        for i, (source, old) in enumerate(blocks()):
            module = loaded(source, Path(folder), f"snippet_{i}")
            new = generated(module.snippet, SNIPPETS[i][1][0])
            before = f"```python\n{source}```\n\n```python derivative\n"
            text = text.replace(f"{before}{old}```", f"{before}{new}```")
        for source, old in staged_blocks():
            before = f"```python staged\n{source}```\n\n```text generated\n"
            text = text.replace(f"{before}{old}```", f"{before}{staged(source).paper}```")
        last = staged(staged_blocks()[-1][0]).numba
        text = re.sub(r"```text compiled\n.*?```", lambda _: f"```text compiled\n{last}```", text, flags=re.DOTALL)
        PAGE.write_text(text, encoding="utf-8")
