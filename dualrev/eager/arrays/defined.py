"""Functions of numpy that have no handler of their own: by their lines in the table of functions.

    a definition     is numba code (rules/library); here Python runs it, on arrays and numbers under differentiation;
                     if it has a rule, it is one operation, with that rule
    a selection      takes the elements at the places that its expression gives for the values

So a function that is added to the table for numba functions is there for the tape, too. It is slow, as any loop in
Python is; where that matters, a handler goes first.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
from collections.abc import Callable, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from dualrev.eager.arrays.memory.record import by_rule
from dualrev.eager.arrays.memory.storage import RealArray, own, plain, real_array
from dualrev.eager.numbers.overload import DualNumber
from dualrev.errors import UnsupportedError
from dualrev.rules.functions import LARGEST, Definition, Function, Selection, canonical, known
from dualrev.rules.library import DEFINITIONS
from dualrev.rules.library.rule_definitions import RuleOf, rule_of

__all__ = ["by_table", "in_python"]

#: What the expressions of selections call.
_NAMES = {"np": np, "runtime": SimpleNamespace(unique_places=lambda x: np.unique(x, return_index=True)[1])}


@functools.cache
def by_table(func: Any) -> Callable[..., Any] | None:
    """Return the rule of a numpy function from its line in the table; None without a definition or a selection."""
    f = known(canonical(func) or "")
    if not f.definitions and f.selection is None:
        return None

    def handler(*args: Any, **kwargs: Any) -> Any:
        """Compute the function by the first definition that fits the arguments, or by the selection."""
        bound = signature.bind(*args, **kwargs).arguments
        given: list[Any] = [bound.get(name) for name in f.names]
        for definition in f.definitions:
            if _fits(definition, given):
                return _by_definition(definition, given)
        if f.selection is not None and f.selection.ndim in (None, np.ndim(given[f.selection.argument])):
            return _by_selection(f.selection, given)
        raise UnsupportedError(f"numpy.{f.name[3:]} of these arguments", f"it with {_wanted(f)}")

    signature = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None) for name in f.names]
    )
    handler.__signature__ = signature  # type: ignore[attr-defined]  # numpy's options are checked by it
    return handler


def _wanted(f: Function) -> str:
    """The arguments that a function is known for, in words."""
    if not f.definitions:
        return f"an array of {f.selection.ndim} axes" if f.selection else ""
    kinds = {"v": "a vector", "m": "a matrix", "f": "an array", "e": "an array", "a": "an array", "x": "a number"}
    kinds |= {"i": "an int", "c": "a constant", "=": "a constant"}
    found = [", ".join(kinds[x] for x in definition.pattern if x != "_") for definition in f.definitions]
    return "; or ".join(dict.fromkeys(found))


def _fits(definition: Definition, given: list[Any]) -> bool:
    """Whether a definition is one for these arguments."""
    if any(x is not None for x in given[len(definition.pattern) :]):
        return False
    fixed = iter(definition.fixed)
    return all(
        type(x) in (str, bool, int, float) and x == next(fixed) if letter == "=" else _is_like(letter, x)
        for letter, x in zip(definition.pattern, given, strict=False)
    )


def _is_like(letter: str, x: Any) -> bool:
    """Whether an argument is what a letter of a pattern stands for."""
    if x is None or letter == "_":
        return x is None and letter == "_"
    if letter in "ci":
        return isinstance(x, (bool, int, np.integer) if letter == "i" else (bool, int, float))
    number = isinstance(x, (bool, int, float, np.number, np.bool_, DualNumber))
    if letter == "x" or number:
        return letter == "x" and number
    ndim = real_array(x).ndim
    return bool(ndim == {"v": 1, "m": 2}.get(letter, ndim))


def _by_definition(definition: Definition, given: list[Any]) -> Any:
    args, shape = [], None
    for letter, x in zip(definition.pattern, given, strict=False):
        if letter in "_=":
            continue
        a = real_array(x) if letter in "vmfea" else x
        if letter == "e":
            shape = a.shape
        args.append(np.ravel(a) if letter in "fe" else a)
    more = (np.finfo(float).max if x == LARGEST else x for x in definition.more)
    made = in_python(definition.name)(*args, *more)
    return made if shape is None else np.reshape(made, shape)


def _by_selection(selection: Selection, given: list[Any]) -> Any:
    a = real_array(given[selection.argument])
    count = np.arange(selection.zero, a.size + selection.zero).reshape(a.shape)
    text, names = selection.places, {**_NAMES, "x_": plain(a), "p_": count}
    for letter, x in zip("ab", (x for k, x in enumerate(given) if k != selection.argument), strict=False):
        if x is None:
            text = text.replace(f", {letter}_", "")
        else:
            names[f"{letter}_"] = plain(x) if isinstance(x, (RealArray, DualNumber)) else x
    places = eval(text, names)
    elements = np.ravel(a)
    return np.where(places > 0, elements[places - 1], 0.0) if selection.zero else elements[places]


def in_python(name: str) -> Callable[..., Any]:
    """A definition as a Python function of arrays and numbers, some under differentiation.

    >>> float(in_python("ptp")(np.array([1.0, 4.0, 2.0])))
    3.0
    """
    found: Callable[..., Any] = _scope(DEFINITIONS[name].py_func.__module__)[name]
    return found


@functools.cache
def _scope(module: str) -> dict[str, Any]:
    """The globals of a module of definitions, all of them in Python, with our numpy and math."""
    from dualrev import math as our_math  # they are made of this
    from dualrev import numpy as our_numpy

    scope: dict[str, Any] = {}
    for name, made in vars(importlib.import_module(module)).items():
        x, f = made, getattr(made, "py_func", None)
        if x is np or x is math:
            x = our_numpy if x is np else our_math
        elif f is not None and f.__module__ != module:
            x = _scope(f.__module__)[f.__name__]
        elif f is not None:
            x = FunctionType(f.__code__, scope, f.__name__, f.__defaults__)
            x = x if (rule := rule_of(made)) is None else _block(x, rule, scope)
        scope[name] = x
    return scope


def _block(f: Callable[..., Any], rule: RuleOf, scope: dict[str, Any]) -> Callable[..., Any]:
    """A definition that has a rule, as one operation of the tape."""

    def of(part: Any) -> Callable[..., Any]:
        """Return the copy, for traced numbers, of a function of the rule."""
        found: Callable[..., Any] = scope[part.py_func.__name__]
        return found

    def whole(parts: Sequence[Any]) -> Any:
        """Return one value alone, and several as a tuple."""
        return tuple(parts) if len(parts) > 1 else parts[0]

    def compute(*xs: Any) -> Any:
        """Compute the function: by a block for an outer run, by numba code for plain arrays."""
        return block(*xs) if any(isinstance(x, RealArray) for x in xs) else _unboxed(f(*map(own, xs)))

    def pull(xs: Sequence[Any], ys: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the arguments, by fwd and bwd."""
        return list(of(rule.bwd)(of(rule.fwd)(*xs)[1], whole(list(map(own, gs)))))  # it may work in place

    def push(xs: Sequence[Any], ys: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Return the tangents of the results, with zeros in place of None."""
        tangents = tuple(np.zeros(np.shape(x)) if t is None else t for x, t in zip(xs, ts, strict=True))
        made = of(rule.push)(tuple(xs), whole(ys), tangents)
        moved = made if len(ys) > 1 else [made]
        return [np.zeros(np.shape(y)) if t is None else t for t, y in zip(moved, ys, strict=True)]

    def block(*args: Any) -> Any:
        """Record the function as one block."""
        return by_rule(compute, pull, push, *args)

    return block


def _unboxed(y: Any) -> Any:
    """The plain arrays of a value."""
    return tuple(map(_unboxed, y)) if isinstance(y, tuple) else plain(real_array(y))
