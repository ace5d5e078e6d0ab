"""Deltas, the data type of delta.py, delta_map.py and delta_array.py: Krawiec et al. 2022, Figs. 7 and 11.

Fig. 7:     Delta = Zero | OneHot Int | Scale R Delta | Add Delta Delta
Fig. 11:    Delta = Zero | Scale R Delta | Add Delta Delta | Var Id | Let Id Delta Delta
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

__all__ = ["Add", "Bound", "Delta", "Let", "OneHot", "Scale", "Var", "Zero", "total"]


class Zero(NamedTuple):
    """The zero derivatives of a constant."""


class OneHot(NamedTuple):
    """The derivatives of the input's scalar i."""

    i: int


class Scale(NamedTuple):
    """The derivatives of u, multiplied by r."""

    r: Any
    u: Delta


class Add(NamedTuple):
    """The sum of the derivatives of u1 and u2."""

    u1: Delta
    u2: Delta


class Var(NamedTuple):
    """The derivatives bound to the id i, or of the input's scalar i."""

    i: int


class Let(NamedTuple):
    """The derivatives of the body, in which Var i stands for u."""

    i: int
    u: Delta
    body: Delta


class Bound(NamedTuple):
    """The rest of Let i u body after the evaluation of its body: the binding of i."""

    i: int
    u: Delta


Delta = Zero | OneHot | Scale | Add | Var | Let


def total(rs: Iterable[Any], us: Iterable[Delta]) -> Delta:
    """Add (Scale r1 u1) ... (Scale rn un): Fig. 14. A factor 1.0 needs no Scale, as in D[x + y] = (x + y, Add u1 u2).

    >>> total([1.0, 2.0], [Var(0), Var(1)])
    Add(u1=Var(i=0), u2=Scale(r=2.0, u=Var(i=1)))
    """
    # A number of an outer run that is equal to 1.0 has derivatives there: it stays.
    terms = [u if r.__class__ is float and r == 1.0 else Scale(r, u) for r, u in zip(rs, us, strict=True)]
    return functools.reduce(Add, terms) if terms else Zero()
