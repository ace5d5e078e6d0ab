"""The steps of a stage: every scalar that the forward pass makes, every call in the reverse pass.

`walk` runs a copy of the stage's module, like `count`, and records its state after each step: the map of delayed calls,
the arrays, the tape. It wraps the names of the common skeleton, and reads the local variables of the resolving loop; no
algorithm is written a second time. The counts at a step are those of `count` up to it.

>>> run = walk("staged", lambda x, y: x * (x + y), 3.0, 2.0)
>>> for scalar in run.scalars:
...     print(scalar.id, scalar.text, scalar.value, scalar.refers)
0 x 3.0 ()
1 y 2.0 ()
2 v0 + v1 5.0 ((1.0, 0), (1.0, 1))
3 v0 * v2 15.0 ((5.0, 0), (3.0, 2))
>>> for step in run.steps[4:]:
...     print(step.kind, step.id, step.argument, step.passed)
seed None None [(3, 1.0)]
call 3 1.0 [(0, 5.0), (2, 3.0)]
call 2 3.0 [(0, 3.0), (1, 3.0)]
call 1 3.0 []
call 0 8.0 []
result None None []
>>> run.steps[5].areas[0]  # after the call of d3
Area(name='m', kind='map', cells=[(0, 5.0), (2, 3.0)])
"""

from __future__ import annotations

import collections
import dataclasses
import inspect
import sys
from collections.abc import Callable
from types import CodeType, FrameType, ModuleType
from typing import Any, Literal

import numpy as np

from dualrev import tree
from dualrev.eager.numbers import overload
from stages import ordered_map, pairs
from stages.comparison.counting import Recorder, WatchedArray
from stages.comparison.counts import Counts, LimitReached
from stages.comparison.naming import input_names, operation
from stages.fork_join.threads import threads
from stages.order import STAGES

__all__ = ["Area", "Scalar", "Step", "Walk", "walk"]


@dataclasses.dataclass(frozen=True)
class Scalar:
    """A dual number: a scalar of the program, and the backpropagators that its own refers to."""

    id: int  #: in `naive`, which draws none, the number of creation
    kind: Literal["input", "constant", "operation"]
    value: float
    text: str  #: the input's name, the constant, or the operation on v0, v1, ...: the scalars with those ids
    refers: tuple[tuple[float, int], ...]  #: (partial derivative, id) for every argument
    line: int | None  #: the line of the program that made it


@dataclasses.dataclass(frozen=True)
class Area:
    """A part of a stage's state: keys (ids or array indices) and values."""

    name: str
    kind: Literal["map", "array", "pairs", "stack"]
    cells: list[tuple[int, Any]]


@dataclasses.dataclass(frozen=True)
class Step:
    """One step, and the state after it."""

    kind: Literal["make", "seed", "call", "result"]
    id: int | None  #: the scalar made, or the backpropagator called
    argument: float | None  #: of the call
    passed: list[tuple[int, float]]  #: what the call passes on: (id, number), as arguments, or as sums that it writes
    areas: list[Area]
    counts: Counts  #: from the beginning up to here


@dataclasses.dataclass
class Walk:
    """A stage's run: the scalars in order, the steps, the value and the gradient."""

    stage: str
    inputs: list[str]  #: the names of the input's scalars
    scalars: list[Scalar]
    steps: list[Step]
    calls: list[tuple[int, float]]  #: all calls of backpropagators, with their arguments
    counts: Counts  #: of the whole run
    value: float | None  #: the sum of the value's real scalars
    gradient: list[float]  #: the cotangent of the input's scalars
    left_out: str  #: why steps are missing at the end, if they are

    def times_called(self) -> dict[int, int]:
        """How often each backpropagator was called."""
        return {scalar.id: 0 for scalar in self.scalars} | collections.Counter(i for i, _ in self.calls)


def walk(
    name: str, f: Callable[..., Any], *primals: Any, most: int = 200, limit: float = float("inf"), widest: int = 400
) -> Walk:
    """Record the steps of a stage for f's value at the primals and one pullback of ones.

    After `most` steps, or once the state has more than `widest` cells, no further step is recorded, and `left_out` says
    why; counts and calls go on. The run ends once the counts together exceed `limit`. KeyError for an unknown name.
    """
    recorder = _Walker(limit, most, widest, f, input_names(f, primals))
    value, gradient = None, []
    try:
        with (
            threads(1),
            np.errstate(all="ignore"),
        ):  # the copies of compiled loops compute with numpy's numbers, which warn
            y, pullback = recorder.instrument(STAGES[name]).vjp(f, *primals)
            scalars, structure = tree.outputs(y)
            ct = pullback(structure.cotangent([1.0] * len(scalars)))
        value, gradient = float(sum(scalars)), tree.inputs(primals)[1].read(ct)
        recorder.keep("result")
    except LimitReached as reached:
        recorder.left_out = f"{name} was cut off after {reached}"
    return Walk(
        name,
        recorder.inputs,
        recorder.scalars,
        recorder.steps,
        recorder.calls,
        recorder.counts,
        value,
        gradient,
        recorder.left_out,
    )


