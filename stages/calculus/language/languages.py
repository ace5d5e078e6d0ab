r"""Which constructs each language of the paper has.

source    Fig. 4, with section 9's letrec, sums and data types; and vectors
D1        Fig. 5: and linear functions, whose types have no function arrows in them
D2        section 4: and maps
D3        section 5: and functions t -> t under linear arrows, with id and composition for 0 and +; section 6
D4        Fig. 11: and arrays, with resource-linear functions
deltas    D4's, and pure and do: Krawiec et al. 2022 (deltas/)

Those of Wang et al. 2019 (continuations/), each with the source language in it, but for vectors:

cells     Fig. 3 without shift and reset: mutable cells
nested    section 2.5: and grad
control   Fig. 3, all of it, grad, and vectors: what may be written and evaluated
maps      section 3.6: cells, for programs that have some, and maps of numbers
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
    """Classes of terms and types, and whether functions t -> t may stand under a linear arrow."""

    name: str
    terms: frozenset[type]
    types: frozenset[type]
    endomorphisms: bool = False

    def more(self, name: str, terms: set[type], types: set[type], endomorphisms: bool) -> Language:
        """A language with all this, and more."""
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
    for language in (_SOURCE, _FIG5, _STAGED, _CAYLEY, _ARRAYS, _DELTAS, _CELLS, _NESTED, _CONTROL, _MAPS)
}
