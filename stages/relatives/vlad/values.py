r"""VLAD's values, and zero, plus, J and J^-1 on them (section 4).

    v ::= [] | r | (v1, v2) | ↼v | primitive | <s, \x e>

    0 [] = []     0 r = 0     0 ↼v = ↼(0 v)     0 primitive = []
    0 (v1, v2) = (0 v1, 0 v2)                   0 <s, e> = [0 (s x1), ..], of the base free variables of e
    J v = ↼v for data; for a primitive, its transform; J <s, e> = <↼s, ↼e>, where ↼s ↼x = J (s x)
    J^-1 undoes J

All four take constant time; this is how we meet the paper's provisos about laziness and memoization. The content of ↼v
is transformed when it is read; the environment of a transformed closure is made when the closure is first applied; the
zero of a pair or a closure (Zero) and the sum of two pairs (Sum) are pairs that are computed when they are first read.
Each is computed once for its arguments, so the results share what the arguments share. Plus drops a Zero unread.

Pairs are native, as the paper says of its own implementation, and (J (v1, v2)) is ↼(v1, v2): with
closures, the sensitivity of a pair would be a list of two, but the rules of binary primitives give a pair. Booleans are
as in the paper: #t is CAR and #f is CDR.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from dualrev.eager.numbers.overload import DualNumber
from stages.relatives.vlad.printer import show_term
from stages.relatives.vlad.reverse import reverse
from stages.relatives.vlad.terms import EMPTY, Apply, Cons, Lambda, Term, Var, VladError, without_recursion

__all__ = [
    "NIL",
    "STANDARD",
    "Closure",
    "Exhausted",
    "J",
    "J_inverse",
    "Meter",
    "Pair",
    "Primitive",
    "Reverse",
    "Sum",
    "Zero",
    "describe",
    "is_pair",
    "is_real",
    "opened",
    "plus",
    "show",
    "zero",
]

Value = Any  #: a number (a float, or a dual number of a derivative call around this one), or what follows


@dataclass
class Meter:
    """Counts of the evaluator's work."""

    steps: int = 0  #: bindings of A-normal form evaluated, and lazy pairs made
    arithmetic: int = 0  #: operations on real numbers
    created: int = 0  #: backpropagators made: closures whose parameter is a sensitivity
    calls: int = 0  #: backpropagators called
    limit: float = math.inf  #: how many backpropagators may be made and called

    def check(self) -> None:
        """Raise Exhausted beyond the limit."""
        if self.created + self.calls > self.limit:
            raise Exhausted(f"more than {self.limit:,.0f} backpropagators have been made and called")


class Exhausted(VladError):  # noqa: N818 - as LimitReached
    """The evaluator has reached its limit."""


class _Nil:
    """[]"""

    def __repr__(self) -> str:
        return "NIL"


NIL = _Nil()


class _Compound:
    """A value that remembers its zero, and its sums with others."""

    __slots__ = ("sums", "zero")
    zero: Value
    sums: dict[int, Sum] | None


class Pair(_Compound):
    """(v1, v2)"""

    __slots__ = ("car", "cdr")

    def __init__(self, car: Value, cdr: Value) -> None:
        self.zero = self.sums = None
        self.car, self.cdr = car, cdr


class Zero(_Compound):
    """0 v of a pair, or of a closure that has base free variables: a pair."""

    __slots__ = ("of", "pair")

    def __init__(self, of: Value) -> None:
        self.zero = self.sums = None
        self.of, self.pair = of, None


class Sum(_Compound):
    """A (+) b of pairs: a pair."""

    __slots__ = ("a", "b", "pair")

    def __init__(self, a: Value, b: Value) -> None:
        self.zero = self.sums = None
        self.a, self.b, self.pair = a, b, None


@dataclass(slots=True, eq=False)
class Reverse:
    """↼v of data"""

    value: Value


@dataclass(slots=True, eq=False)
class Primitive:
    """A primitive function of the language, and its transform ↼t, which is made on demand."""

    name: str
    function: Callable[[Value, Meter], Value]
    transform: Callable[[Primitive], Closure]
    reverse: Closure | None = None


class Closure(_Compound):
    """<s, e>: the environment s is made when it is first used."""

    __slots__ = ("_made", "_make", "inverse", "reverse", "unit")
    inverse: Value
    reverse: Closure | None

    def __init__(self, unit: Lambda, make: Callable[[], dict[str, Value]] | dict[str, Value]) -> None:
        self.zero = self.sums = self.inverse = self.reverse = None
        self.unit, self._make = unit, make
        self._made = make if make.__class__ is dict else None

    @property
    def environment(self) -> dict[str, Value]:
        """S, of the free variables of e."""
        if self._made is None:
            self._made = self._make()  # type: ignore[operator]
        return self._made


def is_real(v: Value) -> bool:
    """Whether the value is a number."""
    return v.__class__ is float or isinstance(v, DualNumber)


def is_pair(v: Value) -> bool:
    """Whether the value is a pair."""
    return isinstance(v, (Pair, Zero, Sum))


def describe(v: Value) -> str:
    """The kind of a value, for messages."""
    if is_real(v):
        return f"the number {v!r}"
    if isinstance(v, Reverse):
        return f"J of {describe(v.value)}"
    return "[]" if v is NIL else "a pair" if is_pair(v) else f"{v.name}" if isinstance(v, Primitive) else "a closure"


