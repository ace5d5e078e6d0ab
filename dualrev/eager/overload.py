"""Dual numbers: how Python's operators and the table's functions reach a transformation's rule for op(x1..xn).

The paper transforms programs; overloading does the same at run time: every construct of Python maps to itself, and only
real scalars change. A transformation says what it makes of a scalar in three places, and `overload` does the rest:

    Dual                          a subclass of DualNumber with the attributes x (the value) and run
    constant(run, r)              D[r]; None where a constant needs no representation
    op(run, y, args, partials)    D[op(t1..tn)], given y = op(x1..xn), the dual numbers among t1..tn and dy/dx of each

`overload` writes a method for every line of the table, with the line's text in it, so that an operation costs one
Python call before it reaches `op`. Methods take the common cases themselves: two dual numbers of one run, or one and
a Python number. Everything else (numpy scalars, nested derivatives, the edge of a domain) goes through `apply`.

Nesting: every derivative call has a `Run`; a later run is an inner one. An operation belongs to the innermost run
among its arguments; dual numbers of outer runs are constants to it, and its values and partials are computed with them,
by the same methods. So perturbations are never confused (Siskind and Pearlmutter's tags).
"""

from __future__ import annotations

import functools
import itertools
import math
import numbers
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dualrev.errors import ConversionError, HashError, LeakError
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES, Primitive

__all__ = ["DualNumber", "Run", "alive", "apply", "contribute", "function", "linearize", "overload", "value"]

_WITH_METHODS = frozenset(PRIMITIVES.values())
_levels = itertools.count()  # only ever counts up: a run that starts later is an inner one


class Run:
    """One derivative call: its level, and whatever state the transformation threads through it (ids, a tape).

    The function is called inside of `with run:`. A dual number that is used after that was kept somewhere it should not
    have been: `over` says so.
    """

    def __init__(self, **state: Any) -> None:
        self.level = next(_levels)
        self.over = False
        self.__dict__.update(state)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *exception: object) -> None:
        self.over = True

    def __getattr__(self, name: str) -> Any:  # tells type checkers that the state may have any name
        raise AttributeError(name)


class DualNumber:
    """A real scalar that is being differentiated: behaves as its value, and records what is done with it."""

    __slots__ = ()
    x: Any
    run: Run

    def __eq__(self, other: object) -> Any:
        return self.x == (other if other.__class__ is float else value(other))

    def __ne__(self, other: object) -> Any:
        return self.x != (other if other.__class__ is float else value(other))

    def __lt__(self, other: Any) -> Any:
        return self.x < (other if other.__class__ is float else value(other))

    def __le__(self, other: Any) -> Any:
        return self.x <= (other if other.__class__ is float else value(other))

    def __gt__(self, other: Any) -> Any:
        return self.x > (other if other.__class__ is float else value(other))

    def __ge__(self, other: Any) -> Any:
        return self.x >= (other if other.__class__ is float else value(other))

    def __bool__(self) -> bool:
        return bool(value(self))

    # What is piecewise constant is a plain number: its derivative is 0.
    def __int__(self) -> int:
        return int(value(self))

    def __trunc__(self) -> int:
        return math.trunc(value(self))

    def __floor__(self) -> int:
        return math.floor(value(self))

    def __ceil__(self) -> int:
        return math.ceil(value(self))

    def __round__(self, digits: int | None = None) -> Any:
        return round(value(self), digits)

    # What numbers.Real promises.
    @property
    def real(self) -> DualNumber:
        """The number itself."""
        return self

    @property
    def imag(self) -> float:
        """0.0"""
        return 0.0

    def conjugate(self) -> DualNumber:
        """The number itself."""
        return self

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __float__(self) -> float:
        alive(self)
        raise ConversionError("float()")

    def as_integer_ratio(self) -> tuple[int, int]:
        """ConversionError: `statistics` and `fractions` compute with such ratios."""
        alive(self)
        raise ConversionError("as_integer_ratio()")

    def is_integer(self) -> bool:
        """Whether the value is a whole number."""
        return float(value(self)).is_integer()

    def __complex__(self) -> complex:
        alive(self)
        raise ConversionError("complex()")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise ConversionError("pickling")  # the copy would belong to no run: a silent constant

    def __copy__(self) -> DualNumber:
        return self

    def __deepcopy__(self, memo: Any) -> DualNumber:
        return self

    def __hash__(self) -> int:
        raise HashError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.x!r})"

    def __str__(self) -> str:
        return str(value(self))  # as in an f-string: of the text, a program may use the length

    def __format__(self, spec: str) -> str:
        return format(value(self), spec)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """What numpy calls when one of its functions meets this number."""
        from dualrev.eager.ufuncs import apply_ufunc  # it is built from what this module defines

        return apply_ufunc(ufunc, method, inputs, kwargs)


