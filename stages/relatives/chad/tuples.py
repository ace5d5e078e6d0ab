"""Cotangents of environments as whole tuples, with a number for each variable; counting.py counts their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["one_hot", "plus", "zero"]


def zero(n: int) -> list[Any]:
    """(0, .., 0), for n variables."""
    return [0.0] * n


def plus(c1: Sequence[Any], c2: Sequence[Any]) -> list[Any]:
    """c1 + c2, number by number."""
    return [x + y for x, y in zip(c1, c2, strict=True)]


def one_hot(n: int, i: int, z: Any) -> list[Any]:
    """(0, .., z, .., 0), with z for the variable of index i.

    >>> one_hot(3, 1, 5.0)
    [0.0, 5.0, 0.0]
    """
    c = zero(n)
    c[i] = z
    return c
