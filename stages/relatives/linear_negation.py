r"""Rewriting of backpropagator expressions by linear factoring, in any order of the steps.

Paper:   Brunel, Mazza and Pagani 2020, "Backpropagation in the simply typed lambda-calculus with linear negation". Its
         text was not at hand: the two steps are those by which it is known, on first-order programs.
Needs:   programs as data; here the operations of one run of f (recording.py)

    main = d1 a1 + ... + dk ak                          the seeds: a call for each scalar of the result
    d    = \z. d1 (z*p1) + ... + dn (z*pn)              a backpropagator for each operation; for an input, a name

    factor   d a + d b   becomes   d (a + b)            in one sum
    unfold   d a         becomes   d1 (a*p1) + ... + dn (a*pn)

With factoring, unfold is allowed only where d a is the only call of d in the whole expression, as a linear variable has
one use; d is gone afterwards. Then the order is free: each step removes a backpropagator or a call, so that the number
of steps is linear, whatever strategy chooses. A step is always possible: the last backpropagator in the order of the
program is called by main alone. Without factoring, unfold copies, and the steps are as many as the paths: 2^n for n
doublings. `factored` is one strategy: factor first, and unfold the last one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dualrev.eager.numbers.overload import linearize
from stages.comparison.counts import LimitReached
from stages.relatives.recording import Recording, record

__all__ = ["STRATEGIES", "Expression", "Reduced", "expression", "factor_late", "reduce", "without_factoring"]

MAIN = "main"
#: The calls (d, a) of a sum, from the left.
Sum = list[tuple[str, Any]]


class Step(NamedTuple):
    """A step that is possible: in the sum of a name, factor or unfold the calls of d."""

    where: str
    kind: str
    d: str


class Expression(NamedTuple):
    """The sums by name, main among them, and the names of the input's backpropagators."""

    sums: dict[str, Sum]
    inputs: Sequence[str]

    def steps(self) -> list[Step]:
        """All steps that are possible, from main on, and from the left."""
        calls = {name: Counter(d for d, _ in body) for name, body in self.sums.items()}
        all_calls = sum(calls.values(), Counter())
        found = []
        for name, here in calls.items():
            for d, n in here.items():
                if n > 1:
                    found.append(Step(name, "factor", d))
                elif all_calls[d] == 1 and d in self.sums:
                    found.append(Step(name, "unfold", d))
        return found

    def perform(self, step: Step) -> None:
        """Rewrite the expression by a step."""
        body = self.sums[step.where]
        first, *more = [k for k, (d, _) in enumerate(body) if d == step.d]
        if step.kind == "factor":
            body[first] = step.d, body[first][1] + body.pop(more[0])[1]
        else:
            a = body[first][1]
            body[first : first + 1] = [(d, a * p) for d, p in self.sums.pop(step.d)]


#: A strategy chooses one of the steps that are possible.
Strategy = Callable[[Sequence[Step]], Step]


def left_first(steps: Sequence[Step]) -> Step:
    """The leftmost step, in main if possible."""
    return steps[0]


def right_first(steps: Sequence[Step]) -> Step:
    """The rightmost step, in the bodies of backpropagators if possible."""
    return steps[-1]


def factor_first(steps: Sequence[Step]) -> Step:
    """Factor as soon as possible."""
    return min(steps, key=lambda step: step.kind == "unfold")


def factor_late(steps: Sequence[Step]) -> Step:
    """Factor only where nothing can be unfolded."""
    return min(steps, key=lambda step: step.kind == "factor")


def at_random(seed: int) -> Strategy:
    """Any step, from a seed."""
    return random.Random(seed).choice


STRATEGIES: dict[str, Strategy] = {
    "left_first": left_first,
    "right_first": right_first,
    "factor_first": factor_first,
    "factor_late": factor_late,
}


class Reduced(NamedTuple):
    """The cotangents of the input's scalars, and how often each kind of step was done."""

    cotangents: list[Any]
    unfolds: int
    factors: int


def expression(recording: Recording, seeds: Sequence[Any]) -> Expression:
    """The calls that a pullback makes, before any step; without backpropagators that nothing calls.

    >>> expression(record(lambda x: x * x, (3.0,)), [1.0]).sums
    {'main': [('x1', 1.0)], 'x1': [('x0', 3.0), ('x0', 3.0)]}
    """
    at: dict[Any, Any] = {**recording.known, **dict(zip(recording.names, recording.scalars, strict=True))}
    of: dict[str, Sum] = {}
    for u in recording.operations:
        at[u.result], partials = u.value, u.partials
        if u.line is not None:
            at[u.result], partials = linearize(u.line, [at.get(a, a) for a in u.arguments])
        pairs = zip(u.arguments, partials, strict=True)
        of[u.result] = [(a, p) for a, p in pairs if isinstance(a, str) and a not in recording.known]
    main = [(a, z) for a, z in zip(recording.results, seeds, strict=True) if isinstance(a, str) and a in at]
    sums = {MAIN: [(a, z) for a, z in main if a not in recording.known]}
    return Expression({**sums, **of}, recording.names)


def reduce(f: Callable[..., Any], primals: Sequence[Any], strategy: Strategy, seeds: Sequence[Any] = (1.0,)) -> Reduced:
    """Rewrite until nothing but one call of each input is left.

    >>> reduce(lambda x: (x + x) * x, [3.0], left_first)
    Reduced(cotangents=[12.0], unfolds=2, factors=2)
    """
    recording = record(f, tuple(primals))
    made = expression(recording, seeds)
    done: Counter[str] = Counter()
    while steps := made.steps():
        step = strategy(steps)
        done[step.kind] += 1
        made.perform(step)
    return Reduced(_cotangents(made), done["unfold"], done["factor"])


def without_factoring(
    f: Callable[..., Any], primals: Sequence[Any], seeds: Sequence[Any] = (1.0,), limit: float = float("inf")
) -> Reduced:
    """Unfold the leftmost call, which copies the body, and add only the calls of inputs in the end.

    LimitReached after more than `limit` steps.

    >>> without_factoring(lambda x: (x + x) * x, [3.0])
    Reduced(cotangents=[12.0], unfolds=2, factors=2)
    """
    made = expression(record(f, tuple(primals)), seeds)
    waiting, left, unfolds = made.sums[MAIN][::-1], [], 0
    while waiting:
        d, a = waiting.pop()
        if d not in made.sums:
            left.append((d, a))
            continue
        unfolds += 1
        if unfolds > limit:
            raise LimitReached(f"more than {limit:,.0f} steps")
        waiting += [(e, a * p) for e, p in reversed(made.sums[d])]
    found = Expression({MAIN: left}, made.inputs)
    return Reduced(_cotangents(found), unfolds, len(left) - len({d for d, _ in left}))


def _cotangents(made: Expression) -> list[Any]:
    """The arguments of the input's calls, added; 0 for an input that nothing calls."""
    total: dict[str, Any] = {}
    for d, a in made.sums[MAIN]:
        total[d] = total[d] + a if d in total else a
    return [total.get(x, 0.0) for x in made.inputs]