numbers.Real.register(DualNumber)


def value(x: Any) -> Any:
    """The plain number inside a dual number, at any depth of nesting; anything else unchanged.

    >>> value(2.5)
    2.5
    """
    while isinstance(x, DualNumber):
        x = x.x
    return x


def alive(x: Any) -> Any:
    """The same number; LeakError if it is left over from a derivative call that has ended."""
    u = x
    while isinstance(u, DualNumber):
        if u.run.over:
            raise LeakError
        u = u.x
    return x


def apply(primitive: Primitive, *args: Any) -> Any:
    """The primitive on dual and plain numbers in any mixture."""
    run: Run | None = None
    kind: Any = None
    for u in args:
        if isinstance(u, DualNumber) and (run is None or u.run.level > run.level):
            run, kind = u.run, type(u)
    if run is None:
        return _compiled(primitive).evaluate(*map(_plain, args))
    duals = [isinstance(u, DualNumber) and u.run is run for u in args]
    y, partials = linearize(primitive, [u.x if dual else _plain(u) for u, dual in zip(args, duals, strict=True)])
    if kind.constant is None:  # what has the partial 0 wherever it is, is a constant to the operation
        taken = [text != "0.0" for text in primitive.partials]
        args, partials = tuple(itertools.compress(args, taken)), tuple(itertools.compress(partials, taken))
    return contribute(run, kind, y, args, partials)


def contribute(run: Run, kind: Any, y: Any, args: Sequence[Any], partials: Sequence[Any]) -> Any:
    """D[op(t1..tn)] of a run whose dual numbers are of class `kind`: arguments that are not its own are constants."""
    duals = [isinstance(u, DualNumber) and u.run is run for u in args]
    if kind.constant is None:
        partials = tuple(itertools.compress(partials, duals))
        args = tuple(itertools.compress(args, duals))
    else:
        args = tuple(u if dual else kind.constant(run, u) for u, dual in zip(args, duals, strict=True))
    return kind.op(run, y, args, partials)


@functools.cache
def function(primitive: Primitive) -> Callable[..., Any]:
    """The primitive as a Python function of plain and dual numbers.

    >>> hinge = function(Primitive("hinge", "maximum(x, 0.0)", ("1.0 if x > 0.0 else 0.0",), ((-1.0, 1.0),), kink="x"))
    >>> hinge(-2.0), hinge(2.0)
    (0.0, 2.0)
    """
    first, *rest = primitive.parameters
    source = _FUNCTION.format(
        plain=" and ".join(f"{x}.__class__ is float" for x in primitive.parameters),
        parameters=", ".join(primitive.parameters),
        shortcut=_shortcut(primitive, first, rest) if primitive in _WITH_METHODS else "",
    )
    made: Callable[..., Any] = _define(
        source, primitive.name, apply=apply, primitive=primitive, evaluate=_compiled(primitive).evaluate
    )
    made.__doc__ = f"{primitive.value}; partial derivatives {', '.join(primitive.partials)}."
    return made


