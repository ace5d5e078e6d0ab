"""Exact operation counts of a stage, without counting code in the stage.

`count` and `trace` load a private copy of the stage's module, and wrap the names of the common skeleton in it: the
constructor of dual numbers, `call`, `interpret`, `alloc`, `flat`, the tape's `array`, and the functions of pairs.py,
ordered_map.py and relatives/chad/tuples.py. A compiled loop is replaced by its Python function. So the counts are those
of the real code, and counting in one thread disturbs no other.
"""

from __future__ import annotations

import array
import functools
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from dualrev.tree import outputs
from stages import ordered_map, pairs
from stages.comparison.counts import Counts, LimitReached
from stages.fork_join.threads import threads
from stages.order import algorithm

__all__ = ["Recorder", "WatchedArray", "count", "fresh", "trace"]


class Recorder:
    """Counts, the calls in order if wanted, and the wrappers that keep both."""

    def __init__(self, limit: float) -> None:
        self.counts = Counts()
        self.calls: list[tuple[int, float]] = []
        self.limit = limit
        self.work = 0
        self.knows_jobs = False
        self._lists: dict[int, tuple[int, list[Any]]] = {}  # id(contributions) -> the id that has them

    def add(self, field: str, n: int = 1) -> None:
        """Count n more operations of a kind. LimitReached above the limit."""
        vars(self.counts)[field] += n  # faster than setattr: a count may make millions of steps
        self.work += n
        if self.work > self.limit:
            raise LimitReached(f"more than {self.limit:,.0f} steps")

    def called(self, i: int, z: float) -> None:
        """Count a call of backpropagator i with the argument z, and record it."""
        self.calls.append((i, float(z)))
        self.add("calls")

    def instrument(self, stage: ModuleType) -> ModuleType:
        """Return a copy of the stage that counts."""
        copy: Any = fresh(stage)
        self._duals(copy.Dual)
        if hasattr(copy, "pairs"):
            copy.pairs = self._pairs()
        if hasattr(copy, "tuples"):
            copy.tuples = self._tuples(copy.tuples)
        if hasattr(copy, "ordered_map"):
            copy.ordered_map = self._map()
        if hasattr(copy, "alloc"):
            copy.alloc = self._alloc(copy.alloc)
        if hasattr(copy, "flat"):
            copy.flat = self._flat(copy.flat)
        if hasattr(copy, "array"):
            copy.array = functools.partial(_Tape, self)
        if hasattr(copy, "visit"):
            copy.visit = self._visited(copy.visit)
        if hasattr(copy, "laid_out"):
            copy.laid_out = self._flat(copy.laid_out)
        if hasattr(copy, "beside"):
            self.knows_jobs, copy.beside = True, self._beside
        if hasattr(copy, "interpret"):
            copy.interpret = self._interpreted(copy.interpret)
        if hasattr(copy, "resolve") and hasattr(copy.resolve, "py_func"):
            copy.call = self._row(copy.call)
            copy.resolve = copy.resolve.py_func
        return copy

    def _duals(self, dual: Any) -> None:
        plain = dual.__init__

        def __init__(u: Any, run: Any, x: Any, d: Any, *more: Any) -> None:  # noqa: N807 - it is that method
            plain(u, run, x, d, *more)
            i = getattr(u, "i", self.counts.created)
            self.add("created")
            if isinstance(d, list):
                self._lists[id(d)] = i, d
            if callable(d):

                def counted(z: Any) -> Any:
                    """Count a call of this backpropagator, and make it."""
                    self.called(i, z)
                    return d(z)

                u.d = counted

        dual.__init__ = __init__

    def _interpreted(self, interpret: Callable[..., None]) -> Callable[..., None]:
        def counted(contributions: list[Any], z: Any, *more: Any) -> None:
            """Count a call of the id that these contributions belong to, and interpret them."""
            if id(contributions) in self._lists:  # those of an id that was called
                self.called(self._lists[id(contributions)][0], z)
            interpret(contributions, z, *more)

        return counted

    def _visited(self, visit: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            """Count a visit of a term as a call, and make it."""
            self.add("calls")
            return visit(*args)

        return counted

    def _row(self, call: Callable[..., None]) -> Callable[..., None]:
        def counted(i: int, start: int, end: int, partials: Any, ids: Any, arguments: Any, *more: Any) -> None:
            """Count a call of the id i, and of its span in a stage with jobs, and make it."""
            self.called(int(i), arguments[i])
            self.counts.span += int(self.knows_jobs and end > start)
            call(i, start, end, partials, ids, arguments, *more)

        return counted

    def _beside(self, first: Callable[[], None], second: Callable[[], None], free: Any) -> None:
        """Run both one after the other, and count the longer span: Python's loops add one at a time."""
        before = self.counts.span
        first()
        longer, self.counts.span = self.counts.span, before
        second()
        self.counts.span = max(longer, self.counts.span)

    def _pairs(self) -> ModuleType:
        copy: Any = fresh(pairs)
        plain_map = copy._map

        def each(f: Callable[..., Any], *products: Any) -> Any:
            """Map f over the scalars of products, and count every scalar."""

            def counted(*scalars: Any) -> Any:
                """Count one scalar, and apply f to it."""
                self.add("scalars")
                return f(*scalars)

            return plain_map(counted, *products)

        def along(function: Callable[..., Any]) -> Callable[..., Any]:
            """Wrap a function of a path."""

            def counted(path: Any, *more: Any) -> Any:
                """Count the scalar at the end of the path, and every pair on the path."""
                self.add("scalars")
                step = path
                while step is not None:
                    self.add("pairs")
                    step = step.up
                return function(path, *more)

            return counted

        copy._map, copy.one_hot, copy.update = each, along(copy.one_hot), along(copy.update)
        return copy

    def _tuples(self, tuples: ModuleType) -> ModuleType:
        copy: Any = fresh(tuples)

        def counted(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
            """Wrap a function that returns a tuple for a whole environment."""

            def whole(*args: Any) -> list[Any]:
                """Make the tuple, and count its numbers."""
                made = function(*args)
                self.add("scalars", len(made))
                return made

            return whole

        copy.one_hot, copy.plus, copy.zero = map(counted, (tuples.one_hot, tuples.plus, tuples.zero))
        return copy

    def _map(self) -> ModuleType:
        copy: Any = fresh(ordered_map)
        for name, map_argument in _MAP_VISITS.items():
            setattr(copy, name, self._visit(getattr(copy, name), map_argument))
        return copy

    def _visit(self, function: Callable[..., Any], map_argument: int) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            """Count a visit of a node, unless the map is empty."""
            if args[map_argument] is not None:
                self.add("map_steps")
            return function(*args)

        return counted

    def _alloc(self, alloc: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            """Allocate the staged object, with arrays and tables that count their accesses."""
            made = alloc(*args)
            if isinstance(made, dict):
                return _Table(self)
            if isinstance(made, tuple):
                arrays = [self._watched(a) for a in made]
                return type(made)(*arrays) if hasattr(made, "_fields") else tuple(arrays)
            return self._watched(made)

        return counted

    def _flat(self, flat: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            """Count one write for every element that is laid out."""
            made = flat(*args)
            self.add("array_writes", sum(map(len, made)))
            return made

        return counted

    def _watched(self, made: Any) -> Any:
        if isinstance(made, list):
            return _List(self, made)
        view = made.view(WatchedArray)
        view.recorder = self
        return view


# Which functions of ordered_map.py visit a node when they are called, and which argument says whether there is one: the
# map, and for _join, which always makes a node, its key.
_MAP_VISITS = {"find": 0, "insert_with": 1, "pop_max": 0, "union_with": 1, "_split": 0, "_join": 0}


class _List(list):
    def __init__(self, recorder: Recorder, items: list[Any]) -> None:
        super().__init__(items)
        self.recorder = recorder

    def __setitem__(self, i: Any, x: Any) -> None:
        self.recorder.add("array_writes")
        super().__setitem__(i, x)


class WatchedArray(np.ndarray):
    """A NumPy array that counts its writes."""

    recorder: Recorder

    def __setitem__(self, i: Any, x: Any) -> None:
        self.recorder.add("array_writes")
        super().__setitem__(i, x)


class _Table(dict):
    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def get(self, key: Any, default: Any = None) -> Any:
        """Count one step of the table, and look up a key."""
        self.recorder.add("map_steps")
        return super().get(key, default)

    def pop(self, key: Any, *default: Any) -> Any:
        """Count one step of the table, and remove a key."""
        self.recorder.add("map_steps")
        return super().pop(key, *default)

    def __getitem__(self, key: Any) -> Any:
        self.recorder.add("map_steps")
        return super().__getitem__(key)

    def __setitem__(self, key: Any, x: Any) -> None:
        self.recorder.add("map_steps")
        super().__setitem__(key, x)


class _Tape(array.array):
    def __new__(cls, recorder: Recorder, *args: Any) -> _Tape:
        made = super().__new__(cls, *args)
        made.recorder = recorder
        return made

    recorder: Recorder

    def append(self, x: Any) -> None:
        """Count one write, and append x."""
        self.recorder.add("array_writes")
        super().append(x)

    def extend(self, xs: Any) -> None:
        """Count a write for each element, and append them all."""
        self.recorder.add("array_writes", len(xs))
        super().extend(xs)


def count(name: str, f: Callable[..., Any], *primals: Any, limit: float = float("inf")) -> Counts:
    """Count what a stage, or a related algorithm, does for f's value at the primals and one pullback of ones.

    KeyError for an unknown name; LimitReached once the counts together exceed `limit`.

    >>> def doublings(x):
    ...     for _ in range(10):
    ...         x = x + x
    ...     return x
    >>> count("naive", doublings, 1.0).calls, count("staged", doublings, 1.0).calls
    (2047, 11)
    """
    module = algorithm(name)
    if hasattr(module, "count"):  # an interpreter, which counts what it does
        return module.count(f, *primals, limit=limit)
    return _run(module, f, primals, limit).counts


def trace(name: str, f: Callable[..., Any], *primals: Any, limit: float = float("inf")) -> list[tuple[int, float]]:
    """The calls of backpropagators in order: (id, argument). In `naive`, ids number the backpropagators by creation.

    >>> trace("tape", lambda x, y: x * (x + y), 3.0, 2.0)
    [(3, 1.0), (2, 3.0), (1, 3.0), (0, 8.0)]
    """
    return _run(algorithm(name), f, primals, limit).calls


def _run(module: ModuleType, f: Callable[..., Any], primals: tuple[Any, ...], limit: float) -> Recorder:
    recorder = Recorder(limit)
    with threads(1), np.errstate(all="ignore"):  # the copies of compiled loops compute with numpy's numbers, which warn
        y, pullback = recorder.instrument(module).vjp(f, *primals)
        scalars, structure = outputs(y)
        pullback(structure.cotangent([1.0] * len(scalars)))
    return recorder


def fresh(module: ModuleType) -> ModuleType:
    """Execute a module anew, and return the copy; the imported module is untouched."""
    assert module.__file__ is not None
    spec = importlib.util.spec_from_file_location(module.__name__, module.__file__)
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy
