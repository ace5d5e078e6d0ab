"""Rectangles of array elements, with linear forms as bounds: which elements does a statement in a loop nest touch?

    for i in range(1, n): y[i - 1]                       [0, n - 1)
    for i in range(n): for j in range(m): y[i, 2, j]     [0, n) x [2, 3) x [0, m)

What is said of two rectangles is proved by the bounds of the forms (values/linear_bounds.py): False, and None for a
rectangle, say that there is no proof. A rectangle may be empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dualrev.compiler.analysis.dependence import Dependence, Element
from dualrev.compiler.analysis.ssa import Loop
from dualrev.compiler.analysis.values.linear_bounds import Form, constant, is_natural, minus, plus
from dualrev.compiler.ir.core.atoms import Constant
from dualrev.compiler.ir.core.nodes import For

__all__ = ["Interval", "Rectangle", "are_apart", "covers", "difference", "hull", "is_invariant", "touched"]

_ONE = constant(1)


@dataclass(frozen=True)
class Interval:
    """The indices from `lower` to `upper - 1`."""

    lower: Form
    upper: Form


#: An interval for each axis of an array.
Rectangle: TypeAlias = tuple[Interval, ...]


def touched(of: Dependence, s: Element, loops: Sequence[Loop]) -> Rectangle | None:
    """Rectangle of the elements that a load or store touches in the loops around it, each of them exactly once."""
    found: list[Interval] = []
    left = [loop for loop in loops if isinstance(loop, For) and not loop.exits]
    if len(left) < len(loops):
        return None
    for form in of.access(s).index:
        moving = [loop for loop in left if of.moves_with(form, loop)]
        interval = None if form is None or len(moving) > 1 else _interval(of, form, moving[0] if moving else None)
        if interval is None or not is_natural(interval.lower):  # y[-1] is the last element
            return None
        left = [loop for loop in left if loop not in moving]
        found.append(interval)
    made = tuple(found)
    return None if left or (loops and not is_invariant(of, made, loops[0])) else made


def _interval(of: Dependence, form: Form, loop: For | None) -> Interval | None:
    """Interval of the values that a form has in the iterations of a loop, a step of 1 apart."""
    if loop is None:
        return Interval(form, plus(form, _ONE))
    rest = minus(form, of.counter_of(loop))
    step = loop.step.value if isinstance(loop.step, Constant) else 0
    if of.moves_with(rest, loop) or step not in (1, -1):
        return None
    start, stop = (plus(rest, of.form(loop, x)) for x in (loop.start, loop.stop))
    return Interval(start, stop) if step == 1 else Interval(plus(stop, _ONE), plus(start, _ONE))


def is_invariant(of: Dependence, a: Rectangle, loop: Loop) -> bool:
    """Whether a rectangle is the same in all iterations of a loop."""
    return all(of.is_invariant(form, loop) for x in a for form in (x.lower, x.upper))


def covers(a: Rectangle, b: Rectangle) -> bool:
    """Whether all elements of `b` are in `a`."""
    return all(map(_covers, a, b))


def are_apart(a: Rectangle, b: Rectangle) -> bool:
    """Whether no element of `b` is in `a`."""
    return any(_not_above(x.upper, y.lower) or _not_above(y.upper, x.lower) for x, y in zip(a, b, strict=True))


def hull(a: Rectangle, b: Rectangle) -> Rectangle | None:
    """The least rectangle with the elements of both."""
    found: list[Interval] = []
    for x, y in zip(a, b, strict=True):
        lower = _chosen(x.lower, y.lower, _not_above)
        upper = _chosen(x.upper, y.upper, lambda f, g: _not_above(g, f))
        if lower is None or upper is None:
            return None
        found.append(Interval(lower, upper))
    return tuple(found)


def difference(a: Rectangle, b: Rectangle) -> Rectangle | None:
    """A rectangle with the elements of `a` that are not in `b`, and perhaps others of `a`; None if there are none."""
    (*rest,) = (k for k, (x, y) in enumerate(zip(a, b, strict=True)) if not _covers(y, x))
    if not rest:
        return None
    if len(rest) > 1:
        return a
    (k,) = rest
    x, y = a[k], b[k]
    if _not_above(x.lower, y.lower) and _not_above(x.upper, y.upper):
        x = Interval(x.lower, y.lower)
    elif _not_above(y.lower, x.lower) and _not_above(y.upper, x.upper):
        x = Interval(y.upper, x.upper)
    return (*a[:k], x, *a[k + 1 :])


def _covers(x: Interval, y: Interval) -> bool:
    return _not_above(x.lower, y.lower) and _not_above(y.upper, x.upper)


def _not_above(f: Form, g: Form) -> bool:
    return is_natural(minus(g, f))


def _chosen(f: Form, g: Form, comes_first: Callable[[Form, Form], bool]) -> Form | None:
    return f if comes_first(f, g) else g if comes_first(g, f) else None
