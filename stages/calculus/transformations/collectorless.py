r"""D4 without the collector: section 8.1.

    D[R] = (R, (Int, R -o (Staged ->R Staged)))
    D[t]: as in D4

    Staged = Array (R -o (Staged ->R Staged), R)
    SAlloc i_out f = alloc i_out (\_(z : R). id, 0) f
    SCall (i, f) a = \R(m). modify i (\(_, a'). (f, a + a')) m
    SResolve i_out = loop (i_out - 1)
        where loop i = if i < 0 then id else \R(m). letR (!(f, a), m) = get i m in loop (i - 1) (f a m)

    Interleave_R x i = (((x, (i, \_(z : R). id)), \m. snd (m @ i)), i + 1)      at pairs and the like as in D4
    Wrap[\(x : s). t] = \(x : s). let ((x, rebuild), i) = Interleave_s x 0 in let (y', i') = D[t] i
        in let (y, d) = Deinterleave_t y' in (y, linear(\(z : t). rebuild (SAlloc i' (freeze . SResolve i' . d z))))

In D4 the backpropagator of an input adds its argument to c, and SResolve calls it once. So in the end, c[i] equals the
argument in m[i]. Hence c is omitted here, and rebuild reads m.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import DataType, Definition, Synonym
from stages.calculus.language.sugar import if_, lambda_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.d4 import D4

__all__ = ["Collectorless"]


class Collectorless(D4):
    """D4 without the collector: section 8.1."""

    name = "collectorless"
    language = "D4"

    def synonyms(self) -> Mapping[str, DataType | Synonym]:
        """Staged"""
        return {self.staged.name: Synonym(self.staged.name, self.calls())}

    def collected(self) -> Type:
        """IArray (R -o (Staged ->R Staged), R)"""
        return ty.FrozenArray(self.delayed())

    def lookup(self, i: Term, a: Term) -> Term:
        """snd (a @ i)"""
        return t.Snd(t.Primitive("at", (a, i)))

    # The interface

    def interface(self) -> tuple[Definition, ...]:
        """SAlloc, SCall, SResolve"""
        return self.allocating(), self.calling(), *self.resolving()

    def unused(self) -> Term:
        r"""The initial element of Staged, before any call: (\_(z : R). id, 0)"""
        return t.Tuple(t.LinearLambda("z", ty.REAL, self.zero()), t.Literal(0.0))

    def allocating(self) -> Definition:
        """SAlloc i_out f"""
        f = ty.Resource(self.staged, ty.Bang(self.collected()))
        made = t.ResourceLambda("m", self.calls(), t.Apply(Var("f"), Var("m")))
        body = t.Primitive("alloc", (Var("i_out"), self.unused(), made))
        curried = t.Lambda("i_out", ty.INT, t.Lambda("f", f, body))
        kind = ty.Arrow(ty.INT, ty.Arrow(f, self.collected()))
        return Definition(self.own("SAlloc").name, kind, curried)

    def called_with(self) -> tuple[str, Type]:
        """The name and type that a delayed call stores with its argument."""
        return "f", self.linear()

    def calling(self) -> Definition:
        """SCall (i, f) a"""
        f, kind = self.called_with()
        place = lambda_(("_", "b"), ty.Pair(kind, ty.REAL), t.Tuple(Var(f), t.Plus(Var("a"), Var("b"))))
        change = t.ResourceLambda("m", self.staged, t.Primitive("modify", (Var("i"), place, Var("m"))))
        body = lambda_(("i", f), self.backpropagator(), t.LinearLambda("a", ty.REAL, change))
        return Definition(self.own("SCall").name, ty.Arrow(self.backpropagator(), self.linear()), body)

    def resolving(self) -> tuple[Definition, ...]:
        """SResolve and its loop."""
        f, _ = self.called_with()
        i, last = Var("i"), t.Discrete("-#", (Var("i_out"), t.Integer(1)))
        again = t.Apply(self.own("loop"), t.Discrete("-#", (i, t.Integer(1))))
        step = let((f, "a"), Var("u"), t.Apply(again, self.resolved_at(Var(f), Var("a"), Var("m"))))
        step = t.ResourceLet(("!u", "m"), t.Primitive("get", (i, Var("m"))), step)
        body = if_(
            t.Discrete("<#", (i, t.Integer(0))), t.Identity(self.staged), t.ResourceLambda("m", self.staged, step)
        )
        kind = ty.Arrow(ty.INT, self.codomain())
        return (
            Definition(self.own("loop").name, kind, t.Lambda("i", ty.INT, body)),
            Definition(self.own("SResolve").name, kind, t.Lambda("i_out", ty.INT, t.Apply(self.own("loop"), last))),
        )

    def resolved_at(self, f: Term, a: Term, m: Term) -> Term:
        """The state m after the backpropagator f has been called with a."""
        return t.Apply(t.Apply(f, a), m)

    # The wrapper

    def entry(self, x: Term, i: Term, rebuild: Callable[[Term], Term]) -> Term:
        r"""(((x, (i, \_(z : R). id)), rebuild i), i + 1)"""
        back = t.LinearLambda(self.fresh("z"), ty.REAL, self.zero(), "Interleave")
        return self.pure(t.Tuple(t.Tuple(x, t.Tuple(i, back)), rebuild(i)), self.next(i))

    def rebuilt(self, rebuild: Term, d: Term, target: Type, inputs: Term, ids: Term) -> Term:
        r"""linear(\(z : t). rebuild (SAlloc i' (\R(s). freeze (SResolve i' (d z s)))))"""
        z, s = self.fresh("z"), self.fresh("s")
        resolved = t.Apply(t.Apply(self.own("SResolve"), ids), t.Apply(t.Apply(d, Var(z)), Var(s)))
        run = t.ResourceLambda(s, self.staged, t.Primitive("freeze", (resolved,)))
        made = t.Apply(t.Apply(self.own("SAlloc"), ids), run)
        return t.Claim(t.Lambda(z, target, t.Apply(rebuild, made)))
