"""The transformations of Krawiec et al. 2022, by name."""

from __future__ import annotations

from collections.abc import Mapping

from stages.calculus.deltas.arrays import Arrays
from stages.calculus.deltas.columns import Columns
from stages.calculus.deltas.monadic import Monadic
from stages.calculus.deltas.second import Second
from stages.calculus.deltas.tower import Tower
from stages.calculus.deltas.triple import Triple
from stages.calculus.deltas.unshared import Unshared
from stages.calculus.deltas.vectorised import Vectorised
from stages.calculus.transformations.transform import Transformation

__all__ = ["DELTAS"]

DELTAS: Mapping[str, type[Transformation]] = {
    D.name: D for D in (Vectorised, Unshared, Monadic, Arrays, Columns, Triple, Second, Tower)
}
