"""The derivative as a program: each stage's transformation, applied to the source text of a function.

>>> from stages.programs import PROGRAMS
>>> print(as_programs(PROGRAMS["fig1"].function, (3.0, 2.0), ("naive",))["naive"])
λ((x : ℝ, dx : ℝ ⊸ (ℝ, ℝ)), y : ℝ, dy : ℝ ⊸ (ℝ, ℝ)).
  let (z, dz) = (x + y, λ̲(z1 : ℝ). dx (∂1 add(x, y)(z1)) + dy (∂2 add(x, y)(z1))) in
  (x · z, λ̲(z2 : ℝ). dx (∂1 mul(x, z)(z2)) + dz (∂2 mul(x, z)(z2)))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stages.calculus import TRANSFORMATIONS, check, show_program
from stages.calculus.language.errors import NotTranslated
from stages.calculus.python import translate
from stages.calculus.readable import readable

__all__ = ["AS_PROGRAM", "as_programs"]

#: The transformation of programs that each stage is by overloading.
AS_PROGRAM: Mapping[str, str] = {
    "naive": "D1",
    "staged": "D2",
    "cayley": "D3",
    "sparse": "sparse",
    "arrays": "D4",
    "collectorless": "collectorless",
    "lists": "contrib",
    "contrib": "contrib",  # how SResolve is compiled is not for the calculus
    "tape": "tape",
}


def as_programs(f: Callable[..., Any], primals: Sequence[Any], stages: Sequence[str]) -> dict[str, str]:
    """Return D[f] as text, for the stages that are program transformations.

    The primals determine the parameters' types: float, int, bool, tuples and lists of these. NotTranslated for other
    types, and for a function outside of the subset of Python that stages.calculus.python translates.
    """
    program = translate(f, *map(_annotation, primals))
    kind = check(program, "source")
    wanted = [stage for stage in stages if stage in AS_PROGRAM]
    return {stage: show_program(readable(TRANSFORMATIONS[AS_PROGRAM[stage]].of(program, kind))) for stage in wanted}


def _annotation(x: Any) -> Any:
    """Return the type annotation of a parameter with the value x."""
    if isinstance(x, (bool, int, float)):
        return next(kind for kind in (bool, int, float) if isinstance(x, kind))
    if isinstance(x, tuple):
        return _annotation(x[0]) if len(x) == 1 else tuple[tuple(map(_annotation, x))]  # type: ignore[misc]
    if isinstance(x, list):
        elements = [_annotation(one) for one in x]
        if len(set(elements)) == 1:
            return list[elements[0]]  # type: ignore[valid-type]
        raise NotTranslated("a list without elements, or with some of several types: programs take lists of one type")
    raise NotTranslated(f"an argument of type {type(x).__name__}: programs take numbers, and tuples and lists of them")
