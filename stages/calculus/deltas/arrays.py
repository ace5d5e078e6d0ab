r"""The monad M as mutable state: Krawiec et al. 2022, section 5.3.3.

    D[t]: as in Fig. 9, with Delta = Zero | Scale R Delta | Add Delta Delta | Var Int

    type DeltaState = Array Delta                a growable array of the bindings; its length is the next id
    type M a = DeltaState ->R (!a, DeltaState)
    deltaLet delta = \R(w). push delta w         which returns the new index
    runDelta n m = alloc n Zero (\R(w). letR (!y, w) = m w in letR (!k, w) = size w in
                                 letR !binds = freeze w in !(y, (binds, k)))

    type DeltaMap = Array R                      what each id has received; 0 at first
    eval : Delta -> R -o (DeltaMap ->R DeltaMap)    as before; eval (Var i) = \_(x : R). \R(m). modify i (x + ..) m
    evalBinds binds n k = if k < n then id else \R(m). letR (!x, m) = get k m
                          in evalBinds binds n (k - 1) (if x is 0 then m else eval (binds @ k) x m)

    Wrap[\(x : s). t] = \(x : s). let (x, n) = initVars_s (x, 0) in let (y', (binds, k)) = runDelta n D[t] in
        let (y, d) = Deinterleave_t y' in
        (y, linear(\(z : t). lookup_s (allocate k (freeze . evalBinds binds n (k - 1) . d z), x)))

The type shows the paper's claim that a state monad can be implemented by mutable state: each step uses the array
exactly once. The bindings do not become a nest of Lets; the loop visits them in the order in which eval visits the
nest. The ids of the input, below n, are bound to Zero, and the loop ends before them. x = 0 means that an id has
received nothing, as no lookup could return Nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stages.calculus.deltas.monadic import Translation
from stages.calculus.deltas.unshared import InArrays
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Definition, Synonym
from stages.calculus.language.sugar import FALSE, if_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Arrays"]


class Arrays(Translation, InArrays):
    """Deltas with explicit sharing in arrays: section 5.3.3."""

    name = "delta-array"

    def constructors(self) -> tuple[Constructor, ...]:
        """Zero | Scale R Delta | Add Delta Delta | Var Int"""
        return Constructor("Zero", ()), *self.scaled(), Constructor("Var", (ty.INT,))

    def synonyms(self) -> Mapping[str, DataType | Synonym]:
        """Delta, DeltaState and M"""
        result = ty.Pair(ty.Bang(ty.Parameter("a")), self.state)
        return {
            **super().synonyms(),
            self.state.name: Synonym(self.state.name, ty.Array(self.delta)),
            self.monad: Synonym(self.monad, ty.Resource(self.state, result), ("a",)),
        }

    def interface(self) -> tuple[Definition, ...]:
        r"""deltaLet delta = \R(w). push delta w"""
        push = t.ResourceLambda("w", self.state, t.Primitive("push", (Var("delta"), Var("w"))))
        kind = ty.Arrow(self.delta, self.computing(ty.INT))
        return (Definition(self.own("deltaLet").name, kind, t.Lambda("delta", self.delta, push)),)

    def bindings(self) -> Type:
        """(IArray Delta, Int): the bindings, and their number."""
        return ty.Pair(ty.FrozenArray(self.delta), ty.INT)

    def running(self, type_: Type) -> Definition:
        """runDelta n m"""
        made: Term = t.Of(t.Tuple(Var("res"), t.Tuple(Var("binds"), Var("k"))))
        made = t.ResourceLet(("!binds",), t.Primitive("freeze", (Var("w"),)), made)
        made = t.ResourceLet(("!k", "w"), t.Primitive("size", (Var("w"),)), made)
        made = t.ResourceLet(("!res", "w"), t.Apply(Var("m"), Var("w")), made)
        run = t.ResourceLambda("w", ty.Array(self.delta), made)
        body = t.Primitive("alloc", (Var("n"), self.made("Zero"), run))
        kind = ty.Arrow(ty.INT, ty.Arrow(self.computing(type_), ty.Pair(type_, self.bindings())))
        curried = t.Lambda("n", ty.INT, t.Lambda("m", self.computing(type_), body))
        return Definition(self.own("runDelta").name, kind, curried)

    def evaluating_bindings(self) -> Definition:
        """evalBinds binds n k"""
        binds, n, k, x = (Var(name) for name in ("binds", "n", "k", "x"))
        again = t.Apply(t.Apply(self.own("evalBinds"), binds), n)
        again = t.Apply(again, t.Discrete("-#", (k, t.Integer(1))))
        step: Term = t.Apply(t.Apply(t.Apply(self.own("eval"), t.Primitive("at", (binds, k))), x), Var("m"))
        step = t.Apply(again, if_(self.is_zero(x), Var("m"), step))
        step = t.ResourceLambda("m", self.map, t.ResourceLet(("!x", "m"), t.Primitive("get", (k, Var("m"))), step))
        body: Term = if_(t.Discrete("<#", (k, n)), t.Identity(self.map), step)
        for name in ("k", "n"):
            body = t.Lambda(name, ty.INT, body)
        kind = ty.Arrow(ty.FrozenArray(self.delta), ty.Arrow(ty.INT, ty.Arrow(ty.INT, self.codomain())))
        return Definition(self.own("evalBinds").name, kind, t.Lambda("binds", ty.FrozenArray(self.delta), body))

    def is_zero(self, x: Term) -> Term:
        """Whether a number is 0."""
        zero = t.Literal(0.0)
        return if_(t.Discrete("<=", (zero, x)), t.Discrete("<=", (x, zero)), FALSE)

    def entry(self, i: Term) -> Term:
        """Var i"""
        return self.made("Var", i)

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        """let (x, n) = initVars (x, 0) in let (e, (binds, k)) = runDelta n (D[t]) in .."""
        self.define(self.running(self.type(target)), self.evaluating(self.added("Var")), self.evaluating_bindings())
        self.define(self.allocating(), self.id_of("Var"))
        n, e, y, d, binds, k = (self.fresh(name) for name in ("n", "y", "y", "d", "binds", "k"))
        loop = t.Apply(t.Apply(self.own("evalBinds"), Var(binds)), Var(n))
        loop = t.Apply(loop, t.Discrete("-#", (Var(k), t.Integer(1))))
        back = self.pulled_back(Var(d), target, Var(k), lambda m: t.Apply(loop, m))
        made: Term = let((y, d), self.deinterleave(target, Var(e)), t.Tuple(self.found(target, y, Var(e)), back))
        made = let((e, (binds, k)), t.Apply(t.Apply(self.own("runDelta"), Var(n)), inner()), made)
        return self.prepared(x, source, n, made)
