"""A program as the page's script runs it: the list of its operations, recorded once.

The list has no control flow, data structures or functions: only numbers, and the operands of each operation. At other
inputs the list computes the program's value, unless the program inspects its numbers: after a comparison it may take
another branch. `fixed` then says why, and the page shows only the recorded inputs.

>>> recording = record(lambda x, y: x * (x + y), (3.0, 2.0))
>>> for one in recording.scalars:
...     print(one.text, one.args, one.primitive and one.primitive.name)
x () None
y () None
v0 + v1 (0, 1) add
v0 * v2 (0, 2) mul
>>> recording.outputs, recording.shape, recording.fixed
([3], (0, 1), '')
"""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import math
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from dualrev.eager.numbers.overload import DualNumber, Run, linearize, overload, value
from dualrev.rules.primitives import Primitive
from dualrev.tree import inputs, outputs
from stages import pairs
from stages.comparison.naming import named_inputs, operation, primitive_of

__all__ = ["MOST", "UNKNOWN", "Recorded", "Recording", "record"]

MOST = 600  # operations: a longer program is not stepped through

LOOKS = "The program compares its numbers, and may take another way for others: it is shown for these inputs only."
UNKNOWN = "The script of this page lacks a function that the program uses: it is shown for these inputs only."
KEEPS = "The program computes with numbers that it does not show: it is shown for these inputs only."


@dataclasses.dataclass(frozen=True)
class Recorded:
    """A scalar of the program: an input, a constant, or an operation on scalars with the ids `args`."""

    kind: str
    value: float
    text: str
    args: tuple[int, ...] = ()
    partials: tuple[float, ...] = ()
    primitive: Primitive | None = None
    line: int | None = None


@dataclasses.dataclass(frozen=True)
class Recording:
    """The scalars by id, inputs first; the ids of the outputs; the input as a product of pairs of ids."""

    parameters: list[tuple[str, list[str]]]  #: the name of every parameter, with those of its scalars
    scalars: list[Recorded]
    outputs: list[int]
    shape: Any
    fixed: str  #: why there can be no other inputs, or nothing


class Dual(DualNumber):
    """A number x, and its id i. It tells its run when a program inspects its value."""

    __slots__ = ("i", "run", "x")

    def __init__(self, run: Any, x: Any, kind: str, **more: Any) -> None:
        self.run, self.x, self.i = run, x, len(run.scalars)
        if self.i >= MOST:
            raise _TooLong
        run.scalars.append(Recorded(kind, float(value(x)), **more))


class _TooLong(Exception):  # noqa: N818 - not an error: the answer of a recording that was told when to stop
    pass


def _looking(name: str) -> Callable[..., Any]:
    plain = getattr(DualNumber, name)

    def looks(self: Any, *args: Any) -> Any:
        """Note that the program inspects its numbers, and return the plain result."""
        self.run.looked = True
        return plain(self, *args)

    return looks


_LOOKS = ("eq", "ne", "lt", "le", "gt", "ge", "bool", "int", "trunc", "floor", "ceil", "round", "str", "format")
for _name in (*(f"__{name}__" for name in _LOOKS), "is_integer"):
    setattr(Dual, _name, _looking(_name))


def constant(run: Any, r: Any) -> Dual:
    """A constant as a scalar of its own."""
    return Dual(run, r, "constant", text=f"{value(r):.6g}", line=_line(run, sys._getframe(1)))


def op(run: Any, y: Any, args: Any, partials: Any) -> Dual:
    """An operation, with its entry in the table of primitives if the table computed it."""
    frame: FrameType | None = sys._getframe(1)
    primitive, _ = primitive_of(frame)
    if primitive is not None and not _computes(primitive, args, y, partials):
        primitive = None
    text = operation(frame, run, lambda u: u.i)
    ids, numbers = tuple(u.i for u in args), tuple(float(value(p)) for p in partials)
    return Dual(run, y, "operation", text=text, args=ids, partials=numbers, primitive=primitive, line=_line(run, frame))


overload(Dual, constant, op)


def _computes(primitive: Primitive, args: Any, y: Any, partials: Any) -> bool:
    if len(primitive.parameters) != len(args):
        return False
    found, slopes = linearize(primitive, [u.x for u in args])
    return all(_same(a, b) for a, b in zip((found, *slopes), (y, *partials), strict=True))


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def _line(run: Any, frame: FrameType | None) -> int | None:
    while frame is not None and frame.f_code is not run.program:
        frame = frame.f_back
    return frame and frame.f_lineno


def record(f: Callable[..., Any], primals: tuple[Any, ...]) -> Recording | None:
    """Record the program's operations at the primals; None if there are too many to step through."""
    try:
        recording, looked = _recorded(f, primals)
        return dataclasses.replace(recording, fixed=LOOKS if looked else _fixed(recording, f, primals))
    except _TooLong:
        return None


def _recorded(f: Callable[..., Any], primals: tuple[Any, ...]) -> tuple[Recording, bool]:
    scalars, structure = inputs(primals)
    parameters = named_inputs(f, primals)
    names = itertools.chain.from_iterable(names for _, names in parameters)
    with Run(scalars=[], looked=False, program=getattr(inspect.unwrap(f), "__code__", None)) as run:
        duals = [Dual(run, x, "input", text=name) for x, name in zip(scalars, names, strict=True)]
        leaves, _ = outputs(f(*structure.rebuild(duals)))
        out = [u if isinstance(u, Dual) and u.run is run else constant(run, u) for u in leaves]
    shape = pairs.of(structure, list(range(len(scalars))))
    return Recording(parameters, run.scalars, [u.i for u in out], shape, ""), run.looked


def _fixed(recording: Recording, f: Callable[..., Any], primals: tuple[Any, ...]) -> str:
    """Why the recording holds at these inputs only; empty if nearby inputs lead to the same operations."""
    scalars, structure = inputs(primals)
    try:
        other, looked = _recorded(f, tuple(structure.rebuild([x + 1e-3 * (k + 1) for k, x in enumerate(scalars)])))
    except (ArithmeticError, ValueError):
        return KEEPS
    same = [_operation(one) for one in other.scalars] == [_operation(one) for one in recording.scalars]
    known = all(one.primitive for one in recording.scalars if one.kind == "operation")
    return "" if same and known and not looked and other.outputs == recording.outputs else KEEPS


def _operation(one: Recorded) -> tuple[Any, ...]:
    return one.kind, one.args, one.primitive, one.value if one.kind == "constant" else None
