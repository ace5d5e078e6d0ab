"""A function that an eval may ask for, and how the fields of its input are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Function", "InputError", "field", "listed", "real", "reals", "whole", "wholes"]


class InputError(ValueError):
    """A message lacks something, or has something else there: the text says what is wanted."""


@dataclasses.dataclass(frozen=True)
class Function:
    """`finish(run(*prepare(given)))` is the answer to the input `given`. Only `run` is timed.

    `example` is an input by which `run` is compiled before that: numba compiles for the types of its arguments.
    """

    run: Callable[..., Any]
    prepare: Callable[[Any], tuple[Any, ...]]
    example: Any
    finish: Callable[[Any], Any] = lambda found: found


def listed(found: Any) -> Any:
    """An array as lists of JSON."""
    return np.asarray(found).tolist()


def field(given: Any, name: str) -> Any:
    if not isinstance(given, dict) or name not in given:
        raise InputError(f"the field {name!r} is missing")
    return given[name]


def real(given: Any, name: str) -> float:
    value = field(given, name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{name!r} is to be a number, not {brief(value)}")
    return float(value)


def whole(given: Any, name: str, least: int) -> int:
    value = field(given, name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
        raise InputError(f"{name!r} is to be a whole number of 64 bits, from {least} on, not {brief(value)}")
    return value


def reals(given: Any, name: str, *shape: int | None) -> np.ndarray:
    """The field as an array of doubles. None in `shape` is any length."""
    return array(given, name, shape, np.float64)


def wholes(given: Any, name: str, *shape: int | None) -> np.ndarray:
    return array(given, name, shape, np.int64)


def array(given: Any, name: str, shape: tuple[int | None, ...], dtype: Any) -> np.ndarray:
    value = field(given, name)
    wanted = " x ".join("any" if length is None else str(length) for length in shape)
    what = f"{name!r} is to be a list of numbers, {wanted} of them"
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
    text = repr(value)
    return text if len(text) < 60 else text[:56] + " ..."
