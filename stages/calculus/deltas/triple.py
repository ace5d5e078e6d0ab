r"""Triple numbers: the first and the second derivative at once. Krawiec et al. 2022, section 8.6.

    D[R] = (R, R, R)             x, and the first and the second derivative of x(t) at t = 0, for an input x + t dx
    D[r] = (r, 0, 0)
    D[s + t] = let (x, x', x'') = D[s] in let (y, y', y'') = D[t] in (x + y, x' + y', x'' + y'')
    D[s * t] = .. in (x y, x' y + y' x, x'' y + x' y' + y'' x + y' x')
    D[op(t1, .., tn)] = let (xi, xi', xi'') = D[ti] in let (y, y') = F[op(x1, .., xn)] in
                        let (pi, pi') = F[di op(x1, .., xn)] in (y, y', x1'' p1 + x1' p1' + .. + xn'' pn + xn' pn')
    everything else as in forward AD

    Wrap[\(x : s). t] = \(x, dx : (s, s)). (primal_t y, first_t y, second_t y)    where y = D[t], at x = (x, dx, 0)

The paper names the triples, after Karczmarczuk 1998, without details. F is forward AD, Fig. 3, on the pairs (xi, xi')
and (y, y'), by continuations/forward.py, which writes out partial derivatives as terms, so that they can be
differentiated, and the result is a program of the source language. The second derivative
along x + t dx is dx . H dx, with the Hessian H; dx = e_i, e_j and e_i + e_j give its entry at i, j.
"""

from __future__ import annotations

from collections.abc import Callable

from stages.calculus.continuations.forward import Fig4
from stages.calculus.continuations.partials import partial, times
from stages.calculus.deltas.back import Back
from stages.calculus.language import terms as t
from stages.calculus.language import types as ty
from stages.calculus.language.sugar import let
from stages.calculus.language.terms import Term, Var
from stages.calculus.language.types import Type
from stages.calculus.transformations.forward import Forward

__all__ = ["Triple", "Twice"]

NOTHING = t.Tuple(t.Literal(0.0), t.Literal(0.0))


class Twice(Forward):
    """The common part of triple numbers: F, forward AD on an operation and on its partial derivatives."""

    def dual(self) -> Fig4:
        """Forward AD on expressions, with names that are fresh here."""
        made = Fig4(self.c, self.source)
        made.taken, made.counters = self.taken, self.counters
        return made

    def with_partials(self, op: str, duals: list[Term], use: Callable[[Var, list[Term]], Term]) -> Term:
        """let y = F[op(x1, .., xn)] in let pi = F[di op(x1, .., xn)] in use(y, p1..pn), of numbers with tangents."""
        xs, y = [Var(self.fresh("x")) for _ in duals], Var(self.fresh("y"))
        forward = self.dual()
        partials = [partial(op, k, xs, y) for k in range(len(xs))]
        names = [Var(self.fresh("p")) for _ in partials]
        made = use(y, [p if isinstance(p, t.Literal) else name for p, name in zip(partials, names, strict=True)])
        for name, p in reversed(list(zip(names, partials, strict=True))):
            if not isinstance(p, t.Literal):
                made = t.Let(name.name, forward.term(p), made)
        made = t.Let(y.name, forward.term(t.Operation(op, tuple(xs))), made)
        for x, dual in reversed(list(zip(xs, duals, strict=True))):
            made = t.Let(x.name, dual, made)
        return made


class Triple(Twice):
    """Forward AD with triple numbers: section 8.6."""

    name = "triple"
    language = "source"

    def scalar(self) -> Type:
        """D[R] = (R, R, R)"""
        return ty.Pair(ty.REAL, ty.Pair(ty.REAL, ty.REAL))

    def constant(self, r: Term) -> Term:
        """(r, 0, 0)"""
        return t.Tuple(r, NOTHING)

    def operation(self, op: str, xs: list[Var], ds: list[Var]) -> Term:
        """(y, y', the sum)"""

        def made(y: Var, ps: list[Term]) -> Term:
            """The triple of the value y, with the partial derivatives ps."""
            sums: list[Term] = []
            for d, p in zip(ds, ps, strict=True):
                constant = isinstance(p, t.Literal)
                sums.append(times(t.Snd(d), p if constant else t.Fst(p)))
                if not constant:
                    sums.append(t.Operation("mul", (t.Fst(d), t.Snd(p))))
            total = sums[0]
            for term in sums[1:]:
                total = t.Operation("add", (total, term))
            return t.Tuple(t.Fst(y), t.Tuple(t.Snd(y), total))

        duals: list[Term] = [t.Tuple(x, t.Fst(d)) for x, d in zip(xs, ds, strict=True)]
        return self.with_partials(op, duals, made)

    # The wrapper

    def zip(self, type_: Type, x: Term, dx: Term) -> Term:
        """(x, dx, 0) for a real; otherwise Interleave of forward AD."""
        if isinstance(self.source.expose(type_), ty.Real):
            return t.Tuple(x, t.Tuple(dx, t.Literal(0.0)))
        return super().zip(type_, x, dx)

    def wrapped(self, x: str, source: Type, target: Type, inner: Callable[..., Term]) -> Term:
        """let x = Interleave (x, dx) in let y = D[t] in (primal y, first y, second y)"""
        y, v, dv = self.fresh("y"), self.fresh("x"), self.fresh("d")
        zero = lambda _: t.Integer(0)  # noqa: E731
        primal = Back("primal", self, t.Fst)(target, Var(y))
        first = Back("first", self, lambda u: t.Fst(t.Snd(u)), zero)(target, Var(y))
        second = Back("second", self, lambda u: t.Snd(t.Snd(u)), zero)(target, Var(y))
        made: Term = t.Let(y, inner(), t.Tuple(primal, t.Tuple(first, second)))
        return let((v, dv), Var(x), t.Let(x, self.zip(source, Var(v), Var(dv)), made))
