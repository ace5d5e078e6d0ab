"""Chapter 9: checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable

from stages.exercises.exercise import Case, Chapter, Exercise, Outcome

__all__ = ["CHAPTER"]


class Memory:
    """How many states there are now, how many there were at most, and how many steps were made."""

    def __init__(self) -> None:
        self.now = self.most = self.steps = 0


class State:
    """A state, a number x, which is counted as long as anybody refers to it."""

    def __init__(self, x: float, memory: Memory) -> None:
        self.x, self._memory = x, memory
        memory.now += 1
        memory.most = max(memory.most, memory.now)

    def __del__(self) -> None:
        self._memory.now -= 1

    def __repr__(self) -> str:
        return f"State({self.x})"


def step(x: State) -> State:
    """where step maps x to x + 0.1 * sin(x), and pullback is its pullback"""
    x._memory.steps += 1
    return State(x.x + 0.1 * math.sin(x.x), x._memory)


def pullback(x: State, z: float) -> float:
    """Map the cotangent of the next state to the cotangent of x."""
    return z * (1.0 + 0.1 * math.cos(x.x))


def _expected(n: int) -> float:
    x, product = 1.0, 2.0
    for _ in range(n):
        product *= 1.0 + 0.1 * math.cos(x)
        x += 0.1 * math.sin(x)
    return product


def _case(name: str, n: int, states: Callable[[int], int] | None, steps: Callable[[int], int]) -> Case:
    """Return a case of n steps, with a bound on states and on steps; states are counted, where they have a bound."""

    def run(answer) -> Outcome:
        """Run the answer with counted states."""
        memory = Memory()
        found = answer(step, pullback, State(1.0, memory), n, 2.0)
        if states is None:
            return Outcome(found, _expected(n), memory.steps, steps(n))
        over = memory.steps > steps(n)
        fault = f"step was called {memory.steps:,} times, more than {steps(n):,}" if over else ""
        return Outcome(found, _expected(n), memory.most, states(n), fault)

    return Case(f"{name}(step, pullback, State(1.0), {n}, 2.0), {step.__doc__}", run)


def _blocks(n: int) -> int:
    return math.floor(2.0 * math.sqrt(n)) + 4


CHAPTER = Chapter(
    9,
    "Checkpoints",
    (
        Exercise(
            "store_all",
            [_case("store_all", n, None, lambda n: max(0, n - 1)) for n in (0, 1, 2, 3, 10, 100)],
            "pullback takes the state from before the step. The last state itself is not needed.",
            "calls of step",
        ),
        Exercise(
            "store_one",
            [_case("store_one", n, lambda n: 3, lambda n: n * n) for n in (0, 1, 2, 3, 10, 40)],
            "For k from n - 1 down to 0, make k steps from x. Keep no list of states.",
            "states kept",
        ),
        Exercise(
            "store_blocks",
            [_case("store_blocks", n, _blocks, lambda n: 2 * n) for n in (0, 1, 2, 3, 4, 10, 50, 100, 900)],
            "Use store_all on each block, with the checkpoint as its first state; the last block may be shorter.",
            "states kept",
        ),
    ),
)
