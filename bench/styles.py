"""Time one program in two styles, on both engines: `python -m bench.styles` (`make styles`).

The program is RK4 for a pendulum with friction, once with the state as two numbers and once as an array of two. Both
styles are differentiated on the tape, as Python functions, and compiled, as numba functions. All four gradients have to
agree to 1e-9 before they are timed. A time is the best of several calls from Python, on one thread; compare numbers of
one run only.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench import use_one_thread

if __name__ == "__main__":
    use_one_thread()

import math

import numpy as np
from numba import njit

import dualrev as dr

__all__ = ["SCALARS", "SMALL_ARRAYS", "main", "measured", "tabulated"]


@njit
def pendulum(angle, speed, length):
    """Return the time derivatives of angle and speed."""
    return speed, -9.81 / length * math.sin(angle) - 0.1 * speed


@njit
def scalars(angle, speed, length, steps):
    """RK4 with the state as two numbers."""
    h = 0.01
    for _ in range(steps):
        a1, s1 = pendulum(angle, speed, length)
        a2, s2 = pendulum(angle + 0.5 * h * a1, speed + 0.5 * h * s1, length)
        a3, s3 = pendulum(angle + 0.5 * h * a2, speed + 0.5 * h * s2, length)
        a4, s4 = pendulum(angle + h * a3, speed + h * s3, length)
        angle += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        speed += h / 6.0 * (s1 + 2.0 * s2 + 2.0 * s3 + s4)
    return angle


@njit
def pendulum_array(y, length):
    """Return the time derivative of the state, as a new array."""
    return np.array([y[1], -9.81 / length * np.sin(y[0]) - 0.1 * y[1]])


@njit
def small_arrays(angle, speed, length, steps):
    """RK4 as in a textbook: the state is an array, and each line allocates new ones."""
    h = 0.01
    y = np.array([angle, speed])
    for _ in range(steps):
        k1 = pendulum_array(y, length)
        k2 = pendulum_array(y + 0.5 * h * k1, length)
        k3 = pendulum_array(y + 0.5 * h * k2, length)
        k4 = pendulum_array(y + h * k3, length)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y[0]


SCALARS, SMALL_ARRAYS = "scalars", "small arrays"
STYLES = {SCALARS: scalars, SMALL_ARRAYS: small_arrays}
START = 1.0, 0.0, 2.0


def best(run: Callable[[], Any], budget: float) -> float:
    """Return the shortest time of a call in seconds, among three calls or as many as fit into the budget."""
    times: list[float] = []
    end = time.perf_counter() + budget
    while len(times) < 3 or time.perf_counter() < end:
        before = time.perf_counter()
        run()
        times.append(time.perf_counter() - before)
    return min(times)


def measured(steps: int, budget: float) -> dict[tuple[str, str], tuple[float, float]]:
    """Time the function and its gradient, by style and engine. AssertionError if two gradients differ."""
    found, answers = {}, []
    for style, f in STYLES.items():
        for engine, function in (("compiled", f), ("tape", f.py_func)):
            derivative = dr.value_and_grad(function, (0, 1, 2))
            value, slopes = derivative(*START, steps)
            answers.append(np.array([value, *slopes]))
            np.testing.assert_allclose(answers[-1], answers[0], rtol=1e-9)
            function(*START, steps)  # numba compiles it
            found[style, engine] = (
                best(lambda function=function: function(*START, steps), budget),
                best(lambda derivative=derivative: derivative(*START, steps), budget),
            )
    return found


def tabulated(found: dict[tuple[str, str], tuple[float, float]]) -> list[str]:
    """Format the times as a table in Markdown, with each gradient relative to the fastest one."""
    unit = min(slope for _, slope in found.values())
    lines = [
        "| engine | style | function ms | value and gradient ms | relative to the fastest |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for (style, engine), (plain, slope) in sorted(found.items(), key=lambda entry: entry[1][1]):
        lines.append(f"| {engine} | {style} | {plain * 1e3:.3g} | {slope * 1e3:.3g} | {slope / unit:,.0f} |")
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000, help="number of RK4 steps (1000)")
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each time (1)")
    options = parser.parse_args(argv)
    print("\n".join(tabulated(measured(options.steps, options.budget))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
