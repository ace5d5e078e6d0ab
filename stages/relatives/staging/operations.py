"""The operations of staged tensors: the text of the value, and a pullback for each argument.

    d += z * b, for the first argument of mul         z is the cotangent of the value y; the parameters are the operands

An argument without a derivative, as an index, has the pullback "". FUNCTIONS are what the texts call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_softmax, softmax

__all__ = ["FUNCTIONS", "TENSORS", "Operation"]


class Operation(NamedTuple):
    """An operation on tensors; the texts are in terms of the parameters, the value y and its cotangent z."""

    parameters: tuple[str, ...]
    value: str
    pullbacks: tuple[str, ...]


TENSORS: Mapping[str, Operation] = {
    "add": Operation(("a", "b"), "a + b", ("z", "z")),
    "sub": Operation(("a", "b"), "a - b", ("z", "-z")),
    "mul": Operation(("a", "b"), "a * b", ("z * b", "z * a")),
    "matvec": Operation(("A", "x"), "A @ x", ("outer(z, x)", "z @ A")),
    "tanh": Operation(("a",), "tanh(a)", ("z * (1.0 - y * y)",)),
    "sigmoid": Operation(("a",), "sigmoid(a)", ("z * (y * (1.0 - y))",)),
    "part": Operation(("a", "i", "j"), "a[i:j]", ("placed(z, i, a)", "", "")),
    "sum": Operation(("a",), "total(a)", ("filled(z, a)",)),
    "cross_entropy": Operation(("a", "k"), "-log_softmax(a)[at(a, k)]", ("z * (softmax(a) - placed(1.0, k, a))", "")),
    "row": Operation(("A", "k", "n"), "row(A, k, n)", ("", "", "")),
    "zeros": Operation(("n",), "zeros(n)", ("",)),
}


def placed(z: Any, i: int, a: Any) -> np.ndarray:
    """The cotangent of a vector a, one of whose parts, from i on, has the cotangent z.

    >>> placed(np.array([1.0, 2.0]), 1, np.zeros(4))
    array([0., 1., 2., 0.])
    """
    made = np.zeros_like(a)
    made[i : i + np.size(z)] = z
    return made


def at(a: Any, k: int) -> int:
    """The index k of a. IndexError if it is negative, or too large: labels and words do not count from the end."""
    if not 0 <= k < len(a):
        raise IndexError(
            f"the index is {k}, and has to be in 0..{len(a) - 1}: look at the labels and words of the tree"
        )
    return k


def row(table: Any, k: int, n: int) -> Any:
    """table[k], a vector of length n. ValueError if the table has another shape."""
    if np.shape(table)[1:] != (n,):
        raise ValueError(f"the program was staged for vectors of length {n}, and the array has shape {np.shape(table)}")
    return table[at(table, k)]


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "zeros": np.zeros,
    "outer": np.outer,
    "tanh": np.tanh,
    "sigmoid": expit,
    "total": np.sum,
    "filled": lambda z, a: np.full(np.shape(a), z),
    "placed": placed,
    "at": at,
    "row": row,
    "log_softmax": log_softmax,
    "softmax": softmax,
}
