r"""Deltas that keep sharing, by a monadic translation: Krawiec et al. 2022, Figs. 9 to 11, and section 8.3.

    D[R] = (R, Delta)            data Delta = Zero | Scale R Delta | Add Delta Delta | Var Int | Let Int Delta Delta
    D[s -> t] = D[s] -> M D[t]   D[Vector t] = Vector D[t]

    If G |- t : s then D[G] |- D[t] : M D[s]
    D[x], D[n], D[()] = pure x, ..               D[\(x : s). t] = pure (\(x : D[s]). D[t])
    D[let x = s in t] = do {x <- D[s]; D[t]}     D[s t] = do {f <- D[s]; x <- D[t]; f x}
    D[inl s] = do {x <- D[s]; pure (inl x)}      data likewise
    D[case s of {inl(x) -> t; ..}] = do {x <- D[s]; case x of {inl(x) -> D[t]; ..}}
    D[(s, t)] = do {x <- D[s]; y <- D[t]; pure (x, y)}
    D[fst s] = do {x <- D[s]; pure (fst x)}      snd and discrete operations likewise
    D[letrec f = \x. s in t] = letrec f = \x. D[s] in D[t]
    D[r] = pure (r, Zero)
    D[s + t] = do {(x, u) <- D[s]; (y, v) <- D[t]; w <- deltaLet (Add u v); pure (x + y, Var w)}
    D[s * t] = do {(x, u) <- D[s]; (y, v) <- D[t]; w <- deltaLet (Add (Scale y u) (Scale x v)); pure (x * y, Var w)}
    D[op(t1, .., tn)]: likewise with Fig. 14's sum, Add (Scale (d1op(x1, .., xn)) u1) .. (Scale (dnop(x1, .., xn)) un)
    D[build(s, t)] = do {n <- D[s]; f <- D[t]; sequence(build(n, f))}
    D[index(s, t)] = do {v <- D[s]; i <- D[t]; pure (index(v, i))}

    data DeltaBinds = Nil | Cons (Int, Delta) DeltaBinds          the latest binding first
    type DeltaState = (Int, DeltaBinds)          type M a = DeltaState -> (a, DeltaState)
    deltaLet delta = \(i, bs). (i, (i + 1, (i, delta) : bs))
    runDelta i m = let (res, (_, binds)) = m (i, []) in (res, foldl wrap Zero binds)
        where wrap body (i, u) = Let i u body

    type DeltaMap = Map Int R
    eval : Delta -> R -o (DeltaMap -> DeltaMap)
    eval Zero = \_(x : R). id                    eval (Scale y u) = \_(x : R). eval u (x y)
    eval (Var i) = \_(x : R). {i -> x} + ..      eval (Add u v) = \_(x : R). eval v x . eval u x
    eval (Let i u v) = linear(\(x : R). \m. evalBound i u (eval v x m))
        where evalBound i u m = case lookupMaybe i m of {inl(_) -> m; inr(x) -> eval u x (delete i m)}

    Wrap[\(x : s). t] = \(x : s). let (x, i) = initVars_s (x, 0) in let (y', u) = runDelta i D[t] in
        let (y, d) = Deinterleave_t y' in (y, linear(\(z : t). lookup_s (eval u 1 (d z {}), x)))

An operation of the paper is a function; here it is a term with arguments, and its rule is the paper's, applied to them.
Here the nest of Lets ends in Zero. The paper has the output's Delta there, which d evaluates before the nest: the map
begins with the contributions of the output. So the nest does not depend on the cotangent. eval takes the Delta first,
so that its type shows that it is linear in x (Lemma 10); for Let this does not follow by typing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stages.calculus.deltas.deltas import Deltas
from stages.calculus.deltas.terms import Do, InSequence, Pure, do
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Definition, Synonym
from stages.calculus.language.discrete import DISCRETE
from stages.calculus.language.sugar import Pattern, lambda_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type

__all__ = ["Monadic", "Translation"]


class Translation(Deltas):
    """The monadic translation of Fig. 9, for any monad with deltaLet."""

    @property
    def monad(self) -> str:
        """M"""
        return self.own_type("M").name

    @property
    def state(self) -> ty.Named:
        """DeltaState"""
        return self.own_type("DeltaState")

    def computing(self, type_: Type) -> Type:
        """M t"""
        return ty.Named(self.monad, (type_,))

    def arrow(self, argument: Type, result: Type) -> Type:
        """D[s -> t] = D[s] -> M D[t]"""
        return ty.Arrow(argument, self.computing(result))

    def pure(self, x: Term) -> Term:
        """pure x"""
        return Pure(x, self.monad)

    def term(self, term: Term) -> Term:
        """D[t]"""
        match term:
            case t.Lambda(x, type_, body):
                return self.pure(t.Lambda(x, self.type(type_), self.term(body)))
            case t.Apply(function, argument):
                return self.run((function, argument), lambda f, x: t.Apply(f, x), "fx")
            case t.Tuple(first, second):
                return self.run((first, second), lambda x, y: self.pure(t.Tuple(x, y)), "xy")
            case t.Fst(pair) | t.Snd(pair):
                return self.run((pair,), lambda x: self.pure(type(term)(x)))
            case t.Literal():
                return self.pure(self.constant(term))
            case t.Operation(op, arguments):
                return self.scalars(arguments, lambda xs, us: self.bound(op, xs, us))
            case t.Con(type_, name, arguments):
                return self.run(arguments, lambda *xs: self.pure(self.constructor(type_, name, xs)))
            case t.Case(scrutinee, branches):
                made = tuple([t.Branch(self.image(b.name), b.variables, self.term(b.body)) for b in branches])
                return self.run((scrutinee,), lambda x: t.Case(x, made))
            case t.Primitive("build", arguments):
                return self.run(arguments, lambda *xs: InSequence(t.Primitive("build", xs)), "nf")
            case t.Primitive(name, arguments):
                return self.run(arguments, lambda *xs: self.pure(t.Primitive(name, xs)), "vi")
            case t.Let() | t.Letrec() | t.Discrete():
                return super().term(term)  # with `lets`, `function` and `discrete` of here
        return self.pure(super().term(term))  # variables and the like

    def run(self, terms: tuple[Term, ...], use: Callable[..., Term], called: str = "") -> Term:
        """do {x1 <- D[t1]; ..; xn <- D[tn]; use(x1, .., xn)}, with the figure's letters."""
        names = [self.fresh(called[k] if called else "x") for k in range(len(terms))]
        made = use(*map(Var, names))
        return do([(x, self.term(term)) for x, term in zip(names, terms, strict=True)], made)

    def scalars(self, arguments: tuple[Term, ...], use: Callable[[list[Var], list[Var]], Term]) -> Term:
        """do {(x1, u1) <- D[t1]; ..; use(x1..xn, u1..un)}"""
        names: list[tuple[Pattern, Pattern]] = [(self.fresh("x"), self.fresh("u")) for _ in arguments]
        made = use([Var(str(x)) for x, _ in names], [Var(str(u)) for _, u in names])
        return do([(pair, self.term(argument)) for pair, argument in zip(names, arguments, strict=True)], made)

    def bound(self, op: str, xs: list[Var], us: list[Var]) -> Term:
        """do {w <- deltaLet (..); pure (op(x1, .., xn), Var w)}"""
        w = self.fresh("u")
        value = t.Tuple(t.Operation(op, tuple(xs)), self.made("Var", Var(w)))
        return Do(w, t.Apply(self.own("deltaLet"), self.total_delta(op, xs, us)), self.pure(value))

    def lets(self, term: Term) -> Term:
        """D[let x = s in t], for a chain of lets."""
        chain: list[tuple[Pattern, Term]] = []
        while isinstance(term, t.Let):
            chain.append((term.name, self.term(term.value)))
            term = term.body
        return do(chain, self.term(term))

    def discrete(self, term: t.Discrete) -> Term:
        """An operation with a discrete result, on the values; `real` makes a constant."""
        if ty.REAL in DISCRETE[term.name].arguments:
            return self.scalars(term.arguments, lambda xs, _: self.pure(t.Discrete(term.name, tuple(xs))))
        real = DISCRETE[term.name].result == ty.REAL

        def made(*xs: Term) -> Term:
            """The operation on the values, as a computation; a real result is a constant."""
            result = t.Discrete(term.name, xs)
            return self.pure(self.constant(result) if real else result)

        return self.run(term.arguments, made)

    def called(self, function: Term, x: Term) -> Callable[..., Term]:
        """do {f <- D[function]; f x}"""
        return lambda: self.run((function,), lambda f: t.Apply(f, x), "f")


