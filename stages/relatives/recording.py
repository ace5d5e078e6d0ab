"""A run of a Python function, recorded as a straight-line program: `record`.

    x2 = op(x0, x1); x3 = op(x2, 5.0); ..          on real scalars; Python has executed its loops, calls and branches

An operation is a line of the table of primitives. One that is known only by its value and partial derivatives has none:
a user's primitive (dualrev.primitive), and an operation whose first operand belongs to an outer derivative call. A
variable of the program is known by its name, a number of an outer derivative call by a name in `known`.
"""

from __future__ import annotations

import functools
import itertools
import numbers
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dualrev.eager.numbers.overload import SLOPES, DualNumber, Run, alive, apply, method_name
from dualrev.eager.numbers.overload import function as on_numbers
from dualrev.rules.primitives import PRIMITIVES, Primitive
from dualrev.tree import Structure, inputs, outputs

__all__ = ["Atom", "Operation", "Recording", "Variable", "record"]

#: A variable's name, or a number.
Atom = str | float


class Operation(NamedTuple):
    """result = line(arguments); without a line, its value and its partial derivatives."""

    result: str
    line: Primitive | None
    arguments: list[Atom]
    value: Any = None
    partials: tuple[Any, ...] = ()


class Recording(NamedTuple):
    """The program: the names of the input's scalars, the operations that the results depend on, and the results.

    leaves      the output's scalars, as f has returned them; results has their names
    """

    scalars: list[Any]
    structure: Structure
    names: list[str]
    operations: list[Operation]
    results: list[Atom]
    leaves: list[Any]
    output: Structure
    known: dict[str, Any]


class Variable(DualNumber):
    """A scalar of the program that is being recorded: a number x and its name."""

    __slots__ = ("name", "run", "x")

    def __init__(self, run: Run, x: Any, name: str) -> None:
        self.run, self.x, self.name = run, x, name

    constant = None

    @staticmethod
    def op(run: Run, y: Any, args: Sequence[Variable], partials: Sequence[Any]) -> Variable:
        """An operation known only by its value and partial derivatives, which `apply` calls."""
        return written(run, y, None, args, partials)


def written(run: Run, y: Any, line: Primitive | None, args: Sequence[Any], partials: Sequence[Any] = ()) -> Variable:
    """Record an operation with the value y."""
    made = Variable(run, y, f"x{next(run.ids)}")
    arguments = [atom(run, u) for u in args]
    run.operations.append(Operation(made.name, line, arguments, None if line else y, tuple(partials)))
    return made


def atom(run: Run, u: Any) -> Atom:
    """A number, or the name of a variable or of a number of an outer run."""
    if isinstance(u, Variable) and u.run is run:
        return u.name
    if not isinstance(u, DualNumber):
        return float(u)
    name = f"c{next(run.ids)}"
    run.known[name] = alive(u)
    return name


def _overload() -> None:
    """Give Variable a method for every entry of the table of primitives."""
    for line in PRIMITIVES.values():
        names = [line.name if line.symbol else line.ufunc or line.name]
        if line.symbol:
            names.append(f"__{line.symbol}__")
        for name in names:
            setattr(Variable, name, _method(line, name, reflected=False))
        if line.symbol and len(line.partials) == 2:
            setattr(Variable, f"__r{line.symbol}__", _method(line, f"__r{line.symbol}__", reflected=True))
    for line in SLOPES.values():  # partial derivatives within a derivative call: known by their own ones
        if len(line.partials) <= 2:
            setattr(Variable, method_name(line), functools.partialmethod(_slope, line))


def _slope(u: Variable, line: Primitive, *others: Any) -> Any:
    return apply(line, u, *others)


def _method(line: Primitive, name: str, reflected: bool) -> Callable[..., Any]:
    compute, operator = on_numbers(line), name.startswith("__")

    def method(u: Variable, *others: Any) -> Any:
        """Record the operation; an operand of another kind of run goes through `apply`."""
        args = (u, *others)[::-1] if reflected else (u, *others)
        if operator and not all(_is_number(v) for v in others):
            return NotImplemented
        run = max((v.run for v in args if isinstance(v, DualNumber)), key=lambda run: run.level)
        if any(isinstance(v, DualNumber) and v.run is run and not isinstance(v, Variable) for v in args):
            return apply(line, *args)
        y = compute(*(v.x if isinstance(v, Variable) and v.run is run else v for v in args))
        return written(run, y, line, args)

    method.__name__ = name
    return method


def _is_number(v: Any) -> bool:
    """Whether an operator accepts it; other objects, such as arrays, may implement the operator themselves."""
    return isinstance(v, (numbers.Real, np.bool_))


_overload()


def record(f: Callable[..., Any], primals: tuple[Any, ...]) -> Recording:
    """Run the function, and return the operations that its value depends on.

    >>> recording = record(lambda x, y: x * (x + 2.0), (3.0, 2.0))
    >>> [(u.result, u.line.name, u.arguments) for u in recording.operations], recording.results
    ([('x2', 'add', ['x0', 2.0]), ('x3', 'mul', ['x0', 'x2'])], ['x3'])
    """
    scalars, structure = inputs(primals)
    with Run(ids=itertools.count(), operations=[], known={}) as run:
        given = [Variable(run, x, f"x{next(run.ids)}") for x in scalars]
        leaves, output = outputs(f(*structure.rebuild(given)))
        results = [atom(run, u) for u in leaves]
    needed, operations = set(results), []
    for operation in reversed(run.operations):
        if operation.result in needed:
            needed.update(operation.arguments)
            operations.append(operation)
    names = [u.name for u in given]
    return Recording(scalars, structure, names, operations[::-1], results, leaves, output, run.known)
