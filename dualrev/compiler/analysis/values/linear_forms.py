"""Linear forms of integer expressions: the rules of the analyses of indices, which differ in how they name values.

    len, shape       not below 0
    x * y, x // y    not below 0 if neither of x and y is; x % y neither if y is not, and then below y
    max, min         not below, and not above, both

Numba's whole numbers wrap around at 2**63. So nothing is said of an operation that may come so far. For this, lengths,
numbers of iterations and arguments are taken to be below 2**31, and what is counted up in loops at most 2**62. Of
numbers that come from elsewhere (arrays of whole numbers, conversions, calls) no size is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from numba.core import types

from dualrev.compiler.analysis.values.linear_bounds import (
    Form,
    Number,
    constant,
    is_natural,
    magnitude,
    minus,
    plus,
    scaled,
    single,
)
from dualrev.compiler.ir.core.atom_types import is_array
from dualrev.compiler.ir.core.atoms import Applied, Choice, Constant, Expr, Field, Global, Index, Item, Operator, Var
from dualrev.compiler.ir.core.traverse import atoms_of

__all__ = ["COUNT", "SUM", "ZERO", "Axis", "LinearForms", "is_whole", "larger"]

_LARGEST = 2**63  # what no whole number of numba's reaches
COUNT = 2**31 - 1  # of iterations, and of elements along an axis
SUM = 2**62  # what loops count up
ZERO = constant(0)

#: An axis of an array, by its number; "size" stands for all of them together.
Axis: TypeAlias = tuple[Var | Global, int | str]


class LinearForms:
    """Rules from expressions to linear forms; a subclass says what a variable, or the extent of an axis, stands for."""

    def __init__(self) -> None:
        self.count = 0  # of numbers
        self._wrapped: dict[Form, Form] = {}  # numbers for forms that may overflow

    def look_up(self, key: Var | Axis, lower: Iterable[Form] = ()) -> Form:
        """The form of a variable, or of (array, axis)."""
        raise NotImplementedError

    def number(self, most: int | None = None, lower: Iterable[Form] = (), upper: Iterable[Form] = ()) -> Form:
        """A fresh integer with these bounds."""
        self.count += 1
        return single(Number(self.count, most, [*lower], [*upper]))

    def value(self, e: Expr) -> Form:
        """The linear form of an expression."""
        match e:
            case Constant(value=c) if type(c) is int:
                return constant(c)
            case Var() if is_whole(e):
                return self.look_up(e)
            case Operator(symbol, (x, y)):
                return self.operation(symbol, self.value(x), self.value(y))
            case Operator("-", (x,)):
                return self.bounded(scaled(-1, self.value(x)))
            case Choice(_, x, y):
                return self.either(self.value(x), self.value(y))
            case Applied(("max" | "min") as f, (x, y)):
                return self.extreme(f, self.value(x), self.value(y))
            case Applied("np.int64" | "np.intp" | "int", (Var() as x,)) if is_whole(x):
                return self.value(x)
            case Applied("runtime.range_length"):
                return self.number(COUNT, [ZERO])
            case Applied("runtime.rising" | "runtime.falling"):
                return self.number(SUM, [ZERO])
            case Applied("len", (Var() | Global() as x,)) if is_array(x):
                return self.look_up((x, 0), [ZERO])
            case Item(Field(Var() | Global() as x, "shape"), (Constant(value=axis),)) if is_array(x) and axis >= 0:
                return self.look_up((x, axis), [ZERO])
            case Field(Var() | Global() as x, "size") if is_array(x):
                return self.look_up((x, "size"), [ZERO])
        return self.number()

    def bounded(self, a: Form) -> Form:
        """A linear form; a number of unknown size, the same one for equal forms, if it may overflow."""
        most = magnitude(a)
        if most is not None and most < _LARGEST:
            return a
        if a not in self._wrapped:
            self._wrapped[a] = self.number()
        return self._wrapped[a]

    def operation(self, symbol: str, x: Form, y: Form) -> Form:
        """The form of `x symbol y`."""
        mx, my = magnitude(x), magnitude(y)
        natural = is_natural(x) and is_natural(y)
        match symbol:
            case "+":
                return self.bounded(plus(x, y))
            case "-":
                return self.bounded(minus(x, y))
            case "*" if not x.factors:
                return self.bounded(scaled(x.constant, y))
            case "*" if not y.factors:
                return self.bounded(scaled(y.constant, x))
            case "*" if natural and mx is not None and my is not None and mx * my < _LARGEST:
                return self.number(mx * my, [ZERO])
            case "//" | ">>" if natural:
                return self.number(mx, [ZERO], [x])
            case "%" if is_natural(y):
                below = minus(y, constant(1))
                return self.number(my, [ZERO], [below] if is_natural(below) else ())
            case "&" if is_natural(y):
                return self.number(my, [ZERO], [y])
        return self.number()

    def counter(self, start: Form, stop: Form, step: Expr) -> Form:
        """The form of the counter of a loop over `range(start, stop, step)`, in its iterations."""
        by = step.value if isinstance(step, Constant) else 0
        if not by:
            return self.number()
        one, sizes = constant(1), [magnitude(x) for x in (start, stop)]
        low, high = (start, minus(stop, one)) if by > 0 else (plus(stop, one), start)
        most = COUNT if None in sizes or sizes[0] == 0 else max(sizes)  # type: ignore[type-var]
        return self.number(most, [low], [high])

    def either(self, x: Form, y: Form) -> Form:
        """Join of two forms."""
        if x == y:
            return x
        return self.number(larger(magnitude(x), magnitude(y)), [ZERO] if is_natural(x) and is_natural(y) else ())

    def extreme(self, f: str, x: Form, y: Form) -> Form:
        """The form of `max(x, y)` or `min(x, y)`."""
        most = larger(magnitude(x), magnitude(y))
        if f == "max":
            return self.number(most, [x, y])
        return self.number(most, [ZERO] if is_natural(x) and is_natural(y) else (), [x, y])


def larger(x: int | None, y: int | None) -> int | None:
    """The larger of two bounds; None if one of them is unknown."""
    return None if x is None or y is None else max(x, y)


def is_whole(e: Index) -> bool:
    """Whether an expression has numba's default integer type, int64."""
    if isinstance(e, Var):
        return bool(types.unliteral(e.type) == types.int64)
    some = list(atoms_of(e)) if isinstance(e, Operator) else []
    return bool(some) and all(types.unliteral(x.type) == types.int64 for x in some if isinstance(x, Var))
