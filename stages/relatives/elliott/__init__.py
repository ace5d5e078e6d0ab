r"""Compiling to categories: a program of combinators, interpreted by functions, by D and by the dual of linear maps.

Paper:   Elliott 2018, "The simple essence of automatic differentiation"
D[R] =   R                                          and beside each combinator a -> b a linear map, here from b to a
Changed: the stages transform terms with variables, and a scalar carries its backpropagator. Here a program has no
         variables, only combinators, and nothing is transformed: the same program is interpreted in another category.
         In D k each combinator returns its value and a linear map of k; so the choice of k is the choice of the mode.
Needs:   programs as terms without variables; here the run of f is recorded, and compiled (terms.py).
Cost:    a variable is a path of exl to its place in the environment: O(its distance) for each use, in both passes: n^2
         where variables are used far from where they are bound. A zero is not represented, so that adding two
         environments costs as much as what both have. f runs once, and its combinators once more.

    D[f] a          = (f a, f')                     f' in k                                     categories.py
    Dual k          reverse mode: fork becomes join, which adds, and exl becomes inl
    Wrap[f] x       = let (y, f') = interpret f (D (Dual ->+)) x in (y, f')

Cont ->+ R gives reverse mode, too: but a fork uses its continuation twice, so that sharing costs 2^n as in naive. The
dual has the continuations as data. curry.py adds functions as values: the differentiable curry. The paper's text was
not at hand; the definitions are its published ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dualrev.tree import Structure
from stages.comparison.counts import Counts, LimitReached
from stages.relatives.elliott.categories import D, Dual, interpret
from stages.relatives.elliott.linear import Linear, listed
from stages.relatives.elliott.terms import balanced, combinators, compiled
from stages.relatives.recording import Recording, record

__all__ = ["count", "environment", "vjp"]


def environment(scalars: Any) -> Any:
    """The environment of the input's scalars.

    >>> environment([1.0, 2.0])
    (((), 1.0), 2.0)
    """
    made: Any = ()
    for x in scalars:
        made = made, x
    return made


def _scalars(c: Any, n: int) -> list[Any]:
    """The cotangents in that of an environment of n scalars."""
    found: list[Any] = []
    for _ in range(n):
        c, last = (None, None) if c is None else c
        found.append(0.0 if last is None else last)
    return found[::-1]


def _run(recording: Recording, linear: Linear) -> tuple[Any, Callable[[list[Any]], Any]]:
    """The results' scalars, and the map from their cotangents to those of the input's scalars."""
    n, m = len(recording.scalars), len(recording.results)
    y, back = interpret(compiled(recording), D(Dual(linear)))(environment(recording.scalars))

    def pullback(zs: list[Any]) -> list[Any]:
        """Apply the linear map."""
        return _scalars(back(balanced(zs, lambda a, b: (a, b))), n)

    return listed(y, m), pullback


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
    """f's value at the primals, and the map from a cotangent of it to a tuple of cotangents, one for each.

    >>> y, pullback = vjp(lambda x, y: x * (x + y), 3.0, 2.0)
    >>> y, pullback(1.0)
    (15.0, (8.0, 3.0))
    """
    recording = record(f, primals)
    values, back = _run(recording, Linear())
    ys = [
        y if isinstance(a, str) else leaf
        for y, a, leaf in zip(values, recording.results, recording.leaves, strict=True)
    ]
    structure: Structure = recording.structure
    output = recording.output

    def pullback(ct: Any) -> Any:
        """Apply the linear map, and return the cotangents of the primals."""
        return structure.cotangent(back(output.read(ct)))

    return output.rebuild(ys), pullback


def count(f: Callable[..., Any], *primals: Any, limit: float = float("inf")) -> Counts:
    """The combinators of the program, as created, and the basic linear maps that one pullback applies, as calls.

    LimitReached once both together exceed `limit`.

    >>> count(lambda x: x * x, 3.0)
    Counts(created=7, calls=7, scalars=0, pairs=0, map_steps=0, array_writes=0, span=0)
    """
    recording = record(f, primals)
    created = combinators(recording)
    calls = 0

    def step() -> None:
        """Count a basic linear map."""
        nonlocal calls
        calls += 1
        if created + calls > limit:
            raise LimitReached(f"more than {limit:,.0f} steps")

    if created > limit:  # before they are made
        raise LimitReached(f"more than {limit:,.0f} steps")

    _, back = _run(recording, Linear(step))
    back([1.0] * len(recording.results))
    return Counts(created=created, calls=calls)
