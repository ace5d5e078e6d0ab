"""Which arguments of a function are chosen."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from dualrev.errors import ArgumentNumberError

__all__ = ["argument_numbers"]


def _index(k: Any) -> int | None:
    """A number of an argument as an int; a bool is none, it was meant for something else."""
    try:
        return None if isinstance(k, (bool, np.bool_)) else operator.index(k)
    except TypeError:
        return None


def argument_numbers(argnums: int | Sequence[int], count: int) -> list[int]:
    """The numbers of the chosen ones of so many arguments; ArgumentNumberError if argnums does not name any."""
    given = argnums if isinstance(argnums, Sequence) else (argnums,)
    numbers = [k % count for k in map(_index, given) if k is not None and -count <= k < count]
    if not numbers or len(set(numbers)) < len(given):
        raise ArgumentNumberError(argnums, count)
    return numbers
