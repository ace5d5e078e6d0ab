"""Linear forms of the indices of a kernel: products as monomials, values by their operands, bounds by induction.

    (2 * t + 1) * s      2 * [t * s] + s, where [t * s] is an integer that s divides
    (t + 1) % 4          one integer, wherever it is computed
    s = 1                s >= 1: so it is before the loop, and if it is in one iteration, it is in the next one
    while s < n:
        s *= 2

The sums and products of an index are taken not to overflow: an element with such an index does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dualrev.compiler.analysis.dependence import Access, Dependence, Root
from dualrev.compiler.analysis.ssa import Value, Versions
from dualrev.compiler.analysis.values.linear_bounds import (
    Form,
    Number,
    constant,
    is_natural,
    least,
    magnitude,
    minus,
    plus,
    scaled,
    single,
)
from dualrev.compiler.analysis.values.linear_forms import SUM, LinearForms, is_whole
from dualrev.compiler.ir.core.atoms import Applied, Global, Pack, Var
from dualrev.compiler.ir.core.nodes import View

__all__ = ["Indices"]

#: Lower bounds, and upper bounds, of an integer.
_Bounds = tuple[list[Form], list[Form]]


class Indices(Dependence):
    """Dependence analysis of a thread.

    made_of    the operands of an integer that an operation computes
    products   products of integers, by their factors
    lengths    the arrays that lengths belong to
    remainders the operands of integers `x % m`
    exclusive  the operands of integers `x ^ j`, x an integer
    """

    def __init__(self, versions: Versions) -> None:
        super().__init__(versions)
        self.made_of: dict[Number, tuple[Number, ...]] = {}
        self.products: dict[tuple[Number, ...], Form] = {}
        self.lengths: dict[Number, Var | Global] = {}
        self.remainders: dict[Number, tuple[Form, Form]] = {}
        self.exclusive: dict[Number, list[tuple[Number, Form]]] = {}
        self._operations: dict[tuple[str, Form, Form], Form] = {}

    def bounded(self, a: Form) -> Form:
        """Return a form as it is: indices do not overflow."""
        return a

    def extent(self, array: Root, axis: int | str) -> Form:
        """The form of the length of an array along an axis."""
        made = super().extent(array, axis)
        for x in made.factors:
            self.lengths.setdefault(x, array.variable if isinstance(array, Value) else array)
        return made

    def _part(self, s: View, a: Access) -> Access | None:
        """The element of the base of a view; also of the view of a record, whose fields have no axes."""
        match s.value:
            case Applied("runtime.row", (of, Pack(places))) if of is s.base:
                return replace(a, root=self._version(s.base) or s.base, index=(*map(self._index, places), *a.index))
        return super()._part(s, a)

    def factors_of(self, x: Number) -> tuple[Number, ...]:
        """The factors of a product; of any other integer, itself."""
        return self.made_of[x] if single(x) in self.products.values() else (x,)

    def operation(self, symbol: str, x: Form, y: Form) -> Form:
        """The form of `x symbol y`: one integer for equal operands."""
        key = symbol, x, y
        if key not in self._operations:
            before = self.count
            with self._at(self._here[0], None):
                self._operations[key] = made = self._operation(symbol, x, y)
            fresh = [n for n in made.factors if n.age > before and n not in self.made_of]
            self._note(fresh, (*x.factors, *y.factors))
            for n in fresh:
                if symbol == "%" and made == single(n):
                    self.remainders[n] = x, y
                    n.upper += [x] if is_natural(x) and is_natural(y) else []
                if symbol == "^" and made == single(n):
                    self.exclusive[n] = [(t, g) for f, g in ((x, y), (y, x)) for t in f.factors if f == single(t)]
        return self._operations[key]

    def _note(self, some: list[Number], operands: tuple[Number, ...]) -> None:
        self.made_of |= dict.fromkeys(some, operands)
        self._parts |= {n: [*operands] for n in some}

    def _operation(self, symbol: str, x: Form, y: Form) -> Form:
        match symbol:
            case "*" if x.factors and y.factors:
                every = all(is_natural(single(n)) for n in (*x.factors, *y.factors))
                if every or not (is_natural(x) and is_natural(y)):
                    return self._multiplied(x, y)
            case "%" if not y.factors and y.constant > 0:
                return self._remainder(x, y.constant)
            case "//" | ">>" if not y.factors and 0 < y.constant < 62:
                return self._quotient(x, y.constant if symbol == "//" else 2**y.constant)
            case "<<" if not y.factors and 0 <= y.constant < 62:
                return scaled(2**y.constant, x)
            case "<<" if is_natural(x) and is_natural(y):
                return self.number(None, [x])
            case "^" if is_natural(x) and is_natural(y):
                is_bit = not y.factors and y.constant == 1 and is_natural(minus(y, x))
                return minus(y, x) if is_bit else self.number(None, [constant(0)])
        return super().operation(symbol, x, y)

    def _multiplied(self, x: Form, y: Form) -> Form:
        """A product of sums as a sum of products."""
        found = plus(scaled(x.constant, y), scaled(y.constant, minus(x, constant(x.constant))))
        for p, k in x.factors.items():
            for q, m in y.factors.items():
                found = plus(found, scaled(k * m, self._product(p, q)))
        return found

    def _product(self, p: Number, q: Number) -> Form:
        parts = [*self.factors_of(p), *self.factors_of(q)]
        key = (*sorted(parts, key=lambda n: n.age),)
        if key not in self.products:
            is_natural_product = all(is_natural(single(n)) for n in key)
            sides = ([constant(0)], self._upper(key)) if is_natural_product else ([], [])
            made = LinearForms.number(self, None, *sides)
            self._note([*made.factors], key)
            self.products[key] = made
        return self.products[key]

    def _upper(self, key: tuple[Number, ...]) -> list[Form]:
        """Upper bounds of a product: x * y <= (n - 1) * y, if x < n."""
        found = []
        for k, n in enumerate(key):
            rest = Form(1, {})
            for x in (*key[:k], *key[k + 1 :]):
                rest = self._multiplied(rest, single(x))
            found += [self._multiplied(bound, rest) for bound in n.upper]
        return found

    def _quotient(self, x: Form, by: int) -> Form:
        """The form of `x // by`, a sum if it divides all parts of x."""
        if x.constant % by == 0 and all(k % by == 0 for k in x.factors.values()):
            return Form(x.constant // by, {n: k // by for n, k in x.factors.items()})
        low = least(x)
        if low is None or low < 0:
            return self.number()
        return self.number(magnitude(x), [constant(low // by)], [x])

    def _remainder(self, x: Form, m: int) -> Form:
        """The form of `x % m`, which multiples of m in x do not change."""
        rest = Form(x.constant % m, {n: k % m for n, k in x.factors.items() if k % m})
        if not rest.factors:
            return constant(rest.constant)
        if m == 2 and rest.constant:
            return minus(constant(1), self.operation("%", minus(rest, constant(1)), constant(m)))
        if rest != x:
            return self.operation("%", rest, constant(m))
        return self.number(m, [constant(0)], [constant(m - 1)])

    # Bounds by induction

    def _made(self, v: Value) -> Form:
        if v.kind == "header" and len(v.parts) == 2 and is_whole(v.variable):
            return self._induced(v) or super()._made(v)
        if v.kind == "after" and len(v.parts) == 1 and is_whole(v.variable):
            (of,) = self._of(v.parts[0]).factors
            return self.number(of.most, of.lower, of.upper)
        return super()._made(v)

    def _induced(self, v: Value) -> Form | None:
        """An integer that a loop changes, with bounds that hold before the loop, and after any iteration."""
        first = self._of(v.parts[0])
        for low, high in _guesses(first):
            kept = [dict(x) for x in (self._forms, self._bounds, self._operations, self.products)]
            self._forms[v] = made = self.number(SUM, low, high)  # assume it of an iteration
            both = first, self._of(v.parts[1])
            if all(is_natural(minus(f, x)) for f in both for x in low) and all(
                is_natural(minus(x, f)) for f in both for x in high
            ):
                return made
            self._forms, self._bounds, self._operations, self.products = kept  # type: ignore[assignment]
        return None


def _guesses(first: Form) -> Iterator[_Bounds]:
    """Bounds that an integer may have which has a form at first, the strongest ones first."""
    zero, one, low = constant(0), constant(1), least(first)
    if low is not None:
        yield [constant(low)], [first]
        if low > 0:
            yield [zero], [first]
    if not first.factors and first.constant in (0, 1):
        yield [zero], [one]
    if low is not None:
        yield [constant(low)], []
        if low > 0:
            yield [zero], []
    yield [], [first]
