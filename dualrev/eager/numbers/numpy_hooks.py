"""Answers to numpy's functions for traced numbers and arrays: called here, defined in higher modules.

numpy asks the arguments of its functions: `__array_ufunc__`, `__array_function__`. So `Real` and `RealArray` have to
know the answers, and the answers use these two classes. The answers are in arrays/ufuncs.py and arrays/functions.py,
and `dualrev.eager.arrays` puts them here: whoever imports any part of dualrev has imported that package.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["ANSWERS"]


class Answers:
    """ufunc(ufunc, method, inputs, kwargs) for elementwise functions, function(func, args, kwargs) for the others.

    `making` has what numpy's constructors are with like=x, for an x of ours: dualrev.numpy puts it there.
    """

    __slots__ = ("function", "making", "ufunc")
    function: Callable[..., Any]
    making: dict[Any, Callable[..., Any]]
    ufunc: Callable[..., Any]


ANSWERS = Answers()
