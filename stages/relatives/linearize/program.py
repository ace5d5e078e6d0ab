r"""Programs with non-linear and linear variables, as text and evaluated: the first-order part of Linear A.

v = op(a1, .., an)          Compute: a line of the table of primitives; each a is a non-linear variable or a number
r = dk op(a1, .., an)       Slope: the partial derivative with respect to argument k (from 1)

t = 0                       Zero                linear equations: each linear variable is defined once
t = a * u                   Scale               and used exactly once
t = u + w                   Add
(t, s) = dup u              Dup
drop u                      Drop
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dualrev.eager.numbers.overload import function, linearize
from dualrev.rules.primitives import Primitive
from stages.relatives.recording import Atom

__all__ = ["Add", "Compute", "Drop", "Dup", "Equation", "Linear", "Program", "Scale", "Slope", "Zero"]


class Compute(NamedTuple):
    """v = op(a1, .., an)"""

    result: str
    line: Primitive
    arguments: Sequence[Atom]


class Slope(NamedTuple):
    """r = dk op(a1, .., an), where y = op(a1, .., an)"""

    result: str
    line: Primitive
    argument: int
    arguments: Sequence[Atom]
    y: str


class Zero(NamedTuple):
    """t = 0"""

    result: str


class Scale(NamedTuple):
    """t = a * u"""

    result: str
    factor: Atom
    of: str


class Add(NamedTuple):
    """t = u + w"""

    result: str
    left: str
    right: str


class Dup(NamedTuple):
    """(t, s) = dup u"""

    first: str
    second: str
    of: str


class Drop(NamedTuple):
    """drop u"""

    of: str


Linear = Zero | Scale | Add | Dup | Drop
Equation = Compute | Slope | Linear


@dataclass(frozen=True)
class Program:
    """name(xs; us) = equations; return (ys; ws): non-linear variables before the semicolon, linear ones after it.

    known    the values of names that are neither inputs nor results: numbers of outer derivative calls
    """

    name: str
    inputs: Sequence[str]
    linear_inputs: Sequence[str]
    equations: Sequence[Equation]
    outputs: Sequence[Atom]
    linear_outputs: Sequence[str]
    known: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"  {_text(equation)}" for equation in self.equations]
        given = _lists(self.inputs, self.linear_inputs)
        return "\n".join([f"{self.name}{given}:", *lines, f"  return {_lists(self.outputs, self.linear_outputs)}"])

    def __call__(self, xs: Sequence[Any], us: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Evaluate the program: the values of its outputs and of its linear outputs."""
        at: dict[Any, Any] = {**self.known, **dict(zip(self.inputs, xs, strict=True))}
        at.update(zip(self.linear_inputs, us, strict=True))
        for equation in self.equations:
            _evaluate(equation, at)
        return [at.get(a, a) for a in self.outputs], [at[u] for u in self.linear_outputs]


def _evaluate(equation: Equation, at: dict[Any, Any]) -> None:
    match equation:
        case Compute(result, line, arguments):
            at[result] = function(line)(*[at.get(a, a) for a in arguments])
        case Slope(result, line, k, arguments, _):
            at[result] = linearize(line, [at.get(a, a) for a in arguments])[1][k - 1]
        case Zero(result):
            at[result] = 0.0
        case Scale(result, factor, of):
            at[result] = at.pop(of) * at.get(factor, factor)
        case Add(result, left, right):
            at[result] = at.pop(left) + at.pop(right)
        case Dup(first, second, of):
            at[first] = at[second] = at.pop(of)
        case Drop(of):
            del at[of]


def _text(equation: Equation) -> str:
    match equation:
        case Compute(result, line, arguments):
            return f"{result} = {_formula(line, line.value, result, arguments) or _call(line, arguments)}"
        case Slope(result, line, k, arguments, y):
            formula = _formula(line, line.partials[k - 1], y, arguments)
            return f"{result} = {formula or f'd{k} {_call(line, arguments)}'}"
        case Zero(result):
            return f"{result} = 0"
        case Scale(result, factor, of):
            return f"{result} = {factor} * {of}"
        case Add(result, left, right):
            return f"{result} = {left} + {right}"
        case Dup(first, second, of):
            return f"({first}, {second}) = dup {of}"
    return f"drop {equation.of}"


def _formula(line: Primitive, text: str, y: str, arguments: Sequence[Atom]) -> str:
    """The table's text with the names of the arguments and of the result in it; nothing if it is long."""
    places = {**dict(zip(line.parameters, map(str, arguments), strict=True)), "y": y}
    made = re.sub(r"\b[xabcdy]\b(?!\()", lambda found: places.get(found[0], found[0]), text)
    return made if len(made) <= 40 else ""


def _call(line: Primitive, arguments: Sequence[Atom]) -> str:
    return f"{line.name}({', '.join(map(str, arguments))})"


def _lists(atoms: Sequence[Atom], linear: Sequence[str]) -> str:
    return f"({', '.join(map(str, atoms))}; {', '.join(linear)})"
