"""Backpropagators as data: the types of lists that represent linear functions (section 8.2)."""

from __future__ import annotations

from stages.calculus.language.declarations import Declarations
from stages.calculus.language.types import INT, REAL, Named, Pair, Type

__all__ = ["is_contributions"]


def is_contributions(type_: Type, known: Declarations) -> bool:
    r"""Whether a type is data T = Nil | Cons R (Int, T) T, or with Int in place of the pair: a list of contributions.

    It represents \_(z : R). SCall u1 (z p1) . .. . SCall un (z pn). A collection of delayed calls may hold it in place
    of the function: at one id, it is always the same one.
    """
    exposed = known.expose(type_)
    constructors = known.constructors(exposed)
    if not isinstance(exposed, Named) or constructors is None or len(constructors) != 2:
        return False
    fields = sorted((c.fields for c in constructors), key=len)
    return fields[0] == () and fields[1] in ((REAL, Pair(INT, exposed), exposed), (REAL, INT, exposed))
