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

import itertools
import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dualrev.eager.numbers.overload import DualNumber, Run, alive, apply
from dualrev.eager.numbers.overload import function as on_numbers
from dualrev.rules.primitives import PRIMITIVES
from dualrev.rules.primitives import Primitive as Line
from dualrev.tree import Structure, inputs, outputs
from stages.comparison.counts import Counts, LimitReached
from stages.relatives.vlad.evaluate import call
from stages.relatives.vlad.primitives import SYMBOLS, closure, given
from stages.relatives.vlad.syntax import function
from stages.relatives.vlad.terms import EMPTY, Abs, Apply, Binding, Cons, Let, Term, Var, tuple_of
from stages.relatives.vlad.values import Closure, Exhausted, J, J_inverse, Meter, Pair, Value, opened

__all__ = ["count", "translated", "vjp"]


class Dual(DualNumber):
    """A scalar of the program that is being recorded: a number x and its variable."""

    __slots__ = ("name", "run", "x")

    def __init__(self, run: Run, x: Any, name: str) -> None:
        self.run, self.x, self.name = run, x, name

    constant = None

    @staticmethod
    def op(run: Run, y: Any, args: Sequence[Dual], partials: Sequence[Any]) -> Dual:
        """An operation known only by its value and partial derivatives, which `apply` calls."""
        name = f"given.{next(run.ids)}"
        run.known[name] = given(name, y, partials)
        return written(run, y, name, args)


def written(run: Run, y: Any, name: str, args: Sequence[Any]) -> Dual:
    """Record an operation: its value y, its name, and its arguments."""
    made = Dual(run, y, f"x{next(run.ids)}")
    run.operations.append((made.name, name, [variable(run, u) for u in args]))
    return made


def variable(run: Run, u: Any) -> str:
    """The variable of a scalar; a constant is its own name, a dual number of an outer run has a name in `known`."""
    if isinstance(u, Dual) and u.run is run:
        return u.name
    if not isinstance(u, DualNumber):
        return repr(float(u))
    name = f"c{next(run.ids)}"
    run.known[name] = alive(u)
    return name


def _overload() -> None:
    """Give Dual a method for every entry of the table of primitives."""
    for line in PRIMITIVES.values():
        names = [line.name if line.symbol else line.ufunc or line.name]
        if line.symbol:
            names.append(f"__{line.symbol}__")
        for name in names:
            setattr(Dual, name, _method(line, name, reflected=False))
        if line.symbol and len(line.partials) == 2:
            setattr(Dual, f"__r{line.symbol}__", _method(line, f"__r{line.symbol}__", reflected=True))


def _method(line: Line, name: str, reflected: bool) -> Callable[..., Any]:
    compute, operator = on_numbers(line), name.startswith("__")

    def method(u: Dual, *others: Any) -> Any:
        """Record the operation; an operand of another kind of run goes through `apply`."""
        args = (u, *others)[::-1] if reflected else (u, *others)
        if operator and not all(_is_number(v) for v in others):
            return NotImplemented
        run = max((v.run for v in args if isinstance(v, DualNumber)), key=lambda run: run.level)
        if any(isinstance(v, DualNumber) and v.run is run and not isinstance(v, Dual) for v in args):
            return apply(line, *args)
        y = compute(*(v.x if isinstance(v, Dual) and v.run is run else v for v in args))
        return written(run, y, SYMBOLS.get(line.name, line.name), args)

    method.__name__ = name
    return method


def _is_number(v: Any) -> bool:
    """Whether an operator accepts it; other objects, such as arrays, may implement the operator themselves."""
    return isinstance(v, (numbers.Real, np.bool_))


_overload()


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
    """Run the function, and record its operations."""
    scalars, structure = inputs(primals)
    with Run(ids=itertools.count(), operations=[], known={}) as run:
        duals = [Dual(run, x, f"x{next(run.ids)}") for x in scalars]
        leaves, output = outputs(f(*structure.rebuild(duals)))
        results = [variable(run, u) for u in leaves]
    program = closure(_program(run, duals, results), run.known)
    return _Translation(program, scalars, structure, output, len(results))


def _program(run: Run, duals: Sequence[Dual], results: Sequence[str]) -> Abs:
    """The abstraction: the operations that the results depend on, in their order."""
    needed, bindings = set(results), []
    for x, name, args in reversed(run.operations):
        if x in needed:
            needed.update(args)
            bindings.append(Binding(Var(x), Apply(Var(name), tuple_of([Var(u) for u in args]))))
    pattern: Term = EMPTY
    for last, u in zip([True] + [False] * len(duals), reversed(duals), strict=False):
        part = Var(u.name) if u.name in needed else EMPTY
        pattern = part if last else EMPTY if (part, pattern) == (EMPTY, EMPTY) else Cons(0, part, pattern)
    return function(pattern, Let(bindings[::-1], tuple_of([Var(x) for x in results])))


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
