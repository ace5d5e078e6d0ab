"""The lines of the table as functions: of plain numbers, of dual numbers, and of both in any mixture.

`apply` is the general way to do an operation: it finds the innermost run among the arguments, computes the value and
the partials with what is known around that run, and calls the `op` of its transformation. `function` makes a function
of a line, which takes the short ways first.
"""

from __future__ import annotations

import functools
import itertools
import math
import numbers
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dualrev.diagnostics.quoting import execute
from dualrev.eager.numbers.dual import DualNumber, Run, alive, value
from dualrev.rules.derived import derived
from dualrev.rules.primitives import FUNCTIONS, PRIMITIVES, Primitive

__all__ = ["EDGE", "SLOPES", "apply", "at_edge", "contribute", "define", "function", "linearize", "method_name"]

#: Partials that have second partials, as lines of their own, by their names.
SLOPES: Mapping[str, Primitive] = {
    made.line.name: made.line
    for line in PRIMITIVES.values()
    for k in range(len(line.partials))
    if line.second and (made := derived(line, k)) is not None
}
_WITH_METHODS = frozenset([*PRIMITIVES.values(), *(line for line in SLOPES.values() if len(line.partials) <= 2)])


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
    xs = [u.x if dual else _plain(u) for u, dual in zip(args, duals, strict=True)]
    if kind.late:
        return contribute(run, kind, _compiled(primitive).value(*xs), args, lambda: linearize(primitive, xs)[1])
    y, partials = linearize(primitive, xs)
    if kind.constant is None:  # what has the partial 0 wherever it is, is a constant to the operation
        taken = [text != "0.0" for text in primitive.partials]
        args, partials = tuple(itertools.compress(args, taken)), tuple(itertools.compress(partials, taken))
    return contribute(run, kind, y, args, partials)


def contribute(run: Run, kind: Any, y: Any, args: Sequence[Any], partials: Any) -> Any:
    """D[op(t1..tn)] of a run whose dual numbers are of class `kind`: arguments that are not its own are constants."""
    if kind.late and not callable(partials):
        partials = _known(partials)
    duals = [isinstance(u, DualNumber) and u.run is run for u in args]
    if kind.constant is None:
        partials = tuple(itertools.compress(partials, duals))
        args = tuple(itertools.compress(args, duals))
    else:
        args = tuple(u if dual else kind.constant(run, u) for u, dual in zip(args, duals, strict=True))
    return kind.op(run, y, args, partials)


def _known(partials: Sequence[Any]) -> Callable[[], Sequence[Any]]:
    """Partials that are known already, for a transformation that asks for them late."""
    return lambda: partials


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
    made: Callable[..., Any] = define(
        source, primitive.name, apply=apply, primitive=primitive, evaluate=_compiled(primitive).evaluate
    )
    made.__doc__ = f"{primitive.value}; partial derivatives {', '.join(primitive.partials)}."
    return made


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
        return define(source, self.primitive.name, **{**(names or {}), **own})

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

    @functools.cached_property
    def limits(self) -> list[Callable[..., Any]]:
        """The value and each partial by numpy's arithmetic, of the arguments alone."""
        return [self._define(text, _IEEE) for text in (self.primitive.value, *self.primitive.partials)]


def linearize(primitive: Primitive, xs: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The value, with Python's exceptions, and the partials, with IEEE's limits."""
    made = _compiled(primitive)
    if primitive.second and any(isinstance(x, DualNumber) for x in xs):
        y = made.value(*xs)
        return y, tuple([_slope(primitive, k, *xs, y) for k in range(len(xs))])
    try:
        return made.linearize(*xs)
    except EDGE:
        y = made.value(*xs)
    partials = []
    for partial, limit in made.partials:
        try:
            partials.append(partial(*xs, y))
        except EDGE:
            partials.append(_limit(_of_values(limit, (*xs, y)), xs))
    return y, tuple(partials)


def _slope(primitive: Primitive, k: int, *known: Any) -> Any:
    """The k-th partial of a line that has second partials, at its arguments and its value: numbers of outer runs."""
    made = derived(primitive, k)
    if made is None:
        return float(primitive.partials[k])
    xs = [known[j] for j in made.places]
    try:
        return function(made.line)(*xs)
    except EDGE:
        of, *limits = _compiled(made.line).limits
        taken = [limit if text != "0.0" else None for text, limit in zip(made.line.partials, limits, strict=True)]
        return _limit(of, xs, taken)


def _limit(of: float | Callable[..., Any], xs: Sequence[Any], partials: Sequence[Any] = ()) -> Any:
    """A number at the edge of a domain, for outer runs: it has this value there, and these partials; None for 0.

    Their own derivatives, and those of a number without partials, are NaN: there is none.
    """
    plain = of if isinstance(of, float) else _of_values(of, xs)
    moving = (k for k, x in enumerate(xs) if isinstance(x, DualNumber) and (not partials or partials[k] is not None))
    duals = sorted(moving, key=lambda k: xs[k].run.level)
    for level, group in itertools.groupby(duals, key=lambda k: xs[k].run.level):
        places = tuple(group)
        us = tuple(xs[k] for k in places)
        outer = [x if isinstance(x, DualNumber) and x.run.level < level else value(x) for x in xs]
        found = tuple(_limit(partials[k], outer) if partials else math.nan for k in places)
        transformation: Any = type(us[0])
        plain = transformation.op(us[0].run, plain, us, _known(found) if transformation.late else found)
    return plain


def at_edge(limit: Callable[..., Any], *xs: Any) -> Any:
    """A function of numpy's where Python's raises: IEEE's limit at the values of numbers, plain or of outer runs.

    >>> at_edge(np.divide, -0.5, 0.0)
    -inf
    """
    return _limit(_of_values(limit, xs), xs)


def _of_values(limit: Callable[..., Any], xs: Sequence[Any]) -> float:
    """A function of numpy's arithmetic at the plain numbers, with IEEE's limits."""
    with np.errstate(all="ignore"):
        return float(limit(*(np.float64(value(x)) for x in xs)))


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
    text = _SHORTCUT.format(first=first, method=method_name(primitive), rest=", ".join(rest))
    if primitive.symbol and rest:
        text += _REFLECTED_SHORTCUT.format(first=first, second=rest[0], symbol=primitive.symbol)
    return text


def method_name(primitive: Primitive) -> str:
    """x.sin() is what numpy's loop over an array of objects calls for np.sin, hence numpy's names."""
    return primitive.name if primitive.symbol else primitive.ufunc or primitive.name


def define(source: str, name: str, **names: Any) -> Any:
    """The function `made` that the source defines, under its name, with the table's functions and `names` in scope."""
    called = _CALLED.findall(source)  # the others would be compiled in vain
    table = {text: function(_LINES[text]) for text in called if text in _LINES and text not in names}
    table |= {name: function(SLOPES[name]) for name in called if name in SLOPES}
    scope: dict[str, Any] = {**_NAMES, **table, **names}
    execute(source, scope, f"<dualrev {name}>")
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
_CALLED = re.compile(r"(?<![.\w])\w+(?=\()")
_LINES = {text: PRIMITIVES["pow" if text == "power" else text] for text in FUNCTIONS}
_IEEE = {
    text: getattr(np, line.ufunc, FUNCTIONS[text]) if line.ufunc else FUNCTIONS[text] for text, line in _LINES.items()
}
