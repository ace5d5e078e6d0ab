"""The Delta that delta_map.py records of a program, in the notation of Krawiec et al. 2022, Fig. 12.

The figure writes one Let per line, with names for ids. This trace of rotate_vec_by_quat differs from it as follows:

- The figure's bindings come in the order in which OCaml evaluates the operands of an operator: the right one first.
  Python evaluates the left one first. So the bindings are the same, in another order, with other ids.
- The figure binds each use of the constant 2.0 to an id: Let x10 = Zero in. By Fig. 9, and so here, a constant is
  (2.0, Zero), and takes no id. So there are 38 bindings in place of 40, and Zero stands where the figure has Var x10.
- The ids of the input's scalars begin at 0, in Fig. 10 at 1: with 7 of them, xN is the id N + 6 here. (After the
  figure's `runDelta 8` it is N + 7, although the figure says N + 8.)
- The figure writes whole numbers in two ways, (-1.0) and 2; here all are written in the second way: (-1) and 2.

tests/relatives/test_relatives_krawiec_figures.py tests, binding by binding, that there is no other difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualrev.eager.numbers.overload import Run
from dualrev.tree import inputs, outputs
from stages.relatives.deltas import delta_map
from stages.relatives.deltas.delta_data import Add, Delta, Let, Scale, Var, Zero

__all__ = ["trace"]


def trace(f: Callable[..., Any], *primals: Any, names: Sequence[str] = ()) -> list[str]:
    """The Delta of f's value as text, a line for each binding, and one for the result.

    `names` are those of the input's real scalars, from left to right: s1, s2, ... by default. The ids of bindings are
    x1, x2, ... in the order of execution. Numbers have six digits. If the value holds several real scalars, the last
    line has the Delta of each. ArgumentError, OutputError: there is no real scalar in or out; ValueError if there are
    not as many names as scalars.

    >>> print(*trace(lambda x, y: 2.0 * x - x * y, 3.0, 0.5, names=("x", "y")), sep="\\n")
    Let x1 = Add (Scale 3 Zero) (Scale 2 (Var x)) in
    Let x2 = Add (Scale 0.5 (Var x)) (Scale 3 (Var y)) in
    Let x3 = Add (Var x1) (Scale (-1) (Var x2)) in
    Var x3
    """
    scalars, structure = inputs(primals)
    known = list(names) or [f"s{i}" for i in range(1, len(scalars) + 1)]
    if len(known) != len(scalars):
        raise ValueError(f"{len(known)} names for {len(scalars)} real scalars: {', '.join(known)}")
    with Run() as run:
        leaves = outputs(f(*delta_map.interleave(run, scalars, structure)))[0]
        us = [u.d if isinstance(u, delta_map.Dual) and u.run is run else Zero() for u in leaves]
        delta = delta_map.run_delta(run, Zero())
        lines = []
        while isinstance(delta, Let):
            known.append(f"x{delta.i - len(scalars) + 1}")
            lines.append(f"Let {known[delta.i]} = {_text(delta.u, known)} in")
            delta = delta.body
    return [*lines, ", ".join(_text(u, known) for u in us)]


def _text(u: Delta, names: Sequence[str]) -> str:
    """The Delta in the figure's notation. An explicit list replaces recursion, for sums of any number of terms."""
    written: list[str] = []
    todo: list[Any] = [u]
    while todo:
        match todo.pop():
            case Zero():
                written.append("Zero")
            case Var(i):
                written.append(f"Var {names[i]}")
            case Scale(r, u):
                number = f"{r:g}"
                written.append(f"Scale ({number}) " if number.startswith("-") else f"Scale {number} ")
                todo.extend(_argument(u))
            case Add(u1, u2):
                written.append("Add ")
                todo.extend([*_argument(u2), " ", *_argument(u1)])
            case text:
                written.append(text)
    return "".join(written)


def _argument(u: Delta) -> list[Any]:
    """The Delta as an argument of a constructor, from the end: in parentheses, if it has arguments itself."""
    return [u] if isinstance(u, Zero) else [")", u, "("]
