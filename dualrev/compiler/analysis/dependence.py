"""Dependence analysis: do two accesses touch one element, in one iteration of a loop or in two?

An access is an array with a linear form (values/linear_forms.py) of SSA values for each of its indices. Views are seen
through: `y[j]` with `y = x[i, 1:]` is the element `[i, j + 1]` of x. Two accesses to one array

    always      touch one element if their forms are equal,
    never       do if two forms for one axis certainly differ, and none of them is negative: a[-1] and a[n - 1] are one
    may         do else

    a[i], a[i + 1]     never in one iteration, in two iterations they may         a[2 * i], a[2 * j + 1]    never
    a[i, j], a[i, j]   always in one iteration, never in two of the loop over i   a[idx[i]], a[i]           may

For another iteration, what the loop changes gets another name, and the counters of both differ by the step at least.
What is asked of arrays with other names, their alias classes (memory/alias.py) answer.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import gcd
from typing import Literal, TypeAlias, TypeGuard

from dualrev.compiler.analysis.ssa import Loop, Region, Value, Versions
from dualrev.compiler.analysis.values.linear_bounds import (
    Form,
    Number,
    constant,
    is_natural,
    least,
    minus,
    plus,
    scaled,
    substituted,
)
from dualrev.compiler.analysis.values.linear_forms import COUNT, SUM, Axis, LinearForms, is_whole
from dualrev.compiler.ir.core.atoms import (
    Applied,
    Atom,
    Constant,
    Expr,
    Field,
    Global,
    Index,
    Item,
    Operator,
    Span,
    Var,
)
from dualrev.compiler.ir.core.nodes import Copy, Discrete, For, Hold, Load, Make, Statement, Store, View

__all__ = ["Access", "Answer", "Dependence", "Element"]

Answer: TypeAlias = Literal["never", "always", "may"]
Element: TypeAlias = "Load | Store"
#: An array: a version of a variable, or what the code does not assign.
Root: TypeAlias = Value | Var | Global

_SPREADS = {"runtime.spread", "runtime.spread_evenly"}


@dataclass(frozen=True)
class Access:
    """An element of an array: a form for each index, None where none is known.

    `distinct` says that elements with other indices certainly lie elsewhere in memory. `views` has the same element of
    the arrays that were seen through.
    """

    root: Root
    index: tuple[Form | None, ...]
    distinct: bool = True
    views: tuple[Access, ...] = ()


class Dependence(LinearForms):
    """Dependence analysis of a function, or of a loop of its reverse sweep, whose function is `outer`.

    versions    the SSA form of the code
    primal      of a loop: gives the variable of the function that a variable of the reverse sweep belongs to
    """

    def __init__(
        self, versions: Versions, outer: Dependence | None = None, primal: Callable[[Var], Var] = lambda x: x
    ) -> None:
        super().__init__()
        self.versions, self.outer, self.primal = versions, outer, primal
        self._forms: dict[Hashable, Form] = {}  # of values, of variables from outside, and of extents of arrays
        self._regions: dict[Number, Region | None] = {}
        self._parts: dict[Number, list[Number]] = {}  # what a form is made of that may overflow
        self._variables: dict[Number, Var] = {}  # the numbers that a variable stands for
        self._here: tuple[Statement | None, Region | None] = None, None
        self._bounds: dict[Var, int | None] = {}

    # Integers

    def form(self, s: Statement, x: Expr) -> Form:
        """The linear form of an expression that a statement reads."""
        with self._at(s, self.versions.region_of[s]):
            return self.value(x)

    def is_nonnegative(self, s: Statement, x: Expr) -> bool:
        """Whether an expression that a statement reads is certainly not negative."""
        return is_natural(self.form(s, x))

    def affine(self, form: Form | None) -> tuple[Var | None, int] | None:
        """A form as a variable, or None for 0, plus a constant; None if it is another one."""
        if form is None or len(form.factors) > 1:
            return None
        for x, k in form.factors.items():
            return (self._variables[x], form.constant) if k == 1 and x in self._variables else None
        return None, form.constant

    def distance(self, s: Statement, x: Expr, loop: For) -> int | None:
        """Constant offset of an expression from a loop's counter; None if it is no such sum."""
        apart = minus(self.form(s, x), self.counter_of(loop))
        return None if apart.factors else apart.constant

    def form_of(self, v: Value) -> Form:
        """The linear form of an SSA value."""
        return self._of(v)

    def is_fixed(self, x: Number) -> bool:
        """Whether an integer is the same at any time: it is not of a loop."""
        region = self._regions.get(x)
        inside = region is not None and region.loop is not None
        return not inside and all(map(self.is_fixed, self._parts.get(x, ())))

    def is_of_loop(self, x: Number, s: Loop) -> bool:
        """Whether an integer may differ between the iterations of a loop."""
        return self._is_inside(x, s)

    def counter_of(self, s: For) -> Form:
        """The form of a loop's counter, in its body."""
        return self._of(self.versions.made[s][s.target])

    def lower_bound(self, x: Var) -> int | None:
        """The least number that a variable certainly has, wherever it is assigned; None if that is not known."""
        if x not in self._bounds:
            self._bounds[x] = None  # of a value that is computed from itself
            made = [
                v for v in self.versions.values if v.variable is x and v.kind in ("op", "counter", "param", "trips")
            ]
            found = [least(self._of(v)) if is_whole(x) else None for v in made]
            self._bounds[x] = min((k for k in found if k is not None), default=None) if None not in found else None
        return self._bounds[x]

    def number(self, most: int | None = None, lower: Iterable[Form] = (), upper: Iterable[Form] = ()) -> Form:
        """A fresh integer of the region that is looked at."""
        made = super().number(most, lower, upper)
        self._regions |= dict.fromkeys(made.factors, self._here[1])
        return made

    def bounded(self, a: Form) -> Form:
        """A linear form, or a number for it if it may overflow."""
        made = super().bounded(a)
        if made is not a:
            self._parts |= {x: [*a.factors] for x in made.factors}
        return made

    def look_up(self, key: Var | Axis, lower: Iterable[Form] = ()) -> Form:
        """The form of a variable, or of the extent of an axis."""
        if isinstance(key, Var):
            v = self._version(key)
            return self._outside(key) if v is None else self._of(v)
        array, axis = key
        return self.extent(self._version(array) or array, axis)

    def _version(self, x: Atom) -> Value | None:
        s = self._here[0]
        return None if s is None or not isinstance(x, Var) else self.versions.reads[s].get(x)

    @contextmanager
    def _at(self, s: Statement | None, region: Region | None) -> Iterator[None]:
        before, self._here = self._here, (s, region)
        try:
            yield
        finally:
            self._here = before

    def _memoised(self, key: Hashable, s: Statement | None, region: Region | None, make: Callable[[], Form]) -> Form:
        if key not in self._forms:
            with self._at(s, region):
                self._forms[key] = make()
        return self._forms[key]

    def _of(self, v: Value) -> Form:
        """The form of an SSA value."""
        return self._memoised(v, v.statement, v.region, lambda: self._made(v))

    def _made(self, v: Value) -> Form:
        match v.kind, v.statement:
            case "op", Discrete(value=value) if is_whole(v.variable):
                return self.value(value)
            case "op", Copy(source=source) if is_whole(v.variable):
                return self.value(source)
            case "counter", For() as s:
                return self._counter(s)
            case "param", _:
                return self.number(COUNT)
            case "trips", _:
                return self.number(COUNT, [constant(0)])
            case "join", _ if len(v.parts) == 1 and is_whole(v.variable):  # the other branch leaves it undefined
                return self._of(v.parts[0])
            case "join", _ if len(v.parts) == 2 and is_whole(v.variable):
                return self.either(*map(self._of, v.parts))
        return self._known(v.variable, self.lower_bound(v.variable)) if is_whole(v.variable) else self.number()

    def _counter(self, s: For) -> Form:
        made = self.counter(self.value(s.start), self.value(s.stop), s.step)
        if self.outer is not None and (low := self.outer.lower_bound(self.primal(s.target))) is not None:
            for x in made.factors:
                x.lower.append(constant(low))
        self._variables |= dict.fromkeys(made.factors, s.target)
        return made

    def _outside(self, x: Var) -> Form:
        """The form of a variable that the code does not assign."""
        if x not in self._forms:
            with self._at(None, None):
                low = None if self.outer is None else self.outer.lower_bound(self.primal(x))
                self._forms[x] = made = self._known(x, low)
            self._variables |= dict.fromkeys(made.factors, x)
        return self._forms[x]

    def _known(self, x: Var, low: int | None) -> Form:
        return self.number() if low is None else self.number(SUM, [constant(low)])

    # Arrays

    def extent(self, array: Root, axis: int | str) -> Form:
        """The form of the length of an array along an axis."""
        s = array.statement if isinstance(array, Value) and array.kind == "op" else None
        region = array.region if isinstance(array, Value) else None
        return self._memoised((array, axis), s, region, lambda: self._length(s, axis))

    def _length(self, s: Statement | None, axis: int | str) -> Form:
        match s:
            case Copy(source=Var() as y) | Hold(source=Var() as y):
                return self.look_up((y, axis))
            case Make(target, Applied("np.empty" | "np.zeros" | "np.ones", (n, *_))) if target.type.ndim == 1:
                return self.value(n)
            case Make(_, Applied("np.empty_like" | "np.zeros_like", (Var() as y,))):
                return self.look_up((y, axis))
        return self.number(COUNT, [constant(0)])

    def access(self, s: Element) -> Access:
        """The element that a load or a store touches, of the array that the code has made a view of."""
        return self.element(s, s.array, s.index)

    def in_function(self, a: Access) -> Access:
        """The same element, of the array behind the views that the function makes around the loop.

        Several views are taken to be of one iteration of the loops around.
        """
        if self.outer is None or isinstance(a.root, Value):
            return a
        x, outer = a.root if isinstance(a.root, Global) else self.primal(a.root), self.outer
        made = [v for v in outer.versions.values if v.variable is x and v.kind in ("op", "param")]
        return outer._seen_through(replace(a, root=made[0] if len(made) == 1 else x))

    def element(self, s: Statement, array: Var | Global, index: tuple[Index, ...]) -> Access:
        """The element of an array that a statement reads."""
        with self._at(s, self.versions.region_of[s]):
            found = Access(self._version(array) or array, tuple(map(self._index, index)))
        return self._seen_through(found)

    def _index(self, i: Index) -> Form | None:
        return self.value(i) if isinstance(i, (Var, Constant, Operator)) else None

    def _seen_through(self, a: Access) -> Access:
        """The same element of the array that its root is a view of."""
        views = a.views
        while isinstance(a.root, Value) and a.root.kind == "op":
            s, part = a.root.statement, None
            with self._at(s, a.root.region):
                if isinstance(s, (Copy, Hold)) and not isinstance(s.source, Constant):
                    part = replace(a, root=self._version(s.source) or s.source)
                elif isinstance(s, View):
                    part = self._part(s, a)
            if part is None:
                break
            views = (*views, self._settled(a)) if isinstance(s, View) else views
            a = part
        return replace(self._settled(a), views=views)

    def _settled(self, a: Access) -> Access:
        return replace(a, distinct=a.distinct and self._has_distinct_elements(a.root))

    def _part(self, s: View, a: Access) -> Access | None:
        """The element of the base of a view; None if it is not known."""
        base = self._version(s.base) or s.base
        match s.value:
            case Field(of, "T") if of is s.base:
                return replace(a, root=base, index=a.index[::-1])
            case Applied(function, _) if function in _SPREADS and s.base.type.ndim == s.target.type.ndim:
                return replace(a, root=base, distinct=False)
            case Item(of, (entry,)) if of is s.base and entry is Ellipsis:
                return replace(a, root=base)
            case Item(of, entries) if of is s.base:
                if any(x is None or x is Ellipsis for x in entries):
                    return None
                rest, index = list(a.index), list[Form | None]()
                for axis, x in enumerate(entries):
                    if not isinstance(x, Span):
                        index.append(self._index(x))
                    elif rest:
                        index.append(self._along(x, (base, axis), rest.pop(0)))
                return replace(a, root=base, index=(*index, *rest))
        return None

    def _along(self, x: Span, axis: tuple[Root, int], i: Form | None) -> Form | None:
        """The index of an element of a slice, along the axis of its base."""
        if x == Span(None, None, None) or i is None:
            return i
        step = 1 if x.step is None else x.step.value if isinstance(x.step, Constant) else 0
        if not is_natural(i) or not step:
            return None
        start = constant(0) if x.lower is None else self._index(x.lower)
        if x.lower is None and step < 0:
            start = minus(self.extent(*axis), constant(1))
        elif start is not None and (step < 0 or not is_natural(start)):  # it may lie outside, or count from the end
            start = self._memoised((axis, start, step), *self._here, self.number)
        return None if start is None else self.bounded(plus(start, scaled(step, i)))

    def _has_distinct_elements(self, x: Root) -> bool:
        """Whether the elements of an array certainly do not overlap: windows do, and steps of 0."""
        if isinstance(x, Value):
            if x.variable.type.layout in "CF":
                return True
            if x.kind in ("join", "header", "after"):
                return self._are_distinct(x.variable)
            s = x.statement
            if _is_part(s):
                with self._at(s, x.region):
                    return self._has_distinct_elements(self._version(s.base) or s.base)
            return x.kind == "op" and isinstance(s, Make)
        if isinstance(x, Global) or x.type.layout in "CF":
            return bool(x.type.layout in "CF")
        return self._are_distinct(x) if self.outer is None else self.outer._are_distinct(self.primal(x))

    def _are_distinct(self, x: Var) -> bool:
        """Whether this holds for all arrays that a variable stands for: new ones, and parts of such."""
        todo, seen = list[Var | Global]([x]), set[Var | Global]()
        while todo:
            y = todo.pop()
            if y in seen or y.type.layout in "CF":
                continue
            seen.add(y)
            made = [v for v in self.versions.values if v.variable is y and v.kind in ("op", "param")]
            some = [v.statement for v in made if _is_part(v.statement)]
            if not made or len(some) < len(made):
                return False
            todo += [t.base for t in some]
        return True

    # Questions

    def same_element(self, a: Access, b: Access, across: Loop | None = None, within: Loop | None = None) -> Answer:
        """Whether two accesses touch one element: in the same iteration of all loops around both of them.

        `across` a loop: in two iterations of it. `within` a loop: in any two iterations of it and of its inner loops,
        be they the same or not.
        """
        for x, y in itertools.product((a, *a.views), (b, *b.views)):
            answer = self._same_element(x, y, across, within)
            if answer != "may":
                return answer
        return "may"

    def _same_element(self, a: Access, b: Access, across: Loop | None, within: Loop | None) -> Answer:
        """The same of two elements of one array."""
        if a.root is not b.root or len(a.index) != len(b.index):
            return "may"
        if any(s is not None and isinstance(a.root, Value) and a.root.region.is_inside(s) for s in (across, within)):
            return "may"  # another array in each iteration
        if across is not None:
            answers = [self._compare(a, other) for other in self._elsewhere(b, across)]
            return "never" if all(answer == "never" for answer in answers) else "may"
        return self._compare(a, b if within is None else self._renamed(b, self._inside(b, within)))

    def in_iteration(self, a: Access, s: For, by: int) -> Access:
        """The element that an access touches so many iterations later, as far as only the counter changes it."""
        counter = self.counter_of(s)
        (x,) = counter.factors
        step = s.step.value if isinstance(s.step, Constant) else 0

        def moved(f: Form | None) -> Form | None:
            """Form of an index in that iteration; None if it depends on more than the counter."""
            if f is None or not step or any(y is not x and self._is_inside(y, s) for y in f.factors):
                return None
            return Form(f.constant + by * step * f.factors.get(x, 0), f.factors)

        return replace(a, index=tuple(map(moved, a.index)), views=())

    def by_axis(self, a: Access, b: Access) -> list[Answer]:
        """Whether the indices of two accesses of one iteration are the same, axis by axis; none for two arrays."""
        if a.root is not b.root or len(a.index) != len(b.index):
            return []
        return [_compared(x, y) for x, y in zip(a.index, b.index, strict=True)]

    def moves_with(self, f: Form | None, s: For) -> bool:
        """Whether the counter of a loop is part of a form."""
        counter = self.counter_of(s)
        return f is not None and any(x in counter.factors for x in f.factors)

    def is_invariant(self, f: Form, s: Loop) -> bool:
        """Whether a form is the same in all iterations of a loop."""
        return not any(self._is_inside(x, s) for x in f.factors)

    def _compare(self, a: Access, b: Access) -> Answer:
        axes = self.by_axis(a, b)
        if "never" in axes:
            return "never" if a.distinct and b.distinct else "may"
        return "always" if all(x == "always" for x in axes) else "may"

    def _is_inside(self, x: Number, s: Loop) -> bool:
        region = self._regions.get(x)
        inside = region is not None and region.is_inside(s)
        return inside or any(self._is_inside(y, s) for y in self._parts.get(x, ()))

    def _inside(self, a: Access, s: Loop) -> list[Number]:
        """The numbers in an access that may differ from iteration to iteration of a loop, oldest first."""
        found, todo = set[Number](), [x for f in a.index if f is not None for x in f.factors]
        while todo:
            x = todo.pop()
            if x not in found and self._is_inside(x, s):
                found.add(x)
                todo += [y for bound in (*x.lower, *x.upper) for y in bound.factors]
        return sorted(found, key=lambda x: x.age)

    def _renamed(self, a: Access, some: list[Number], known: dict[Number, Form] | None = None) -> Access:
        """An access with other names for numbers; those in `known` have them already."""
        names = dict(known or {})
        for x in some:
            if x not in names:
                bounds = ([substituted(f, names) for f in side] for side in (x.lower, x.upper))
                names[x] = super().number(x.most, *bounds)
        return replace(a, index=tuple(None if f is None else substituted(f, names) for f in a.index))

    def _elsewhere(self, a: Access, s: Loop) -> Iterator[Access]:
        """An access in a later iteration of a loop, and in an earlier one."""
        inside = self._inside(a, s)
        step = s.step.value if isinstance(s, For) and isinstance(s.step, Constant) else 0
        if not step:
            yield self._renamed(a, inside)
            return
        assert isinstance(s, For)
        counter = self.counter_of(s)
        ((x, _),) = counter.factors.items()
        for by in (abs(step), -abs(step)):
            other = super().number(x.most, x.lower, x.upper)
            ((y, _),) = other.factors.items()
            (y.lower if by > 0 else y.upper).append(plus(counter, constant(by)))
            yield self._renamed(a, inside, {x: other})


def _is_part(s: Statement | None) -> TypeGuard[View]:
    """Whether a statement takes a part of an array itself, and not of one that is spread from it."""
    return isinstance(s, View) and isinstance(s.value, Item) and s.value.base is s.base


def _compared(a: Form | None, b: Form | None) -> Answer:
    """Whether two indices are one."""
    if a is None or b is None:
        return "may"
    apart = minus(a, b)
    if not apart.factors and not apart.constant:
        return "always"
    up, down = is_natural(minus(apart, constant(1))), is_natural(minus(minus(b, a), constant(1)))
    if (up and is_natural(b)) or (down and is_natural(a)):
        return "never"
    odd = apart.constant % gcd(*apart.factors.values()) if apart.factors else 0
    return "never" if odd and is_natural(a) and is_natural(b) else "may"
