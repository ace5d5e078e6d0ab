"""Access paths from a numba function to objects that it or its callees name, for rebinding in a cached module."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from types import ModuleType

from dualrev.compiler.frontend.reading.source import Static, is_numba_function, unlifted
from dualrev.compiler.types.aliases import UserValue

__all__ = ["called", "find"]


def find(wanted: UserValue, starts: Iterable[Static]) -> Static | None:
    """Find an object among those that numba functions and their callees name, with its access path; else None."""
    return next((here for here in _reached(starts) if here.value is wanted), None)


def called(f: UserValue) -> list[UserValue]:
    """Return a numba function, and the numba functions that it or its callees name."""
    return [here.value for here in _reached([Static(f, ())]) if is_numba_function(here.value)]


def _reached(starts: Iterable[Static]) -> Iterator[Static]:
    """Walk breadth-first over the objects that numba functions and their callees name."""
    queue = deque(starts)
    seen: set[int] = set()
    while queue:
        here = queue.popleft()
        if id(here.value) in seen:
            continue
        yield here
        if is_numba_function(here.value):
            seen.add(id(here.value))
            queue.extend(map(unlifted, _named(here)))
        elif isinstance(here.value, tuple):
            items = (Static(x, (*here.path, ("item", k))) for k, x in enumerate(here.value))
            queue.extend(unlifted(x) for x in items if is_numba_function(unlifted(x).value))


def _named(here: Static) -> Iterator[Static]:
    """Yield the closure cells, globals and module attributes that a numba function's code names."""
    function = here.value.py_func
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield Static(cell.cell_contents, (*here.path, ("closure", name)))
    for name in code.co_names:
        if name not in function.__globals__:
            continue
        x = function.__globals__[name]
        yield Static(x, (*here.path, ("global", name)))
        if isinstance(x, ModuleType):
            attributes = [attr for attr in code.co_names if hasattr(x, attr)]
            yield from (Static(getattr(x, a), (*here.path, ("global", name), ("attr", a))) for a in attributes)