def opened(v: Value, meter: Meter) -> Pair:
    """The value as a pair; lazy pairs are computed. VladError for other values."""
    if v.__class__ is Pair:
        return v
    if not is_pair(v):
        raise VladError(f"expected a pair, got {describe(v)}")
    todo = [v]
    while todo:  # a list in place of recursion: sums of sums may be as deep as the program is long
        u = todo[-1]
        needed = [w for w in ((u.of,) if u.__class__ is Zero else (u.a, u.b)) if _closed(w)]
        if u.pair is not None or not needed:
            todo.pop()
            if u.pair is None:
                meter.steps += 1
                u.pair = _zero_pair(u.of) if u.__class__ is Zero else _sum_pair(u.a, u.b, meter)
        else:
            todo.extend(needed)
    return v.pair


def _closed(v: Value) -> bool:
    return v.__class__ in (Zero, Sum) and v.pair is None


def _open(v: Value) -> Pair:
    return v if v.__class__ is Pair else v.pair


def _zero_pair(v: Value) -> Value:
    if v.__class__ is not Closure:
        return Pair(zero(_open(v).car), zero(_open(v).cdr))
    made: Value = NIL
    for x in reversed(v.unit.base_free):
        made = Pair(zero(v.environment[x]), made)
    return made


def _sum_pair(a: Value, b: Value, meter: Meter) -> Pair:
    a, b = _open(a), _open(b)
    return Pair(plus(a.car, b.car, meter), plus(a.cdr, b.cdr, meter))


def zero(v: Value) -> Value:
    """0 v"""
    if v.__class__ is float or isinstance(v, DualNumber):
        return 0.0
    if v.__class__ is Reverse:
        return Reverse(zero(v.value))
    if v is NIL or isinstance(v, Primitive):
        return NIL
    if isinstance(v, Zero):
        return v
    if isinstance(v, Closure):
        if v.unit.origin is not None or v.unit.primitive is not None:
            return Reverse(zero(J_inverse(v)))
        if not v.unit.base_free:
            return NIL
    if v.zero is None:
        v.zero = Zero(v)
    return v.zero


def plus(a: Value, b: Value, meter: Meter) -> Value:
    """A (+) b; VladError if they do not conform."""
    if (a.__class__ is float and b.__class__ is float) or (is_real(a) and is_real(b)):
        meter.arithmetic += 1
        return a + b
    if a.__class__ is Zero:
        return b
    if b.__class__ is Zero:
        return a
    if isinstance(a, Reverse) and isinstance(b, Reverse):
        return Reverse(plus(a.value, b.value, meter))
    if is_pair(a) and is_pair(b):
        if a.sums is None:
            a.sums = {}
        if id(b) not in a.sums:
            a.sums[id(b)] = Sum(a, b)  # which keeps b, so that no other value gets its id
        return a.sums[id(b)]
    if isinstance(a, Closure) and isinstance(b, Closure) and a.unit is b.unit:
        return Closure(a.unit, lambda: {x: plus(a.environment[x], b.environment[x], meter) for x in a.unit.free})
    if (a is NIL or isinstance(a, Primitive)) and a is b:
        return a
    raise VladError(f"plus: {describe(a)} and {describe(b)} do not conform")


def J(v: Value) -> Value:  # noqa: N802 - the paper's name
    """J v"""
    if isinstance(v, Primitive):
        if v.reverse is None:
            v.reverse = v.transform(v)
            v.reverse.inverse = v
        return v.reverse
    if not isinstance(v, Closure):
        return Reverse(v)
    if v.reverse is None:
        unit = reverse(v.unit)

        def environment() -> dict[str, Value]:
            """The environment of the transformed closure: J of each base free variable."""
            mapped = {"↼" + x: x for x in v.unit.free}
            return {x: J(v.environment[mapped[x]]) if x in mapped else STANDARD[x] for x in unit.free}

        v.reverse = Closure(unit, environment)
        v.reverse.inverse = v
    return v.reverse


def J_inverse(v: Value) -> Value:  # noqa: N802 - the paper's name
    """The value that J has transformed into v. VladError if v is not transformed."""
    if v.__class__ is Reverse:
        return v.value
    if not isinstance(v, Closure) or (v.inverse is None and v.unit.origin is None and v.unit.primitive is None):
        raise VladError(f"J-inverse: {describe(v)} is not a result of J")
    if v.inverse is None:
        if v.unit.primitive is not None:
            v.inverse = v.unit.primitive
        else:
            origin = v.unit.origin
            assert origin is not None
            v.inverse = Closure(origin, lambda: {x: J_inverse(v.environment["↼" + x]) for x in origin.free})
            v.inverse.reverse = v
    return v.inverse


STANDARD: dict[str, Value] = {"[]": NIL}  #: what reverse.py refers to; primitives.py adds the primitives


def show(v: Value | Term) -> str:
    """A value or a term as text: data as the expression that has this value, a closure as its lambda.

    >>> show(Pair(1.0, Pair(J(2.5), NIL)))
    '(list 1 (J 2.5))'
    """
    return show_term(v if isinstance(v, Term) else without_recursion(_term(v, Meter())))


def _term(v: Value, meter: Meter) -> Generator[Any, Any, Term]:
    if isinstance(v, Closure):
        return v.unit
    if isinstance(v, Primitive):
        return Var(v.name)
    if isinstance(v, Reverse):
        return Apply(Var("J"), (yield _term(v.value, meter)))
    if v is NIL:
        return EMPTY
    if not is_pair(v):
        return Var(f"{v:.0f}" if v.__class__ is float and v.is_integer() and abs(v) < 1e16 else repr(v))
    return Cons(0, (yield _term(opened(v, meter).car, meter)), (yield _term(opened(v, meter).cdr, meter)))
