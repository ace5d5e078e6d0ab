"""The tape: section 8.3 of the paper, engineered. What is done with numbers is written down, then resolved backwards.

    D[R] = (R, Int), and a tape                                            stages/d4_tape.py is the same in 100 lines

What is different here, and why:

- A scalar operation writes one row of fixed size, (p, i, q, j, id): the contributions p to id i and q to id j. One call
  packs it, one writes it, both in C; that is most of what an operation costs.
- Arrays are arrays of dual numbers (`dualrev.eager.arrays`); an operation on whole arrays writes one block.
- A finished tape is a linear map (linear.py), so it serves both modes: backwards on a cotangent, forwards on a tangent.

Ids: 0 stands for every constant: its cotangent is written and never read. Scalars count up from 1, in the order of the
operations; blocks take a number from the same count, so that the order of everything is known. Elements of arrays
have negative ids, which count down, so that an array of n elements has n consecutive ids (ids.py), and one buffer of
cotangents has room for both, scalars from its start and elements from its end, as Python's indices do
(cotangent_flow.py).

A cotangent of -0.0 says that nothing has contributed yet (adding to it any number gives that number). Such an id is
not resolved: 0 times a partial that is infinite would be NaN. Contributions are made +0.0 where they are zero.
"""

from __future__ import annotations

import io
import itertools
import operator
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.eager.numbers.dual import DualNumber, Run, next_level
from dualrev.eager.numbers.numpy_hooks import ANSWERS
from dualrev.eager.numbers.overload import overload
from dualrev.eager.numbers.primitive_functions import function
from dualrev.eager.tape.blocks import Block, Products
from dualrev.errors import LeakError
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES

__all__ = ["ROW", "NestedReal", "Real", "Tape", "real"]

ROW = np.dtype([("p", float), ("i", np.int64), ("q", float), ("j", np.int64), ("id", np.int64)])
_pack = struct.Struct("dqdqq").pack


class Tape(Run):
    """The tape of one derivative call.

    Threads of the user's function may write at the same time: every row has its id in it and is written at once.
    """

    __slots__ = (
        "blocks",
        "buffer",
        "constants",
        "elements",
        "fresh",
        "multiplied",
        "nested",
        "sizes",
        "write",
    )  # faster than a dict

    def __init__(self) -> None:
        self.level, self.over = next_level(), False
        self.buffer = io.BytesIO()
        self.write: Callable[[bytes], Any] = self.buffer.write
        self.fresh: Callable[[], int] = itertools.count(1).__next__
        self.nested: dict[int, tuple[Any, ...]] = {}  # partials that are numbers of an outer run, by the row's id
        self.blocks: list[Block] = []
        self.elements = 0
        self.sizes: dict[int, int] = {}  # of the arrays that have ids, by the first of those
        self.constants: dict[int, tuple[Any, Any]] = {}  # arrays by their id(), each with what is kept of it
        self.multiplied: dict[Any, Products | None] = {}  # by the ids of a matrix: arrays/matmul.py

    def __enter__(self) -> Tape:
        return self

    def __exit__(self, *exception: object) -> None:
        self.over = True
        self.constants, self.multiplied = {}, {}
        self.blocks = []  # they may know numbers of this run: that would be a cycle
        self.write = self.fresh = _leaked  # so that no operation has to ask whether its run is over

    def allocate(self, n: int) -> int:
        """The first of n consecutive ids for elements of an array; it is negative."""
        if self.over:
            raise LeakError
        with _ALLOCATING:
            self.elements += n
            start = -self.elements
            if n:
                self.sizes[start] = n
            return start


_ALLOCATING = threading.Lock()


def _leaked(*_: Any) -> Any:
    raise LeakError


