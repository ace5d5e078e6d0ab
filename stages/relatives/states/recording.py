r"""Python functions as programs on a machine state: the operations of one run, in as few elements as possible.

The function runs on scalars that write down their operations (../recording.py). Then each scalar gets an element of the
state: an element is free again after the last operation that reads it, and may be the target of that very operation. So
programs overwrite their elements, as a compiler's do with registers, and L = R, L = S and L = R = S occur. Elements of
the input and results keep theirs to the end of their use.

`vjp` is reverse mode on the recorded program, which has the operations that a result needs. Where a sensitivity is 0
and a partial derivative infinite, the result is NaN, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dualrev.tree import Structure
from stages.relatives.recording import Atom, Recording, record
from stages.relatives.states.modes import reverse_mode
from stages.relatives.states.transitions import Assignment, Constant

__all__ = ["Recorded", "recorded", "vjp"]


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
    run = record(f, primals)
    if foreign := next((u for u in run.operations if u.line is None), None):
        raise ValueError(f"{foreign.result} is known by its value and derivatives only: use operations of the table")
    program, size, places = _allocated(run)

    def number(a: Atom) -> Constant:
        """The constant of this name, or of this number."""
        return Constant(run.known[a] if isinstance(a, str) else a)

    state = [*run.scalars, *[0.0] * (size - len(run.scalars))]
    valued = [
        a._replace(operands=tuple([number(i.value) if isinstance(i, Constant) else i for i in a.operands]))
        for a in program
    ]
    results = [places[a] if a in places else number(a) for a in run.results]
    return Recorded(valued, state, len(run.scalars), results, run.output, run.structure)


def _allocated(run: Recording) -> tuple[list[Assignment], int, dict[Atom, int]]:
    """The program, the size of its state, and the elements of the variables that are in use at the end."""
    last = {a: k for k, u in enumerate(run.operations) for a in u.arguments}
    places: dict[Atom, int] = {name: i for i, name in enumerate(run.names)}
    free = [places.pop(name) for name in run.names if name not in last and name not in run.results]
    size, program = len(run.names), []
    for k, u in enumerate(run.operations):
        operands = [places.get(a, Constant(a)) for a in u.arguments]
        for a in dict.fromkeys(u.arguments):
            if a in places and last[a] == k and a not in run.results:
                free.append(places.pop(a))
        if not free:
            free.append(size)
            size += 1
        target = free.pop()
        assert u.line is not None, "such operations are refused"
        program.append(Assignment(target, u.line.name, tuple(operands)))
        places[u.result] = target
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
