r"""D4, mutable arrays: Figs. 11 and 12.

    D[R] = (R, (Int, R -o (Staged ->R Staged)))
    D[t]: as in D3

    Staged = (Array R, Array (R -o (Staged ->R Staged), R))
    SAlloc i_inp i_out f = alloc i_inp 0 (f . allocBeside i_out (\_(z : R). id, 0))
    SCall (i, f) a = \R(c, m). (c, modify i (\(_, a'). (f, a + a')) m)
    SOneHot i a = \R(c, m). (modify i (\(a'). a + a') c, m)
    SResolve i_out = \R(c, m). letR (c, m) = loop (i_out - 1) (c, m) in dealloc m c
        where loop i = if i < 0 then id else \R(c, m). letR (!(f, a), m) = get i m in loop (i - 1) (f a (c, m))

    Interleave_t : t -> Int -> ((D[t], IArray R -> t), Int): as with sparse cotangents, but \a. a @ i for scalars
    Wrap[\(x : s). t] = \(x : s). let ((x, rebuild), i) = Interleave_s x 0 in let (y', i') = D[t] i
        in let (y, d) = Deinterleave_t y' in (y, linear(\(z : t). rebuild (SAlloc i i' (freeze . SResolve i' . d z))))

The loop in Fig. 12 ends at 0, before it calls the backpropagator with the id 0, the first input's. Here it ends below
0.
"""

from __future__ import annotations

from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Definition
from stages.calculus.language.sugar import if_, lambda_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.sparse import Sparse

__all__ = ["D4"]


class D4(Sparse):
    """Mutable arrays: Fig. 12."""

    name = "D4"
    language = "D4"

    def codomain(self) -> Type:
        """Staged ->R Staged"""
        return ty.Resource(self.staged, self.staged)

    def collector(self) -> Type:
        """Array R"""
        return ty.Array(ty.REAL)

    def calls(self) -> Type:
        """Array (R -o (Staged ->R Staged), R)"""
        return ty.Array(self.delayed())

    def delayed(self) -> Type:
        """(R -o (Staged ->R Staged), R)"""
        return ty.Pair(self.linear(), ty.REAL)

    def collected(self) -> Type:
        """IArray R"""
        return ty.FrozenArray(ty.REAL)

    def lookup(self, i: Term, a: Term) -> Term:
        """a @ i"""
        return t.Primitive("at", (a, i))

    # The interface

    def interface(self) -> tuple[Definition, ...]:
        """SAlloc, SOneHot, SCall, SResolve"""
        return self.allocating(), self.cotan(), self.calling(), *self.resolving()

    def allocating(self) -> Definition:
        """SAlloc i_inp i_out f"""
        f = ty.Resource(self.staged, ty.Bang(self.collected()))
        unused = t.Tuple(t.LinearLambda("z", ty.REAL, self.zero()), t.Literal(0.0))
        beside = t.Primitive("allocBeside", (Var("i_out"), unused, Var("c")))
        made = t.ResourceLambda("c", self.collector(), t.Apply(Var("f"), beside))
        body = t.Primitive("alloc", (Var("i_inp"), t.Literal(0.0), made))
        curried = t.Lambda("i_inp", ty.INT, t.Lambda("i_out", ty.INT, t.Lambda("f", f, body)))
        kind = ty.Arrow(ty.INT, ty.Arrow(ty.INT, ty.Arrow(f, self.collected())))
        return Definition(self.own("SAlloc").name, kind, curried)

    def calling(self) -> Definition:
        """SCall (i, f) a"""
        place = lambda_(("_", "b"), self.delayed(), t.Tuple(Var("f"), t.Plus(Var("a"), Var("b"))))
        change = t.Tuple(Var("c"), t.Primitive("modify", (Var("i"), place, Var("m"))))
        body = t.LinearLambda("a", ty.REAL, self.on_staged(change))
        return Definition(
            self.own("SCall").name,
            ty.Arrow(self.backpropagator(), self.linear()),
            lambda_(("i", "f"), self.backpropagator(), body),
        )

    def cotan(self) -> Definition:
        """SOneHot i a"""
        place = t.Lambda("b", ty.REAL, t.Plus(Var("a"), Var("b")))
        change = t.Tuple(t.Primitive("modify", (Var("i"), place, Var("c"))), Var("m"))
        body = t.LinearLambda("a", ty.REAL, self.on_staged(change), "Interleave")
        return Definition(self.own("SOneHot").name, ty.Arrow(ty.INT, self.linear()), t.Lambda("i", ty.INT, body))

    def on_staged(self, body: Term) -> Term:
        r"""\R(c, m). body"""
        return t.ResourceLambda("s", self.staged, t.ResourceLet(("c", "m"), Var("s"), body))

    def resolving(self) -> tuple[Definition, ...]:
        """SResolve and its loop."""
        i = Var("i")
        rest = t.Apply(t.Apply(Var("f"), Var("a")), t.Tuple(Var("c"), Var("m")))
        step = let(("f", "a"), Var("u"), t.Apply(t.Apply(self.own("loop"), t.Discrete("-#", (i, t.Integer(1)))), rest))
        step = self.on_staged(t.ResourceLet(("!u", "m"), t.Primitive("get", (i, Var("m"))), step))
        loop = t.Lambda("i", ty.INT, if_(t.Discrete("<#", (i, t.Integer(0))), t.Identity(self.staged), step))
        last = t.Discrete("-#", (Var("i_out"), t.Integer(1)))
        done = t.ResourceLet(
            ("c", "m"), t.Apply(t.Apply(self.own("loop"), last), Var("s")), t.Primitive("dealloc", (Var("m"), Var("c")))
        )
        resolve = t.Lambda("i_out", ty.INT, t.ResourceLambda("s", self.staged, done))
        return (
            Definition(self.own("loop").name, ty.Arrow(ty.INT, self.codomain()), loop),
            Definition(
                self.own("SResolve").name, ty.Arrow(ty.INT, ty.Resource(self.staged, self.collector())), resolve
            ),
        )

    # The wrapper

    def rebuilt(self, rebuild: Term, d: Term, target: Type, inputs: Term, ids: Term) -> Term:
        r"""linear(\(z : t). rebuild (SAlloc i i' (\R(s). freeze (SResolve i' (d z s)))))"""
        z, s = self.fresh("z"), self.fresh("s")
        resolved = t.Apply(t.Apply(self.own("SResolve"), ids), t.Apply(t.Apply(d, Var(z)), Var(s)))
        run = t.ResourceLambda(s, self.staged, t.Primitive("freeze", (resolved,)))
        made = t.Apply(t.Apply(t.Apply(self.own("SAlloc"), inputs), ids), run)
        return t.Claim(t.Lambda(z, target, t.Apply(rebuild, made)))
