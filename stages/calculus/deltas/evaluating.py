r"""The evaluation of monadic operations, as functions of the state: Fig. 11's instance of Monad.

Running a `do` evaluates its first computation, applies it to the state, evaluates the rest with x bound, and applies
the rest to the new state. Each of the two calls counts a step, in addition to the steps of the terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stages.calculus.deltas.terms import Do, InSequence, Pure, Then
from stages.calculus.language.terms import Tuple, Var
from stages.calculus.language.values import Closure, Elements, Evaluator, Rule

__all__ = ["RULES"]


# names that no program has
STATE, VALUE = " state", " value"


def _pure(machine: Evaluator, term: Pure, environment: Mapping[str, Any]) -> Rule:
    value = yield term.content, environment
    return Closure(STATE, _BOTH, {VALUE: value})


_BOTH = Tuple(Var(VALUE), Var(STATE))


def _do(machine: Evaluator, term: Do, environment: Mapping[str, Any]) -> Rule:
    yield from ()
    return Closure(STATE, Then(term), environment)


def _sequence(machine: Evaluator, term: InSequence, environment: Mapping[str, Any]) -> Rule:
    found = yield term.computations, environment
    return Closure(STATE, _ALL, {VALUE: found})


def _then(machine: Evaluator, term: Then, environment: Mapping[str, Any]) -> Rule:
    computation, state = term.computation, environment[STATE]
    if isinstance(computation, InSequence):
        found = []
        for one in environment[VALUE].elements:
            machine.step(1)
            x, state = yield machine.call(one, state)
            found.append(x)
        return Elements(tuple(found)), state
    assert isinstance(computation, Do)
    machine.step(2)
    first = yield computation.value, environment
    x, state = yield machine.call(first, state)
    rest = yield computation.body, {**environment, computation.name: x}
    return machine.enter(rest, state)


_ALL = Then(InSequence(Var(VALUE)))

#: The rules by class of terms, for evaluate.py.
RULES: Mapping[type, Callable[..., Rule]] = {Pure: _pure, Do: _do, InSequence: _sequence, Then: _then}
