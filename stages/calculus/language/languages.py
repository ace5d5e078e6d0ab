r"""The languages of the paper, by the constructs that each one has.

Fig. 4    with section 9's letrec, sums and data types
source    adds vectors
D1        Fig. 5: adds linear functions, whose types contain no function arrows
D2        section 4: adds maps
D3        section 5: adds functions t -> t under linear arrows, with id and composition as 0 and +; section 6
D4        Fig. 11: adds arrays, with resource-linear functions
deltas    adds pure and do to D4: Krawiec et al. 2022 (deltas/)

The languages of Wang et al. 2019 (continuations/), each of which includes the source language without vectors:

cells     Fig. 3 without shift and reset: adds mutable cells
nested    section 2.5: adds grad
control   all of Fig. 3, grad, and vectors: programs that can be written and evaluated
maps      section 3.6: adds cells, for programs that use them, and maps of numbers
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stages.calculus.continuations.terms import Assign, Gradient, Read, Ref, Reset, Shift
from stages.calculus.deltas.terms import Do, InSequence, Pure
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty

__all__ = ["LANGUAGES", "VECTORS_ELSEWHERE", "Language"]

#: What a language without vectors says of them.
VECTORS_ELSEWHERE = "; vectors are for --to D1 .. tape, forward, and delta .. triple-delta"


@dataclass(frozen=True, slots=True)
class Language:
    """Classes of terms and types, and whether functions t -> t may occur under a linear arrow."""

    name: str
    terms: frozenset[type]
    types: frozenset[type]
    endomorphisms: bool = False

    def more(self, name: str, terms: set[type], types: set[type], endomorphisms: bool) -> Language:
        """Extend the language by terms, types, and perhaps functions t -> t under linear arrows."""
        return Language(name, self.terms | terms, self.types | types, endomorphisms)


_FIG4 = Language(
    "Fig. 4",
    frozenset({t.Var, t.Star, t.Tuple, t.Fst, t.Snd, t.Apply, t.Lambda, t.Let, t.Literal, t.Operation})
    | {t.Integer, t.Discrete, t.Letrec, t.Instance, t.Con, t.Case},
    frozenset({ty.Real, ty.Unit, ty.Pair, ty.Arrow, ty.Int, ty.Sum, ty.Named, ty.Parameter}),
)
_SOURCE = _FIG4.more("source", {t.Primitive}, {ty.Vector}, False)
_FIG5 = _SOURCE.more("D1", {t.LinearLambda, t.Partial, t.Plus, t.Zero, t.Claim}, {ty.Linear}, False)
_STAGED = _FIG5.more("D2", {t.Singleton, InSequence}, {ty.Map}, False)
_CAYLEY = _STAGED.more("D3", {t.Identity, t.Compose}, set(), True)
_ARRAYS = _CAYLEY.more(
    "D4", {t.ResourceLambda, t.ResourceLet, t.Of}, {ty.Array, ty.FrozenArray, ty.Resource, ty.Bang}, True
)
_DELTAS = _ARRAYS.more("deltas", {Pure, Do}, set(), True)
_CELLS = _FIG4.more("cells", {Ref, Read, Assign}, {ty.Cell}, False)
_NESTED = _CELLS.more("nested", {Gradient}, set(), False)
_CONTROL = _NESTED.more("control", {Shift, Reset, t.Primitive}, {ty.Vector}, False)
_MAPS = _CELLS.more("maps", {t.Plus, t.Zero, t.Singleton, t.Primitive}, {ty.Map}, False)

LANGUAGES: Mapping[str, Language] = {
    language.name: language
    for language in (_FIG4, _SOURCE, _FIG5, _STAGED, _CAYLEY, _ARRAYS, _DELTAS, _CELLS, _NESTED, _CONTROL, _MAPS)
}
