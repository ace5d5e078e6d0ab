"""Products in which a cotangent of zero annihilates: their values, and the branches that LLVM keeps."""

import re

import numpy as np
import pytest
from numba import njit
from support.oracle import assert_same

from dualrev.compiler import runtime


@njit(error_model="numpy")
def chained(factor, other, t):
    return runtime.scaled(factor, t), runtime.scaled(other, runtime.scaled(factor, t))


@pytest.mark.parametrize(
    ("factor", "other", "t", "expected"),
    [
        (2.0, 3.0, 0.5, (1.0, 3.0)),
        (np.inf, np.nan, 0.0, (0.0, 0.0)),
        (np.nan, 2.0, -0.0, (0.0, 0.0)),
        (0.0, np.inf, 4.0, (0.0, 0.0)),
        (np.inf, 2.0, 1.0, (np.inf, np.inf)),
        (0.0, 1.0, np.nan, (np.nan, np.nan)),
        (np.float32(2.0), np.float32(3.0), np.float32(0.5), (1.0, 3.0)),
    ],
)
def test_a_zero_annihilates_whatever_multiplies_it(factor, other, t, expected):
    assert_same(chained(factor, other, t), expected, rtol=0.0)


def test_the_products_are_likely_branches():
    """LLVM makes an unmarked branch a selection: each product then waits for the comparison of the one before."""
    chained(2.0, 3.0, 0.5)
    text = chained.inspect_llvm(chained.signatures[0])
    tests = re.findall(r"(%\S+) = fcmp (?:une|oeq)", text)
    branches = [line for line in text.splitlines() if any(f"br i1 {x}," in line for x in tests)]
    assert branches
    assert all("!prof" in line for line in branches)
