"""Induction variables with closed forms (affine, nested, alternating), so that they need no tape.

    k = c                   k = c                       k = c                       s = 1
    for i in range(n):      for i in range(n):          for i in range(n):          while ..:
        k += 3                  for j in range(m):          for j in range(i):          s = -s
                                    k += 1                      k += 1

Before iteration i, k is c + 3 * i, c + i * m, c + (0 + 1 + .. + (i - 1)), and s is 1 - 2 * (i & 1). The second and the
third are how positions in flat arrays and in packed triangular matrices are counted. After the loop it is the same,
with the number of all iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from numba.core import types

from dualrev.compiler.analysis.ssa import Loop, Value, Versions
from dualrev.compiler.ir.core.atoms import Applied, Constant, Expr, Operator, Var
from dualrev.compiler.ir.core.nodes import Copy, Discrete, For, While
from dualrev.compiler.ir.core.traverse import statements, writes

__all__ = ["Progression", "length", "progressions"]

_I64 = types.int64
_ZERO, _ONE = Constant(0, _I64), Constant(1, _I64)


@dataclass(frozen=True)
class _Sum:
    """Affine form: a constant, values with signs, and `by` times the loop counter."""

    constant: int = 0
    terms: tuple[tuple[int, Value], ...] = ()
    by: int = 0

    def plus(self, other: _Sum, sign: int = 1) -> _Sum:
        """Sum of both, or with `sign=-1` their difference."""
        more = tuple((sign * k, v) for k, v in other.terms)
        return _Sum(self.constant + sign * other.constant, self.terms + more, self.by + sign * other.by)

    def expression(self, part: Callable[[Value], Expr]) -> Expr:
        """Emit the form without the counter term; `part` gives the atom for a value."""
        made: Expr | None = None
        for k, v in sorted(self.terms, key=lambda term: -term[0]):
            x = part(v)
            if made is None:
                made = x if k > 0 else Operator("-", (x,))
            else:
                made = Operator("+" if k > 0 else "-", (made, x))
        if made is None:
            return Constant(self.constant, _I64)
        if self.constant == 0:
            return made
        return Operator("+" if self.constant > 0 else "-", (made, Constant(abs(self.constant), _I64)))


@dataclass(frozen=True)
class _Range:
    """Inner loop over `range(start, stop)`, with bounds affine in the outer loop's counter."""

    start: _Sum
    stop: _Sum

    @property
    def by(self) -> int:
        """Increase of the inner trip count per outer iteration."""
        return self.stop.by - self.start.by

    @property
    def values(self) -> list[Value]:
        """Values that the inner trip count depends on."""
        return [v for _, v in (*self.start.terms, *self.stop.terms)]

    def total(self, rounds: Expr, first: Expr, part: Callable[[Value], Expr]) -> Expr:
        """Total inner trip count over a number of outer iterations; `first` is their counter's first value."""
        if self.by == 0:
            each = length(*(x.expression(part) for x in (self.start, self.stop)))
            return rounds if each == _ONE else Operator("*", (rounds, each))
        begin = self.stop.plus(self.start, -1).expression(part)
        if first != _ZERO:
            begin = Operator("+" if self.by > 0 else "-", (begin, first))
        return Applied("runtime.rising" if self.by > 0 else "runtime.falling", (rounds, begin))


@dataclass(frozen=True)
class _Change:
    """An increment `+ by` or `- by`, once in each iteration of the innermost of the `inner` loops, outermost last."""

    symbol: str
    by: Constant | Value
    inner: tuple[_Range, ...] = ()

    @property
    def values(self) -> list[Value]:
        """Values that the increments depend on, but for the trip count."""
        return [*_values(self.by), *(v for r in self.inner for v in r.values)]


@dataclass(frozen=True)
class Progression:
    """An induction variable: `first`, a constant or a value, and the increments of each iteration.

    Without increments, each iteration negates it.
    """

    first: Constant | Value
    changes: tuple[_Change, ...]

    @property
    def values(self) -> list[Value]:
        """Values that the closed form depends on, but for the trip count."""
        return [*_values(self.first), *(v for c in self.changes for v in c.values)]

    def after(self, rounds: Expr, counter: Expr, part: Callable[[Value], Expr]) -> Expr:
        """Closed form of the value after a number of iterations; `counter` is the loop counter's first value.

        `part` tells what a value is called.
        """
        made = part(self.first) if isinstance(self.first, Value) else self.first
        if not self.changes:
            odd = Operator("*", (Constant(2, _I64), Operator("&", (rounds, _ONE))))
            return Operator("*", (made, Operator("-", (_ONE, odd))))
        for c in self.changes:
            many = rounds
            for r in reversed(c.inner):
                many = r.total(many, counter, part)
            by = part(c.by) if isinstance(c.by, Value) else c.by
            change = many if by == _ONE else Operator("*", (many, by))
            made = change if c.symbol == "+" and made == _ZERO else Operator(c.symbol, (made, change))
        return made


def progressions(versions: Versions) -> dict[Value, Progression]:
    """Find the induction variables: their values at the start of each iteration, and after the loop."""
    found: dict[Value, Progression] = {}
    whole = [v for v in versions.values if v.kind == "header" and len(v.parts) == 2 and v.variable.type == _I64]
    for v in sorted(whole, key=lambda v: -v.region.depth):  # what is counted in an inner loop first
        if (made := _Search(versions, v.statement, found).progression(v)) is not None:
            found[v] = made
    for loop, some in versions.afters.items():
        if isinstance(loop, (For, While)) and not loop.exits:
            headers = versions.headers[loop]
            before = statements(loop.before) if isinstance(loop, While) else ()  # it runs once more than the body
            once_more = {x for t in before for x in writes(t)}
            counted = [x for x in some if x not in once_more and headers.get(x) in found]
            found |= {some[x]: found[headers[x]] for x in counted}
    return found


