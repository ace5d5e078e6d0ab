"""Time sums over partitions by Dask, on one and two worker processes: `python -m bench.many_machines`.

The program is the log-likelihood of a mixture of Gaussians: by default 1e7 points in the plane, in 20 partitions that
the workers hold in memory. Its value and gradient are first compared with those of the whole data in this process, to
1e-12. Then three columns are measured with one worker and with two, of one thread each:

    first call    the call that compiles
    call          the best of several
    efficiency    the time of a call with one worker, over twice the time with two workers

To estimate a cluster of another size, use the other numbers that are printed: the time that a task costs however few
points it has (from sums over 8 to 512 partitions), and the bytes that a call sends and receives.

Times are wall times, which need an idle machine.
"""

from __future__ import annotations

import argparse
import math
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

import dualrev as dr
from bench.measuring.machine import processor, versions
from dualrev import dask as partitions

__all__ = ["main", "measured", "of_a_task"]

COMPONENTS, DIMENSIONS = 5, 2
TIGHT = 1e-12  # how far the sum over partitions may be from that over the whole data, relative to the largest number


@numba.njit
def likelihood(params, points):
    """Negative log-likelihood of a mixture with diagonal covariances; params: means, log scales, log weights."""
    means, scales, weights = params
    total = 0.0
    terms = np.empty(len(means))
    for i in range(len(points)):
        most = -1e300
        for k in range(len(means)):
            term = weights[k]
            for j in range(points.shape[1]):
                t = (points[i, j] - means[k, j]) * math.exp(-scales[k, j])
                term += -0.5 * t * t - scales[k, j]
            terms[k] = term
            most = max(most, term)
        s = 0.0
        for k in range(len(means)):
            s += math.exp(terms[k] - most)
        total -= most + math.log(s)
    return total


def make(size: int) -> tuple[Any, np.ndarray]:
    """Return the parameters, and points of shape (size, 2)."""
    rng = np.random.default_rng(0)
    params = rng.normal(size=(COMPONENTS, DIMENSIONS)), 0.1 * rng.normal(size=(COMPONENTS, DIMENSIONS))
    return (*params, rng.normal(size=COMPONENTS)), rng.normal(size=(size, DIMENSIONS))


def measured(workers: int, size: int, parts: int, turns: int) -> tuple[float, float]:
    """Return the seconds of the first call and of the best later one; AssertionError if the sum is not the expected."""
    params, points = make(size)
    expected = _flat(dr.value_and_grad(likelihood)(params, points))
    with _client(workers) as client:
        f = partitions.value_and_grad(likelihood, client.scatter(np.array_split(points, parts)), client)
        first, found = _timed(f, params)
        assert np.max(np.abs(_flat(found) - expected)) <= TIGHT * np.max(np.abs(expected)), "the sum is another one"
        return first, min(_timed(f, params)[0] for _ in range(turns))


def of_a_task(counts: Sequence[int], turns: int) -> float:
    """Return the seconds that a partition costs however small it is: the slope over the number of partitions."""
    params, points = make(max(counts))
    with _client(1) as client:
        times = []
        for count in counts:
            f = partitions.value_and_grad(likelihood, client.scatter(np.array_split(points[:count], count)), client)
            f(params)
            times.append(min(_timed(f, params)[0] for _ in range(turns)))
    return float(np.polyfit(counts, times, 1)[0])


def _client(workers: int) -> Any:
    """Start a cluster of processes on this machine, and return its client; the cluster ends with the client."""
    from distributed import Client

    return Client(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", set_as_default=False)


def _timed(f: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = f(*args)
    return time.perf_counter() - start, found


def _flat(nested: Any) -> np.ndarray:
    return dr.tree.ravel(nested)[0]


def main(arguments: Sequence[str]) -> None:
    """Print the table, the cost of a partition, and the bytes that a call sends."""
    parser = argparse.ArgumentParser(prog="python -m bench.many_machines", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few points, to check that everything runs")
    chosen = parser.parse_args(arguments)
    size, parts, turns, counts = (10_000, 4, 1, (2, 4)) if chosen.quick else (10_000_000, 20, 5, (8, 64, 512))
    params, points = make(size)
    slope = dr.value_and_grad(likelihood)
    slope(params, points)
    here = min(_timed(slope, params, points)[0] for _ in range(turns))
    times = {workers: measured(workers, size, parts, turns) for workers in (1, 2)}
    table = Table("workers", "first call", "call", "efficiency")
    table.add_row("this process", "", f"{here:.3f} s", "")
    for workers, (first, call) in times.items():
        table.add_row(str(workers), f"{first:.1f} s", f"{call:.3f} s", f"{times[1][1] / (workers * call):.2f}")
    console = Console(width=160)
    console.print(table)
    console.print(f"{size:,} points, {parts} partitions; equal to the sum in this process to {TIGHT}")
    console.print(f"a partition costs {1e3 * of_a_task(counts, turns):.2f} ms, however small it is")
    console.print(
        f"a call sends {len(pickle.dumps(params)):,} bytes of parameters to each worker that has not seen them, and a"
        f" task returns {len(pickle.dumps(slope(params, points[:1]))):,}"
    )
    console.print(f"{processor()}; {versions()}")


if __name__ == "__main__":
    main(sys.argv[1:])
