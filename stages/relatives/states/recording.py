r"""Python functions as programs on a machine state: the operations of one run, in as few elements as possible.

The function runs on scalars that write down their operations (vlad/python.py). Then each scalar gets an element of the
state: an element is free again after the last operation that reads it, and may be the target of that very operation. So
programs overwrite their elements, as a compiler's do with registers, and L = R, L = S and L = R = S occur. Elements of
the input and results keep theirs to the end of their use.

`vjp` is reverse mode on the recorded program. Where a sensitivity is 0 and a partial derivative infinite, the result is
NaN, as in the paper; the stages leave operations out that no result needs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dualrev.eager.numbers.overload import Run
from dualrev.tree import Structure, inputs, outputs
from stages.relatives.states.modes import reverse_mode
from stages.relatives.states.transitions import Assignment, Constant
from stages.relatives.vlad.primitives import SYMBOLS
from stages.relatives.vlad.python import Dual, variable

__all__ = ["Recorded", "recorded", "vjp"]

_NAMES = {symbol: name for name, symbol in SYMBOLS.items()}


class Recorded(NamedTuple):
    """A program, its input state, and where the results are at the end: an element, or a constant.

    The first `given` elements are the real scalars of the input.
    """

    program: list[Assignment]
    state: list[Any]
    given: int
    results: list[int | Constant]
    output: Structure
    structure: Structure


def recorded(f: Callable[..., Any], *primals: Any) -> Recorded:
    """Run f, and return its operations as a program. ValueError for a primitive that is not in the table.

    >>> recorded(lambda x, y: (x + y) * x, 3.0, 2.0).program
    [Assignment(target=1, op='add', operands=(0, 1)), Assignment(target=0, op='mul', operands=(1, 0))]
    """
    scalars, structure = inputs(primals)
    with Run(ids=itertools.count(), operations=[], known={}) as run:
        duals = [Dual(run, x, f"x{next(run.ids)}") for x in scalars]
        leaves, output = outputs(f(*structure.rebuild(duals)))
        names = [variable(run, u) for u in leaves]
        operations, known = list(run.operations), dict(run.known)
    if foreign := next((op for _, op, _ in operations if op in known), None):
        raise ValueError(f"{foreign} is known by its value and derivatives only: use operations of the table")
    program, size, places = _allocated([u.name for u in duals], operations, names)

    def number(name: str) -> Constant:
        """The constant of this name."""
        return Constant(known[name] if name in known else float(name))

    state = [*scalars, *[0.0] * (size - len(scalars))]
    valued = [
        a._replace(operands=tuple([number(i.value) if isinstance(i, Constant) else i for i in a.operands]))
        for a in program
    ]
    results = [places[name] if name in places else number(name) for name in names]
    return Recorded(valued, state, len(scalars), results, output, structure)


def _allocated(
    given: Sequence[str], operations: Sequence[tuple[str, str, list[str]]], results: Sequence[str]
) -> tuple[list[Assignment], int, dict[str, int]]:
    """The program, the size of its state, and the elements of the variables that are in use at the end."""
    last = {name: k for k, (_, _, args) in enumerate(operations) for name in args}
    places = {name: i for i, name in enumerate(given)}
    free = [places.pop(name) for name in given if name not in last and name not in results]
    size, program = len(given), []
    for k, (name, op, args) in enumerate(operations):
        operands = [places.get(arg, Constant(arg)) for arg in args]
        for arg in dict.fromkeys(args):
            if arg in places and last[arg] == k and arg not in results:
                free.append(places.pop(arg))
        if not free:
            free.append(size)
            size += 1
        target = free.pop()
        program.append(Assignment(target, _NAMES.get(op, op), tuple(operands)))
        if name in last or name in results:
            places[name] = target
        else:
            free.append(target)
    return program, size, places


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
    """f's value, and the map from a cotangent of it to a tuple of cotangents, one for each primal.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    made = recorded(f, *primals)
    after, _ = reverse_mode(made.program, made.state, [0.0] * len(made.state))
    y = made.output.rebuild([i.value if isinstance(i, Constant) else after[i] for i in made.results])

    def pullback(ct: Any) -> Any:
        """Set the sensitivities of the results, and run the reverse phase."""
        start: list[Any] = [0.0] * len(made.state)
        for i, z in zip(made.results, made.output.read(ct), strict=True):
            if not isinstance(i, Constant):
                start[i] = start[i] + z
        _, found = reverse_mode(made.program, made.state, start)
        return made.structure.cotangent(found[: made.given])

    return y, pullback