def length(start: Expr, stop: Expr) -> Expr:
    """Trip count of a loop over `range(start, stop)`, as an expression."""
    if isinstance(start, Constant) and isinstance(stop, Constant):
        return Constant(max(stop.value - start.value, 0), _I64)
    return Applied("max", (stop, _ZERO)) if start == _ZERO else Applied("runtime.range_length", (start, stop, _ONE))


@dataclass(frozen=True)
class _Search:
    """Recognition of induction variables in one loop; `found` are the ones of its inner loops."""

    versions: Versions
    loop: Loop
    found: dict[Value, Progression]

    def progression(self, v: Value) -> Progression | None:
        """Recognise `v` as an induction variable: every iteration negates it, or adds increments in closed form."""
        if isinstance(self.loop, For) and self.loop.step != _ONE:
            return None
        first, changes = _constant(v.parts[0]) or v.parts[0], list[_Change]()
        x = self._made_by(v.parts[1])
        while x is not v:  # from the end of the iteration to its start
            step = self._step(x) if x.region.owner is self.loop else None
            if step is None:
                return None
            x = self._made_by(step[0])
            if not step[1]:
                return Progression(first, ()) if x is v and not changes else None
            changes += step[1]
        return Progression(first, tuple(changes)) if changes else None

    def _step(self, x: Value) -> tuple[Value, tuple[_Change, ...]] | None:
        """The value that `x` is computed from, and the increments; no increments for a negation."""
        if x.kind == "after":
            return self._counted_inside(x)
        s = x.statement
        if x.kind != "op" or not isinstance(s, Discrete):
            return None
        read = self.versions.reads[s]
        match s.value:
            case Operator("-", (Var() as y,)) if y in read:
                return read[y], ()
            case Operator("+" | "-" as symbol, (Var() as y, by)) if y in read and (amount := self._fixed(by, s)):
                return read[y], (_Change(symbol, amount),)
            case Operator("+" as symbol, (by, Var() as y)) if y in read and (amount := self._fixed(by, s)):
                return read[y], (_Change(symbol, amount),)
        return None

    def _counted_inside(self, x: Value) -> tuple[Value, tuple[_Change, ...]] | None:
        """The value before an inner loop, and the increments that this loop adds; None if they have no closed form."""
        inner, made = x.statement, self.found.get(x.parts[0]) if x.parts else None
        if not isinstance(inner, For) or inner.exits or made is None or not isinstance(made.first, Value):
            return None
        start, stop = self._sum(inner.start, inner), self._sum(inner.stop, inner)
        if start is None or stop is None or not made.changes:
            return None
        around = _Range(start, stop)
        changes = tuple(replace(c, inner=(*c.inner, around)) for c in made.changes)
        steady = around.by in (-1, 0, 1) and all(r.by == 0 for c in made.changes for r in c.inner)
        fixed = all(not v.region.is_inside(self.loop) for c in changes for v in c.values)
        return (made.first, changes) if steady and fixed else None

    def _made_by(self, v: Value) -> Value:
        """A value with copies seen through: `i, k = i + 1, k + 1` makes some."""
        while v.kind == "op" and isinstance(v.statement, Copy) and isinstance(v.statement.source, Var):
            v = self.versions.at(v.statement, v.statement.source)
        return v

    def _fixed(self, x: Expr, s: Discrete) -> Constant | Value | None:
        """A loop-invariant integer operand of a statement; None for others."""
        if isinstance(x, Constant):
            return x if type(x.value) is int else None
        v = self.versions.reads[s].get(x) if isinstance(x, Var) and x.type == _I64 else None
        return v if v is not None and not v.region.is_inside(self.loop) else None

    def _sum(self, x: Expr, s: For | Discrete) -> _Sum | None:
        """An integer operand as an affine form in the counter and loop-invariant values; None if it is not."""
        if isinstance(x, Constant):
            return _Sum(x.value) if type(x.value) is int else None
        v = self.versions.reads[s].get(x) if isinstance(x, Var) and x.type == _I64 else None
        if v is None:
            return None
        v = self._made_by(v)
        if constant := _constant(v):
            return _Sum(constant.value)
        if not v.region.is_inside(self.loop):
            return _Sum(terms=((1, v),))
        if v.kind == "counter":
            return _Sum(by=1) if v.statement is self.loop else None
        made = v.statement.value if v.kind == "op" and isinstance(v.statement, Discrete) else None
        if not isinstance(made, Operator) or made.symbol not in ("+", "-") or len(made.args) != 2:
            return None
        one, two = (self._sum(y, v.statement) for y in made.args)
        return None if one is None or two is None else one.plus(two, 1 if made.symbol == "+" else -1)


def _values(x: Constant | Value) -> list[Value]:
    return [x] if isinstance(x, Value) else []


def _constant(v: Value) -> Constant | None:
    """The integer constant that a value is a copy of; None for others."""
    source = v.statement.source if v.kind == "op" and isinstance(v.statement, Copy) else None
    return source if isinstance(source, Constant) and type(source.value) is int else None
