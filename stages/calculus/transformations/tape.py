r"""D4 as taping: section 8.3.

    D[R] = (R, Int)                              data Contrib = Nil | Cons R Int Contrib
    D[s -> t] = D[s] -> Tape ->R (!D[t], Tape)   Tape = Array Contrib, the contributions of each id

    D[t] w, the term D[t] : Tape ->R (!D[t], Tape) applied to the tape w:
    D[x] w = (!x, w)                             D[()], D[n], D[\(x : s). t] = \(x : D[s]). D[t] likewise
    D[(s, t)] w = letR (!x, w') = D[s] w in letR (!y, w'') = D[t] w' in (!(x, y), w'')      etc.
    D[r] w = letR (!i, w') = push [] w in (!(r, i), w')
    D[op(t1, .., tn)] w = letR (!(x1, i1), w1) = D[t1] w in .. in letR (!(xn, in), wn) = D[tn] w(n-1)
        in letR (!i, w') = push [(d1op(x1, .., xn)(1), i1), .., (dnop(x1, .., xn)(1), in)] wn
        in (!(op(x1, .., xn), i), w')

    Staged = Array (Bool, R)                     of each id, whether it was called, and the sum of the arguments
    SCall i a = \R(m). modify i (\(_, a'). (true, a + a')) m
    SApply [] = \_(z : R). id                    SApply ((p, i) : c) = \_(z : R). SCall i (z p) . SApply c z
    SResolve tape n = loop (n - 1)
        where loop i = if i < 0 then id else \R(m). letR (!(called, a), m) = get i m
                       in loop (i - 1) (if called then SApply (tape @ i) a m else m)

    Interleave_R x w = letR (!i, w') = push [] w in (!((x, i), \m. snd (m @ i)), w')
    Wrap[\(x : s). t] = \(x : s). alloc 0 [] (\R(w). letR (!(x, rebuild), w) = Interleave_s x w
        in letR (!y', w) = D[t] w in letR (!n, w) = size w in letR !tape = freeze w in
        !(let (y, d) = Deinterleave_t y' in (y, linear(\(z : t). rebuild (SAlloc n (freeze . SResolve tape n . d z))))))

The id generation monad carries the tape, resource-linearly, and the tape's length is the next id, which `push` returns.
The paper keeps the arguments in the same array. Here the tape is frozen after the forward pass, so that the pullback
can be called twice. Hence Staged says which ids were called, as the other transformations do: what was not called
contributes nothing, where 0 times an infinite partial derivative would be NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Definition, Synonym
from stages.calculus.language.sugar import FALSE, TRUE, Pattern, bind, hidden, if_, lambda_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.contrib import Contrib

__all__ = ["Tape"]


class Tape(Contrib):
    """D4 as taping: section 8.3."""

    name = "tape"
    language = "D4"

    def scalar(self) -> Type:
        """D[R] = (R, Int)"""
        return ty.Pair(ty.REAL, ty.INT)

    def backpropagator(self) -> Type:
        """Int"""
        return ty.INT

    @property
    def tape(self) -> ty.Named:
        """Tape"""
        return self.own_type("Tape")

    def synonyms(self) -> Mapping[str, DataType | Synonym]:
        """Contrib, Tape and Staged"""
        nil, cons = Constructor("Nil", ()), Constructor("Cons", (ty.REAL, ty.INT, self.contrib))
        return {
            self.contrib.name: DataType(self.contrib.name, (), (nil, cons)),
            self.tape.name: Synonym(self.tape.name, ty.Array(self.contrib)),
            self.staged.name: Synonym(self.staged.name, self.calls()),
        }

    def delayed(self) -> Type:
        """(Bool, R)"""
        return ty.Pair(ty.BOOL, ty.REAL)

    def frozen(self) -> Type:
        """IArray Contrib"""
        return ty.FrozenArray(self.contrib)

    # The monad: a computation of a t is a function of the tape

    def computing(self, type_: Type) -> Type:
        """Tape ->R (!t, Tape)"""
        return ty.Resource(self.tape, ty.Pair(ty.Bang(type_), self.tape))

    def computation(self, make: Callable[[Term], Term]) -> Term:
        r"""\R(w : Tape). make(w)"""
        w = self.fresh("w")
        return t.ResourceLambda(w, self.tape, make(Var(w)))

    def pure(self, x: Term, i: Term) -> Term:
        """(!x, w)"""
        return t.Tuple(t.Of(x), i)

    def take(self, x: Pattern, i: str, computation: Term, body: Term) -> Term:
        """letR (!x, w) = computation in body"""
        return t.ResourceLet((f"!{hidden(x)}", i), computation, bind(x, body))

    def pushed(self, contributions: Term, w: Term, use: Callable[[Var], Term]) -> Term:
        """letR (!i, w') = push contributions w in (!use(i), w')"""
        i, after = self.fresh("i"), self.fresh("w")
        made = t.Primitive("push", (contributions, w))
        return t.ResourceLet((f"!{i}", after), made, self.pure(use(Var(i)), Var(after)))

    def constant_at(self, r: Term, i: Term) -> Term:
        """letR (!i, w') = push [] w in (!(r, i), w')"""
        return self.pushed(self.nil(), i, lambda k: t.Tuple(r, k))

    def operation_at(self, op: str, xs: list[Var], ds: list[Var], i: Term) -> Term:
        """letR (!i, w') = push [..] w in (!(op(x1, .., xn), i), w')"""
        return self.pushed(self.contributions(op, xs, ds), i, lambda k: t.Tuple(t.Operation(op, tuple(xs)), k))

    # The interface

    def unused(self) -> Term:
        """(false, 0)"""
        return t.Tuple(FALSE, t.Literal(0.0))

    def calling(self) -> Definition:
        """SCall i a"""
        place = lambda_(("_", "b"), self.delayed(), t.Tuple(TRUE, t.Plus(Var("a"), Var("b"))))
        change = t.ResourceLambda("m", self.staged, t.Primitive("modify", (Var("i"), place, Var("m"))))
        body = t.Lambda("i", ty.INT, t.LinearLambda("a", ty.REAL, change))
        return Definition(self.own("SCall").name, ty.Arrow(ty.INT, self.linear()), body)

    def resolving(self) -> tuple[Definition, ...]:
        """SResolve and its loop."""
        i, m, tape = Var("i"), Var("m"), Var("tape")
        applied = self.resolved_at(t.Primitive("at", (tape, i)), Var("a"), m)
        again = t.Apply(t.Apply(self.own("loop"), tape), t.Discrete("-#", (i, t.Integer(1))))
        step = let(("called", "a"), Var("u"), t.Apply(again, if_(Var("called"), applied, m)))
        step = t.ResourceLambda("m", self.staged, t.ResourceLet(("!u", "m"), t.Primitive("get", (i, m)), step))
        body = if_(t.Discrete("<#", (i, t.Integer(0))), t.Identity(self.staged), step)
        kind = ty.Arrow(self.frozen(), ty.Arrow(ty.INT, self.codomain()))
        last = t.Discrete("-#", (Var("n"), t.Integer(1)))
        start = t.Apply(t.Apply(self.own("loop"), tape), last)

        def curried(x: str, term: Term) -> Term:
            r"""\tape. \x. term"""
            return t.Lambda("tape", self.frozen(), t.Lambda(x, ty.INT, term))

        return (
            Definition(self.own("loop").name, kind, curried("i", body)),
            Definition(self.own("SResolve").name, kind, curried("n", start)),
        )

    # The wrapper

    def entry(self, x: Term, i: Term, rebuild: Callable[[Term], Term]) -> Term:
        """letR (!i, w') = push [] w in (!((x, i), rebuild i), w')"""
        return self.pushed(self.nil(), i, lambda k: t.Tuple(t.Tuple(x, k), rebuild(k)))

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        r"""alloc 0 [] (\R(w). ..)"""
        w, v, y, e, d, n, tape = (self.fresh(name) for name in ("w", "w", "w", "y", "d", "n", "tape"))
        last, rebuild, value = self.fresh("w"), self.fresh("rebuild"), self.fresh("y")
        result = self.resolved_on(Var(tape), Var(n), Var(rebuild), Var(d), target)
        made: Term = t.Of(let((value, d), self.deinterleave(target, Var(e)), t.Tuple(Var(value), result)))
        made = t.ResourceLet((f"!{tape}",), t.Primitive("freeze", (Var(last),)), made)
        made = t.ResourceLet((f"!{n}", last), t.Primitive("size", (Var(y),)), made)
        made = self.take(e, y, inner(Var(v)), made)
        made = self.take((x, rebuild), v, self.number(Var(x), Var(w), self.pure, source), made)
        return t.Primitive("alloc", (t.Integer(0), self.nil(), t.ResourceLambda(w, self.tape, made)))

    def resolved_on(self, tape: Term, n: Term, rebuild: Term, d: Term, target: Type) -> Term:
        r"""linear(\(z : t). rebuild (SAlloc n (\R(s). freeze (SResolve tape n (d z s)))))"""
        z, s = self.fresh("z"), self.fresh("s")
        resolve = t.Apply(t.Apply(self.own("SResolve"), tape), n)
        resolved = t.Apply(resolve, t.Apply(t.Apply(d, Var(z)), Var(s)))
        run = t.ResourceLambda(s, self.staged, t.Primitive("freeze", (resolved,)))
        return t.Claim(t.Lambda(z, target, t.Apply(rebuild, t.Apply(t.Apply(self.own("SAlloc"), n), run))))
