"""CHAD and Efficient CHAD, by name."""

from __future__ import annotations

from collections.abc import Mapping

from stages.calculus.chad.chad import Chad
from stages.calculus.chad.efficient import Efficient
from stages.calculus.transformations.transform import Transformation

__all__ = ["CHADS"]

CHADS: Mapping[str, type[Transformation]] = {D.name: D for D in (Chad, Efficient)}
