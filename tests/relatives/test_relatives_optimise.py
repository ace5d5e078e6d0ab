"""Dead code elimination and constant folding of generated code (Wang et al. 2019, section 4.1)."""

import pytest

from dualrev import math as dm
from stages.relatives.continuations.lantern import IF
from stages.relatives.staging.code import StagingError
from stages.relatives.staging.optimise import optimised
from stages.relatives.staging.running import in_python
from stages.relatives.staging.staged import REAL, stage


def text(f, results):
    return optimised(f.parameters, f.block, results)


def test_the_example_of_the_paper():
    snippet = stage(lambda x: x * x, REAL)
    assert text(snippet, snippet.results[1:]) == "def snippet(x0):\n    return 2.0 * x0\n"
    assert text(snippet, snippet.results) == "def snippet(x0):\n    v0 = x0 * x0\n    return v0, 2.0 * x0\n"


@pytest.mark.parametrize(
    ("f", "returned"),
    [
        (lambda x: x + x, "2.0"),
        (lambda x: 3.0 * x - x, "2.0"),
        (lambda x: x - x, "0.0"),  # terms that cancel
        (lambda x: dm.sin(2.0 * x), "2.0 * cos(v0)"),
        (lambda x: dm.sin(x) * 0.0 + 4.0 * x, "4.0"),
        (lambda x: x * x * x, "v0 + 2.0 * x0 * x0"),
    ],
)
def test_constants_are_folded_and_equal_terms_added(f, returned):
    snippet = stage(f, REAL)
    assert text(snippet, snippet.results[1:]).splitlines()[-1] == f"    return {returned}"


def wasteful(x, y):
    dm.exp(x * y)  # thrown away
    return (x - y) ** 2.0 * dm.exp(x) + y**x - dm.tanh(x / y) / (1.0 + x * x)


def shared(x, y):
    for _ in range(5):
        x, y = x * y + 0.5 * x, dm.sin(x) - y
    return x + y * y


@pytest.mark.parametrize("f", [wasteful, shared, lambda x, y: dm.maximum(x, y) * abs(x - y), lambda x, y: 2.0])
def test_the_results_are_those_of_the_generated_code(f):
    snippet = stage(f, REAL, REAL)
    run = in_python(text(snippet, snippet.results), "snippet")
    for point in ((0.7, 1.3), (1.9, 0.4)):
        assert run(*point) == pytest.approx(snippet.in_python(*point), rel=1e-13)


def test_dead_code_is_gone():
    snippet = stage(wasteful, REAL, REAL)
    assert snippet.python.count("exp(") > text(snippet, snippet.results).count("exp(")
    slope = text(snippet, snippet.results[1:])
    assert len(slope.splitlines()) < len(text(snippet, snippet.results).splitlines()) < len(snippet.python.splitlines())


def test_a_branch_is_refused():
    snippet = stage(lambda x: IF(x > 0.0, lambda: x, lambda: -x), REAL)
    with pytest.raises(StagingError, match="only straight-line code is optimised, and this code has Fun"):
        text(snippet, snippet.results)
