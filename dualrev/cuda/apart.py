"""Proofs that two threads access different elements of an array, by what the tests around the accesses say.

Each thread has integers of its own for what may differ between them: its indices, what is computed from these, and
what a loop changes, if the accesses may be in two iterations of it. For these, the same bounds hold, and the tests
around the access. Two indices differ if one of them is proven to be larger, or by common divisors:

    if t % (2 * s) == 0:
        part[t] += part[t + s]      thread p loads what thread q stores: p + s == q, where 2 * s divides p and q
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import gcd

from dualrev.compiler.analysis.dependence import Access as Element
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
)
from dualrev.cuda.accesses import Access, Accesses

__all__ = ["are_apart"]

#: A form, and what it is a multiple of.
_Multiple = tuple[Form, Form]


def are_apart(made: Accesses, a: Access, b: Access, loops: Collection[Loop], everywhere: bool = False) -> bool:
    """Whether two threads of a block, or any, certainly access different elements, in any iterations of these loops."""
    (one, some), (two, more) = (_of_a_thread(made, x, loops, everywhere) for x in (a, b))
    if "never" in made.dependence.by_axis(one, two):
        return True
    if one.root is not two.root or len(one.index) != len(two.index):
        return False
    both = zip(one.index, two.index, strict=True)
    return any(_differ(f, g, [*some, *more]) for f, g in both if f is not None and g is not None)


def _differ(f: Form, g: Form, multiples: list[_Multiple]) -> bool:
    """Whether two indices differ by less than their common divisor."""
    if not is_natural(f) or not is_natural(g):
        return False
    for modulus in {m for _, m in multiples}:
        rest, common = minus(f, g), 0
        for form, m in multiples:
            newest = max(form.factors, key=lambda x: x.age, default=None)
            if m == modulus and newest is not None and rest.factors.get(newest, 0) % form.factors[newest] == 0:
                k = rest.factors.get(newest, 0) // form.factors[newest]
                rest, common = minus(rest, scaled(k, form)), gcd(common, k)
        whole = scaled(common, modulus)
        for x in (rest, scaled(-1, rest)):
            if common and is_natural(minus(x, constant(1))) and is_natural(minus(minus(whole, constant(1)), x)):
                return True
    return False


def _of_a_thread(
    made: Accesses, a: Access, loops: Collection[Loop], everywhere: bool
) -> tuple[Element, list[_Multiple]]:
    """The element of an access, with integers of one thread, and all that the tests around it say of these."""
    dependence, names = made.dependence, dict[Number, Form]()

    def differs(x: Number) -> bool:
        """Whether an integer may differ between the two accesses."""
        return made.differs(x, everywhere) or any(dependence.is_of_loop(x, s) for s in loops)

    def renamed(f: Form) -> Form:
        """A form of the same thread."""
        found = Form(f.constant, {})
        for x, k in f.factors.items():
            found = plus(found, scaled(k, names.get(x, single(x))))
        return found

    some = _reached(a)
    for x in sorted(filter(differs, some), key=lambda x: x.age):
        names[x] = dependence.number(x.most, map(renamed, x.lower), map(renamed, x.upper))
    multiples = [(names[x], single(y)) for x in names for y in _proper(dependence.factors_of(x)) if y not in names]
    multiples += [(renamed(form), m) for form, m in a.tests.multiples if not any(map(differs, m.factors))]
    mine = {x for form in names.values() for x in form.factors}
    for fact in map(renamed, a.tests.facts):
        _note(fact, mine)
    index = tuple(None if f is None else renamed(f) for f in a.element.index)
    return replace(a.element, index=index, views=()), multiples


def _proper(factors: tuple[Number, ...]) -> tuple[Number, ...]:
    return factors if len(factors) > 1 else ()


def _reached(a: Access) -> set[Number]:
    """Integers in the index of an access and in the tests around it, and in their bounds."""
    forms = [*a.element.index, *a.tests.facts, *(f for f, _ in a.tests.multiples)]
    todo, some = [x for f in forms if f is not None for x in f.factors], set[Number]()
    while todo:
        x = todo.pop()
        if x not in some:
            some.add(x)
            todo += [y for bound in (*x.lower, *x.upper) for y in bound.factors]
    return some


def _note(fact: Form, mine: set[Number]) -> None:
    """Make a form that is not negative a bound of the newest integer in it, if that is one of these."""
    newest = max(fact.factors, key=lambda x: x.age, default=None)
    if newest is None or newest not in mine:
        return
    rest = minus(fact, scaled(fact.factors[newest], single(newest)))
    if fact.factors[newest] == 1:
        newest.lower.append(scaled(-1, rest))
    elif fact.factors[newest] == -1:
        newest.upper.append(rest)
