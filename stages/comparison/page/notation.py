r"""The notation of the calculus, from the ASCII of the stages' docstrings.

>>> print(notation(r"(R, (Int, R -o Staged c)), 2^n paths, \z. d (z, 0), m |-> (m + -)"))
(ℝ, (Int, ℝ ⊸ Staged c)), 2ⁿ paths, λz. d (z, 0), m ↦ (m + -)
"""

from __future__ import annotations

import re

from stages.calculus.text.tokens import SPELLINGS

__all__ = ["notation"]

_RAISED = str.maketrans("0123456789n+-", "⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ⁺⁻")
_SYMBOLS = re.compile(r"(?<=\s)(?:-o|->|\|->)(?=\s)|\bR\b|\\(?=[a-z(])")
_POWER = re.compile(r"(?<=[\w)])\^(\(n[+-]1\)|-?\w+)")


def notation(text: str) -> str:
    """Rewrite ASCII with ℝ, ⊸, →, ↦, λ and raised exponents."""
    spelled = _SYMBOLS.sub(lambda found: SPELLINGS[found[0]], text)
    return _POWER.sub(_raised, spelled)


def _raised(found: re.Match[str]) -> str:
    exponent = found[1].strip("()")
    return exponent.translate(_RAISED) if re.fullmatch(r"[\dn+-]+", exponent) else found[0]
