r"""A first-order array language: terms on scalars and arrays of any rank, with shapes that are known before the run.

    t = x | r | op(t1, .., tn) | let x = t in t | build n (\i. t) | t[j1, .., jk] | sum t
      | gather (n1, .., nk) t (\i1 .. ik. j1 .. jl) | scatter (n1, .., nk) t (\i1 .. ik. j1 .. jl)

    build n (\i. t)             [t with i = 0, .., t with i = n - 1]
    sum t                       the sum over the first axis
    gather ns t (\is. js)       g, where g[is] = t[js], for all is below ns         js: whole numbers made from is
    scatter ns t (\is. js)      s, 0 but for s[js] += t[is], for all js below ns    the transpose of gather

op works on scalars, and element by element on arrays of one shape. js may be fewer indices than axes, which select
subarrays. An index out of bounds reads 0, and a scatter to one writes nothing. Whole numbers are indices, sums and
products of them, and elements of an array of whole numbers, so that an index may depend on data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dualrev.rules.primitives import PRIMITIVES

__all__ = ["OPERATIONS", "Build", "Gather", "Index", "Let", "Num", "Op", "Scatter", "Sum", "Term", "Var"]

_NAMES = ("add", "sub", "mul", "div", "neg", "sin", "cos", "exp", "log", "sqrt")
#: The operations of the language, from the table of primitives.
OPERATIONS = {name: PRIMITIVES[name] for name in _NAMES}

_SIGNS = {"add": (" + ", 1), "sub": (" - ", 1), "mul": (" * ", 2), "div": (" / ", 2)}


class Term:
    """A term. Operators make terms: `x + y`, `xs[i, j]`."""

    def __add__(self, other: Any) -> Term:
        return Op("add", (self, _term(other)))

    def __radd__(self, other: Any) -> Term:
        return Op("add", (_term(other), self))

    def __sub__(self, other: Any) -> Term:
        return Op("sub", (self, _term(other)))

    def __rsub__(self, other: Any) -> Term:
        return Op("sub", (_term(other), self))

    def __mul__(self, other: Any) -> Term:
        return Op("mul", (self, _term(other)))

    def __rmul__(self, other: Any) -> Term:
        return Op("mul", (_term(other), self))

    def __truediv__(self, other: Any) -> Term:
        return Op("div", (self, _term(other)))

    def __rtruediv__(self, other: Any) -> Term:
        return Op("div", (_term(other), self))

    def __neg__(self) -> Term:
        return Op("neg", (self,))

    def __getitem__(self, indices: Any) -> Term:
        return Index(self, tuple(map(_term, indices if isinstance(indices, tuple) else (indices,))))

    def __str__(self) -> str:
        return _text(self, 0)

    def binds(self) -> tuple[str, ...]:
        """The variables that the term binds in its subterms."""
        match self:
            case Let(x) | Build(_, x):
                return (x,)
            case Gather(indices=xs) | Scatter(indices=xs):
                return xs
        return ()

    def evaluated(self, evaluate: Callable[[Term], Any]) -> Any:
        """The value of a term of a larger language, whose subterms `evaluate` evaluates."""
        raise TypeError(f"no term: {self!r}")

    def text(self) -> tuple[str, int]:
        """The text of a term, and how tightly it binds: 0 let, 1 a sum, 2 a product, 3 an application, 4 an atom."""
        return _open(self)


@dataclass(frozen=True)
class Var(Term):  # noqa: D101 - the terms are those of the module's grammar
    name: str


@dataclass(frozen=True)
class Num(Term):  # noqa: D101
    value: float


@dataclass(frozen=True)
class Op(Term):  # noqa: D101
    name: str
    args: tuple[Term, ...]


@dataclass(frozen=True)
class Let(Term):  # noqa: D101
    name: str
    bound: Term
    body: Term


@dataclass(frozen=True)
class Build(Term):  # noqa: D101
    size: int
    index: str
    body: Term


@dataclass(frozen=True)
class Index(Term):  # noqa: D101
    array: Term
    at: tuple[Term, ...]


@dataclass(frozen=True)
class Sum(Term):  # noqa: D101
    array: Term


@dataclass(frozen=True)
class Gather(Term):  # noqa: D101
    shape: tuple[int, ...]
    array: Term
    indices: tuple[str, ...]
    at: tuple[Term, ...]


@dataclass(frozen=True)
class Scatter(Term):  # noqa: D101
    shape: tuple[int, ...]
    array: Term
    indices: tuple[str, ...]
    at: tuple[Term, ...]


def _term(u: Any) -> Term:
    return u if isinstance(u, Term) else Num(u)


def _text(t: Term, level: int) -> str:
    """The term in an operand's place: the levels are those of `text`."""
    text, own = t.text()
    return f"({text})" if own < level else text


def _open(t: Term) -> tuple[str, int]:
    match t:
        case Var(name):
            return name, 4
        case Num(value):
            return f"{value:g}", 4
        case Op(name, (left, right)):
            sign, own = _SIGNS[name]
            return f"{_text(left, own)}{sign}{_text(right, own + 1)}", own
        case Op(name, (u,)):
            return (f"-{_text(u, 2)}", 1) if name == "neg" else (f"{name} {_text(u, 4)}", 3)
        case Let(x, bound, body):
            return f"let {x} = {bound} in {body}", 0
        case Build(n, i, body):
            return f"build {n} (\\{i}. {body})", 3
        case Index(array, at):
            return f"{_text(array, 4)}[{', '.join(map(str, at))}]", 4
        case Sum(array):
            return f"sum {_text(array, 4)}", 3
        case Gather(shape, array, indices, at) if not at:
            return f"replicate {_shape(shape)} {_text(array, 4)}", 3
        case Gather(shape, array, indices, at) | Scatter(shape, array, indices, at):
            what = f"\\{' '.join(indices)}. {' '.join(_text(u, 4) for u in at)}"
            return f"{type(t).__name__.lower()} {_shape(shape)} {_text(array, 4)} ({what})", 3
    raise TypeError(f"no term: {t!r}")


def _shape(shape: Sequence[int]) -> str:
    return str(shape[0]) if len(shape) == 1 else f"({', '.join(map(str, shape))})"
