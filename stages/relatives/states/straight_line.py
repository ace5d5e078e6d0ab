r"""Reverse mode without a tape, for straight-line code: Pearlmutter and Siskind 2008, section 2.

    x[L] := u x[R]               ..; ct[R] +:= u' ct[L]; ct[L] := 0
    x[L] := b (x[R], x[S])       ..; ct[R] +:= b1' ct[L]; ct[S] +:= b2' ct[L]; ct[L] := 0

`postpended` puts these assignments after the program, in reverse order. The result is a program, too: its state has the
program's elements, their sensitivities, and names for what is computed on the way. So it can be differentiated again,
by each of modes.py, or by `postpended` itself.

The paper writes u' as an expression in the elements that u reads, which a later assignment may have overwritten. Here
an assignment to x[L] makes a new version of L, so that old values remain: they are what a tape would hold. Partial
derivatives are those of the table, as text, so those with a branch are refused (ValueError). Sensitivities have no
versions: they are overwritten, and zeroed, as above. If L is an operand, ct[L] is copied and zeroed first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dualrev.rules.primitives import PRIMITIVES
from stages.calculus.continuations.partials import partial
from stages.calculus.language import terms as t
from stages.relatives.states.modes import states
from stages.relatives.states.transitions import Assignment, Constant

__all__ = ["Postpended", "postpended", "text"]

Operand = int | Constant
ZERO, ONE = Constant(0.0), Constant(1.0)


class Postpended(NamedTuple):
    """A program with its reverse phase.

    program        the assignments
    size           of its state
    values         where the elements of xn are
    sensitivities  where the sensitivities are: those of xn before the reverse phase, those of x0 at the end
    """

    program: list[Assignment]
    size: int
    values: list[int]
    sensitivities: list[int]

    def run(self, x: Sequence[Any], ct: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """xn and (J f x0)^T ct"""
        after = states(self.program, self.start(x, ct))[-1]
        return [after[i] for i in self.values], [after[i] for i in self.sensitivities]

    def start(self, x: Sequence[Any], ct: Sequence[Any]) -> list[Any]:
        """The input state: x, and the sensitivities ct."""
        state: list[Any] = [*x, *[0.0] * (self.size - len(x))]
        for i, z in zip(self.sensitivities, ct, strict=True):
            state[i] = z
        return state


@dataclass
class Writer:
    """Assignments, and the number of elements so far."""

    size: int
    written: list[Assignment] = field(default_factory=list)

    def new(self) -> int:
        """An element that no assignment has used."""
        self.size += 1
        return self.size - 1

    def name(self, op: str, *operands: Operand) -> int:
        """An assignment to a new element."""
        self.written.append(Assignment(self.new(), op, operands))
        return self.written[-1].target

    def expression(self, term: t.Term, elements: dict[str, Operand]) -> Operand:
        """The assignments that compute a term of numbers."""
        match term:
            case t.Var(name):
                return elements[name]
            case t.Literal(value):
                return Constant(value)
            case t.Operation(op, arguments):
                return self.name(op, *[self.expression(a, elements) for a in arguments])
        raise ValueError("a partial derivative has a branch, which straight-line code has not: use another operation")

    def reverse(self, op: str, operands: Sequence[Operand], y: int, target: int, at: Sequence[Operand]) -> None:
        """ct[R] +:= p ct[L] for the operands, and ct[L] := 0; `at` are their sensitivities, or constants."""
        z = target
        if target in at:  # L is an operand: its sensitivity is taken out first
            z = self.name("mul", target, ONE)
            self.written.append(Assignment(target, "mul", (ZERO, ONE)))
        names = {f"x{k}": operand for k, operand in enumerate(operands)}
        for k, sensitivity in enumerate(at):
            if not isinstance(sensitivity, Constant):
                p = partial(op, k, [t.Var(name) for name in names], t.Var("y"))
                try:
                    factor = self.expression(p, {**names, "y": y})
                except ValueError as error:
                    raise ValueError(f"{op}: {error}") from None
                share = z if p == t.Literal(1.0) else self.name("mul", factor, z)
                self.written.append(Assignment(sensitivity, "add", (sensitivity, share)))
        if z == target:
            self.written.append(Assignment(target, "mul", (ZERO, ONE)))


def postpended(program: Sequence[Assignment], size: int) -> Postpended:
    """The program on a state of this size, followed by its reverse phase. ValueError for a partial with a branch.

    >>> made = postpended([Assignment(1, "mul", (0, 0))], 2)
    >>> print(text(made.program))
    x4 := mul(x0, x0)
    x5 := mul(x0, x3)
    x2 := add(x2, x5)
    x6 := mul(x0, x3)
    x2 := add(x2, x6)
    x3 := mul(0.0, 1.0)
    >>> made.run([3.0, 0.0], [0.0, 1.0])
    ([3.0, 9.0], [6.0, 0.0])
    """
    writer, version = Writer(2 * size), list(range(size))
    done = []
    for target, op, operands in program:
        assert op in PRIMITIVES
        read = [i if isinstance(i, Constant) else version[i] for i in operands]
        version[target] = writer.name(op, *read)
        done.append((op, read, version[target], target, operands))
    for op, read, y, target, operands in reversed(done):
        at = [i if isinstance(i, Constant) else size + i for i in operands]
        writer.reverse(op, read, y, size + target, at)
    return Postpended(writer.written, writer.size, version, list(range(size, 2 * size)))


def text(program: Sequence[Assignment]) -> str:
    """The assignments, one on each line."""

    def show(i: Operand) -> str:
        """An operand."""
        return repr(i.value) if isinstance(i, Constant) else f"x{i}"

    return "\n".join(f"x{a.target} := {a.op}({', '.join(map(show, a.operands))})" for a in program)
