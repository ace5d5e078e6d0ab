r"""Programs without variables: compositions of categorical combinators, and how a run of f is compiled to them.

    id : a -> a     g . f     f /\ g : a -> (b, c), the fork     exl : (a, b) -> a     exr : (a, b) -> b
    op : (R, .., R) -> R      const c : a -> R                   curry f, apply: curry.py

    let x = op(a1, a2) in t        t . (id /\ op . (a1 /\ a2)), from an environment to (environment, x)
    the variable i lets ago        exr . exl . ... . exl, with i times exl

Elliott's plug-in finds the combinators of a Haskell function. Here a run of f is recorded (recording.py), so that
conditions are decided. Arguments and results are balanced pairs: (a, b), (a, (b, c)), ((a, b), (c, d)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dualrev.rules.primitives import Primitive
from stages.relatives.recording import Atom, Recording

__all__ = [
    "APPLY",
    "EXL",
    "EXR",
    "ID",
    "Basic",
    "Compose",
    "Const",
    "Curry",
    "Fork",
    "Op",
    "Term",
    "balanced",
    "combinators",
    "compiled",
    "show",
    "size",
    "variable",
]


@dataclass(frozen=True)
class Basic:
    """A combinator without parts: id, exl, exr, apply."""

    name: str


ID, EXL, EXR, APPLY = Basic("id"), Basic("exl"), Basic("exr"), Basic("apply")


@dataclass(frozen=True)
class Const:
    """const c"""

    value: Any


@dataclass(frozen=True)
class Op:
    """An operation: a line of the table of primitives; without a line, its value and its partial derivatives."""

    line: Primitive | None
    arity: int
    value: Any = None
    partials: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Compose:
    """fs[0] . fs[1] . ... : the last one first"""

    fs: tuple[Term, ...]


@dataclass(frozen=True)
class Fork:
    r"""f /\ g"""

    f: Term
    g: Term


@dataclass(frozen=True)
class Curry:
    """curry f : a -> (b => c), of f : (a, b) -> c"""

    f: Term


Term = Basic | Const | Op | Compose | Fork | Curry


def balanced(parts: Sequence[Any], pair: Callable[[Any, Any], Any]) -> Any:
    """Join parts in pairs, as evenly as possible; () if there are none.

    >>> balanced([1, 2, 3], lambda a, b: (a, b))
    (1, (2, 3))
    """
    if len(parts) <= 1:
        return parts[0] if parts else ()
    middle = len(parts) // 2
    return pair(balanced(parts[:middle], pair), balanced(parts[middle:], pair))


def variable(i: int) -> Term:
    """The variable that was bound i variables before the last one."""
    return Compose((EXR, *[EXL] * i)) if i else EXR


def compiled(recording: Recording) -> Term:
    """The combinators of a recorded run: from the environment (((), x0), .., xn) to the balanced pairs of the results.

    >>> from stages.relatives.recording import record
    >>> print(show(compiled(record(lambda x: x * x + 2.0, (3.0,)))))
    exr . (id /\\ add . (exr /\\ const 2.0)) . (id /\\ mul . (exr /\\ exr))
    """
    position = {x: k for k, x in enumerate(recording.names)}
    known = recording.known

    def atom(a: Atom) -> Term:
        """A variable, or a constant."""
        if a in position:
            return variable(len(position) - 1 - position[a])
        return Const(known.get(a, a) if isinstance(a, str) else a)

    lets: list[Term] = []
    for u in recording.operations:
        op = Op(u.line, len(u.arguments), u.value, u.partials)
        lets.append(Fork(ID, Compose((op, balanced([atom(a) for a in u.arguments], Fork)))))
        position[u.result] = len(position)
    results = balanced([atom(a) for a in recording.results], Fork)
    return Compose((results, *reversed(lets))) if lets else results


def combinators(recording: Recording) -> int:
    """The size of the compiled run, without making it: a variable's path alone can be as long as the run.

    >>> from stages.relatives.recording import record
    >>> run = record(lambda x: x * x + 2.0, (3.0,))
    >>> combinators(run) == size(compiled(run)) == 13
    True
    """
    position: dict[Atom, int] = {x: k for k, x in enumerate(recording.names)}

    def atoms(found: Sequence[Atom]) -> int:
        """The size of the balanced pairs of these atoms."""
        return sum(len(position) - position.get(a, len(position) - 1) for a in found) + max(0, len(found) - 1)

    total = 0
    for u in recording.operations:
        total += atoms(u.arguments) + 3  # the fork, id and the operation
        position[u.result] = len(position)
    return total + atoms(recording.results)


def size(term: Term) -> int:
    """The number of combinators in a term, without the dots."""
    match term:
        case Compose(fs):
            return sum(map(size, fs))
        case Fork(f, g):
            return size(f) + size(g) + 1
        case Curry(f):
            return size(f) + 1
    return 1


def show(term: Term) -> str:
    """The term as text."""
    match term:
        case Basic(name):
            return name
        case Const(value):
            return f"const {value}"
        case Op(line, _):
            return line.name if line else "known"
        case Compose(fs):
            return " . ".join(map(show, fs))
        case Fork(f, g):
            return f"({show(f)} /\\ {show(g)})"
    return f"curry ({show(term.f)})"
