"""The outcome of a feature: its compiled gradient, compared with numba's value, differences and the tape."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fuzzing.running import imported
from support.oracle import assert_same, flat, rebuild
from support.twin import twin

import dualrev as dr
from programs.features import Feature, written

__all__ = ["NOT_NUMBA", "RIGHT", "moves", "outcome", "outcomes"]

RIGHT, NOT_NUMBA = "right", "not numba"


def outcomes(features: list[Feature], folder: Path) -> list[str]:
    """Return the outcome of each feature; AssertionError if a derivative is wrong."""
    module = imported(written(features, folder))
    return [outcome(of, getattr(module, f"feature_{of.number}")) for of in features]


def outcome(of: Feature, f: Any) -> str:
    """Return the outcome of one feature, in the words of the page."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # numba's, of slow products and of lists that are arguments
        try:
            value = f(*of.arguments())
        except Exception as error:
            return f"{NOT_NUMBA} ({type(error).__name__})"
        argnums = tuple(k for k, x in enumerate(of.arguments()) if moves(x))
        try:
            found, gradient = dr.value_and_grad(f, argnums)(*of.arguments())
        except dr.errors.UnsupportedError as error:
            return _reason(str(error))
        single = any("32" in name for name in of.parameters)
        assert math.isclose(found, value, rel_tol=1e-6 if single else 1e-12), f"the value is {found}, not {value}"
        _compare(gradient, _slopes(f, of, argnums), 2e-2 if single else 2e-6)
        by_tape = _by_tape(f, of, argnums)
        if by_tape is not None:
            _compare(gradient, by_tape, 1e-5 if single else 1e-9)
    return RIGHT


def moves(x: Any) -> bool:
    """Whether an argument has a gradient: floats, arrays of them, and tuples."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "f"
    return isinstance(x, (float, np.floating)) or (isinstance(x, tuple) and bool(flat(x)))


def _compare(gradient: Any, expected: list[float], tolerance: float) -> None:
    scale = max([1.0, *map(abs, expected)])
    assert_same(flat(gradient), expected, rtol=tolerance, floor=tolerance * scale)


def _slopes(f: Callable[..., Any], of: Feature, argnums: tuple[int, ...]) -> list[float]:
    """Differences by every real number of the arguments."""

    def at(k: int, place: int, step: float) -> float:
        given = list(of.arguments())
        numbers = flat(given[k])
        numbers[place] += step
        moved = rebuild(given[k], numbers)
        given[k] = in_dtype(given[k], moved)
        return float(f(*given))

    made, h = [], 2.0**-7 if any("32" in name for name in of.parameters) else 2.0**-12
    for k in argnums:
        for place in range(len(flat(of.arguments()[k]))):
            wide, narrow = ((at(k, place, s) - at(k, place, -s)) / (2 * s) for s in (h, h / 2))
            made.append((4 * narrow - wide) / 3)
    return made


def in_dtype(like: Any, x: Any) -> Any:
    """x in the dtype and the layout of `like`."""
    if isinstance(like, np.ndarray):
        made = like.copy("K") if like.flags.forc else np.repeat(like, 2)[::2]
        made[...] = x
        return made
    return type(like)(x) if isinstance(like, np.floating) else x


def _by_tape(f: Any, of: Feature, argnums: tuple[int, ...]) -> list[float] | None:
    """The tape's gradient; None where the tape does not know the feature, or numba's random numbers are others."""
    if of.heading == "Random numbers" or "random" in of.name:
        return None
    try:
        made: list[float] = flat(dr.grad(twin(f), argnums)(*of.arguments()))
    except Exception:
        return None
    return made


def _reason(message: str) -> str:
    """The message of an error without its place, with the names of features left out."""
    text = re.sub(r"^\S+?\.py:\d+: (`.*?`: )?", "", message, flags=re.DOTALL)
    text = re.sub(r"numba function \S+feature_\d+", "the function", text)
    return re.sub(r"\s+", " ", text).strip()