class Real(DualNumber):
    """Traced real number: a float x that is being differentiated, and its id i on the tape of a run.

    A function that `grad` or another derivative runs on the tape gets such numbers in place of floats. They take part
    in arithmetic, comparisons, `dualrev.math` and numpy's functions like floats. float(x) raises ConversionError;
    `dualrev.value(x)` is the plain number. `isinstance(x, numbers.Real)` holds, isinstance(x, float) does not.

    >>> import dualrev as dr
    >>> dr.grad(lambda x: print(repr(x)) or x * x)(3.0)
    Real(3.0)
    6.0
    """

    __slots__ = ("i", "run", "x")
    i: int
    # what numpy's scalars have, because sums and elements of arrays are such numbers
    shape, ndim, size = (), 0, 1

    def item(self) -> Real:
        """Return the number itself."""
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        of_numbers = _of_numbers(ufunc) if method == "__call__" and not kwargs else None
        if of_numbers is not None:
            numbers = []
            for u in inputs:  # numpy's floats come here in x * y: faster than as arrays
                if not isinstance(u, _NUMBERS):
                    break
                numbers.append(float(u) if isinstance(u, np.number) else u)
            else:
                try:
                    return of_numbers(*numbers)
                except (ArithmeticError, ValueError):
                    pass  # as an array, it gives infinities and NaN, as numpy does
        return ANSWERS.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return ANSWERS.function(func, args, kwargs)


class NestedReal(Real):
    """Traced number whose value is a traced number of an outer run."""

    __slots__ = ()


def real(run: Tape, x: Any, i: int) -> Real:
    """The number x with id i."""
    made = _new(Real if x.__class__ is float else NestedReal)
    made.run, made.x, made.i = run, x, i
    return made


def op(run: Tape, y: Any, args: Sequence[Real], partials: Sequence[Any]) -> Real:
    """D[op(t1..tn)] = write (p1, i1), ..., (pn, in) for a fresh i: (op(x1..xn), i)"""
    i = run.fresh()
    ids = [u.i for u in args]
    if not ids:  # there is a row for every id
        ids, partials = [0], [0.0]
    if len(ids) % 2:
        ids, partials = [*ids, 0], [*partials, 0.0]
    if any(isinstance(p, DualNumber) for p in partials):
        run.nested[i] = tuple(partials)
        partials = [0.0] * len(ids)
    for k in range(0, len(ids), 2):  # rows of one id are resolved one after the other, when its cotangent is complete
        run.write(_pack(partials[k], ids[k], partials[k + 1], ids[k + 1], i))
    return real(run, y, i)


# The same where nothing has to be asked: of one number u, and of two, u and v.
_RESULT = """
r.run = run
r.x = y
r.i = i
return r
"""
_RECORD = f"""
i = run.fresh()
run.write(pack({{p}}, u.i, %s, i))
r = new(Dual)
{_RESULT}
"""
_RECORD_NESTED = f"""
p = {{p}}
q = %s
i = run.fresh()
if p.__class__ is float and q.__class__ is float:
    run.write(pack(p, u.i, q, %s, i))
else:
    run.nested[i] = p, q
    run.write(pack(0.0, u.i, 0.0, %s, i))
r = new(Real if y.__class__ is float else Dual)
{_RESULT}
"""
_new = object.__new__
_LINES = {getattr(np, line.ufunc): line for line in PRIMITIVES.values() if line.ufunc}
_COMPARISONS: dict[Any, Callable[..., Any]] = {
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
}


def _of_numbers(ufunc: Any) -> Callable[..., Any] | None:
    """Return a function of numpy for numbers; None if it has no line in the table. It is compiled when it is used."""
    line = _LINES.get(ufunc)
    return function(line) if line else _COMPARISONS.get(ufunc)


_NUMBERS = (DualNumber, float, int, np.floating, np.integer)
_names = {"pack": _pack, "new": _new, "Real": Real}
overload(
    Real, None, op, inline=(_RECORD % "0.0, 0", _RECORD % "{q}, v.i"), names={**FUNCTIONS, **_names}, nested=NestedReal
)
_of_nested = _RECORD_NESTED % ("0.0", "0", "0"), _RECORD_NESTED % ("{q}", "v.i", "v.i")
overload(NestedReal, None, op, inline=_of_nested, names=_names, nested=NestedReal)
