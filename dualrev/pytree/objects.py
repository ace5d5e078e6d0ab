"""Dataclasses as nested data: how they come apart, and how they are made again with other numbers.

They are made of their fields alone, without __init__: what a method has cached in an object belongs to the numbers that
it was computed from. `set_meta_fields` names fields that objects carry as they are. Attributes that are no fields are
made again by `__post_init__`, if that sets them, so that they depend on the fields as they do in the original; ints,
strings and the like are taken over.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dualrev.errors import LeafError

__all__ = ["explain", "set_meta_fields", "take_apart"]

_META = "__dualrev_meta_fields__"


def set_meta_fields(cls: type, names: Sequence[str]) -> None:
    """Name the fields of a dataclass that are carried as they are, and are no part of the data."""
    setattr(cls, _META, tuple(names))


def take_apart(
    x: Any, same: Callable[[Any, Any], bool]
) -> tuple[list[Any], Any, Callable[[list[Any]], Any], Callable[[list[Any]], Any]]:
    """The values of a dataclass's fields and of its meta fields, and two ways to make one of new values.

    The first sets the fields and nothing else, as gradients have them. The second is for the function that takes the
    object: with the other attributes, too. `same` says whether two attributes, nested data, hold the same real numbers.
    """
    every = [f.name for f in dataclasses.fields(x) if hasattr(x, f.name)]  # one may be left for a method to set
    meta = getattr(type(x), _META, ())
    names = [name for name in every if name not in meta]
    values = [getattr(x, name) for name in names]
    carried = {name: getattr(x, name) for name in every if name in meta}
    build = functools.partial(_of_fields, type(x), names, carried)
    others = {
        name: u
        for name, u in getattr(x, "__dict__", {}).items()
        if name not in every and not isinstance(getattr(type(x), name, None), functools.cached_property)
    }
    restore = functools.partial(_with_others, build, same, names, values, others) if others else build
    return values, carried or None, build, restore


def _of_fields(cls: Any, names: list[str], carried: dict[str, Any], values: list[Any]) -> Any:
    made = cls.__new__(cls)
    for name, u in carried.items():
        object.__setattr__(made, name, u)  # frozen ones too
    for name, u in zip(names, values, strict=True):
        object.__setattr__(made, name, u)
    return made


def _with_others(
    build: Callable[[list[Any]], Any],
    same: Callable[[Any, Any], bool],
    names: list[str],
    old: list[Any],
    others: dict[str, Any],
    values: list[Any],
) -> Any:
    """The object of these values; `old` are those that the other attributes were there with."""
    made = build(values)
    constants = {name: u for name, u in others.items() if _is_constant(u)}
    if len(constants) < len(others) and hasattr(made, "__post_init__") and not _takes_more(made):
        before = build(old)
        for x in (before, made):
            x.__post_init__()
        for name, u in others.items():
            if hasattr(before, name) and not same(getattr(before, name), u):
                raise LeafError(
                    made,
                    f"its attribute {name!r} is not what __post_init__ makes of its fields as they are now",
                    f"Make {name!r} a field, or register the class with dualrev.register_node",
                )
        for name, u in zip(names, values, strict=True):  # __post_init__ may have changed a field
            object.__setattr__(made, name, u)
    for name, u in constants.items():
        if not hasattr(made, name):
            object.__setattr__(made, name, u)
    return made


def _takes_more(x: Any) -> bool:
    """Whether __post_init__ has arguments, which the object has not kept."""
    fields = type(x).__dataclass_fields__.values()
    return any(f._field_type is dataclasses._FIELD_INITVAR for f in fields)  # type: ignore[attr-defined]


def _is_constant(u: Any) -> bool:
    """Whether a value has no derivative, whatever it was computed from."""
    if isinstance(u, (tuple, list)):
        return all(map(_is_constant, u))
    if isinstance(u, np.ndarray):
        return u.dtype.kind in "iubUS"
    return u is None or isinstance(u, (int, str, bytes, enum.Enum, np.integer, np.bool_))


def explain(error: AttributeError) -> None:
    """Say of an attribute that a dataclass lacks under differentiation why that may be."""
    if dataclasses.is_dataclass(error.obj):
        error.add_note(
            f"A dataclass that is differentiated is made of its fields, and of what __post_init__ sets: if"
            f" {error.name!r} was set elsewhere, make it a field, or register the class with dualrev.register_node."
        )
