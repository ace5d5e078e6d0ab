r"""The instances: functions, linear functions, their duals, continuations of linear maps, and D k.

    ->           functions
    ->+          linear functions: also scale p, zero, and the join f \/ g : (a, b) -> c, which adds
    Dual k       a -> b is a map b -> a of k: composition is reversed, fork and join change places, and so do exl, inl
    Cont k R     a -> b is (b `k` R) -> (a `k` R): continuation passing of linear maps
    D k          a -> (b, a `k` b): a value with the derivative at this argument

    D:     (g . f) a  = let (b, f') = f a in let (c, g') = g b in (c, g' . f')
           (f /\ g) a = let (b, f') = f a in let (c, g') = g a in ((b, c), f' /\ g')
           op a       = (op a, scale p1 \/ .. \/ scale pn)
    Cont:  g . f      = \k. f (g k)
           f /\ g     = \k. f (k . inl) + g (k . inr)               k is used twice
           scale p    = \k. k . scale p                             and exl, exr, zero in the same way
    Dual:  g . f      = f . g         f /\ g = f \/ g         exl = inl         scale p = scale p

D is parametrised by the category k of linear maps: ->+ gives forward mode, Dual ->+ and Cont ->+ R give reverse mode.
The first two are in linear.py.
"""

from __future__ import annotations

from typing import Any

from dualrev.eager.numbers.overload import linearize
from stages.relatives.elliott.linear import Functions, Linear, Map, listed, plus
from stages.relatives.elliott.terms import Basic, Compose, Const, Curry, Fork, Op, Term, balanced

__all__ = ["Cont", "D", "Dual", "interpret"]


class Dual:
    """The category Dual k: the maps of k in the opposite direction."""

    def __init__(self, k: Any) -> None:
        self.scale, self.zero = k.scale, k.zero
        self.fork, self.join, self.k = k.join, k.fork, k

    def basic(self, name: str) -> Any:
        """id, exl, exr, inl, inr: exl is the inl of k, and so on."""
        return self.k.basic({"exl": "inl", "exr": "inr", "inl": "exl", "inr": "exr"}.get(name, name))

    def compose(self, *fs: Any) -> Any:
        """fs[0] . fs[1] . ..., in k: ... . fs[1] . fs[0]"""
        return self.k.compose(*reversed(fs))


class Cont(Functions):
    """The category Cont k R, for k with sums of maps; a map takes its continuation."""

    def __init__(self, k: Linear) -> None:
        self.k = k

    def basic(self, name: str) -> Map:
        """id, exl, exr"""
        return self.cont(self.k.basic(name))

    def cont(self, f: Any) -> Map:
        r"""\k. k . f"""
        return lambda k: self.k.compose(k, f)

    def compose(self, *fs: Map) -> Map:
        r"""g . f = \k. f (g k): the continuation meets the last map first"""
        return super().compose(*reversed(fs))

    def fork(self, f: Map, g: Map) -> Map:
        r"""\k. f (k . inl) + g (k . inr)"""
        inl, inr = self.k.basic("inl"), self.k.basic("inr")

        def forked(k: Any) -> Any:
            left, right = f(self.k.compose(k, inl)), g(self.k.compose(k, inr))
            return lambda a: plus(left(a), right(a))

        return forked

    def join(self, f: Map, g: Map) -> Map:
        r"""\k. f k \/ g k"""
        return lambda k: self.k.join(f(k), g(k))

    def scale(self, p: Any) -> Map:
        """scale p"""
        return self.cont(self.k.scale(p))

    def zero(self) -> Map:
        """The zero map."""
        return self.cont(self.k.zero())


class D:
    """The category D k: a function to a value and a linear map of k."""

    def __init__(self, k: Any) -> None:
        self.k = k

    def basic(self, name: str) -> Map:
        """id, exl, exr: linear, so each is its own derivative"""
        value, slope = Functions().basic(name), self.k.basic(name)
        return lambda a: (value(a), slope)

    def compose(self, *fs: Map) -> Map:
        """The chain rule"""

        def composed(a: Any) -> Any:
            slopes = []
            for f in reversed(fs):
                a, slope = f(a)
                slopes.append(slope)
            return a, self.k.compose(*reversed(slopes))

        return composed

    def fork(self, f: Map, g: Map) -> Map:
        r"""f /\ g"""

        def forked(a: Any) -> Any:
            (b, of_f), (c, of_g) = f(a), g(a)
            return (b, c), self.k.fork(of_f, of_g)

        return forked

    def const(self, c: Any) -> Map:
        """const c"""
        return lambda a: (c, self.k.zero())

    def op(self, op: Op) -> Map:
        r"""(op a, scale p1 \/ .. \/ scale pn)"""

        def differentiated(a: Any) -> Any:
            y, partials = linearize(op.line, listed(a, op.arity)) if op.line else (op.value, op.partials)
            return y, balanced([self.k.scale(p) for p in partials], self.k.join)

        return differentiated


def interpret(term: Term, k: Any) -> Any:
    """The morphism of a category for which a term stands."""
    match term:
        case Basic(name):
            return k.basic(name)
        case Const(c):
            return k.const(c)
        case Op():
            return k.op(term)
        case Compose(fs):
            return k.compose(*[interpret(f, k) for f in fs])
        case Fork(f, g):
            return k.fork(interpret(f, k), interpret(g, k))
        case Curry(f):
            return k.curry(interpret(f, k))