def overload(
    dual: Any,
    constant: Callable[..., Any] | None,
    op: Callable[..., Any],
    inline: tuple[str, str] | None = None,
    names: Mapping[str, Any] | None = None,
) -> None:
    """Give the class `dual` a method for every line of the table, made from `constant` and `op`.

    `inline`, for a transformation that counts every nanosecond, is the text of `op` where it is not to be called: the
    statements for one dual argument u, and those for two, u and v, with {p} and {q} for the partials and, in scope,
    run, y, and `names`. What the table's text calls comes from `names` too, so that a class whose values are always
    floats can call `math` itself.
    """
    dual.constant, dual.op = constant, op  # read from the class, so they stay plain functions
    one, two = inline or ("return op(run, y, (u,), ({p},))", "return op(run, y, (u, v), ({p}, {q}))")
    left, right = one, one.replace("{p}", "{q}")
    if constant is not None:
        left = "return op(run, y, (u, constant(run, b)), ({p}, {q}))"
        right = "return op(run, y, (constant(run, a), u), ({p}, {q}))"
    for name, primitive in PRIMITIVES.items():
        unary = len(primitive.partials) == 1
        for method in _method_names(primitive):
            template = _UNARY if unary else _REFLECTED if method.startswith("__r") else _BINARY
            partials = dict(zip(("p", "q"), primitive.partials, strict=False))
            source = template
            texts = {"one": one, "two": two, "left": left, "right": right}
            if constant is None:
                texts = _without_zeros(texts, primitive.partials)
            for place, text in texts.items():
                source = _insert(source, place, text)
            made = _define(
                source.format(value=primitive.value, **partials),
                f"{dual.__name__}.{method}",
                **(names or {}),
                Dual=dual,
                constant=constant,
                op=op,
                primitive=primitive,
                apply=_operator if method.startswith("__") and not unary else apply,
            )
            made.__doc__ = f"{name}: {primitive.value}; partial derivatives {', '.join(primitive.partials)}."
            setattr(dual, method, made)


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
    except EDGE:
        pass
    return apply(primitive, v, u)
"""

_FUNCTION = """
def made({parameters}):
    if {plain}:
        return evaluate({parameters}){shortcut}
    return apply(primitive, {parameters})
"""

_SHORTCUT = """
    if isinstance({first}, DualNumber):
        return {first}.{method}({rest})"""

_REFLECTED_SHORTCUT = """
    if {first}.__class__ in PLAIN and isinstance({second}, DualNumber):
        return {second}.__r{symbol}__({first})"""

_COMPILED = """
def made({parameters}):
    y = {value}
    return {result}
"""


class _Compiled:
    """A line's text as functions of its arguments."""

    def __init__(self, primitive: Primitive) -> None:
        self.primitive = primitive

    def _define(self, result: str, names: Mapping[str, Any] | None = None, given_y: bool = False) -> Callable[..., Any]:
        parameters = (*self.primitive.parameters, "y") if given_y else self.primitive.parameters
        value = "y" if given_y else self.primitive.value
        source = _COMPILED.format(parameters=", ".join(parameters), value=value, result=result)
        own = dict(self.primitive.functions)
        if names is not FUNCTIONS and self.primitive.value.partition("(")[0] in own:
            # the value of a line that the user gave as a function: on dual numbers it is the line itself
            own[self.primitive.value.partition("(")[0]] = function(self.primitive)
        return _define(source, self.primitive.name, **{**(names or {}), **own})

    @functools.cached_property
    def evaluate(self) -> Callable[..., Any]:
        """The value, on plain numbers only."""
        return self._define("y", FUNCTIONS)

    @functools.cached_property
    def linearize(self) -> Callable[..., Any]:
        """The value and the partials, on plain numbers and dual numbers of outer runs."""
        return self._define(f"y, ({', '.join(self.primitive.partials)},)")

    @functools.cached_property
    def value(self) -> Callable[..., Any]:
        """The value, on plain numbers and dual numbers of outer runs."""
        return self._define("y")

    @functools.cached_property
    def partials(self) -> list[tuple[Callable[..., Any], Callable[..., Any]]]:
        """Each partial, of the arguments and y: on dual numbers too, and by numpy's arithmetic, with IEEE's limits."""
        return [
            (self._define(text, given_y=True), self._define(text, _IEEE, given_y=True))
            for text in self.primitive.partials
        ]


