"""Cures that are applied as the message says: the function with the cure has the right derivative.

Each message once led in a circle, or named something that the line does not have.
"""

import math
import statistics

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
import scipy.stats

import dualrev as dr
from dualrev import numpy as dnp
from dualrev.scipy import sparse

V = np.array([1.5, 2.0, 3.0])
M = np.array([[2.0, 0.3, 0.1], [0.4, 1.5, 0.2], [0.5, 0.6, 0.7]])
TRIANGLE = scipy.sparse.csr_array(np.triu(M))
MASK = np.array([False, True, False])
RNG = np.random.default_rng(0)
COO = TRIANGLE.tocoo()


def as_product(x):
    return sparse.Sparse(COO.data, COO.row, COO.col, COO.shape) @ x


#: The function, words of the message, and the function with the cure.
CURES = {
    "a method of a plain array": (
        lambda x: M.dot(x)[0],
        "Write np.dot(a, ...) for the array's method a.dot(...)",
        lambda x: np.dot(M, x)[0],
    ),
    "a float of numpy": (
        lambda x: np.float64(x[0]) * x[1],
        "Leave float64(...) out: the number is a float in double precision",
        lambda x: x[0] * x[1],
    ),
    "Python's float": (lambda x: float(x[0]) * x[1], "Leave float(...) out", lambda x: x[0] * x[1]),
    "math beside a generator": (
        lambda x: math.sin(x[0]) + 0.0 * RNG.normal(0.0, 1.0),
        "Write `from dualrev import math` for Python's `math`",
        lambda x: dr.math.sin(x[0]) + 0.0 * RNG.normal(0.0, 1.0),
    ),
    "a masked array": (
        lambda x: np.ma.array(x, mask=MASK).sum(),
        "Write np.where(mask, 0.0, x) for an array x with a mask",
        lambda x: np.where(MASK, 0.0, x).sum() * x[0],
    ),
    "a matrix that is made": (
        lambda x: np.matrix([x, x])[0, 0],
        "Write np.stack([a, b]) for a matrix of rows",
        lambda x: np.sum(np.stack([x, x]) @ x),
    ),
    "a matrix in an operation": (
        lambda x: (np.matrix(M) @ x)[0, 0],
        "Write np.asarray(m) for the matrix m",
        lambda x: (np.asarray(np.matrix(M)) @ x)[0],
    ),
    "np.r_": (
        lambda x: np.r_[x, 1.0].sum(),
        "Write `from dualrev import numpy as np` for np.r_",
        lambda x: np.sum(dnp.r_[x, 1.0] ** 2),
    ),
    "np.mgrid": (
        lambda x: np.mgrid[0.0 : x[0] : 1.0].sum(),
        "np.arange for np.mgrid",
        lambda x: np.sum(dnp.arange(0.0, 2.0, x[0]) ** 2),
    ),
    "a mean of statistics": (
        lambda x: statistics.fmean([x[0], x[1] * x[2]]),
        "Write np.mean(x), np.median(x) or np.std(x, ddof=1) of the array x = np.stack(list)",
        lambda x: np.mean(np.stack([x[0], x[1] * x[2]])),
    ),
    "a deviation of statistics": (
        lambda x: statistics.stdev(list(x)),
        "np.std(x, ddof=1)",
        lambda x: np.std(np.stack(list(x)), ddof=1),
    ),
    "cross of two elements": (
        lambda x: np.cross(x[:2], x[1:]),
        "Write a[0] * b[1] - a[1] * b[0] for those of 2",
        lambda x: x[0] * x[2] - x[1] * x[1],
    ),
    "the bits of a number": (
        lambda x: x[0].view(int) * x[0],
        "Write np.float64(dualrev.value(x)).view(...), which is a constant",
        lambda x: (np.float64(dr.value(x[0])).view(int) > 0) * x[0],
    ),
    "the bits of an array": (
        lambda x: x.view(np.int64)[0] * x[0],
        "Write dualrev.value(x).view(...), which is a constant",
        lambda x: (dr.value(x).view(np.int64)[0] > 0) * x[0],
    ),
    "a product of a constant sparse matrix": (
        lambda x: (TRIANGLE @ x).sum(),
        "Write `from dualrev.scipy import sparse`, and sparse.Sparse(a.data, a.row, a.col, a.shape) @ x for the",
        lambda x: as_product(x).sum() * x[0],
    ),
    "its method dot": (lambda x: TRIANGLE.dot(x).sum(), "with a = A.tocoo()", lambda x: as_product(x)[0]),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("name", CURES)
def test_the_cure_of_a_message_works(name):
    f, words, cured = CURES[name]
    with pytest.raises((dr.ConversionError, dr.UnsupportedError)) as refused:
        dr.grad(f)(V)
    assert words in str(refused.value)
    assert "test_cures.py:" in str(refused.value)
    dr.check_grads(cured, (V,), order=2)


def test_the_sparse_product_has_the_value_of_scipy():
    np.testing.assert_allclose(dr.vjp(as_product, V)[0], TRIANGLE @ V, rtol=1e-15)


SIZES = {
    "an array": (lambda x: np.zeros(x[0]).sum(), "integer"),
    "an index": (lambda x: [1.0, 2.0][x[0]], "list indices must be integers"),
    "a range": (lambda x: sum(range(x[0])), "cannot be interpreted as an integer"),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_number_as_a_size_is_pythons_own_error(name):
    """As for any float; no function in C is to blame."""
    f, words = SIZES[name]
    with pytest.raises(TypeError, match=words) as found:
        dr.grad(f)(V)
    assert not isinstance(found.value, dr.DualrevError)


NOTED = {
    "eigsh": (
        lambda x: scipy.sparse.linalg.eigsh(np.diag(x), 1)[0][0],
        "scipy.sparse.linalg.eigsh was called at ",
    ),
    "expect": (lambda x: scipy.stats.norm(x[0], 1.0).expect(lambda t: t), "was called at "),
}


@pytest.mark.parametrize("name", NOTED)
def test_an_error_of_a_library_that_got_traced_numbers_has_a_note_or_is_ours(name):
    f, words = NOTED[name]
    with pytest.raises(Exception, match=r".") as found:
        dr.grad(f)(V)
    notes = getattr(found.value, "__notes__", [])
    assert isinstance(found.value, dr.DualrevError) or any(words in note and "test_cures.py:" in note for note in notes)
