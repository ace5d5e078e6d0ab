"""Atoms, expressions, indices and trees of typed core; nodes.py has its statements.

Nothing in an expression is differentiated. Nodes are compared by what they are made of, variables by identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import EllipsisType
from typing import TypeAlias

from dualrev.compiler.types.aliases import AccessPath, NumbaType, UserValue
from dualrev.rules.primitives import Primitive

__all__ = [
    *["Applied", "Atom", "Choice", "Comparison", "Constant", "Expr", "Field", "Global"],
    *["Index", "Item", "Logical", "Method", "Node", "Operator", "Pack", "SCALED"],
    *["Span", "Symbol", "Tree", "Var"],
]


# Atoms


@dataclass(frozen=True, eq=False)
class Var:
    """A typed variable; `name` is a template for printing, with {} for the name of the variable `of`.

    {k} is a number that makes it different from others. An intermediate value is called `_`.
    """

    name: str
    type: NumbaType
    of: Var | None = None

    def __repr__(self) -> str:
        of = repr(self.of).lstrip("_") if self.of is not None else ""
        return self.name.format(of, k="").rstrip("_") or "_"


@dataclass(frozen=True)
class Constant:
    """A constant: a number, a bool, a string or None."""

    value: UserValue
    type: NumbaType = field(compare=False, default=None)

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value)))

    def __eq__(self, other: object) -> bool:  # 1, 1.0 and True are different constants; NaN is equal to itself
        return isinstance(other, Constant) and (type(self.value), repr(self.value)) == (
            type(other.value),
            repr(other.value),
        )


@dataclass(frozen=True)
class Global:
    """A function, class or frozen array of the user's program; `path` leads to it from the function."""

    name: str
    value: UserValue = field(compare=False, repr=False)
    path: AccessPath
    type: NumbaType = field(compare=False, default=None)


@dataclass(frozen=True, eq=False)
class Symbol:
    """A function that a transformation has made, defined in a Program. `name` is for printing."""

    name: str

    def __repr__(self) -> str:
        return self.name


Atom: TypeAlias = Var | Constant | Global

#: a * b, where a known 0 of b takes no part: 0 then, whatever a is. For tangents, whose factors may be infinite or NaN.
SCALED = Primitive("scaled", "a * b if b != 0.0 else 0.0", ("b", "a"), ((-3.0, 3.0), (-3.0, 3.0)), cheap=True)


# Expressions


@dataclass(frozen=True)
class Operator:
    """Unary or binary operator of ints and bools; `symbol` is Python's."""

    symbol: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Comparison:
    """Chained comparison `args[0] symbols[0] args[1] symbols[1] args[2] ...`."""

    symbols: tuple[str, ...]
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Logical:
    """Short-circuit `and` or `or`, from left to right."""

    symbol: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Choice:
    """Conditional expression `then if test else orelse`."""

    test: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True)
class Applied:
    """Application of a Python, math, numpy or runtime function by its dotted name; or of a named tuple's class."""

    function: str | Global
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True)
class Method:
    """Method call `base.name(*args, **keywords)`."""

    base: Expr
    name: str
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True)
class Field:
    """Attribute `base.name`: shape, size, ndim, T."""

    base: Expr
    name: str


@dataclass(frozen=True)
class Item:
    """Subscript `base[index]`."""

    base: Expr
    index: tuple[Index, ...]


@dataclass(frozen=True)
class Pack:
    """Tuple display, or a list if `listed`."""

    args: tuple[Expr, ...]
    listed: bool = False


@dataclass(frozen=True)
class Span:
    """Slice `lower:upper:step`; None for an omitted part."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


Expr: TypeAlias = Atom | Operator | Comparison | Logical | Choice | Applied | Method | Field | Item | Pack
Index: TypeAlias = Expr | Span | EllipsisType | None


@dataclass(frozen=True)
class Node:
    """Tuple among arguments or results, of the class `cls` if it is a named one.

    Or the leaves of an object of a `kind`: leaves.py.
    """

    parts: tuple[Tree, ...]
    cls: Global | None = None
    kind: NumbaType = field(default=None, compare=False)


Tree: TypeAlias = Atom | Node