def linearize(primitive: Primitive, xs: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The value, with Python's exceptions, and the partials, with IEEE's limits."""
    made = _compiled(primitive)
    try:
        return made.linearize(*xs)
    except EDGE:
        y = made.value(*xs)
    partials = []
    for partial, limit in made.partials:
        try:
            partials.append(partial(*xs, y))
        except EDGE:
            with np.errstate(all="ignore"):
                plain = float(limit(*(np.float64(value(x)) for x in (*xs, y))))
            partials.append(_limit(plain, xs))
    return y, tuple(partials)


def _limit(plain: float, xs: Sequence[Any]) -> Any:
    """A partial at the edge of a domain, for outer runs: it has this value, and no derivative there: NaN."""
    duals = sorted((x for x in xs if isinstance(x, DualNumber)), key=lambda u: u.run.level)
    for _, group in itertools.groupby(duals, key=lambda u: u.run.level):
        us = tuple(group)
        transformation: Any = type(us[0])
        plain = transformation.op(us[0].run, plain, us, (math.nan,) * len(us))
    return plain


def _operator(primitive: Primitive, u: Any, v: Any) -> Any:
    """As `apply`, but leaves what is no number to the other operand: arrays, or Python's TypeError."""
    known = (numbers.Real, np.bool_)
    return apply(primitive, u, v) if isinstance(u, known) and isinstance(v, known) else NotImplemented


def _plain(u: Any) -> Any:
    """A constant: a Python number, or a dual number of an outer run."""
    if isinstance(u, DualNumber):
        return alive(u)
    if isinstance(u, (float, int)):
        return float(u) if isinstance(u, np.floating) else u
    if isinstance(u, (numbers.Real, np.bool_)):
        return float(u)
    raise TypeError(f"expected a real number, got {u!r} (type {type(u).__name__})")


def _shortcut(primitive: Primitive, first: str, rest: list[str]) -> str:
    """The call of a method that takes the common cases itself; a line of the user's has none."""
    text = _SHORTCUT.format(first=first, method=_method(primitive), rest=", ".join(rest))
    if primitive.symbol and rest:
        text += _REFLECTED_SHORTCUT.format(first=first, second=rest[0], symbol=primitive.symbol)
    return text


def _method(primitive: Primitive) -> str:
    """x.sin() is what numpy's loop over an array of objects calls for np.sin, hence numpy's names."""
    return primitive.name if primitive.symbol else primitive.ufunc or primitive.name


def _method_names(primitive: Primitive) -> list[str]:
    names = [_method(primitive)]
    if primitive.symbol:
        names.append(f"__{primitive.symbol}__")
        if len(primitive.partials) == 2:
            names.append(f"__r{primitive.symbol}__")
    return names


def _define(source: str, name: str, **names: Any) -> Any:
    """The function `made` that the source defines, under its name, with the table's functions and `names` in scope."""
    scope: dict[str, Any] = {**_NAMES, **names}
    exec(compile(source, f"<dualrev {name}>", "exec"), scope)
    made = scope["made"]
    made.__qualname__ = name
    made.__name__ = name.rpartition(".")[2]
    return made


@functools.cache
def _compiled(primitive: Primitive) -> _Compiled:
    return _Compiled(primitive)


#: What Python's arithmetic and `math` raise where IEEE has a limit: ZeroDivisionError, OverflowError, domain errors.
EDGE = (ArithmeticError, ValueError)
_NAMES: dict[str, Any] = {
    "PLAIN": frozenset((float, int, np.float64, np.float32, np.int64)),
    "DualNumber": DualNumber,
    "EDGE": EDGE,
    "nan": math.nan,
    "inf": math.inf,
}
_lines = {text: PRIMITIVES["pow" if text == "power" else text] for text in FUNCTIONS}
_IEEE = {
    text: getattr(np, line.ufunc, FUNCTIONS[text]) if line.ufunc else FUNCTIONS[text] for text, line in _lines.items()
}
_NAMES.update({text: function(line) for text, line in _lines.items()})
