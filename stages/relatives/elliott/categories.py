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
A zero is None, and is not added to anything: so a pair of cotangents is only as large as what is in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualrev.eager.numbers.overload import function, linearize
from stages.relatives.elliott.terms import Basic, Compose, Const, Curry, Fork, Op, Term, balanced

__all__ = ["Cont", "D", "Dual", "Functions", "Linear", "interpret", "listed", "plus"]

zero = None
Map = Callable[[Any], Any]


def plus(a: Any, b: Any) -> Any:
    """The sum of two (co)tangents; a loop along the first parts, which is where environments are deep.

    >>> plus(((None, 1.0), 2.0), ((5.0, 1.0), None))
    ((5.0, 2.0), 2.0)
    """
    seconds = []
    while isinstance(a, tuple) and isinstance(b, tuple) and a and b:
        seconds.append(plus(a[1], b[1]))
        a, b = a[0], b[0]
    total = b if a is zero else a if b is zero or a == () else a + b
    for second in reversed(seconds):
        total = (total, second)
    return total


def halves(z: Any) -> Any:
    """The parts of a pair, and of zero."""
    return (zero, zero) if z is zero else z


_BASIC: dict[str, Map] = {
    "id": lambda a: a,
    "exl": lambda a: a[0],
    "exr": lambda a: a[1],
    "apply": lambda a: a[0](a[1]),
}


class Functions:
    """The category ->, with the operations of the table of primitives."""

    def basic(self, name: str) -> Map:
        """id, exl, exr, apply"""
        return _BASIC[name]

    def compose(self, *fs: Map) -> Map:
        """fs[0] . fs[1] . ..."""

        def composed(a: Any) -> Any:
            for f in reversed(fs):
                a = f(a)
            return a

        return composed

    def fork(self, f: Map, g: Map) -> Map:
        r"""f /\ g"""
        return lambda a: (f(a), g(a))

    def const(self, c: Any) -> Map:
        """const c"""
        return lambda a: c

    def op(self, op: Op) -> Map:
        """An operation on balanced pairs."""
        if op.line is None:
            return lambda a: op.value
        compute = function(op.line)
        return lambda a: compute(*listed(a, op.arity))

    def curry(self, f: Map) -> Map:
        """curry f"""
        return lambda a: lambda b: f((a, b))


class Linear(Functions):
    """The category ->+. `step` is called at each application of a basic linear map, to count them."""

    def __init__(self, step: Callable[[], None] | None = None) -> None:
        self.step = step
        self.maps: dict[str, Map] = {
            "id": lambda a: a,
            "exl": self.counted(lambda a: halves(a)[0]),
            "exr": self.counted(lambda a: halves(a)[1]),
            "inl": self.counted(lambda a: (a, zero)),
            "inr": self.counted(lambda a: (zero, a)),
        }

    def counted(self, f: Map) -> Map:
        """The same map; it calls step, if there is one."""
        step = self.step
        if step is None:
            return f

        def map_(a: Any) -> Any:
            step()
            return f(a)

        return map_

    def basic(self, name: str) -> Map:
        """id, exl, exr, inl, inr"""
        return self.maps[name]

    def join(self, f: Map, g: Map) -> Map:
        r"""f \/ g"""

        def joined(z: Any) -> Any:
            a, b = halves(z)
            return plus(f(a), g(b))

        return self.counted(joined)

    def scale(self, p: Any) -> Map:
        """scale p"""
        return self.counted(lambda a: zero if a is zero else a * p)

    def zero(self) -> Map:
        """The zero map."""
        return lambda a: zero


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


def listed(a: Any, n: int) -> list[Any]:
    """The n parts of balanced pairs.

    >>> listed((1, (2, 3)), 3)
    [1, 2, 3]
    """
    if n <= 1:
        return [a] if n else []
    first, second = a
    return listed(first, n // 2) + listed(second, n - n // 2)


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
