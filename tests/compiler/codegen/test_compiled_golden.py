"""The emitted source of six programs stands in tests/golden: a change of the compiler shows there.

To write the files anew: python tests/compiler/codegen/test_compiled_golden.py
"""

import re
import sys
from pathlib import Path

import numba
import pytest

FOLDER = Path(__file__).parents[2] / "golden"
NAMES = ["dot", "pendulum", "newton", "quaternions", "cholesky", "time_warping"]

sys.path.insert(0, str(FOLDER.parent.parent))  # for the run as a script

from bench.programs.array_programs import EVERY  # noqa: E402
from dualrev.compiler.bridge.make_dispatcher import derivative  # noqa: E402
from dualrev.compiler.driver.emit import emit  # noqa: E402


def source(name):
    program = EVERY[name]
    types = tuple(map(numba.typeof, program.make(program.small)))
    return emit(program.function, "value_and_grad", program.argnums, types).source


@pytest.mark.parametrize("name", NAMES)
def test_the_emitted_source_is_the_one_that_was_read(name):
    assert source(name) == (FOLDER / f"{name}.txt").read_text()


def test_two_calls_whose_derivatives_say_the_same_share_them():
    """One of them has a cotangent that is known: other facts, and the same text."""
    text, made = source("mixture"), ["log_sum_exp_forward", "log_sum_exp_reverse"]
    assert re.findall(r"def (log_sum_exp_\w+)\(", text) == made
    assert all(text.count(f"{f}(") > 2 for f in made)


def test_a_recursive_function_that_is_differentiated_itself_is_derived_once():
    """Both sweeps of it are two calls."""
    text = source("minors")
    functions = ["minors_forward", "minor_reverse", "minors_reverse", "minors_sweeps", "value_and_grad_minors"]
    assert re.findall(r"^def (\w+)\(", text, re.M) == functions
    assert "result_0 = minors_forward(matrix, tape)\n" in text


@pytest.mark.parametrize("name", NAMES)
def test_the_source_is_the_same_again(name):
    """Nothing in it depends on the order of sets."""
    assert source(name) == source(name)


def test_a_recursive_function_is_derived_and_compiled_once():
    """A call of it from outside knows more, such as which node is the first one."""
    text = source("tree_network")
    assert re.findall(r"def (encoded_\w+)\(", text) == ["encoded_forward", "encoded_reverse"]
    assert "encoded_forward(w, b, words_, left, right, np.int64(0)," in text
    program = EVERY["tree_network"]
    gradient = derivative(program.function, "value_and_grad", program.argnums)
    gradient(*program.make(program.small))
    (entry,) = gradient._entries.values()
    functions = entry.py_func.__globals__
    assert [len(functions[f"encoded_{x}"].overloads) for x in ("forward", "reverse")] == [1, 1]


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in NAMES:
        (FOLDER / f"{name}.txt").write_text(source(name))
