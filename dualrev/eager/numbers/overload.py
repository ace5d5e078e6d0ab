"""How Python's operators and the table's functions reach a transformation's rule for op(x1..xn): overloading.

The paper transforms programs; overloading does the same at run time: every construct of Python maps to itself, and only
real scalars change. A transformation says what it makes of a scalar in three places, and `overload` does the rest:

    Dual                          a subclass of DualNumber with the attributes x (the value) and run
    constant(run, r)              D[r]; None where a constant needs no representation
    op(run, y, args, partials)    D[op(t1..tn)], given y = op(x1..xn), the dual numbers among t1..tn and dy/dx of each;
                                  with late=True, `partials` is a function that holds x1..xn and computes them

`overload` writes a method for every line of the table, with the line's text in it, so that an operation costs one
Python call before it reaches `op`. Methods take the common cases themselves: two dual numbers of one run, or one and
a Python number. Everything else (numpy scalars, nested derivatives, the edge of a domain) goes through `apply`.

The modules below are parts of this one, in this order: dual.py has the numbers, primitive_functions.py the table's
lines on them, ufuncs.py numpy's functions. What a transformation needs of them can be imported from here.
"""

from __future__ import annotations

import functools
import numbers
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dualrev.eager.numbers.dual import RUNNING, DualNumber, Run, alive, value
from dualrev.eager.numbers.primitive_functions import (
    EDGE,
    SLOPES,
    apply,
    at_edge,
    contribute,
    define,
    function,
    linearize,
    method_name,
)
from dualrev.eager.numbers.ufuncs import apply_ufunc
from dualrev.rules.derived import derived
from dualrev.rules.primitives import PRIMITIVES, Primitive

__all__ = [
    "EDGE",
    "RUNNING",
    "DualNumber",
    "Run",
    "alive",
    "apply",
    "at_edge",
    "contribute",
    "function",
    "linearize",
    "overload",
    "value",
]


def overload(
    dual: Any,
    constant: Callable[..., Any] | None,
    op: Callable[..., Any],
    inline: tuple[str, str] | None = None,
    names: Mapping[str, Any] | None = None,
    nested: Any = None,
    late: bool = False,
) -> None:
    """Give the class `dual` a method for every line of the table, made from `constant` and `op`.

    `inline`, for a transformation that counts every nanosecond, is the text of `op` where it is not to be called: the
    statements for one dual argument u, and those for two, u and v, with {p} and {q} for the partials and, in scope,
    run, y, and `names`. What the table's text calls comes from `names` too, so that a class whose values are always
    floats can call `math` itself. Numbers of outer runs are constants to the class `nested`, whose values are such
    numbers: the class itself, or one that has methods for this one where it meets another run.
    """
    dual.constant, dual.op, dual.late = constant, op, late  # read from the class, so they stay plain functions
    assert constant or not late, "a transformation that leaves out arguments has to leave out their partials"
    call = (_LATE if late else _CALL).format
    one = call(args="(u,)", partials="({p},)", xs="(x,)")
    two = call(args="(u, v)", partials="({p}, {q})", xs="(a, b)")
    one, two = inline or (one, two)
    left, right = one, one.replace("{p}", "{q}")
    if constant is not None:
        left = call(args="(u, constant(run, b))", partials="({p}, {q})", xs="(a, b)")
        right = call(args="(constant(run, a), u)", partials="({p}, {q})", xs="(a, b)")
    slopes = {name: line for name, line in SLOPES.items() if len(line.partials) <= 2}
    for name, primitive in {**PRIMITIVES, **slopes}.items():
        unary = len(primitive.partials) == 1
        texts = {"one": one, "two": two, "left": left, "right": right}
        if constant is None:
            texts = _without_zeros(texts, primitive.partials)
        for method in _method_names(primitive):
            scope = {
                **(names or {}),
                "Dual": dual,
                "Nested": nested,
                "constant": constant,
                "op": op,
                "primitive": primitive,
                "linearize": linearize,
                "apply": _operator if method.startswith("__") and not unary else apply,
            }
            apart = _apart(method, primitive, nested is dual) if nested else ""
            partials = _slopes(primitive) if nested is dual and primitive.second else primitive.partials
            parts = {"apart": apart, **texts}
            made = _later(dual, method, functools.partial(_source, method, primitive, partials, parts), scope)
            made.__doc__ = f"{name}: {primitive.value}; partial derivatives {', '.join(primitive.partials)}."
            setattr(dual, method, made)


def _slopes(primitive: Primitive) -> tuple[str, ...]:
    """The text of partials whose own derivatives are the line's second partials, where values are of outer runs."""
    texts, known = [], (*primitive.parameters, "y")
    for k, text in enumerate(primitive.partials):
        made = derived(primitive, k)
        texts.append(text if made is None else f"{made.line.name}({', '.join(known[j] for j in made.places)})")
    return tuple(texts)


def _source(method: str, primitive: Primitive, partials: tuple[str, ...], texts: dict[str, str]) -> str:
    """The text of a method for a line of the table, with these partials."""
    source = _UNARY if len(primitive.partials) == 1 else _REFLECTED if method.startswith("__r") else _BINARY
    for place, text in texts.items():
        source = _insert(source, place, text)
    return source.format(value=primitive.value, **dict(zip(("p", "q"), partials, strict=False)))


