"""Arrays of which each element has one reader: the adjoint adds to their shadows without atomics.

A kernel only loads from such an array, and one of its indices, the same in all loads, tells threads apart: it is

    cuda.grid(1) + n               n is the same for all threads, and at any time
    k + n                          in `for k in range(cuda.grid(1), x.size, cuda.gridsize(1))`

and so on each axis that the kernel asks for. A launch on threads along other axes is refused, if the kernel stores
anything (launch.py). A negative index counts from the end, so it does not tell threads apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dualrev.compiler.analysis.values.linear_bounds import Form, Number, is_natural
from dualrev.compiler.ir.core.atoms import Var
from dualrev.compiler.ir.core.nodes import For
from dualrev.compiler.ir.core.traverse import statements
from dualrev.cuda.accesses import Access, Accesses

__all__ = ["has_one_reader"]


def has_one_reader(made: Accesses, indices: Mapping[str, Var], some: list[Access]) -> bool:
    """Whether each element of an array with these accesses is certainly loaded by one thread, if at all."""
    if not all(a.kind == "load" and a.known and a.element.distinct for a in some):
        return False
    numbers = dict(_telling(made, indices))
    axes = {coordinate[-1] for coordinate in made.asked}
    found = {numbers[x] for f in _common(some) for x in f.factors if x in numbers and _tells(made, f, x)}
    return axes <= found


def _common(some: list[Access]) -> Iterator[Form]:
    """Indices that all accesses have on one axis."""
    for forms in zip(*(a.element.index for a in some), strict=False):
        first = forms[0]
        if first is not None and all(f == first for f in forms):
            yield first


def _tells(made: Accesses, f: Form, x: Number) -> bool:
    """Whether a form has another value in each thread that has another `x`."""
    rest = [y for y in f.factors if y is not x]
    fixed = all(not made.differs(y, everywhere=True) and made.dependence.is_fixed(y) for y in rest)
    return f.factors[x] in (1, -1) and fixed and is_natural(f)


def _telling(made: Accesses, indices: Mapping[str, Var]) -> Iterator[tuple[Number, str]]:
    """Integers that no two threads have in common, along an axis."""
    forms = {name: made.dependence.form_of(made.versions.parameters[x]) for name, x in indices.items()}
    for axis in "xyz":
        whole = "grid" if f"block_{axis}" in made.asked and f"thread_{axis}" in made.asked else None
        alone = "thread" if f"thread_{axis}" in made.asked else "block"
        start, step = forms.get(f"{whole or alone}_{axis}"), forms.get(f"gridsize_{axis}")
        if start is None:
            continue
        yield from ((x, axis) for x in start.factors)
        for s in statements(made.f.body) if step is not None and whole else ():
            form = made.dependence.form
            if isinstance(s, For) and form(s, s.start) == start and form(s, s.step) == step:
                yield from ((x, axis) for x in made.dependence.counter_of(s).factors)
