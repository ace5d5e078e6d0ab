"""python -m dualrev.warm --source: a derivative in a file equals dr.grad, and needs none of the compiler's passes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dualrev as dr
from dualrev import warm

ROOT = Path(__file__).resolve().parents[3]

USER = """
import math

import numpy as np
from numba import float64, njit
from numba.experimental import jitclass
from numba.extending import register_jitable

import dualrev as dr

W, PAIR = np.array([1.0, 2.0]), (np.array([3.0]), 4.0)


@njit
def kinds(n):
    found = set()
    for k in range(n):
        found.add(k % 3)
    return len(found) // (n - 4)


@njit
def weight(x):
    return math.exp(-x * x) * W[1]


@njit
def swept(p, t):  # callees, an array that is overwritten, and a kept callee that divides ints
    total = 0.0
    for k in range(len(t)):
        p[0] = p[0] * 0.5 + weight(t[k] * p[1]) * PAIR[0][0]
        total += p[0] ** 2 * kinds(len(t))
    return total


@njit
def product(a, x, callee):
    x_1, x_12 = a @ x, x * callee
    return np.sum(x_1 * x_12) + x_12[0]


@njit
def rows(x):
    return x * np.sum(x * x)


class Names:
    @staticmethod
    @njit
    def nested(x):
        return np.tanh(x) * W[1]


@njit
def any_count(*xs):
    return xs[0]


@njit("float64(float64)")
def declared(x):
    return x * x


def enclosed(table):
    @njit
    def f(x):
        return x * table[0]
    return f


closed = enclosed(np.array([1.0, 2.0]))


@njit
def inner(x):
    return dr.grad(weight)(x)


@register_jitable
def helper(x):
    return x * x * W[1]


@njit
def jitted_inside(x):
    return helper(x)


@jitclass([("a", float64)])
class Point:
    def __init__(self, a):
        self.a = a


@njit
def holding(x):
    return Point(x).a
"""

CHILD = """
import importlib.abc, json, sys

ALLOWED = {"dualrev.compiler", "dualrev.compiler.bridge", "dualrev.compiler.bridge.numba_ext", "dualrev.compiler.ir",
           "dualrev.compiler.ir.local_names", "dualrev.compiler.frontend", "dualrev.compiler.frontend.reading"}
ALLOWED |= {"dualrev.compiler.frontend.reading." + x for x in ("ad_operators", "njit_options")}
ALLOWED |= {"dualrev.compiler.bridge.numba_ext." + x for x in ("emitted_functions", "exception_cleanup", "register")}


class Refusing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        runtime = name.startswith(("dualrev.compiler.runtime", "dualrev.compiler.types"))
        if name.startswith("dualrev.compiler") and not runtime and name not in ALLOWED:
            raise ImportError(f"{name} is a pass of the compiler")


sys.meta_path.insert(0, Refusing())
import numba
import numpy as np
import slope_0, slope_1, slope_2, slope_3, slope_4


def plain(x):
    return [plain(part) for part in x] if isinstance(x, tuple) else np.asarray(x).tolist()


def error(f, *args):
    try:
        return str(f(*args))
    except Exception as e:
        return f"{type(e).__name__}: {e}"


