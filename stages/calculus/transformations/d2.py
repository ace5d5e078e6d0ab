r"""D2: calls are staged and merged by linear factoring, in an id generation monad: Fig. 8.

    D[R] = (R, (Int, R -o Staged))               D[s -> t] = D[s] -> Int -> (D[t], Int)

    D[t] i, the term D[t] : Int -> (D[t], Int) applied to the next id i:
    D[x] i = (x, i)                              D[()], D[n], D[\(x : s). t] = \(x : D[s]). D[t] likewise
    D[(s, t)] i = let (x, i') = D[s] i in let (y, i'') = D[t] i' in ((x, y), i'')           etc.
    D[let x = s in t] i = let (x, i') = D[s] i in D[t] i'
    D[r] i = ((r, (i, \_(z : R). 0)), i + 1)
    D[op(t1, .., tn)] i = let ((x1, d1), i1) = D[t1] i in .. in let ((xn, dn), in) = D[tn] i(n-1)
        in ((op(x1, .., xn),
             (in, \_(z : R). SCall d1 (d1op(x1, .., xn)(z)) + .. + SCall dn (dnop(x1, .., xn)(z)))), in + 1)

    D[build(s, t)] i = let (n, i') = D[s] i in let (f, i'') = D[t] i' in sequence(build(n, f)) i''        vectors.py
    Staged = (c, Map Int (R -o Staged, R))       0 and + act on each part; the map's + is linear factoring
    SCotan c = (c, {})                           SCall (i, f) x = (0, {i -> (f, x)})
    SResolve (c, m) = if m is empty then c else let i = highest key in m; (f, a) = lookup i in m
                      in SResolve (f a + (c, m without i))

    Interleave_t : (t, t -o Staged) -> Int -> (D[t], Int)    as in D1, with Interleave_R (x, d) i = ((x, (i, d)), i + 1)
    Deinterleave_t : D[t] -> (t, t -o Staged)     as in D1, with Deinterleave_R (x, u) = (x, \_(z : R). SCall u z)
    Wrap[\(x : s). t] = \(x : s). let (x, i) = Interleave_s (x, SCotan) 0
                                  in let (y, d) = Deinterleave_t (fst (D[t] i)) in (y, \_(z : t). SResolve (d z))

If D[t] i is immediately (v, i), `let (x, i') = (v, i) in ..` is omitted (the monad's left unit law). In Fig. 8,
Deinterleave calls a scalar's backpropagator itself; section 4 says that it stages the call, which is needed to call
every backpropagator at most once. SResolve is linear because its summands are (section 4); types do not show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stages.calculus.deltas.terms import InSequence
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.declarations import Constructor, DataType, Definition, Synonym
from stages.calculus.language.discrete import DISCRETE
from stages.calculus.language.sugar import Pattern, if_, lambda_, let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.d1 import D1

__all__ = ["D2"]

#: What is made of a value and the next id.
Use = Callable[[Term, Term], Term]


class D2(D1):
    """Staged calls with linear factoring: Fig. 8."""

    name = "D2"
    language = "D2"

    # On types

    def scalar(self) -> Type:
        """D[R] = (R, (Int, R -o Staged))"""
        return ty.Pair(ty.REAL, self.backpropagator())

    def backpropagator(self) -> Type:
        """(Int, R -o Staged)"""
        return ty.Pair(ty.INT, self.linear())

    def linear(self) -> Type:
        """R -o Staged"""
        return ty.Linear(ty.REAL, self.codomain())

    @property
    def staged(self) -> ty.Named:
        """Staged"""
        return self.own_type("Staged")

    def codomain(self) -> Type:
        """Staged"""
        return self.staged

    def arrow(self, argument: Type, result: Type) -> Type:
        """D[s -> t] = D[s] -> Int -> (D[t], Int)"""
        return ty.Arrow(argument, self.computing(result))

    def synonyms(self) -> Mapping[str, DataType | Synonym]:
        """Staged"""
        return {self.staged.name: Synonym(self.staged.name, ty.Pair(self.c, self.calls()))}

    def calls(self) -> Type:
        """Map Int (R -o Staged, R)"""
        return ty.Map(ty.Pair(self.linear(), ty.REAL))

    # The monad: a computation of a t is a function of the next id

    def computing(self, type_: Type) -> Type:
        """Int -> (t, Int)"""
        return ty.Arrow(ty.INT, ty.Pair(type_, ty.INT))

    def computation(self, make: Callable[[Term], Term]) -> Term:
        r"""\(i : Int). make(i)"""
        i = self.fresh("i")
        return t.Lambda(i, ty.INT, make(Var(i)))

    def pure(self, x: Term, i: Term) -> Term:
        """(x, i)"""
        return t.Tuple(x, i)

    def take(self, x: Pattern, i: str, computation: Term, body: Term) -> Term:
        """let (x, i) = computation in body"""
        return let((x, i), computation, body)

    # On terms

    def term(self, term: Term) -> Term:
        r"""D[t] = \(i : Int). D[t] i"""
        return self.computation(lambda i: self.on(term, i))

    def on(self, term: Term, *state: Term) -> Term:
        """D[t] i, a term of type (D[t], Int)."""
        return self.run(term, state[0], self.pure)

    def run(self, term: Term, i: Term, use: Use) -> Term:
        """let (x, i') = D[t] i in use(x, i')"""
        match term:
            case t.Var() | t.Star() | t.Integer():
                return use(term, i)
            case t.Instance():
                return use(D1.term(self, term), i)
            case t.Tuple(first, second):
                return self.run(first, i, lambda x, j: self.run(second, j, lambda y, k: use(t.Tuple(x, y), k)))
            case t.Fst(pair):
                return self.run(pair, i, lambda x, j: use(t.Fst(x), j))
            case t.Snd(pair):
                return self.run(pair, i, lambda x, j: use(t.Snd(x), j))
            case t.Apply(function, argument):
                return self.run(
                    function,
                    i,
                    lambda f, j: self.run(argument, j, lambda x, k: self.bind(t.Apply(t.Apply(f, x), k), use)),
                )
            case t.Lambda(x, type_, body):
                return use(t.Lambda(x, self.type(type_), self.term(body)), i)
            case t.Let():
                return self.lets_in(term, i, use)
            case t.Literal():
                return self.bind(self.constant_at(term, i), use)
            case t.Operation(op, arguments):
                return self.bind(self.run_scalars(arguments, i, lambda *made: self.operation_at(op, *made)), use)
            case t.Discrete():
                return self.run_discrete(term, i, use)
            case t.Primitive("build", arguments):
                made = lambda xs: InSequence(t.Primitive("build", tuple(xs)))  # noqa: E731
                return self.run_all(arguments, i, lambda xs, j: self.bind(t.Apply(made(xs), j), use))
            case t.Primitive(name, arguments):
                return self.run_all(arguments, i, lambda xs, j: use(t.Primitive(name, tuple(xs)), j))
            case t.Letrec(functions, body):
                return self.bind(t.Letrec(tuple([self.function(f) for f in functions]), self.on(body, i)), use)
            case t.Con(type_, name, arguments):
                return self.run_all(arguments, i, lambda xs, j: use(self.constructor(type_, name, tuple(xs)), j))
            case t.Case(scrutinee, branches):

                def branch(b: t.Branch, j: Term) -> t.Branch:
                    """A branch of a case, with the next id j."""
                    return t.Branch(self.image(b.name), b.variables, self.on(b.body, j))

                return self.run(
                    scrutinee, i, lambda x, j: self.bind(t.Case(x, tuple([branch(b, j) for b in branches])), use)
                )
        raise AssertionError(term)

    def bind(self, computation: Term, use: Use) -> Term:
        """let (x, i) = computation in use(x, i)"""
        return computation if use == self.pure else self.named(computation, use)

    def next(self, i: Term) -> Term:
        """i + 1"""
        return t.Discrete("+#", (i, t.Integer(1)))

    def lets_in(self, term: Term, i: Term, use: Use) -> Term:
        """D[let x = s in t] i = let (x, i') = D[s] i in D[t] i', for a chain of lets."""
        chain: list[tuple[str, str, Term]] = []
        while isinstance(term, t.Let):
            j = self.fresh("i")
            chain.append((term.name, j, self.on(term.value, i)))
            term, i = term.body, Var(j)
        made = self.on(term, i)
        for x, j, computation in reversed(chain):
            made = self.take(x, j, computation, made)
        return self.bind(made, use)

    def run_all(self, arguments: tuple[Term, ...], i: Term, use: Callable[[list[Term], Term], Term]) -> Term:
        """let (x1, i1) = D[t1] i in .. in use(x1..xn, in)"""
        if not arguments:
            return use([], i)
        first, rest = arguments[0], arguments[1:]
        return self.run(first, i, lambda x, j: self.run_all(rest, j, lambda xs, k: use([x, *xs], k)))

    def run_scalars(
        self, arguments: tuple[Term, ...], i: Term, use: Callable[[list[Var], list[Var], Term], Term]
    ) -> Term:
        """let ((x1, d1), i1) = D[t1] i in .. in use(x1..xn, d1..dn, in)"""
        if not arguments:
            return use([], [], i)
        x, d, first, rest = self.fresh("x"), self.fresh("d"), arguments[0], arguments[1:]

        def after(j: Term) -> Term:
            """Transform the remaining arguments, with the next id j."""
            return self.run_scalars(rest, j, lambda xs, ds, k: use([Var(x), *xs], [Var(d), *ds], k))

        if isinstance(first, (t.Var, t.Fst, t.Snd)):
            return self.run(first, i, lambda v, j: let((x, d), v, after(j)))
        j = self.fresh("i")
        return self.take((x, d), j, self.on(first, i), after(Var(j)))

    def constant_at(self, r: Term, i: Term) -> Term:
        r"""((r, (i, \_(z : R). 0)), i + 1)"""
        back = t.LinearLambda(self.fresh("z"), ty.REAL, self.zero(), "D[r]")
        return self.pure(t.Tuple(r, t.Tuple(i, back)), self.next(i))

    def operation_at(self, op: str, xs: list[Var], ds: list[Var], i: Term) -> Term:
        """((op(x1, .., xn), (i, the backpropagator)), i + 1)"""
        z, args = self.fresh("z"), tuple(xs)
        sums = [self.call(d, t.Partial(op, k, args, Var(z))) for k, d in enumerate(ds, 1)]
        back = t.LinearLambda(z, ty.REAL, self.total(sums), "D[op]")
        return self.pure(t.Tuple(t.Operation(op, args), t.Tuple(i, back)), self.next(i))

    def call(self, d: Term, z: Term) -> Term:
        """SCall d z"""
        return t.Apply(t.Apply(self.own("SCall"), d), z)

    def run_discrete(self, term: t.Discrete, i: Term, use: Use) -> Term:
        """An operation with a discrete result, on the values; `real` makes a constant."""
        if ty.REAL in DISCRETE[term.name].arguments:
            return self.run_scalars(term.arguments, i, lambda xs, ds, j: use(t.Discrete(term.name, tuple(xs)), j))

        def made(xs: list[Term], j: Term) -> Term:
            """The operation on the values; a real result is a constant with an id."""
            result = t.Discrete(term.name, tuple(xs))
            real = DISCRETE[term.name].result == ty.REAL
            return self.bind(self.constant_at(result, j), use) if real else use(result, j)

        return self.run_all(term.arguments, i, made)

    def called(self, function: Term, x: Term) -> Callable[..., Term]:
        """D[function] x i"""
        return lambda i: self.run(function, i, lambda f, j: t.Apply(t.Apply(f, x), j))

    # The interface

    def zero(self) -> Term:
        """0 : Staged"""
        return t.Zero(self.staged)

    def interface(self) -> tuple[Definition, ...]:
        """SCotan, SCall and SResolve."""
        return self.cotan(), self.calling(), *self.resolving()

    def cotan(self) -> Definition:
        """SCotan c = (c, {})"""
        made_by = "Interleave" if isinstance(self.c, ty.Real) else ""
        body = t.LinearLambda("c", self.c, t.Tuple(Var("c"), t.Zero(self.calls())), made_by)
        return Definition(self.own("SCotan").name, ty.Linear(self.c, self.staged), body)

    def calling(self) -> Definition:
        """SCall (i, f) x = (0, {i -> (f, x)})"""
        delayed = t.Singleton(Var("i"), t.Tuple(Var("f"), Var("x")))
        body = t.LinearLambda("x", ty.REAL, t.Tuple(t.Zero(self.c), delayed))
        return Definition(
            self.own("SCall").name,
            ty.Arrow(self.backpropagator(), self.linear()),
            lambda_(("i", "f"), self.backpropagator(), body),
        )

    def resolving(self) -> tuple[Definition, ...]:
        """SResolve (c, m)"""
        again = t.Apply(self.own("SResolve"), t.Plus(t.Apply(Var("f"), Var("a")), t.Tuple(Var("c"), Var("rest"))))
        body = self.pop_or(Var("c"), again)
        return (
            Definition(
                self.own("SResolve").name,
                ty.Linear(self.staged, self.c),
                t.Claim(lambda_(("c", "m"), self.staged, body)),
            ),
        )

    def pop_or(self, empty: Term, again: Term) -> Term:
        """if m is empty then .. else let i = highest key in m; (f, a) = lookup i in m; rest = m without i in .."""
        m, i = Var("m"), Var("i")
        taken = let(("f", "a"), t.Primitive("lookup", (i, m)), t.Let("rest", t.Primitive("delete", (i, m)), again))
        return if_(t.Primitive("empty", (m,)), empty, t.Let("i", t.Primitive("highest", (m,)), taken))

    # The wrapper

    def place(self, x: Term, d: Term, i: Term, use: Use, type_: Type) -> Term:
        """let (x', i') = Interleave (x, d) i in use(x', i')"""
        match self.source.expose(type_):
            case ty.Real():
                return self.bind(self.pure(t.Tuple(x, t.Tuple(i, self.injector(d))), self.next(i)), use)
            case ty.Unit() | ty.Int():
                return use(x, i)
            case ty.Pair(first, second):
                left = self.into(first, d, lambda z: self.at_first(z, first, second))
                right = self.into(second, d, lambda z: self.at_second(z, first, second))

                def both(v: Var, w: Var) -> Term:
                    """Interleave both halves of a pair, the first one first."""

                    def then(y: Term, j: Term) -> Term:
                        """Interleave the second half, with the next id j."""
                        last = right(lambda e: self.place(w, e, j, self.pure, second))
                        return self.named(last, lambda u, k: self.pure(t.Tuple(y, u), k))

                    return left(lambda e: self.named(self.place(v, e, i, self.pure, first), then))

                return self.bind(self.halves(x, both), use)
            case ty.Vector():
                raise self.no_vector(x)
            case ty.Named() as data:
                function = self.recursive("Interleave", data, self.interleave_type(data), lambda: self.of_data(data))
                return self.bind(t.Apply(t.Apply(function, t.Tuple(x, d)), i), use)
            case other:
                return self.bind(self.choices(other, x, d, i), use)

    def named(self, computation: Term, use: Use) -> Term:
        """let (x, i) = computation in use(x, i)"""
        x, i = self.fresh("y"), self.fresh("i")
        return self.take(x, i, computation, use(Var(x), Var(i)))

    def injector(self, d: Term) -> Term:
        """The backpropagator of an input scalar: d itself in D2."""
        return d

    def at_first(self, z: Term, first: Type, second: Type) -> Term:
        """(z, 0)"""
        return t.Tuple(z, t.Zero(second))

    def at_second(self, z: Term, first: Type, second: Type) -> Term:
        """(0, z)"""
        return t.Tuple(t.Zero(first), z)

    def at_field(self, z: Term, type_: Type, c: Constructor, k: int) -> Term:
        """C(0, .., z, .., 0)"""
        fields: list[Term] = [t.Zero(f) for f in c.fields]
        return t.Con(type_, c.name, (*fields[:k], z, *fields[k + 1 :]))

    def into(self, part: Type, d: Term, place: Callable[[Term], Term]) -> Callable[[Callable[[Var], Term]], Term]:
        r"""let e = \_(z : part). d (place z) in .."""
        z, e = self.fresh("z"), self.fresh("d")
        made_by = "Interleave" if isinstance(self.given_by(part), ty.Real) else ""
        made = t.LinearLambda(z, self.given_by(part), t.Apply(d, place(Var(z))), made_by)
        return lambda use: t.Let(e, made, use(Var(e)))

    def given_by(self, part: Type) -> Type:
        """The argument type of a part's backpropagator: a cotangent of the part in D2."""
        return part

    def interleave_type(self, data: Type) -> Type:
        """Interleave : (t, t -o Staged) -> Int -> (D[t], Int)"""
        given = ty.Pair(data, ty.Linear(self.given_by(data), self.codomain()))
        return ty.Arrow(given, ty.Arrow(ty.INT, ty.Pair(self.type(data), ty.INT)))

    def of_data(self, data: Type) -> Term:
        """Interleave for a data type, as a function."""
        v, d, i = self.fresh("v"), self.fresh("d"), self.fresh("i")
        given = ty.Pair(data, ty.Linear(self.given_by(data), self.codomain()))
        return lambda_((v, d), given, t.Lambda(i, ty.INT, self.choices(data, Var(v), Var(d), Var(i))))

    def choices(self, type_: Type, x: Term, d: Term, i: Term) -> Term:
        """case x of {C(y1, .., yn) -> let (x1, i1) = Interleave (y1, ..) i in .. in (DC(x1, .., xn), in); ..}"""

        def branch(c: Constructor, ys: list[Var]) -> Term:
            """Interleave the fields of a constructor, one after the other."""

            def fields(k: int, j: Term, done: list[Term]) -> Term:
                """Interleave the fields from the k-th on, with the next id j."""
                if k == len(ys):
                    return self.pure(self.constructor(type_, c.name, tuple(done)), j)
                into = self.into(c.fields[k], d, lambda z: self.at_field(z, type_, c, k))

                def placed(e: Var) -> Term:
                    """Interleave field k with the backpropagator e, and then the fields after it."""
                    made = self.place(ys[k], e, j, self.pure, c.fields[k])
                    return self.named(made, lambda v, n: fields(k + 1, n, [*done, v]))

                return into(placed)

            return fields(0, i, [])

        return self.each(type_, x, branch)

    def output(self, x: Term) -> Term:
        r"""let (x, u) = x in (x, \_(z : R). SCall u z)"""
        v, u, z = self.fresh("x"), self.fresh("u"), self.fresh("z")
        return let((v, u), x, t.Tuple(Var(v), t.LinearLambda(z, ty.REAL, self.call(Var(u), Var(z)))))

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        """let (x, i) = Interleave (x, SCotan) 0 in let (y, d) = Deinterleave (fst (D[t] i)) in ..."""
        i, y, d, e = (self.fresh(name) for name in ("i", "y", "d", "d"))
        given = self.fresh("x")
        result = self.resolved(Var(d), target, source, Var(given))
        made: Term = let((y, d), self.deinterleave(target, Var(e)), t.Tuple(Var(y), result))
        made = t.Let(e, t.Fst(inner(Var(i))), made)
        start = self.place(Var(x), self.own("SCotan"), t.Integer(0), self.pure, source)
        made = let((x, i), start, made)
        return t.Let(given, Var(x), made) if self.has_choice(source) else made

    def resolved(self, d: Term, target: Type, source: Type, x: Term) -> Term:
        r"""\_(z : t). SResolve (d z)"""
        z = self.fresh("z")
        body = t.Apply(self.own("SResolve"), t.Apply(d, Var(z)))
        if self.has_choice(source):
            return t.Claim(t.Lambda(z, target, t.Plus(body, self.zeros(source, x))))
        return t.LinearLambda(z, target, body)
