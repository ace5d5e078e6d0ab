"""The transformations of Wang et al. 2019, by name."""

from __future__ import annotations

from collections.abc import Mapping

from stages.calculus.continuations.cps import Cps
from stages.calculus.continuations.forward import Fig4
from stages.calculus.continuations.functional import Functional
from stages.calculus.continuations.meta import Meta
from stages.calculus.continuations.shift_reset import Fig9
from stages.calculus.continuations.tagged import Tagged
from stages.calculus.transformations.transform import Transformation

__all__ = ["CONTINUATIONS"]

CONTINUATIONS: Mapping[str, type[Transformation]] = {D.name: D for D in (Fig4, Tagged, Fig9, Meta, Cps, Functional)}