class _Walker(Recorder):
    """A recorder of counts that also records the state after each step."""

    def __init__(self, limit: float, most: int, widest: int, f: Callable[..., Any], inputs: list[str]) -> None:
        super().__init__(limit)
        self.most, self.widest, self.inputs = most, widest, inputs
        self.program = getattr(inspect.unwrap(f), "__code__", None)
        self.scalars: list[Scalar] = []
        self.steps: list[Step] = []
        self.left_out = ""
        self._loop: CodeType | None = None  # of the function that calls the backpropagators
        self._seen: dict[str, Any] = {}  # its variables
        self._now: tuple[int | None, float | None] = None, None  # the call that is going on
        self._passed: list[tuple[int, float]] = []
        self._interleaving = False
        self._numbers: dict[int, tuple[int, Any]] = {}  # of dual numbers without ids; they are kept: addresses stay
        self._of_jobs: dict[tuple[int, int], int] = {}  # ids of jobs, by their order
        self._counts: Counts | None = None  # from before the loop took the next call out of a map
        self._taking = False

    def instrument(self, stage: ModuleType) -> ModuleType:
        """Return a copy of the stage that counts and records its steps."""
        copy: Any = super().instrument(stage)
        loop = "total" if hasattr(copy, "total") else "resolve"
        if hasattr(copy, "call") and not hasattr(stage.resolve, "py_func"):
            copy.call = self._delayed(copy.call)
        self._loop = getattr(copy, loop).__code__
        setattr(copy, loop, self._resolving(getattr(copy, loop)))
        copy.interleave = self._interleaved(copy.interleave)
        return copy

    def keep(self, kind: Literal["make", "seed", "call", "result"]) -> None:
        """Record a step: what has happened since the last one."""
        counts, self._counts = self._counts or dataclasses.replace(self.counts), None
        (i, z), self._now = self._now, (None, None)
        passed, self._passed = self._passed, []
        if self.left_out:
            return
        areas = self._areas()
        if len(self.steps) >= self.most or sum(len(area.cells) for area in areas) > self.widest:
            self.left_out = f"only the first {len(self.steps):,} steps are shown"
        else:
            self.steps.append(Step(kind, i, z, passed, areas, counts))

    # ---- the forward pass ----

    def _interleaved(self, interleave: Callable[..., Any]) -> Callable[..., Any]:
        def seen(*args: Any) -> Any:
            """Interleave, and note that the scalars made meanwhile are inputs."""
            self._interleaving = True
            made = interleave(*args)
            self._interleaving = False
            return made

        return seen

    def _duals(self, dual: Any) -> None:
        super()._duals(dual)
        counted = dual.__init__

        def __init__(u: Any, run: Any, x: Any, d: Any) -> None:  # noqa: N807 - it is that method
            counted(u, run, x, self._answering(d) if callable(d) else d)
            i = self._number(u)
            if not self.left_out:
                self._made(i, u, run, d, sys._getframe(1))
            if hasattr(run, "ends"):
                self._seen = {"partials": run.partials, "ids": run.ids, "ends": run.ends}
            self._now = i, None
            self.keep("make")

        dual.__init__ = __init__

    def _made(self, i: int, u: Any, run: Any, d: Any, frame: FrameType) -> None:
        captured = _captured(d)
        if callable(d):
            partials, args = captured["partials"]() if "partials" in captured else (), captured.get("args", ())
            refers = [(p, self._number(v)) for p, v in zip(partials, args, strict=True)]
        elif isinstance(d, list):
            refers = [(p, j) for p, (j, _) in d]
        elif isinstance(d, tuple):  # an id: what it refers to is on the tape of its job
            job = run.jobs[d[0]]
            entries = range(job.ends[d[1]], job.ends[d[1] + 1])
            refers = [(job.partials[k], self._of_jobs[job.jobs[k], job.ids[k]]) for k in entries]
        else:  # on the tape
            refers = [(run.partials[k], run.ids[k]) for k in range(run.ends[i], run.ends[i + 1])]
        value = float(overload.value(u.x))
        kind: Literal["input", "constant", "operation"]
        if self._interleaving:
            kind, text = "input", self.inputs[i]
        elif (callable(d) and "args" not in captured) or d == []:
            kind, text = "constant", f"{value:.6g}"
        else:
            kind, text = "operation", operation(frame, run, self._number)
        plain = tuple((float(overload.value(p)), j) for p, j in refers)
        self.scalars.append(Scalar(i, kind, value, text, plain, self._line(frame)))

    def _number(self, u: Any) -> int:
        """The id of a dual number; in a stage without ids, the number of its creation."""
        i = u[0] if isinstance(u, tuple) else getattr(u, "i", None)  # (id, contributions)
        if isinstance(i, tuple):  # a job and a number in it
            return self._of_jobs.setdefault(i, len(self._of_jobs))
        return self._numbers.setdefault(id(u), (len(self._numbers), u))[0] if i is None else int(i)

    def _line(self, frame: FrameType | None) -> int | None:
        while frame is not None and frame.f_code is not self.program:
            frame = frame.f_back
        return frame and frame.f_lineno

    # ---- the reverse pass ----

    def _resolving(self, resolve: Callable[..., Any]) -> Callable[..., Any]:
        names = list(inspect.signature(resolve).parameters)

        def seen(*args: Any) -> Any:
            """Resolve; the arguments are the state before, the result is the state after."""
            self._seen = dict(zip(names, args, strict=True))
            self._passed += [(self._number(u), float(z)) for u, z in self._seen.get("calls", ())]
            result = resolve(*args)
            if "calls" in self._seen:
                self._seen |= {"c": result, "todo": []}
            elif not isinstance(getattr(s := self._state(), "m", []), list):
                self._seen["s"] = s._replace(c=result, m=None)  # no call waits any more
            self.keep("seed" if self._now[0] is None else "call")
            return result

        return seen

    def called(self, i: int, z: float) -> None:
        """Record the state after the last call, which is the state before this one."""
        if self.left_out:
            return super().called(i, z)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not self._loop:
            frame = frame.f_back
        if frame is not None:
            self._seen |= frame.f_locals
            if "todo" in self._seen:  # where the call that comes now was on top
                self._seen["todo"] = [*self._seen["todo"], (self._seen["u"], self._seen["z"])]
        self.keep("seed" if self._now[0] is None else "call")
        self._now = i, float(z)
        return super().called(i, z)

    def _answering(self, d: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a backpropagator of D1, which returns the calls that it passes on."""

        def seen(z: Any) -> Any:
            """Call the backpropagator, and record the calls that it passes on."""
            result = d(z)
            if isinstance(result, list) and not self.left_out:
                self._passed += [(self._number(u), float(z)) for u, z in result]
            return result

        return seen

    def _delayed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def seen(u: Any, z: Any) -> Any:
            """Record a call that is passed on, and make it."""
            if not self.left_out:
                self._passed.append((self._number(u), float(z)))
            return call(u, z)

        return seen

    def _map(self) -> ModuleType:
        copy: Any = super()._map()
        pop_max = copy.pop_max

        def seen(m: Any) -> Any:  # it calls itself
            """Pop the highest key; the counts so far, without this pop, belong to the last step."""
            outermost, self._taking = not self._taking, True
            if outermost:
                self._counts = dataclasses.replace(self.counts)
            popped = pop_max(m)
            self._taking = not outermost
            return popped

        copy.pop_max = seen
        return copy

    def _watched(self, made: Any) -> Any:
        watched = super()._watched(made)
        if not isinstance(made, np.ndarray) or made.dtype == np.bool_:
            return watched
        written = made.view(_Written)
        written.recorder = self
        return written

    def written(self, i: int, x: float) -> None:
        """Record a write to an argument."""
        if not self.left_out:
            self._passed.append((i, x))

    # ---- the state ----

    def _state(self) -> Any:
        """The staged object, in the stages that have one."""
        return self._seen.get("s")

    def _areas(self) -> list[Area]:
        """Return the loop's variables as areas to show."""
        seen = dict(self._seen)
        if hasattr(s := self._state(), "m"):
            seen |= {"c": s.c, "m": s.m}
        areas = []
        if "todo" in seen:
            waiting = [(self._number(u), float(z)) for u, z in reversed(seen["todo"])]
            areas.append(Area("todo", "stack", waiting))
        return areas + [_area(name, seen[name]) for name in _SHOWN if name in seen]


#: The variables that are shown, under the names that they have in the stages.
_SHOWN = ("m", "c", "arguments", "called", "rows", "ends", "partials", "ids")


def _area(name: str, x: Any) -> Area:
    """A variable as an area: a map, an array, or a product of pairs (with the numbers of its scalars as keys)."""
    if x is None or hasattr(x, "key"):  # a node of a map
        return Area(name, "map", [(key, _plain(y)) for key, y in ordered_map.items(x)])
    if isinstance(x, (tuple, float)):
        return Area(name, "pairs", list(enumerate(map(_plain, pairs.scalars(x)))))
    return Area(name, "array", list(enumerate(map(_plain, x))))


def _plain(x: Any) -> Any:
    """The value to show: a number, or the argument of a delayed call."""
    x = overload.value(x[1] if isinstance(x, tuple) else x)
    return bool(x) if isinstance(x, np.bool_) else float(x) if isinstance(x, float) else int(x)


def _captured(d: Any) -> dict[str, Any]:
    """The variables that a closure captured."""
    if getattr(d, "__closure__", None) is None:
        return {}
    return dict(zip(d.__code__.co_freevars, (cell.cell_contents for cell in d.__closure__), strict=True))


class _Written(WatchedArray):
    """An array of arguments that reports every write."""

    recorder: _Walker

    def __setitem__(self, i: Any, x: Any) -> None:
        super().__setitem__(i, x)
        self.recorder.written(int(i), float(overload.value(x)))
