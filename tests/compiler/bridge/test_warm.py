"""python -m dualrev.warm: what it compiles is loaded by the next process, and what is not kept is a failure."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dualrev import warm

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """
import numpy as np
from numba import njit

import dualrev as dr


@njit
def loss(x, by, power=2):
    total = 0.0
    for k in range(len(x)):
        total += by * x[k] ** power
    return total


def warm_up():
    dr.grad(loss)(np.ones(3), 2.0)


def fails():
    raise OSError("no network")


def nothing():
    pass


def plain(x):
    return x
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Folder with the module `warmed`, which is the current one."""
    (tmp_path / "warmed.py").write_text(PROGRAM, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("DUALREV_CACHE_DIR", raising=False)
    monkeypatch.delitem(sys.modules, "warmed", raising=False)
    yield tmp_path
    sys.modules.pop("warmed", None)


def test_the_next_process_loads_what_was_compiled(program, monkeypatch, capsys):
    """Both kinds of targets compile for the types of a call with contiguous arrays and defaults."""
    cache = str(program / "cache")
    monkeypatch.setenv("DUALREV_CACHE_DIR", cache)
    assert warm.main(["warmed:loss(float64[:], float64)", "--transform", "value_and_grad"]) == 0
    assert warm.main(["warmed:warm_up"]) == 0
    text = capsys.readouterr().out
    of = "loss(array(float64, 1d, C), float64, omitted(default=2))"
    assert text.count("compiled ") == 2
    assert f"compiled value_and_grad of {of} in " in text
    assert f"compiled grad of {of} in " in text
    assert text.count(f"cache: {cache}\n") == 2

    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "dualrev.warm", "warmed:warm_up", "warmed:loss(float64[:], float64)"]
    done = subprocess.run(command, cwd=program, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(f"loaded grad of {of} from the cache in ") == 1
    assert done.stdout.count("loaded value_and_grad of ") == 1
    assert "compiled" not in done.stdout


def test_what_is_not_kept_is_a_failure(program, monkeypatch, capsys):
    assert warm.main(["warmed:warm_up"]) == 1
    expected = "not cached: derivatives of loss are not cached: write @njit(cache=True), or set DUALREV_CACHE_DIR\n"
    assert capsys.readouterr().err == expected
    sys.modules.pop("warmed")
    (program / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("DUALREV_CACHE_DIR", str(program / "file"))
    with pytest.warns(RuntimeWarning, match="derivatives are not cached in"):
        assert warm.main(["warmed:warm_up"]) == 1
    assert "not cached: derivatives are not cached in " in capsys.readouterr().err


MISTAKES = {
    "warmed": "write module:function, or module:function(types)",
    "nowhere:f": "ModuleNotFoundError: No module named 'nowhere'",
    "warmed:f": "module warmed has no f",
    "warmed:np": "np is not a function",
    "warmed:fails": "OSError: no network (",
    "warmed:loss": 'loss has arguments (x, by): write their types, as in "warmed:loss(float64[:])"',
    "warmed:plain(float64)": "plain is no numba function: write @njit above it",
    "warmed:loss(float)": "(float) are no numba types",
    "warmed:loss(float64[:])": "loss(x, by, power=2) has other arguments than (float64[:])",
    "warmed:loss(int64[:], float64)": "there is nothing to differentiate with respect to",
}


def test_mistakes_are_named_and_the_other_targets_are_tried(program, capsys):
    assert warm.main(list(MISTAKES)) == 1
    lines = capsys.readouterr().err.splitlines()
    found = dict(line.removeprefix("failed: ").split(": ", 1) for line in lines if line.startswith("failed: "))
    assert list(found) == list(MISTAKES)
    assert all(found[text].startswith(message) for text, message in MISTAKES.items()), found


def test_nothing_to_compile_is_said(program, capsys):
    """It is no failure: numba loads a cached caller with the derivatives in it."""
    assert warm.main(["warmed:nothing"]) == 0
    assert capsys.readouterr().out.startswith("no derivative was compiled or loaded: numba's own cache has the callers")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--transform", "gradient"], "'gradient' is none of grad, value_and_grad, hessian"),
        (["--argnums", "x"], "'x' is no int, and no list of ints such as 0,2"),
        ([], "the following arguments are required: module:function"),
    ],
)
def test_wrong_options_are_named(options, said, capsys):
    with pytest.raises(SystemExit, match="2"):
        warm.main([*options, "warmed:loss"] if options else [])
    assert said in capsys.readouterr().err


def test_argument_types_are_those_of_a_call():
    from numba import njit, typeof

    f = njit(lambda x, y, n=3: x)
    target = warm.Target("m", "f", "(Tuple((float64[:], float64[:, ::1])), float32[::1, :])")
    assert warm.argument_types(f, target)[:2] == (
        typeof((np.ones(1), np.ones((1, 1)))),
        typeof(np.ones((2, 2), np.float32, order="F")),
    )
    assert list(map(str, warm.argument_types(f, warm.Target("m", "f", "(f8, i8)"), with_tangent=True))) == [
        *("float64", "float64", "int64", "omitted(default=3)")
    ]
