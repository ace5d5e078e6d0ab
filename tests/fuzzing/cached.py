"""Derivatives from the cache: a fresh process finds them compiled, and computes the same, to the bit.

python -m fuzzing.cached MODULE SAVED     what that process runs: numbers in hexadecimal, as JSON
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from programs.generators.generator import Program
from support.oracle import direction, flat

import dualrev as dr
from fuzzing.agreeing import Engine, agree, compiled, tangents_like
from fuzzing.reducing import read, save
from fuzzing.running import Failed, arguments, eager, imported, reals

__all__ = ["check_cached"]


def check_cached(of: Program, engine: Engine, folder: str) -> None:
    """As an ordinary program, and then in a fresh process."""
    taped = eager(of)
    with _kept_in(Path(folder) / "cache"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f = compiled(of, folder)
        agree(of, taped, f, engine)
        if engine.value_and_grad is None:
            return
        expected = _bits(of, f, engine)
        said = any("not cached" in str(warning.message) for warning in caught)  # then it may compile again
        saved = Path(folder) / "saved.py"
        save(of, saved, "")
        found = _elsewhere(f.py_func.__code__.co_filename, str(saved))
    if not said and (found["missed"] or not found["found"]):
        raise Failed("cache, compiled again", f"{found['missed']} functions missed, {found['found']} found")
    if found["bits"] != expected:
        raise Failed("cache, another number", f"{found['bits']}\nwhere the first process has\n{expected}")


@contextlib.contextmanager
def _kept_in(place: Path) -> Iterator[None]:
    before = os.environ.get("DUALREV_CACHE_DIR")
    os.environ["DUALREV_CACHE_DIR"] = str(place)
    try:
        yield
    finally:
        if before is None:
            del os.environ["DUALREV_CACHE_DIR"]
        else:
            os.environ["DUALREV_CACHE_DIR"] = before


def _bits(of: Program, f: Any, engine: Engine) -> list[str]:
    """All numbers that the derivatives give and leave."""
    given = arguments(of)
    argnums = reals(given)
    assert engine.value_and_grad is not None
    found = [engine.value_and_grad(f, argnums)(*given), given]
    if of.forward:
        given = arguments(of)
        v = direction(tuple(given[k] for k in argnums))
        found += [engine.jvp(f, given, tangents_like(given, argnums, v)), given]
    return [x.hex() for x in flat(found)]


def _elsewhere(module: str, saved: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "fuzzing.cached", module, saved],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=900.0,
    )
    if done.returncode:
        raise Failed(f"cache, the fresh process ended with {done.returncode}", done.stderr[-2000:])
    return json.loads(done.stdout)


def main(module: str, saved: str) -> None:
    of = read(Path(saved))
    f = imported(Path(module)).f
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bits = _bits(of, f, Engine(dr.value_and_grad, dr.jvp))
    stats: Any = dr.value_and_grad(f, reals(arguments(of))).stats  # type: ignore[attr-defined]
    counts = {"found": sum(stats.cache_hits.values()), "missed": sum(stats.cache_misses.values())}
    print(json.dumps({"bits": bits, **counts}))


if __name__ == "__main__":
    main(*sys.argv[1:])