def _apart(method: str, primitive: Primitive, nested: bool) -> str:
    """Return the code of a two-argument method for numbers of two runs, for flat numbers or for nested ones."""
    reflected = method.startswith("__r")
    if nested:
        return _OUTER_RIGHT if reflected else _OUTER
    text = _APART + _INNER if primitive.symbol else _APART
    return "" if reflected else text.replace("{method}", method).replace("{symbol}", primitive.symbol)


def _later(dual: Any, method: str, source: Callable[[], str], scope: Mapping[str, Any]) -> Callable[..., Any]:
    """A method that is compiled at its first call, and stands in its own place from then on: most are never called."""

    def first(*args: Any) -> Any:
        made = define(source(), f"{dual.__name__}.{method}", **scope)
        made.__doc__ = first.__doc__
        setattr(dual, method, made)
        return made(*args)

    first.__name__, first.__qualname__ = method, f"{dual.__name__}.{method}"
    return first


def _array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Answer numpy's `__array_ufunc__`: one of its ufuncs was called with a dual number."""
    return apply_ufunc(ufunc, method, inputs, kwargs)


DualNumber.__array_ufunc__ = _array_ufunc  # dual.py knows no ufuncs; numbers on the tape have another one


def _without_zeros(texts: dict[str, str], partials: tuple[str, ...]) -> dict[str, str]:
    """The texts for a line some of whose partials are 0 wherever they are: nothing is written for these arguments."""
    nothing = "return op(run, y, (), ())"
    zeros = [text == "0.0" for text in partials]
    if zeros == [True]:
        return {**texts, "one": nothing}
    if zeros == [True, True]:
        return dict.fromkeys(texts, nothing)
    if zeros == [False, True]:
        return {**texts, "two": texts["left"], "right": nothing}
    assert not any(zeros), "a line with another pattern of zeros needs its own texts"
    return texts


def _insert(template: str, place: str, text: str) -> str:
    """The template with the lines of the text at the line that is this place, as far to the right."""
    pattern = re.compile(rf"^( *)<{place}>$", re.MULTILINE)
    return pattern.sub(lambda found: textwrap.indent(text.strip(), found[1]), template)


def _operator(primitive: Primitive, u: Any, v: Any) -> Any:
    """Apply a line as `apply` does; NotImplemented if an operand is not a number, so that it or Python's TypeError
    answers.

    A complex operand gives numpy's function of both. A list gives an array, as for numpy's floats; the product with a
    list is an error for both. A table of pandas gives a table.
    """
    known = (numbers.Real, np.bool_)
    if isinstance(u, known) and isinstance(v, known):
        return apply(primitive, u, v)
    if primitive.ufunc and _has_arrays(u, v) and all(isinstance(x, numbers.Complex) for x in (u, v)):
        if primitive.name == "div" and v == 0:
            raise ZeroDivisionError("division by zero")
        return getattr(np, primitive.ufunc)(u, v)
    listed = primitive.name != "mul" and any(isinstance(x, (list, tuple)) for x in (u, v))
    if primitive.ufunc and listed and _has_arrays(u, v):
        return getattr(np, primitive.ufunc)(*(x if isinstance(x, DualNumber) else np.asarray(x) for x in (u, v)))
    other = v if isinstance(u, DualNumber) else u
    if primitive.ufunc and _has_arrays(u, v) and hasattr(type(other), "__pandas_priority__"):
        return getattr(np, primitive.ufunc)(u, v)
    return NotImplemented


def _has_arrays(*operands: Any) -> bool:
    """Whether numpy makes arrays of a number: of those on the tape, which have a shape."""
    return any(isinstance(u, DualNumber) and hasattr(u, "shape") for u in operands)


def _method_names(primitive: Primitive) -> list[str]:
    names = [method_name(primitive)]
    if primitive.symbol:
        names.append(f"__{primitive.symbol}__")
        if len(primitive.partials) == 2:
            names.append(f"__r{primitive.symbol}__")
    return names


_CALL = "return op(run, y, {args}, {partials})"

_LATE = """
def partials():
    try:
        return {partials}
    except EDGE:
        return linearize(primitive, {xs})[1]
return op(run, y, {args}, partials)
"""

_UNARY = """
def made(u):
    run = u.run
    try:
        x = u.x
        y = {value}
        <one>
    except EDGE:
        return apply(primitive, u)
"""

_BINARY = """
def made(u, v):
    run = u.run
    try:
        if v.__class__ is Dual:
            if v.run is run:
                a = u.x
                b = v.x
                y = {value}
                <two>
        elif v.__class__ in PLAIN:
            a = u.x
            b = v if v.__class__ is float else float(v)
            y = {value}
            <left>
        <apart>
    except EDGE:
        pass
    return apply(primitive, u, v)
"""

_REFLECTED = """
def made(u, v):
    run = u.run
    try:
        if v.__class__ in PLAIN:
            a = v if v.__class__ is float else float(v)
            b = u.x
            y = {value}
            <right>
        <apart>
    except EDGE:
        pass
    return apply(primitive, v, u)
"""

_APART = """
if isinstance(v, DualNumber):
    if v.run.level < run.level:
        return Nested.{method}(u, v)
"""

_INNER = """
    if v.__class__ is Dual:
        return Nested.__r{symbol}__(v, u)
"""

_OUTER = """
if isinstance(v, DualNumber) and v.run.level < run.level:
    a = u.x
    b = v
    y = {value}
    <left>
"""

_OUTER_RIGHT = """
if isinstance(v, DualNumber) and v.run.level < run.level:
    a = v
    b = u.x
    y = {value}
    <right>
"""
