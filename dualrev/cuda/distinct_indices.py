"""Indices that are distinct in all threads: which accesses certainly touch other elements in other threads.

    part[t + 1]               t tells threads apart
    part[k[t]]                taken to do so
    part[t + j]               no: in `for j in range(4)`, thread t + 1 touches what thread t touches one iteration later

A test fixes coordinates where it compares an index of the thread with what is the same for all: below `if t == 0`, the
index need not depend on t. That holds of two accesses whose tests say the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from math import prod

from dualrev.compiler.analysis.ssa import Loop
from dualrev.compiler.analysis.values.linear_bounds import Form, Number, is_natural, minus, plus, scaled, single
from dualrev.compiler.ir.core.atoms import Constant
from dualrev.compiler.ir.core.nodes import Barrier, For
from dualrev.compiler.ir.core.traverse import statements
from dualrev.cuda.accesses import NONE, Access, Accesses, Coordinates
from dualrev.cuda.thread_function import INDICES

__all__ = ["coordinates", "covers", "fixed"]

#: Threads that a launch has at least: y[i] and y[i + 64] may be apart, and y[i] and y[i + 1] meet.
_WARP = 32

#: Loops whose iterations may differ in two accesses; None for any.
Loops = Collection[Loop] | None


def covers(made: Accesses, some: list[Access], asked: Coordinates, loops: Loops = None) -> bool:
    """Whether threads that differ in `asked` certainly access different elements, by what indices depend on."""
    return coordinates(made, some, loops) | fixed(made, some, loops) >= asked


def fixed(made: Accesses, some: list[Access], loops: Loops = None) -> Coordinates:
    """Coordinates that the tests around all accesses fix: no two threads come there."""
    found = NONE
    for zero, of in some[0].tests.zeros:
        everywhere = all(any(_is_zero(zero, other) for other, _ in a.tests.zeros) for a in some[1:])
        if everywhere and not any(_changes(made, x, loops) for x in zero.factors):
            found |= of
    return found


def _is_zero(f: Form, zero: Form) -> bool:
    """Whether a form is zero if another one is."""
    return f in (zero, scaled(-1, zero))


def _changes(made: Accesses, x: Number, loops: Loops) -> bool:
    """Whether an integer may differ between iterations of loops."""
    if loops is None:
        return not made.dependence.is_fixed(x)
    return any(made.dependence.is_of_loop(x, s) for s in loops)


def coordinates(made: Accesses, some: list[Access], loops: Loops = None) -> Coordinates:
    """Coordinates that the indices depend on, on the axes where all accesses have one index."""
    found = NONE
    first = some[0].element.index
    waits = [s for s in loops or () if any(isinstance(t, Barrier) for t in statements((s,)))]
    if any(len(a.element.index) != len(first) for a in some):
        return found
    mixed: list[tuple[Coordinates, Coordinates]] = []
    for k, form in enumerate(first):
        others = [(a, a.element.index[k]) for a in some]
        forms = [f for a, f in others if form is not None and f is not None and _is_one_index(form, some[0], f, a)]
        numbers = {x for f in forms for x in f.factors}
        if len(forms) < len(some) or (waits and any(_changes(made, x, waits) for x in numbers)):
            continue
        if any(_slides(made, f, a, loops) for a in some for f in forms):
            continue
        both = [pair for f in forms for pair in _mixed(made, f)]
        mixed += both
        many = (x for x in numbers if not _is_bit(made, x))
        found |= NONE.union(*map(made.depends_on, many)) - NONE.union(*(p | q for p, q in both))
    for p, q in mixed:
        found |= p | q if found >= p or found >= q else NONE
    return found


def _is_bit(made: Accesses, x: Number) -> bool:
    """Whether an integer is computed as 0 or 1: t % 2 does not tell threads apart."""
    return x in made.dependence.made_of and is_natural(minus(Form(1, {}), single(x)))


def _mixed(made: Accesses, f: Form) -> Iterator[tuple[Coordinates, Coordinates]]:
    """Pairs of coordinates that a form mixes: t + u is the same in another thread, and i - t in a whole block."""
    own = [(INDICES[made.telling[x]][1], k) for x, k in f.factors.items() if x in made.telling]
    for (p, k), (q, m) in itertools.combinations(own, 2):
        if abs(k) == abs(m) and p and q and p.isdisjoint(q):
            yield p, q
        elif k == -m and p & q:
            yield p & q, p & q


def _is_one_index(f: Form, a: Access, g: Form, b: Access) -> bool:
    """Whether two indices are equal in one thread: below `if t == 0`, 0 and t are."""
    apart = minus(f, g)
    zeros = (zero for of in (a, b) for zero, _ in of.tests.zeros)
    return (not apart.factors and not apart.constant) or any(_is_zero(apart, zero) for zero in zeros)


def _slides(made: Accesses, f: Form, a: Access, loops: Loops) -> bool:
    """Whether another thread certainly has the same index in another iteration of a loop: t + j, in t + 1 before."""
    inner = [x for x in f.factors if x in made.dependence.remainders and len(f.factors) == 1]
    if inner:
        return _slides(made, made.dependence.remainders[inner[0]][0], a, loops)
    own = fixed(made, [a], loops)
    moduli = [(form, m) for form, m in a.tests.multiples]
    for x, by in f.factors.items():
        if a.tests.others or not _changes(made, x, loops):
            continue
        first, step, trips = _steps(made, x)
        others = Form(0, {y: k for y, k in f.factors.items() if y is not x})
        for u, k in plus(others, scaled(by, first) if made.depends_on(x) else Form(0, {})).factors.items():
            is_free = INDICES.get(made.telling.get(u, ""), ("", NONE))[1] - own
            every = [m for form, m in moduli if u in form.factors]
            if is_free and step and not any(m.factors for m in every):
                k *= prod(m.constant for m in every)
                if k % (step * by) == 0 and abs(k // (step * by)) < trips:
                    return True
    return False


def meet(made: Accesses, a: Access, b: Access) -> bool:
    """Whether two stores certainly touch one element in two threads, as far as the tests around them are known."""
    if len(a.element.index) != len(b.element.index):
        return False
    axes = [minus(f, g) if f and g else None for f, g in zip(a.element.index, b.element.index, strict=True)]
    apart = [f.constant for f in axes if f is not None and not f.factors]
    if len(apart) < len(axes):
        return False
    if not any(apart):
        own = fixed(made, [a]) | fixed(made, [b])
        return bool(own) and not covers(made, [a, b], made.asked)
    if any(x.tests.multiples or x.tests.zeros or x.tests.others for x in (a, b)):
        return False
    first = next(axis for axis, c in enumerate(apart) if c)
    for u, key in made.telling.items():
        by = [f.factors.get(u, 0) if f else 0 for f in a.element.index]
        if INDICES[key][1] and by[first] and apart[first] % by[first] == 0:
            steps = apart[first] // by[first]
            if abs(steps) < _WARP and all(c == k * steps for c, k in zip(apart, by, strict=True)):
                return True
    return False


def _steps(made: Accesses, x: Number) -> tuple[Form, int, int]:
    """What an integer is in the first iteration of a loop, by how much it changes, and how many iterations there are.

    The change is 0 if it is not known: it may be the size of a block. The number of iterations is 2 if it is not known.
    """
    dependence = made.dependence
    for s in statements(made.f.body):
        if isinstance(s, For) and x in dependence.counter_of(s).factors:
            start, stop = dependence.form(s, s.start), dependence.form(s, s.stop)
            step = s.step.value if isinstance(s.step, Constant) else 0
            length = minus(stop, start)
            return start, step, 2 if length.factors or not step else max(0, -(-length.constant // step))
    for v in made.versions.values:
        if v.kind == "header" and len(v.parts) == 2 and dependence.form_of(v) == single(x):
            change = minus(dependence.form_of(v.parts[1]), single(x))
            moves = any(dependence.is_of_loop(y, v.statement) for y in change.factors)
            return dependence.form_of(v.parts[0]), 1 if moves else 0 if change.factors else change.constant, 2
    return Form(0, {}), 0, 2
