"""Proofs that two threads access different elements of an array, by what the tests around the accesses say.

Each thread has integers of its own for what may differ between them: its indices, what is computed from these, and
what a loop changes, if the accesses may be in two iterations of it. For these, the same bounds hold, and the tests
around the access. Two indices differ if one of them is proven to be larger, or by common divisors:

    if t % (2 * s) == 0:
        part[t] += part[t + s]      thread p loads what thread q stores: p + s == q, where 2 * s divides p and q

If one access is one iteration later than the other one, the integers of its loop are what they are after an iteration.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from math import gcd

from dualrev.compiler.analysis.ssa import Loop
from dualrev.compiler.analysis.values.linear_bounds import (
    Form,
    Number,
    constant,
    is_natural,
    minus,
    plus,
    scaled,
    single,
    substituted,
)
from dualrev.compiler.ir.core.nodes import For
from dualrev.cuda.accesses import Access, Accesses

__all__ = ["are_apart"]

#: A form, and what it is a multiple of.
_Multiple = tuple[Form, Form]


def are_apart(
    made: Accesses,
    a: Access,
    b: Access,
    loops: Collection[Loop] = (),
    later: Collection[Loop] = (),
    everywhere: bool = False,
) -> bool:
    """Whether two threads of a block, or any, certainly access different elements.

    They may be in different iterations of `loops`; in those of `later`, access `a` is one iteration later.
    """
    if a.element.root is not b.element.root or len(a.element.index) != len(b.element.index):
        return False
    common: dict[Number, Form] = {}
    two = _Thread(made, b, loops, everywhere, common, {})
    ahead = dict(_following(made, later, two))
    one = _Thread(made, a, loops, everywhere, common, ahead)
    for of in (one, two):
        of.note_facts()
    axes = [(f, g) for f, g in zip(one.index(), two.index(), strict=True) if f is not None and g is not None]
    axes = [(f, g) for f, g in axes if is_natural(f) and is_natural(g)]  # else it may count from the end
    multiples = [*one.multiples(), *two.multiples()]
    sums = [(plus(f, scaled(k, p)), plus(g, scaled(k, q))) for k in (1, -1) for (f, g), (p, q) in _pairs(axes)]
    return (
        any(_is_less(f, g) or _is_less(g, f) for f, g in (*axes, *sums))
        or any(_differ(f, g, multiples) for f, g in axes)
        or any(one.exchanges(f, two, g) or two.exchanges(g, one, f) for f, g in axes)
    )


def _pairs(axes: list[tuple[Form, Form]]) -> Iterator[tuple[tuple[Form, Form], tuple[Form, Form]]]:
    return itertools.combinations(axes, 2)


def _is_less(f: Form, g: Form) -> bool:
    """Whether an integer is certainly less than another one, or differs by what divides all their parts."""
    apart = minus(g, f)
    whole = gcd(*apart.factors.values())
    return is_natural(minus(apart, constant(1))) or bool(whole and apart.constant % whole)


def _differ(f: Form, g: Form, multiples: list[_Multiple]) -> bool:
    """Whether two integers differ by less than a common divisor."""
    for modulus, pick in itertools.product({m for _, m in multiples}, (min, max)):
        rest, common = minus(f, g), 0
        for form, m in multiples:
            units = [x for x, k in form.factors.items() if k in (1, -1)]
            if m == modulus and units:
                unit = pick(units, key=lambda x: x.age)
                k = rest.factors.get(unit, 0) * form.factors[unit]
                rest, common = minus(rest, scaled(k, form)), gcd(common, k)
        whole = scaled(common, modulus)
        for x in (rest, scaled(-1, rest)):
            if common and is_natural(minus(x, constant(1))) and is_natural(minus(minus(whole, constant(1)), x)):
                return True
    return False


def _following(made: Accesses, loops: Iterable[Loop], of: _Thread) -> Iterator[tuple[Number, Form]]:
    """Integers that all threads have in common, one iteration of these loops after a thread."""
    for v in made.versions.values:
        s = v.statement
        if v.kind not in ("counter", "header") or s not in loops or len(made.dependence.form_of(v).factors) != 1:
            continue
        ((x, k),) = made.dependence.form_of(v).factors.items()
        if v.kind == "counter":
            assert isinstance(s, For)
            after = plus(single(x), made.dependence.form(s, s.step))
        elif len(v.parts) == 2:
            after = made.dependence.form_of(v.parts[1])
        else:
            continue
        if k == 1 and not made.differs(x) and not any(map(made.differs, after.factors)):
            of.name(after.factors)
            yield x, of.renamed(after)


class _Thread:
    """A thread that runs an access: its names for integers.

    common       names that both threads have
    following    names that are known already
    """

    def __init__(
        self,
        made: Accesses,
        access: Access,
        loops: Collection[Loop],
        everywhere: bool,
        common: dict[Number, Form],
        following: Mapping[Number, Form],
    ) -> None:
        self.made, self.access, self.loops, self.everywhere = made, access, loops, everywhere
        self.common, self.following = common, following
        self.names: dict[Number, Form] = {}
        tests = access.tests
        forms = [*access.element.index, *tests.facts, *(f for pair in tests.multiples for f in pair)]
        self.name(x for f in forms if f is not None for x in f.factors)

    def name(self, some: Iterable[Number]) -> None:
        """Name integers, and those that are known of them."""
        todo, found = [*some], set[Number]()
        remainders = self.made.dependence.remainders
        while todo:
            x = todo.pop()
            if x not in found:
                found.add(x)
                known = (*x.lower, *x.upper, *remainders.get(x, ()))
                todo += [y for form in known for y in form.factors]
                todo += self.made.dependence.made_of.get(x, ())
        for x in sorted(found - self.names.keys(), key=lambda x: x.age):
            if x in self.following:
                self.names[x] = self.following[x]
            elif self._differs(x):
                self.names[x] = self._fresh(x)
            else:
                self.names[x] = self.common.setdefault(x, self.common.get(x) or self._fresh(x))

    def _fresh(self, x: Number) -> Form:
        lower, upper = (
            [self.renamed(f) for f in side if f.factors.keys() <= self.names.keys()] for side in (x.lower, x.upper)
        )
        return self.made.dependence.number(x.most, lower, upper)

    def _differs(self, x: Number) -> bool:
        """Whether an integer may differ between the two threads."""
        return self.made.differs(x, self.everywhere) or any(self.made.dependence.is_of_loop(x, s) for s in self.loops)

    def renamed(self, f: Form) -> Form:
        """A form of this thread."""
        return substituted(f, self.names)

    def index(self) -> list[Form | None]:
        """The indices of the access."""
        return [None if f is None else self.renamed(f) for f in self.access.element.index]

    def facts(self) -> list[Form]:
        """Forms that are not negative where the access is."""
        return [self.renamed(f) for f in self.access.tests.facts]

    def note_facts(self) -> None:
        """Note what the tests around the access say."""
        known = [minus(self.names[x], self.renamed(f)) for x in self.following if x in self.names for f in x.lower]
        known += [minus(self.renamed(f), self.names[x]) for x in self.following if x in self.names for f in x.upper]
        for fact in (*known, *self.facts()):
            _note(fact)

    def multiples(self) -> Iterator[_Multiple]:
        """Forms with divisors that both threads have in common."""
        dependence = self.made.dependence
        for x, name in [*self.names.items()]:
            factors = dependence.factors_of(x)
            for y in factors if len(factors) > 1 and x not in self.common else ():
                if y in self.common:
                    yield name, self.common[y]
            if x in dependence.remainders and x not in self.common:
                of, m = dependence.remainders[x]
                if m.factors.keys() <= self.common.keys():
                    yield minus(self.renamed(of), name), self.renamed(m)
        for form, m in self.access.tests.multiples:
            if m.factors.keys() <= self.common.keys():
                yield self.renamed(form), self.renamed(m)

    def exchanges(self, f: Form, other: _Thread, g: Form) -> bool:
        """Whether f is t, and g is t ^ j of the other thread, and its tests say that not both are partners.

        If the index of this thread is t ^ j of the other one, its own t ^ j is the index of the other one.
        """
        for x, t in self._partners():
            if {x, t} <= other.names.keys() and f == self.names[t] and g == other.names[x]:
                (mine,), (its,) = self.names[t].factors, self.names[x].factors
                names = {mine: other.names[x], its: other.names[t]}
                sums = (plus(substituted(p, names), q) for p in self.facts() for q in other.facts())
                return any(not s.factors and s.constant < 0 for s in sums)
        return False

    def _partners(self) -> Iterator[tuple[Number, Number]]:
        """Integers x and t, where x is t ^ j with a j that both threads have in common."""
        for x, some in self.made.dependence.exclusive.items():
            for t, j in some:
                is_named = {x, t} <= self.names.keys() and not {x, t} & (self.common.keys() | self.following.keys())
                if is_named and j.factors.keys() <= self.common.keys():
                    yield x, t


def _note(fact: Form) -> None:
    """Make a form that is not negative a bound of the newest integer in it."""
    newest = max(fact.factors, key=lambda x: x.age, default=None)
    if newest is None:
        return
    rest = minus(fact, scaled(fact.factors[newest], single(newest)))
    if fact.factors[newest] == 1:
        newest.lower.append(scaled(-1, rest))
    elif fact.factors[newest] == -1:
        newest.upper.append(rest)
