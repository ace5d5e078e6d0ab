r"""Python functions as VLAD: `translated` runs the function on scalars that record its operations.

    f : Python                           (lambda (x1 x2 .. xn) (let* ((y1 (op x1 x2)) ..) (cons yi (cons .. yj))))

The result is the program of one run: Python has executed its loops, calls, branches, closures and data structures, and
VLAD gets the straight-line program of operations on real scalars at this input, without those that the value does not
depend on. (So all of Python works, and VLAD's own functions and recursion are not used: VLAD's programs use them.) An
operation becomes VLAD's primitive of that name, a number a constant.

Exceptions:

- An operation that is known only by its value and partial derivatives becomes a primitive of its own
  (primitives.given): a user's primitive (dualrev.primitive), and an operation whose first operand belongs to an outer
  derivative call.
- Operations that need the number itself are errors, as in every stage: float(x), complex(x), hash(x).
- RealArrays (dualrev.numpy) and whole arrays do not exist in VLAD: an array is its scalars, as in the stages.
- J differentiates VLAD's program once. Higher derivatives come from a surrounding vjp, whose scalars are numbers to the
  evaluator, not from J of J: a `given` primitive cannot be differentiated again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dualrev.tree import Structure, outputs
from stages.comparison.counts import Counts, LimitReached
from stages.relatives.recording import Atom, Operation, Recording, record
from stages.relatives.vlad.evaluate import call
from stages.relatives.vlad.primitives import SYMBOLS, closure, given
from stages.relatives.vlad.syntax import function
from stages.relatives.vlad.terms import EMPTY, Abs, Apply, Binding, Cons, Let, Term, Var, tuple_of
from stages.relatives.vlad.values import Closure, Exhausted, J, J_inverse, Meter, Pair, Value, opened

__all__ = ["count", "translated", "vjp"]


class _Translation(NamedTuple):
    program: Closure
    scalars: list[Any]  # of the input
    structure: Structure
    output: Structure
    size: int  # how many scalars the output has


def translated(f: Callable[..., Any], *primals: Any) -> Closure:
    """The VLAD function from the tuple of f's real scalars to the tuple of its value's real scalars.

    >>> from stages.relatives.vlad import show
    >>> print(show(translated(lambda x, y: x * (x + 2.0), 3.0, 2.0)))
    (lambda (p) (let* ((x0 (car p)) (t (cons x0 2.0)) (x2 (+ t)) (t.1 (cons x0 x2)) (x3 (* t.1))) x3))
    """
    return _translation(f, primals).program


def _translation(f: Callable[..., Any], primals: tuple[Any, ...]) -> _Translation:
    """Run the function, and translate its operations."""
    run = record(f, primals)
    program = closure(_program(run), run.known)
    return _Translation(program, run.scalars, run.structure, run.output, len(run.results))


def _program(run: Recording) -> Abs:
    """The abstraction: the operations in their order."""
    bindings = [
        Binding(Var(u.result), Apply(Var(_primitive(run, u)), tuple_of([Var(_name(a)) for a in u.arguments])))
        for u in run.operations
    ]
    needed = {*run.results, *(a for u in run.operations for a in u.arguments)}
    pattern: Term = EMPTY
    for last, x in zip([True] + [False] * len(run.names), reversed(run.names), strict=False):
        part = Var(x) if x in needed else EMPTY
        pattern = part if last else EMPTY if (part, pattern) == (EMPTY, EMPTY) else Cons(0, part, pattern)
    return function(pattern, Let(bindings, tuple_of([Var(_name(x)) for x in run.results])))


def _primitive(run: Recording, u: Operation) -> str:
    """The name of VLAD's primitive for an operation, which is a new one if the table has no line for it."""
    if u.line is not None:
        return SYMBOLS.get(u.line.name, u.line.name)
    name = f"given.{u.result}"
    run.known[name] = given(name, u.value, u.partials)
    return name


def _name(a: Atom) -> str:
    """The variable of a scalar; a constant is its own name."""
    return a if isinstance(a, str) else repr(a)


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
    """f's value, and the map from a cotangent of it to a tuple of cotangents: the pair (J f) (J primals).

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    return _vjp(f, primals, Meter())


def _vjp(f: Callable[..., Any], primals: tuple[Any, ...], meter: Meter) -> tuple[Any, Callable[[Any], Any]]:
    program, scalars, structure, output, size = _translation(f, primals)
    made = opened(call(J(program), J(_tuple(scalars)), meter), meter)
    y = output.rebuild(_scalars(J_inverse(made.car), size, meter))

    def pullback(ct: Any) -> Any:
        """Call the backpropagator of J f, and return the cotangents of the primals."""
        both = opened(call(made.cdr, _tuple(output.read(ct)), meter), meter)
        return structure.cotangent(_scalars(both.cdr, len(scalars), meter))

    return y, pullback


def _tuple(values: Sequence[Value]) -> Value:
    """(v1, (v2, .. vn))"""
    *firsts, made = values
    for first in reversed(firsts):
        made = Pair(first, made)
    return made


def _scalars(v: Value, n: int, meter: Meter) -> list[Any]:
    """The n parts of a tuple."""
    found = []
    for _ in range(n - 1):
        pair = opened(v, meter)
        found.append(pair.car)
        v = pair.cdr
    return [*found, v]


def count(f: Callable[..., Any], *primals: Any, limit: float = math.inf) -> Counts:
    """The backpropagators that VLAD makes and calls for f's value and one pullback of ones, counted as for stages.

    A backpropagator is a closure whose parameter is a sensitivity. LimitReached once both together exceed `limit`.

    >>> count(lambda x: x * x, 3.0)
    Counts(created=2, calls=2, scalars=0, pairs=0, map_steps=0, array_writes=0, span=0)
    """
    meter = Meter(limit=limit)
    try:
        y, pullback = _vjp(f, primals, meter)
        scalars, structure = outputs(y)
        pullback(structure.cotangent([1.0] * len(scalars)))
    except Exhausted:
        raise LimitReached(f"more than {limit:,.0f} steps") from None
    return Counts(created=meter.created, calls=meter.calls)
