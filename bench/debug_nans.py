"""Cost of `dr.debug_nans` where nothing is NaN: `python -m bench.debug_nans`.

Each line has the microseconds of a gradient outside of the context and in it, and their ratio. The calls take turns,
and the times are the best ones of the thread's processor time.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

import dualrev as dr
from bench.measuring.processor_time import microseconds

__all__ = ["main"]


def loop_of_scalars(x: Any) -> Any:
    """600 operations on numbers."""
    y = x
    for _ in range(200):
        y = y * 1.001 + np.sin(x)
    return y


def loop_of_arrays(x: Any) -> Any:
    """61 operations on arrays."""
    y = x
    for _ in range(20):
        y = y * 1.001 + np.sin(x)
    return np.sum(y)


@njit
def compiled_square(x):  # type: ignore[no-untyped-def]
    """One product."""
    return x * x


@njit
def compiled_sum(x):  # type: ignore[no-untyped-def]
    """A sum of sines."""
    return np.sum(np.sin(x))


PROGRAMS: list[tuple[str, Any, Any]] = [
    ("tape, x * x", lambda x: x * x, 3.0),
    ("tape, 600 operations on numbers", loop_of_scalars, 0.3),
    ("tape, 61 operations on arrays of 10,000", loop_of_arrays, np.full(10_000, 0.3)),
    ("compiled, x * x", compiled_square, 3.0),
    ("compiled, np.sum(np.sin(x)) of 10,000", compiled_sum, np.full(10_000, 0.3)),
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What dr.debug_nans costs where nothing is NaN.")
    parser.add_argument("--turns", type=int, default=15, help="turns of each program, 15 by default")
    options = parser.parse_args(arguments)
    print("| gradient of | outside, us | in the context, us | ratio |\n| --- | --- | --- | --- |")
    for name, f, x in PROGRAMS:
        gradient = dr.grad(f)
        off, on = [], []
        gradient(x)
        number = max(1, int(5000 / microseconds(lambda: gradient(x), 1)))  # noqa: B023 - called at once
        for _ in range(options.turns):
            off.append(microseconds(lambda: gradient(x), number))  # noqa: B023
            with dr.debug_nans():
                on.append(microseconds(lambda: gradient(x), number))  # noqa: B023
        print(f"| {name} | {min(off):.1f} | {min(on):.1f} | {min(on) / min(off):.1f} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
