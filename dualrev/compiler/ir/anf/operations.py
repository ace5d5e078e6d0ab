"""Operations of A-normal form: a frozen class for each, with a name for its result.

of a Python function           Copy Discrete OpaqueExpr BinOp ... MakeArray
of scalars and elements        Copy Discrete Prim Load View ViewExpr Alloc WholeArray, and the statement Call
(no tuples or lists; elementwise work has become loops)
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self, TypeAlias

from dualrev.compiler.ir.anf.atoms import Atom, Index, Ref
from dualrev.rules.primitives import Primitive

__all__ = [
    "Alloc",
    "AllocList",
    "AsList",
    "BinOp",
    "CallKnown",
    "CallMethod",
    "CallStarred",
    "CallUfunc",
    "CallUser",
    "Copy",
    "Discrete",
    "GetAttr",
    "GetItem",
    "InplaceOp",
    "Let",
    "Load",
    "MakeArray",
    "MakeList",
    "MakeObject",
    "MakeTuple",
    "OpaqueExpr",
    "Places",
    "Prim",
    "Star",
    "UnaryOp",
    "View",
    "ViewExpr",
    "WholeArray",
    "Window",
]

#: Numbers of the items of a nested list, nested as they are.
Places: TypeAlias = "list[int | Places]"


class Let:
    """Operation whose value is assigned to `target`; each operation is a class of its own.

    Operations are equal only to themselves, and never change: `on` and `dataclasses.replace` make others.
    """

    target: str
    line: int

    _operands: ClassVar[tuple[str, ...]] = ()  # the fields with an operand each, in order
    _others: ClassVar[str] = ""  # the field with any number of operands behind them

    @property
    def args(self) -> tuple[Any, ...]:  # atoms; arrays and lists are always names here
        """Operands: all atoms that the operation reads, but for those of an index."""
        fixed = tuple(map(self.__getattribute__, self._operands))
        return (*fixed, *getattr(self, self._others)) if self._others else fixed

    def on(self, *args: Atom, target: str = "") -> Self:
        """Return the same operation on other operands, as many as it has now where their number is fixed."""
        count = len(self._operands)
        fields: dict[str, Atom | tuple[Atom, ...]] = dict(zip(self._operands, args[:count], strict=True))
        if self._others:
            fields[self._others] = args[count:]
        else:
            assert len(args) == count, self
        return replace(self, **fields, target=target or self.target)  # type: ignore[type-var]

    def to(self, target: str) -> Self:
        """Return the same operation with another target."""
        return replace(self, target=target)  # type: ignore[type-var]


# Operations of a Python function


@dataclass(frozen=True, eq=False)
class Copy(Let):
    """Copy of an atom; of an array, another name."""

    target: str
    source: Atom
    line: int

    _operands = ("source",)


@dataclass(frozen=True, eq=False)
class Discrete(Let):
    """Expression that is not differentiated, such as a condition or an integer: Python, over the variables `names`."""

    target: str
    names: tuple[str, ...]
    tree: ast.expr
    line: int

    _others = "names"


@dataclass(frozen=True, eq=False)
class OpaqueExpr(Let):
    """Opaque expression over the variables `names`, unchanged by passes; `refusal` as in Opaque.

    A `pure` one has no effects; the effects of others are unknown. A `fixed` one does the same in another run.
    """

    target: str
    names: tuple[str, ...]
    tree: ast.expr
    refusal: tuple[str, str, str] | tuple[str, str, str, int]  # the last: a line
    line: int
    pure: bool = True
    fixed: bool = False

    _others = "names"


@dataclass(frozen=True, eq=False)
class BinOp(Let):
    """Operator of two operands, `left symbol right`; of arrays, element by element.

    One of scalars that are elements of arrays (`of_elements`) divides by zero without an error, as in numpy.
    """

    target: str
    symbol: str
    left: Atom
    right: Atom
    line: int
    of_elements: bool = False

    _operands = ("left", "right")


@dataclass(frozen=True, eq=False)
class InplaceOp(Let):
    """In-place operator, `target symbol= right`, where `left` is the target itself; it changes an array."""

    target: str
    symbol: str
    left: Atom
    right: Atom
    line: int

    _operands = ("left", "right")

    def binop(self, target: str = "") -> BinOp:
        """Return the operator of the same operands that changes nothing."""
        return BinOp(target or self.target, self.symbol, self.left, self.right, self.line)


@dataclass(frozen=True, eq=False)
class UnaryOp(Let):
    """Operator of one operand: `-`, `+` or `~`."""

    target: str
    symbol: str
    operand: Atom
    line: int

    _operands = ("operand",)


@dataclass(frozen=True, eq=False)
class GetItem(Let):
    """Item `base[index]` of an array, a tuple, a list or a dict.

    `unpacked` is the number of names in `u, v = base`, which has to have so many items; None for other items.
    """

    target: str
    base: Atom
    index: Index
    line: int
    unpacked: int | None = None

    _operands = ("base",)


@dataclass(frozen=True, eq=False)
class GetAttr(Let):
    """Attribute `base.name`."""

    target: str
    base: Atom
    name: str
    line: int

    _operands = ("base",)


@dataclass(frozen=True, eq=False)
class CallKnown(Let):
    """Call of a function that has a line in the table of functions: of numpy, of `math`, or a builtin.

    The last arguments are those that have a keyword.
    """

    target: str
    function: str
    arguments: tuple[Atom, ...]
    line: int
    keywords: tuple[str, ...] = ()

    _others = "arguments"


@dataclass(frozen=True, eq=False)
class CallMethod(Let):
    """Call of a method, `base.method(*arguments)`; the last arguments are those that have a keyword."""

    target: str
    base: Atom
    method: str
    arguments: tuple[Atom, ...]
    line: int
    keywords: tuple[str, ...] = ()

    _operands = ("base",)
    _others = "arguments"


@dataclass(frozen=True, eq=False)
class CallUser(Let):
    """Call of a numba function of the user's."""

    target: str
    function: Ref
    arguments: tuple[Atom, ...]
    line: int

    _others = "arguments"


