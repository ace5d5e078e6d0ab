"""The way from a numba function to an object that it does not name itself, but something that it calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from dualrev.compiler.frontend.source import Static, is_numba_function, unlifted

__all__ = ["find"]


def find(wanted: Any, starts: Iterable[Static]) -> Static | None:
    """An object that is named by one of these numba functions, or by one that they call; with the way to it."""
    queue = deque(starts)
    seen: set[int] = set()
    while queue:
        here = queue.popleft()
        if here.value is wanted:
            return here
        if is_numba_function(here.value) and id(here.value) not in seen:
            seen.add(id(here.value))
            queue.extend(map(unlifted, _named(here)))
    return None


def _named(here: Static) -> Iterator[Static]:
    """What a numba function's code names, attributes of modules included."""
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
