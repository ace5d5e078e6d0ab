"""Measure the gain of each optional pass of the compiler: `python -m bench.passes`.

The table has, for every program of `programs/array_programs.py`, the microseconds of its value and gradient, and for
every pass the time without that pass (`DUALREV_PASSES=-name`) relative to the time with it. A pass without a gain has
1.0 everywhere.

    python -m bench.passes --only split-loop,sink-stores --programs heat,kalman      some passes, some programs
    python -m bench.passes --elsewhere      the gain of passes in pass lists that do not have them

The calls take turns, and ratios are of the best times; compare numbers of one run only.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numba
import numpy as np

import dualrev as dr
from bench.compiled import clock, repetitions
from bench.programs import second_programs
from bench.programs.array_programs import EVERY
from dualrev.compiler.bridge.make_dispatcher import derivative
from dualrev.compiler.driver.passes import FORWARD, LISTS, PASSES, REVERSE
from dualrev.compiler.ir.pass_manager import Pass
from dualrev.compiler.optimize.cse import without_repetition
from dualrev.compiler.optimize.elide_zeroing import Storing

__all__ = ["main"]

Run = Callable[[], Any]
TURNS = 5


def fresh(f: Any) -> Any:
    """Return a copy of the numba function that is not compiled yet."""
    return numba.njit(**{k: v for k, v in f.targetoptions.items() if k != "nopython"})(f.py_func)


def called(d: Any, args: Sequence[Any]) -> Run:
    """Return a call that copies its arrays first, as some programs write to them."""
    return lambda: d(*(np.copy(x) if isinstance(x, np.ndarray) else x for x in args))


def without(name: str, f: Any, args: Sequence[Any], argnums: tuple[int, ...]) -> Run:
    """Compile the value and gradient without the pass `name`, or with all passes if it is empty."""
    with patch.dict(os.environ, DUALREV_PASSES=f"-{name}" if name else ""):
        run = called(dr.value_and_grad(fresh(f), argnums=argnums), args)
        run()
    return run


def best(runs: Sequence[Run]) -> list[float]:
    """Return the microseconds of each call, the best of TURNS turns."""
    counts = list(map(repetitions, runs))
    turns = [[clock(run, n) / n for run, n in zip(runs, counts, strict=True)] for _ in range(TURNS)]
    return [1e6 * min(times) for times in zip(*turns, strict=True)]


# Passes in lists that do not have them


def share_in_forward_mode(u: Any) -> None:
    """Common subexpressions before a function gets tangents."""
    u.f = without_repetition(u.f, u.forward.memory, u.together)


def elide_in_products(s: Any) -> None:
    """Zeroing of local shadows in products with Hessians, where the shadows of arguments are the caller's."""
    s.forward_body, s.reverse_body = Storing().blocks(s.forward_body, s.reverse_body)


def _pass(run: Callable[[Any], None]) -> Pass:
    return Pass(run.__name__, (run.__doc__ or "").rstrip("."), "", run)


@contextmanager
def with_pass(mode: str, p: Pass) -> Iterator[None]:
    """Compile the derivatives in this context with one pass more."""
    lists = {"forward": (p, *FORWARD), "reverse": (*REVERSE, p)}
    with patch.dict(LISTS, {mode: lists[mode]}):
        yield


def elsewhere() -> None:
    """Print the time with one pass more, relative to the time without it."""
    print("| pass | program | microseconds | with it |\n| --- | --- | ---: | ---: |")
    for mode, transform, run in (("forward", "jvp", share_in_forward_mode), ("reverse", "product", elide_in_products)):
        for program in second_programs.PROGRAMS.values():
            args = program.make(program.size)
            tangents = [np.ones_like(args[0])]
            if transform == "jvp":  # those of data are None
                tangents += [None] * (len(args) - 1)
            both = []
            for added in (False, True):
                made = derivative(fresh(program.function), transform)
                if added:
                    with with_pass(mode, _pass(run)):
                        made(*args, *tangents)
                both.append(called(made, (*args, *tangents)))
            plain, more = best(both)
            print(f"| {run.__name__} | {program.name} | {plain:,.1f} | {more / plain:.2f} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    optional = [p.name for p in PASSES if p.optional]
    parser.add_argument("--only", metavar="PASSES", default=",".join(optional), help="only these passes")
    parser.add_argument("--programs", metavar="NAMES", default=",".join(EVERY), help="only these programs")
    parser.add_argument("--small", action="store_true", help="use the small sizes of the tests")
    parser.add_argument("--elsewhere", action="store_true", help="measure passes in lists that do not have them")
    options = parser.parse_args(arguments)
    if options.elsewhere:
        elsewhere()
        return
    names = options.only.split(",")
    print(f"| program | us | {' | '.join(names)} |\n| --- | ---: |{' ---: |' * len(names)}")
    for name in options.programs.split(","):
        program = EVERY[name]
        f = program.function if hasattr(program.function, "py_func") else numba.njit(program.function)
        args = program.make(program.small if options.small else program.size)
        whole, *others = best([without(x, f, args, program.argnums) for x in ("", *names)])
        ratios = " | ".join(f"{other / whole:.2f}" for other in others)
        print(f"| {name} | {whole:,.1f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