@dataclass(frozen=True, eq=False)
class CallUfunc(Let):
    """Call of a ufunc that numba has made, with `vectorize` or `guvectorize`."""

    target: str
    function: Ref
    arguments: tuple[Atom, ...]
    line: int

    _others = "arguments"


@dataclass(frozen=True, eq=False)
class CallStarred(Let):
    """Call with unpacked tuples, `g(x, *t)`: another call when the lengths of the tuples are known."""

    target: str
    star: Star
    arguments: tuple[Atom, ...]
    line: int

    _others = "arguments"


@dataclass(frozen=True, eq=False)
class MakeTuple(Let):
    """Tuple of these items, a named one if it has a class."""

    target: str
    items: tuple[Atom, ...]
    line: int
    cls: Ref | None = None

    _others = "items"


@dataclass(frozen=True, eq=False)
class MakeObject(Let):
    """Instance of a jitclass."""

    target: str
    cls: Ref
    arguments: tuple[Atom, ...]
    line: int

    _others = "arguments"


@dataclass(frozen=True, eq=False)
class MakeList(Let):
    """List of these items."""

    target: str
    items: tuple[Atom, ...]
    line: int

    _others = "items"


@dataclass(frozen=True, eq=False)
class AllocList(Let):
    """List of a length, whose items are stored later; of length 0, an empty one, which may be numba's `typed` list."""

    target: str
    length: Atom
    line: int
    typed: bool = False

    _operands = ("length",)


@dataclass(frozen=True, eq=False)
class AsList(Let):
    """List of the items of an iterable that has no indices, as a set or a dict."""

    target: str
    iterable: Atom
    line: int

    _operands = ("iterable",)


@dataclass(frozen=True, eq=False)
class MakeArray(Let):
    """Array of these items, as `np.array` of a nested list; `places` are their numbers, nested as they are."""

    target: str
    items: tuple[Atom, ...]
    places: Places
    line: int
    dtype: tuple[Atom, ...] = ()  # one, or none

    @property
    def args(self) -> tuple[Atom, ...]:
        """Items and the dtype."""
        return self.items + self.dtype

    def on(self, *args: Atom, target: str = "") -> MakeArray:
        """Return an array of other items; the dtype is the last argument, if it has one."""
        count = len(args) - len(self.dtype)
        return replace(self, items=args[:count], dtype=args[count:], target=target or self.target)


