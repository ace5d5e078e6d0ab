"""Memory layout that a function depends on: contiguity, flags and strides of arrays, in it and in its callees."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from dualrev.compiler.ir.core.nodes import Call, Function
from dualrev.compiler.ir.core.program import Program
from dualrev.compiler.ir.core.traverse import statements

__all__ = ["asks_for_layout", "looks_at_layout", "with_callees"]


def asks_for_layout(f: Function, program: Program) -> bool:
    """Whether a function or its callees test arrays for contiguity: then shadows copy their strides."""
    return any(g.origin.asks_for_layout for g in with_callees(f, program))


def looks_at_layout(f: Function, program: Program) -> bool:
    """Whether a function or its callees read flags or strides: another run needs arrays of such strides."""
    return any(g.origin.looks_at_layout for g in with_callees(f, program))


def with_callees(f: Function, program: Program) -> Iterator[Function]:
    """Yield a function, and its callees."""
    seen: set[Hashable] = set()
    todo = [f]
    while todo:
        f = todo.pop()
        yield f
        for s in statements(f.body):
            if isinstance(s, Call) and (key := program.key(s)) not in seen:
                seen.add(key)
                gradient = program.gradient(s)
                todo.append(program.function(s) if gradient is None else gradient.of)
