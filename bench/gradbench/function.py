"""The functions of an eval, and readers for the fields of their inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Function", "InputError", "field", "listed", "real", "reals", "whole", "wholes"]


class InputError(ValueError):
    """A message with a missing or wrong field; the text says what it needs."""


@dataclasses.dataclass(frozen=True)
class Function:
    """A function of an eval: `finish(run(*prepare(given)))` is the answer to the input `given`. Only `run` is timed.

    `run` is compiled before that by a call on the input `example`, as numba compiles for the types of its arguments.
    """

    run: Callable[..., Any]
    prepare: Callable[[Any], tuple[Any, ...]]
    example: Any
    finish: Callable[[Any], Any] = lambda found: found


def listed(found: Any) -> Any:
    """Convert an array to nested lists for JSON."""
    return np.asarray(found).tolist()


def field(given: Any, name: str) -> Any:
    """Return a field of the input; InputError if it is missing."""
    if not isinstance(given, dict) or name not in given:
        raise InputError(f"the field {name!r} is missing")
    return given[name]


def real(given: Any, name: str) -> float:
    """Return a field as a float; InputError if it is not a number."""
    value = field(given, name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{name!r} must be a number, not {brief(value)}")
    return float(value)


def whole(given: Any, name: str, least: int) -> int:
    """Return a field as a 64-bit integer that is `least` or more; InputError if it is not."""
    value = field(given, name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
        raise InputError(f"{name!r} must be a 64-bit integer of {least} or more, not {brief(value)}")
    return value


def reals(given: Any, name: str, *shape: int | None) -> np.ndarray:
    """Return a field as an array of doubles. None in `shape` is any length."""
    return array(given, name, shape, np.float64)


def wholes(given: Any, name: str, *shape: int | None) -> np.ndarray:
    """Return a field as an array of 64-bit integers. None in `shape` is any length."""
    return array(given, name, shape, np.int64)


def array(given: Any, name: str, shape: tuple[int | None, ...], dtype: Any) -> np.ndarray:
    """Return a field as a contiguous array; InputError if its shape or its numbers do not fit."""
    value = field(given, name)
    wanted = " x ".join("any" if length is None else str(length) for length in shape)
    what = f"{name!r} must be a list of numbers with shape {wanted}"
    try:
        made = np.array(value)
    except ValueError:
        raise InputError(f"{what}, not lists of different lengths") from None
    if 0 in shape and made.size == 0:
        return np.zeros([length or 0 for length in shape], dtype)
    if made.dtype.kind not in ("iuf" if dtype is np.float64 else "iu"):
        raise InputError(f"{what}, not {brief(value)}")
    fits = len(made.shape) == len(shape) and all(n in (None, m) for m, n in zip(made.shape, shape, strict=True))
    if not fits:
        raise InputError(f"{what}, not {' x '.join(map(str, made.shape)) or 'one number'}")
    return np.ascontiguousarray(made, dtype)


def brief(value: Any) -> str:
    """Shorten a value's text to 60 characters, for an error."""
    text = repr(value)
    return text if len(text) < 60 else text[:56] + " ..."