# Operations on scalars and elements, which scalarize/lower.py makes of them


@dataclass(frozen=True, eq=False)
class Prim(Let):
    """Differentiable operation on scalars: a line of the table of primitives, as the program spells it.

    Those of elements (`of_elements`) divide by zero without an error, as in numpy.
    """

    target: str
    rule: Primitive
    spelling: str
    arguments: tuple[Atom, ...]
    line: int
    of_elements: bool = False

    _others = "arguments"


@dataclass(frozen=True, eq=False)
class Load(Let):
    """Load of an element, `array[index]`."""

    target: str
    array: Atom
    index: Index
    line: int

    _operands = ("array",)


@dataclass(frozen=True, eq=False)
class View(Let):
    """View of a part of an array, `array[index]`: it shares the array's memory."""

    target: str
    array: Atom
    index: Index
    line: int

    _operands = ("array",)


@dataclass(frozen=True, eq=False)
class ViewExpr(Let):
    """View of an array that an expression of BASE, the array, and of the variables `names` gives, as `BASE.T`."""

    target: str
    array: Atom
    names: tuple[str, ...]
    tree: ast.expr
    line: int

    _operands = ("array",)
    _others = "names"


@dataclass(frozen=True, eq=False)
class Window(Let):
    """View of the elements from `start` to `end` of a heap of lists, as a list of its own."""

    target: str
    array: Atom
    start: Atom
    end: Atom
    line: int

    _operands = ("array", "start", "end")


@dataclass(frozen=True, eq=False)
class Alloc(Let):
    """New array, which an expression of the variables `names` gives, as `np.zeros(n)`."""

    target: str
    names: tuple[str, ...]
    tree: ast.expr
    line: int

    _others = "names"


@dataclass(frozen=True, eq=False)
class WholeArray(Let):
    """Operation on whole arrays that has a rule of its own, as `np.dot`."""

    target: str
    function: str
    arguments: tuple[Atom, ...]
    line: int

    _others = "arguments"


@dataclass(frozen=True)
class Star:
    """Callee of a call with unpacked tuples, `g(x, *t)`, and how the arguments are bound to its parameters.

    It is a numba function, or a class of named tuples or of objects, as `makes` says, or a function of the table.
    `names` and `defaults` are its parameters; the table's functions have none here. `rest` is the last of them if it
    is `*rest`.
    """

    makes: type[CallUser] | type[MakeTuple] | type[MakeObject] | type[CallKnown]
    callee: Any  # a Ref, or the name of a function of the table
    stars: tuple[bool, ...]
    keywords: tuple[str, ...]
    names: tuple[str, ...]
    defaults: dict[str, Atom]
    rest: str = ""

    def call(self, target: str, args: tuple[Atom, ...], line: int) -> Let:
        """Return the operation `target = callee(*args)`, whose arguments stand in the parameters' order."""
        if self.makes is CallKnown:
            return CallKnown(target, self.callee, args, line, self.keywords)
        if self.makes is MakeTuple:
            return MakeTuple(target, args, line, self.callee)
        made = MakeObject if self.makes is MakeObject else CallUser
        return made(target, self.callee, args, line)

    def bound(
        self, atoms: list[Atom], refuse: Callable[[str], NoReturn], packed: Callable[[list[Atom]], Atom]
    ) -> list[Atom]:
        """Bind arguments to parameters, in the parameters' order; the last atoms are the keyword arguments.

        `packed` makes a tuple of those that `*rest` takes.
        """
        count = len(atoms) - len(self.keywords)
        more = dict(zip(self.keywords, atoms[count:], strict=True))
        if self.rest:
            own = len(self.names) - 1
            atoms = [*atoms[: min(own, count)], *[None] * (own - count), packed(atoms[own:count])]  # type: ignore[list-item]
            count = len(atoms)
        given = {name: x for name, x in zip(self.names, atoms[:count], strict=False) if x is not None}
        if count > len(self.names) or set(more) - set(self.names) or set(more) & set(given):
            refuse("it has other parameters")
        found = {**self.defaults, **given, **more}
        for name in self.names:
            if name not in found:
                refuse(f"the argument {name} is missing")
        return [found[name] for name in self.names]