T, A = np.linspace(0.1, 1.0, 5), np.arange(4.0).reshape(2, 2)
caller = numba.njit(lambda x: slope_4.grad_nested(x) + 1.0)
print(json.dumps([
    plain(slope_0.value_and_grad_swept(np.array([0.3, 0.7]), T)),
    plain(slope_1.hessian_swept(np.array([0.3, 0.7]), T)),
    plain(slope_2.value_and_grad_product(A, np.ones(2), 2.0)),
    plain(slope_3.jacobian_rows(np.array([1.0, 2.0]))),
    plain(slope_4.grad_nested(0.5)),
    caller(0.5) - 1.0,
    error(slope_0.value_and_grad_swept, np.array([0.3, 0.7]), T[:4]),
    error(slope_4.grad_nested, 1),
]))
"""

WRITTEN = [
    ("value_and_grad", "0", "swept(float64[:], float64[:])"),
    ("hessian", "0", "swept(float64[:], float64[:])"),
    ("value_and_grad", "0,1", "product(float64[:, :], float64[:], float64)"),
    ("jacobian", "0", "rows(float64[:])"),
    ("grad", "0", "Names.nested(float64)"),
]


@pytest.fixture
def user(tmp_path, monkeypatch):
    """Module of the user's functions, importable from the current folder."""
    (tmp_path / "user_functions.py").write_text(USER, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    import user_functions

    yield user_functions
    del sys.modules["user_functions"]


def test_derivatives_in_files_run_without_the_compiler(user, tmp_path, capsys):
    """Five files in one process that cannot import the passes; the oracle is the tape."""
    for k, (transform, argnums, text) in enumerate(WRITTEN):
        words = ["--source", f"slope_{k}.py", "--transform", transform, "--argnums", argnums]
        assert warm.main([*words, f"user_functions:{text}"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "wrote slope_0.py: value_and_grad_swept for (array(float64, 1d, C), array(float64, 1d, C))"
    first = (tmp_path / "slope_2.py").read_text(encoding="utf-8").splitlines()[0]
    command = "python -m dualrev.warm --source slope_2.py --transform value_and_grad --argnums 0,1 "
    assert first.startswith(f"# Written by `{command}'user_functions:product(float64[:, :], float64[:], float64)'`: ")
    assert f"dualrev {dr.__version__}, numba " in first

    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "-W", "error", "-c", CHILD]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    swept, hessian, product, rows, nested, called, divided, refused = json.loads(done.stdout)

    t, a, x = np.linspace(0.1, 1.0, 5), np.arange(4.0).reshape(2, 2), np.ones(2)
    p = np.array([0.3, 0.7])
    value, gradient = dr.value_and_grad(user.swept.py_func)(p.copy(), t)
    np.testing.assert_allclose(swept[0], value, rtol=1e-14)
    np.testing.assert_allclose(swept[1], gradient, rtol=1e-12)
    np.testing.assert_allclose(hessian, dr.hessian(user.swept.py_func)(p, t), rtol=1e-12)
    value, gradients = dr.value_and_grad(user.product.py_func, (0, 1))(a, x, 2.0)
    np.testing.assert_allclose(product[0], value, rtol=1e-14)
    for found, expected in zip(product[1], gradients, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    np.testing.assert_allclose(rows, [[7.0, 4.0], [4.0, 13.0]], rtol=1e-14)
    np.testing.assert_allclose([nested, called], 2.0 * (1.0 - np.tanh(0.5) ** 2), rtol=1e-14)
    assert divided == "ZeroDivisionError: integer division by zero"
    assert refused.startswith("TypingError: grad_nested was written for the types (float64), and got (int64). Convert")


def test_another_version_writes_the_file_again(user, tmp_path, monkeypatch):
    assert warm.main(["--source", "old.py", "--transform", "grad", "user_functions:Names.nested(float64)"]) == 0
    text = (tmp_path / "old.py").read_text(encoding="utf-8").replace(f"'{dr.__version__}'", "'0.0.1'")
    (tmp_path / "old.py").write_text(text, encoding="utf-8")
    again = r"Write it again: python -m dualrev\.warm --source old\.py --transform grad "
    with pytest.raises(ImportError, match=rf"old\.py was written by dualrev 0\.0\.1, and this is .*{again}"):
        __import__("old")


REFUSED = {
    "closed(float64)": "`table`: it is a value of the enclosing function. Write a global, or an argument.",
    "any_count(float64)": "*args: the file is for one number of arguments. Write a function with a parameter for each",
    "declared(float64)": "declared signatures: numba converts the arguments to the declared types, and a file",
    "inner(float64)": "`weight`: the compiler has made it. Write the command without --source, which fills the cache.",
    "jitted_inside(float64)": "`helper`: numba compiles it inside of its callers only. Write @njit above it.",
    "holding(float64)": "a value of type numba.experimental.jitclass.base.JitClassType: it has no importable name",
}


def test_what_has_no_importable_name_is_refused(user, tmp_path, capsys):
    for text, message in REFUSED.items():
        assert warm.main(["--source", "out.py", "--transform", "grad", f"user_functions:{text}"]) == 1
        said = capsys.readouterr().err
        place = f"failed: user_functions:{text}: {tmp_path / 'user_functions.py'}:"
        assert said.startswith(place)
        assert f": the derivative cannot be written to a file: {message}" in said
    assert not (tmp_path / "out.py").exists()


def test_the_types_and_one_transform_are_needed(user, capsys):
    assert warm.main(["--source", "out.py", "user_functions:swept"]) == 1
    assert "write the types of the arguments, as in" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        warm.main(["--source", "out.py", "--transform", "grad,hessian", "user_functions:rows(float64[:])"])
    assert "--source takes one function with its types" in capsys.readouterr().err
