"""Cost of a call of a compiled derivative from Python: `python -m bench.calls`.

The functions are small, so that a call costs more than they do. Each line has the microseconds of processor time of

    f                the numba function, called from Python
    by hand          a hand-written numba function that returns the value and the gradient: the floor
    value_and_grad   `dr.value_and_grad(f)`, made before
    grad             `dr.grad(f)`, made before
    made anew        `dr.grad(f)(...)`, made at each call
    jvp, vjp         `dr.jvp(f, ...)` and `dr.vjp(f, ...)`
    pullback         what `dr.vjp` returns, called with a cotangent

and the ratio of value_and_grad to the floor. The calls take turns, and the times are the best ones.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Sequence
from typing import Any

import dualrev as dr
from bench.measuring.processor_time import microseconds
from bench.programs.call_programs import PROGRAMS, Program

__all__ = ["main"]

COLUMNS = ("f", "by hand", "value_and_grad", "grad", "made anew", "jvp", "vjp", "pullback")


def calls_of(p: Program) -> dict[str, Callable[[], Any]]:
    """Return a function without arguments for each column."""
    args, by_name = p.args, p.by_name
    made = {
        "f": p.f,
        "by hand": p.by_hand,
        "value_and_grad": dr.value_and_grad(p.f, **p.options),
        "grad": dr.grad(p.f, **p.options),
        "made anew": lambda *args, **by_name: dr.grad(p.f, **p.options)(*args, **by_name),
    }
    calls: dict[str, Callable[[], Any]] = {k: functools.partial(f, *args, **by_name) for k, f in made.items()}
    aux = {"has_aux": True} if p.options.get("has_aux") else {}
    tangents = tuple(None if isinstance(x, int) else x for x in args)
    calls["jvp"] = functools.partial(dr.jvp, p.f, args, tangents, **aux)
    calls["vjp"] = functools.partial(dr.vjp, p.f, *args, **aux)
    calls["pullback"] = functools.partial(calls["vjp"]()[1], 1.0)
    return calls


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What a call of a compiled derivative from Python costs.")
    parser.add_argument("--turns", type=int, default=15, help="turns of each program, 15 by default")
    parser.add_argument("--program", default="", help="only the programs whose names have this in them")
    options = parser.parse_args(arguments)
    print("| arguments |", " | ".join(COLUMNS), "| ratio |\n|", " | ".join(["---"] * (2 + len(COLUMNS))), "|")
    for p in PROGRAMS:
        if options.program not in p.name:
            continue
        times: dict[str, list[float]] = {name: [] for name in COLUMNS}
        calls = calls_of(p)
        numbers = {}
        for name, run in calls.items():
            run()
            numbers[name] = max(1, int(4000 / microseconds(run, 20)))
        for _ in range(options.turns):
            for name, run in calls.items():
                times[name].append(microseconds(run, numbers[name]))
        best = {name: min(found) for name, found in times.items()}
        ratio = best["value_and_grad"] / best["by hand"]
        print(f"| {p.name} |", " | ".join(f"{best[name]:.2f}" for name in COLUMNS), f"| {ratio:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
