"""Constant arrays that are written with traced numbers: in `f.py_func` they can be; elsewhere the message has the cure.

The cure is pasted below the line that it names, and the function has then the right derivative.
"""

import functools
import importlib.util
import re

import numpy as np
import pytest

import dualrev as dr

#: What a function makes of a constant vector c, or of the global vector C.
MADE = [
    *("c.copy()", "np.copy(c)", "np.array(c)", "np.asarray(c).copy()", "np.full_like(c, 2.0)", "c.astype(np.float64)"),
    *("c * 1.0", "c + 0", "-c", "np.sin(c)", "c[1:].copy()", "c[np.array([0, 2])]", "c[c > 1.0]", "c[::-1].copy()"),
    *("np.sort(c)", "np.concatenate((c, c))", "np.where(c > 1.0, c, 0.0)", "np.repeat(c, 2)", "np.cumsum(c)"),
    *("np.diff(c)", "np.outer(c, c)[0].copy()", "np.diag(c) @ c", "np.linalg.inv(np.diag(c))[0].copy()"),
    *("C.copy()", "C * c", "np.exp(C)", "C[1:] - c[:-1]", "np.asarray([C[0], c[1], 2.0])"),
]
#: How it is written.
WRITTEN = [
    "u[0] = x * x",
    "u[1] += x",
    "u[:] = x",
    "u[:2] *= x",
    "u += x",
    "u *= x",
    "u[u > 0.0] = x",
    "u[-1] = u[0] * x",
]
ONLY_PYTHON = ["u.fill(x)", "np.multiply(u, x, u)", "np.put(u, [0], x)", "np.add.at(u, [0, 0], x)", "np.copyto(u, x)"]
TEXT = """
import numpy as np
from numba import njit

C = np.array([0.5, 2.0, 3.0])

@njit
def f(x, c):
    u = {made}
    {cure}
    {written}
    return np.sum(u * u) * x
"""
CASES = [(made, WRITTEN[k % len(WRITTEN)]) for k, made in enumerate(MADE)]
CASES += [("c.copy()", written) for written in (*WRITTEN, *ONLY_PYTHON)]
CONSTANT = np.array([1.5, 0.8, 2.5])


@pytest.fixture
def program(tmp_path):
    """Return a function that imports a program; messages quote its lines."""
    count = iter(range(9))

    def load(made, written, cure="pass", numba="from numba import njit"):
        """Import the program with these lines."""
        path = tmp_path / f"program_{next(count)}.py"
        path.write_text(TEXT.format(made=made, written=written, cure=cure).replace("from numba import njit", numba))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.f

    return load


def slope(f, x):
    """The central difference."""
    return (f(x + 1e-5, CONSTANT) - f(x - 1e-5, CONSTANT)) / 2e-5


@pytest.mark.parametrize(("made", "written"), CASES)
def test_the_python_function_of_a_numba_function_stores_in_arrays_made_of_constants(made, written, program):
    f = program(made, written).py_func
    before = CONSTANT.copy()
    assert dr.grad(f)(1.2, CONSTANT) == pytest.approx(slope(f, 1.2), rel=1e-8)
    assert dr.grad(f)(1.2, c=CONSTANT) == dr.grad(f, argnames="x")(1.2, CONSTANT)
    dr.check_grads(functools.partial(f, c=CONSTANT), (1.2,), order=2)
    np.testing.assert_array_equal(CONSTANT, before)


ALIASES = """
import numpy as np
from numba import njit

C = np.array([0.5, 2.0, 3.0])

@njit
def total(u):
    return np.sum(u * C)

def around(k):
    @njit
    def f(x, c):
        c[0] = x
        return np.sum(c) + np.sum(k) * x
    return f

@njit
def g(x, c):
    c[0] = x
    return total(c)

BOTH = (C, 2.0)

@njit
def t(x, c):
    c[0] = x
    return np.sum(BOTH[0]) * BOTH[1]

@njit
def two(x, c, d):
    c[0] = x
    return np.sum(c) + np.sum(d) * x

@njit
def h(x, c):
    c[:] = x
    return np.sum(c) + x
"""


def test_a_constant_that_is_also_a_global_is_not_written():
    """Numbers stored by one name would have no derivatives by the other."""
    names = {"__name__": "aliases"}
    exec(compile(ALIASES, "<aliases>", "exec"), names)
    names["f"] = names["around"](names["C"])
    for name in "fgt":
        with pytest.raises(dr.ConversionError, match="storing a number"):
            dr.grad(names[name].py_func)(0.7, names["C"])
        assert names["C"][0] == 0.5
        assert dr.grad(names[name].py_func)(0.7, names["C"].copy()) == pytest.approx(
            {"f": 6.5, "g": 0.5, "t": 0.0}[name]
        )
    assert dr.grad(names["h"].py_func)(0.7, np.zeros(0)) == 1.0
    with pytest.raises(dr.ConversionError, match="storing a number"):
        dr.grad(functools.partial(names["g"].py_func))(0.7, names["C"])
    partial = functools.partial(names["two"].py_func, d=CONSTANT)
    with pytest.raises(dr.ConversionError, match="storing a number"):
        dr.grad(partial)(0.7, CONSTANT)
    assert dr.grad(partial)(0.7, CONSTANT.copy()) == pytest.approx(1.0 + CONSTANT.sum())
    assert dr.grad(partial)(0.7, c=CONSTANT.copy(), d=names["C"]) == pytest.approx(6.5)
    assert dr.grad(functools.partial(names["two"].py_func, 0.7, d=CONSTANT))(names["C"].copy()).tolist() == [0, 1, 1]


@pytest.mark.parametrize(("made", "written"), CASES)
def test_elsewhere_the_cure_works_as_pasted(made, written, program):
    plain = "njit = lambda f: f"
    with pytest.raises(
        dr.ConversionError, match=r"storing a number .* in an array of plain numbers at .*program_0"
    ) as said:
        dr.grad(program(made, written, numba=plain))(1.2, CONSTANT)
    cure = re.search(r"Write `(u = .*?)` below the line that makes u\.", str(said.value))
    pasted = cure[1] if cure else "u = dualrev.numpy.array(u)"
    assert cure or "dualrev.numpy.array(u) for a constant array u" in str(said.value)
    f = program(made, written, pasted, f"{plain}\nimport dualrev")
    assert dr.grad(f)(1.2, CONSTANT) == pytest.approx(slope(f, 1.2), rel=1e-8)