class Monadic(Translation):
    """The monadic translation with a state monad: Figs. 9 to 11."""

    name = "delta-map"

    def constructors(self) -> tuple[Constructor, ...]:
        """Zero | Scale R Delta | Add Delta Delta | Var Int | Let Int Delta Delta"""
        bound = Constructor("Let", (ty.INT, self.delta, self.delta))
        return Constructor("Zero", ()), *self.scaled(), Constructor("Var", (ty.INT,)), bound

    def collection(self) -> Type:
        """Map Int R"""
        return ty.Map(ty.REAL)

    @property
    def binds(self) -> ty.Named:
        """DeltaBinds"""
        return self.own_type("DeltaBinds")

    def synonyms(self) -> Mapping[str, DataType | Synonym]:
        """Delta, DeltaBinds, DeltaState and M"""
        a = ty.Parameter("a")
        cons = Constructor("Cons", (ty.Pair(ty.INT, self.delta), self.binds))
        found: tuple[DataType | Synonym, ...] = (
            DataType(self.binds.name, (), (Constructor("Nil", ()), cons)),
            Synonym(self.state.name, ty.Pair(ty.INT, self.binds)),
            Synonym(self.monad, ty.Arrow(self.state, ty.Pair(a, self.state)), ("a",)),
        )
        return {**super().synonyms(), **{declared.name: declared for declared in found}}

    # Fig. 11

    def interface(self) -> tuple[Definition, ...]:
        """deltaLet delta = \\(i, bs). (i, (i + 1, (i, delta) : bs))"""
        i, delta, bs = Var("i"), Var("delta"), Var("bs")
        more = t.Con(self.binds, "Cons", (t.Tuple(i, delta), bs))
        body = lambda_(("i", "bs"), self.state, t.Tuple(i, t.Tuple(t.Discrete("+#", (i, t.Integer(1))), more)))
        kind = ty.Arrow(self.delta, self.computing(ty.INT))
        return (Definition(self.own("deltaLet").name, kind, t.Lambda("delta", self.delta, body)),)

    def wrapping(self) -> Definition:
        """wrap body binds: foldl wrap body binds"""
        branches = (
            t.Branch("Nil", (), Var("body")),
            t.Branch("Cons", ("b", "rest"), let(("i", "u"), Var("b"), self.wrap_more())),
        )
        body = t.Lambda("body", self.delta, t.Lambda("binds", self.binds, t.Case(Var("binds"), branches)))
        return Definition(self.own("wrap").name, ty.Arrow(self.delta, ty.Arrow(self.binds, self.delta)), body)

    def wrap_more(self) -> Term:
        """wrap (Let i u body) rest"""
        outer = self.made("Let", Var("i"), Var("u"), Var("body"))
        return t.Apply(t.Apply(self.own("wrap"), outer), Var("rest"))

    def running(self, type_: Type) -> Definition:
        """runDelta i m = let (res, (_, binds)) = m (i, []) in (res, wrap Zero binds)"""
        start = t.Tuple(Var("i"), t.Con(self.binds, "Nil", ()))
        nest = t.Apply(t.Apply(self.own("wrap"), self.made("Zero")), Var("binds"))
        body = let(("res", ("_", "binds")), t.Apply(Var("m"), start), t.Tuple(Var("res"), nest))
        kind = ty.Arrow(ty.INT, ty.Arrow(self.computing(type_), ty.Pair(type_, self.delta)))
        curried = t.Lambda("i", ty.INT, t.Lambda("m", self.computing(type_), body))
        return Definition(self.own("runDelta").name, kind, curried)

    def variable(self) -> t.Branch:
        r"""Var(i) -> \_(x : R). \(m : DeltaMap). {i -> x} + m"""
        body = t.Lambda("m", self.map, t.Plus(t.Singleton(Var("i"), Var("x")), Var("m")))
        return t.Branch("Var", ("i",), t.LinearLambda("x", ty.REAL, body, "eval"))

    def let_branch(self) -> t.Branch:
        r"""Let(i, u, v) -> linear(\(x : R). \(m : DeltaMap). evalBound i u (eval v x m))"""
        inner = t.Apply(t.Apply(t.Apply(self.own("eval"), Var("v")), Var("x")), Var("m"))
        after = t.Apply(t.Apply(t.Apply(self.own("evalBound"), Var("i")), Var("u")), inner)
        return t.Branch("Let", ("i", "u", "v"), t.Claim(t.Lambda("x", ty.REAL, t.Lambda("m", self.map, after))))

    def bound_later(self) -> Definition:
        """evalBound i u m = case lookupMaybe i m of {inl(_) -> m; inr(x) -> eval u x (delete i m)}"""
        i, m = Var("i"), Var("m")
        again = t.Apply(t.Apply(t.Apply(self.own("eval"), Var("u")), Var("x")), t.Primitive("delete", (i, m)))
        found = t.Case(t.Primitive("lookupMaybe", (i, m)), (t.Branch("inl", ("_",), m), t.Branch("inr", ("x",), again)))
        body = t.Lambda("i", ty.INT, t.Lambda("u", self.delta, t.Lambda("m", self.map, found)))
        kind = ty.Arrow(ty.INT, ty.Arrow(self.delta, self.codomain()))
        return Definition(self.own("evalBound").name, kind, body)

    # Figs. 10 and 16

    def entry(self, i: Term) -> Term:
        """Var i"""
        return self.made("Var", i)

    def lookup(self, m: Term, x: Term) -> Term:
        """lookupOrZero (id of x) m"""
        return t.Primitive("lookup", (t.Apply(self.own("idOf"), t.Snd(x)), m))

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        """let (x, i) = initVars (x, 0) in let (e, u) = runDelta i (D[t]) in .."""
        self.define(self.wrapping(), self.running(self.type(target)))
        self.define(self.evaluating(self.variable(), self.let_branch()), self.bound_later(), self.id_of("Var"))
        i, e, u, y, d, z = (self.fresh(name) for name in ("i", "y", "u", "y", "d", "z"))
        start = t.Apply(t.Apply(Var(d), Var(z)), t.Zero(self.map))
        final = t.Apply(t.Apply(t.Apply(self.own("eval"), Var(u)), t.Literal(1.0)), start)
        back = t.Claim(t.Lambda(z, target, t.Apply(Var(self.rebuild), final)))
        made: Term = let((y, d), self.deinterleave(target, Var(e)), t.Tuple(self.found(target, y, Var(e)), back))
        made = let((e, u), t.Apply(t.Apply(self.own("runDelta"), Var(i)), inner()), made)
        return self.prepared(x, source, i, made)
