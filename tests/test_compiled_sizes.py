"""Numba functions of arrays without elements, of one row, one column and one element: what numba makes of them.

One program makes many calls: `k` says which. The value and the errors of its derivatives are those of the program, and
the gradient and `jvp` agree with one another and with differences.
"""

import numpy as np
import pytest
from numba import njit, types
from numba.extending import overload
from sizes import numbers

import dualrev as dr

VECTOR = """
np.sum(x), np.mean(x), np.var(x), np.max(x), np.median(x), np.nanstd(x), np.std(x), np.cumsum(x), np.diff(x)
np.quantile(x, 0.3), np.percentile(x, 100.0), np.quantile(x, np.array([0.0, 0.7])), np.nanquantile(x, 0.3)
np.interp(x, x, x), np.interp(x, np.array([0.0, 1.0]), np.array([1.0, 3.0])), np.sort(x), np.concatenate((x, x[:0]))
np.dot(x, x), x[5:], x[:-1] * x[1:]
"""
MATRIX = """
np.sum(x, axis=0), np.mean(x), np.prod(x), x @ x.T, x.T @ x, np.linalg.det(x), np.linalg.inv(x), np.cov(x)
np.linalg.norm(x), np.concatenate((x, x), axis=1), np.trace(x), x[:, :0], np.ravel(x)
"""


def shape_of(made):
    """A number that tells shapes apart."""


@overload(shape_of)
def _shape_of(made):
    if isinstance(made, types.Array) and made.ndim:
        return weighted
    return lambda made: 0.5


def weighted(made):
    total = 0.0
    for k, n in enumerate(made.shape):
        total += n * (k + 1.0)
    return total


def program(text):
    """A numba function of k and x: the k-th call's sum of squares, with its shape; and how many calls there are."""
    calls = [call for line in text.strip().splitlines() for call in split(line)]
    lines = ["def f(k, x):"]
    for k, call in enumerate(calls):
        lines += [f"    if k == {k}:", f"        r{k} = {call}"]
        lines += [f"        return np.sum(np.asarray(r{k}) * np.asarray(r{k})) + shape_of(r{k})"]
    return calls, "\n".join([*lines, "    return np.sum(x)", ""])


def split(line):
    """The calls of a line, between which there are commas outside of brackets."""
    depth, start, found = 0, 0, []
    for k, c in enumerate(line):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            found.append(line[start:k].strip())
            start = k + 1
    return [*found, line[start:].strip()]


def outcome(f):
    try:
        return f(), None
    except Exception as error:
        return None, type(error)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        (VECTOR, [(0,), (1,)]),
        (MATRIX, [(1, 1), (0, 0), (0, 3), (3, 0), (1, 3), (3, 1)]),
    ],
    ids=["vector", "matrix"],
)
def test_values_and_errors_are_numba_s(text, shapes, tmp_path):
    calls, source = program(text)
    path = tmp_path / "sizes.py"
    path.write_text(source)
    names = {"np": np, "shape_of": shape_of}
    exec(compile(source, str(path), "exec"), names)
    f = njit(names["f"])
    both = dr.value_and_grad(f, 1)
    for k, call in enumerate(calls):
        for shape in shapes:
            x, where = numbers(shape, 0.31), f"{call} of {shape}"
            plain, error = outcome(lambda k=k, x=x: f(k, x.copy()))
            found, raised = outcome(lambda k=k, x=x: both(k, x.copy()))
            forth, also = outcome(lambda k=k, x=x: dr.jvp(f, (k, x.copy()), (None, np.ones(x.shape))))
            assert raised is also is error, where
            if error is None:
                value, gradient = found
                np.testing.assert_allclose([value, forth[0]], [plain, plain], rtol=1e-12, err_msg=where)
                assert gradient.shape == shape, where
                np.testing.assert_allclose(np.sum(gradient), forth[1], rtol=1e-9, atol=1e-12, err_msg=where)
                ends = [outcome(lambda k=k, z=x + s * 1e-6: f(k, z))[0] for s in (1, -1)]
                if None not in ends and np.isfinite(ends).all():
                    slope = (ends[0] - ends[1]) / 2e-6
                    np.testing.assert_allclose(forth[1], slope, rtol=1e-5, atol=1e-7, err_msg=where)
