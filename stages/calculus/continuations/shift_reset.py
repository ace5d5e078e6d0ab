r"""Reverse AD by shift and reset, in the target language: Wang et al. 2019, Fig. 9.

    D[R] = (R, Ref R)                   a value, and a cell that accumulates its cotangent
    D[c] = c if c is discrete           D[c] = (c, ref 0) if it is real      D[y] = y
    D[e1 * e2] = let (y1, y1') = D[e1] in let (y2, y2') = D[e2] in
                 shift k in let (y, y') = (y1 * y2, ref 0) in
                            k (y, y'); y1' += !y' * y2; y2' += !y' * y1
    everything else keeps its structure
    Transform(f) = \x. let (x, x') = (x, ref 0) in reset(let (z, z') = D[f] (x, x') in z' := 1.0); !x'

shift states the argument type of k, which is always D[R]. The types of its body and of reset are ().
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stages.calculus.continuations.forward import WithCells
from stages.calculus.continuations.partials import partial, times
from stages.calculus.continuations.terms import Read, Ref, Reset, Shift, add_to, sequence
from stages.calculus.continuations.wrapper import DUAL, Reverse
from stages.calculus.language import terms as t
from stages.calculus.language.sugar import let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Fig9", "there_and_back"]


class Fig9(WithCells, Reverse):
    """Reverse AD by shift and reset: Fig. 9."""

    name = "shift-reset"
    language = "control"

    def operation(self, op: str, xs: list[Var], ds: list[Var]) -> Term:
        """shift k in let (y, y') = .. in k (y, y'); ..."""
        k, y, d = self.fresh("k"), self.fresh("y"), self.fresh("d")
        call = t.Apply(Var(k), t.Tuple(Var(y), Var(d)))
        return Shift(k, DUAL, there_and_back(op, xs, ds, (y, d), call))

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        """let x = Interleave x in reset(let y = D[e] in Seed (y, ct)); Collect x"""
        y = self.fresh("y")

        def body(v: Var, ct: Var) -> Term:
            """Interleave the input, run the program in a reset up to the seed, and collect the cotangents."""
            whole = Reset(t.Let(y, inner(), self.seed(target, Var(y), ct)))
            return t.Let(x, self.interleave_cells(source, v), sequence([whole], self.collect(source, Var(x))))

        return self.given(x, body)


def there_and_back(op: str, xs: Sequence[Term], ds: Sequence[Term], names: tuple[str, str], call: Term) -> Term:
    """let (y, y') = (op(y1, .., yn), ref 0) in call; y1' += !y' * p1; ..; yn' += !y' * pn"""
    y, d = names
    back = [add_to(di, times(Read(Var(d)), partial(op, k, xs, Var(y)))) for k, di in enumerate(ds)]
    return let((y, d), t.Tuple(t.Operation(op, tuple(xs)), Ref(t.Literal(0.0))), sequence([call, *back]))
