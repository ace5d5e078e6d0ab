"""A-normal form (ANF): the IR that a numba function is lowered to and expanded in; anf_to_core.py types it.

A function in A-normal form. An atom is the name of a variable or a constant; every operation has atoms for arguments
and a name for its result, so that numba can tell the type of every intermediate value.

    block      a list of statements
    Let        target = op(args)          one operation; `info` says more, depending on op
    Store      array[index] = value       the only statement that changes memory, with Call
    If         if test: then else: orelse
    For        for target in range(start, stop, step): body
    While      while (test_block; test): body
    Effect     raise, print: what happens in the forward sweep only
    Opaque     statements of Python, which stay as they are: no derivative goes through them

There is no break, continue or early return: to_anf.py has turned them into flags, and a loop ends after the iteration
that has set one of its `exits`. A variable may be assigned many times.

Operations:

    of a Python function           Copy Discrete OpaqueExpr BinOp ... MakeArray
    of scalars and elements        Copy Discrete Prim Load View ViewExpr Alloc WholeArray, and Call
                                   (no tuples or lists; elementwise work has become loops)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from dualrev.compiler.types.aliases import AccessPath, NumbaType

__all__ = [
    *[
        "Alloc",
        "AllocList",
        "AsList",
        "Atom",
        "BinOp",
        "Call",
        "CallKnown",
        "CallMethod",
        "CallStarred",
        "CallUfunc",
        "CallUser",
        "Const",
        "Copy",
        "Discrete",
        "Effect",
        "For",
        "GetAttr",
        "GetItem",
        "If",
        "Index",
        "InplaceOp",
        "Let",
        "Load",
        "MakeArray",
        "MakeList",
        "MakeObject",
        "MakeTuple",
        "Member",
        "Node",
        "Opaque",
        "OpaqueExpr",
        "Prim",
        "Ref",
        "Slice",
        "Star",
        "Stmt",
        "Store",
        "UnaryOp",
        "View",
        "ViewExpr",
        "While",
        "WholeArray",
        "Window",
    ],
    *["blocks", "ends", "index_atoms", "leaves", "reads", "walk", "writes"],
]


@dataclass(frozen=True)
class Const:
    """A literal constant: a number, a bool, None or a string."""

    value: Any


@dataclass(frozen=True)
class Member(Const):
    """Field name of a store `x.value = y`, as the only entry of its index."""


@dataclass(frozen=True)
class Ref:
    """A global that dispatcher.py binds in the emitted module: a function or a frozen array of the user's program.

    `path` leads from the differentiated function to the value: dispatcher.py follows it.
    """

    name: str
    value: Any = field(compare=False, repr=False)
    path: AccessPath = ()


Atom = str | Const | Ref


@dataclass(frozen=True)
class Slice:
    """A slice `lower:upper:step` in an index; None for an omitted part."""

    lower: Atom | None
    upper: Atom | None
    step: Atom | None

    def atoms(self) -> list[Atom]:
        """Atoms of the parts that are not omitted."""
        return [x for x in (self.lower, self.upper, self.step) if x is not None]


Index = tuple[Any, ...]  # of Atom, Slice, Ellipsis and None


class Let:
    """Operation whose value is assigned to `target`; each operation is a class of its own.

    Operations are equal only to themselves, and never change: `on` and `dataclasses.replace` make others.
    """

    target: str
    line: int

    _operands: ClassVar[tuple[str, ...]] = ()  # the fields with an operand each, in order
    _others: ClassVar[str] = ""  # the field with any number of operands behind them

    @property
    def args(self) -> tuple[Any, ...]:
        """Operands: all atoms that the operation reads, but for those of an index."""
        fixed = tuple(getattr(self, x) for x in self._operands)
        return fixed + tuple(getattr(self, self._others)) if self._others else fixed

    def on(self, *args: Any, target: str = "") -> Self:
        """Return the same operation on other operands, as many as it has now where their number is fixed."""
        count = len(self._operands)
        fields: dict[str, Any] = dict(zip(self._operands, args[:count], strict=True))
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
    places: list[Any]
    line: int
    dtype: tuple[Atom, ...] = ()  # one, or none

    @property
    def args(self) -> tuple[Any, ...]:
        """Items and the dtype."""
        return self.items + self.dtype

    def on(self, *args: Any, target: str = "") -> MakeArray:
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
    rule: Any
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
    names: tuple[Any, ...]
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


# Other statements


@dataclass(frozen=True, eq=False)
class Store:
    """Store `array[index] op value`, where `op` is `=`, `+=` or `-=`."""

    array: str
    index: Index
    value: Atom
    line: int
    op: str = "="


@dataclass(frozen=True, eq=False)
class If:
    """Branch on a condition."""

    test: Atom
    then: list[Any]
    orelse: list[Any]
    line: int


@dataclass(frozen=True, eq=False)
class For:
    """Loop over `range(start, stop, step)`, which ends early after an iteration that has set one of `exits`.

    A `parallel` loop is over prange: the user says that its iterations may run at the same time. Or it is over
    `elements` of arrays, which numba runs so.
    """

    target: str
    start: Atom
    stop: Atom
    step: Atom
    body: list[Any]
    exits: list[str]
    line: int
    parallel: bool = False
    elements: bool = False


@dataclass(frozen=True, eq=False)
class While:
    """Loop with a condition, which `test_block` computes without effects."""

    test_block: list[Any]
    test: Atom
    body: list[Any]
    exits: list[str]
    line: int


@dataclass(frozen=True, eq=False)
class Effect:
    """Effect of the forward sweep: `raise` or `print`, as text with atoms in braces; `assert` is an If with a raise."""

    text: str
    args: tuple[Atom, ...]
    line: int
    raises: bool = False


@dataclass(frozen=True, eq=False)
class Opaque:
    """Opaque Python statements over renamed variables: they read `args` and assign `targets`; nodes.py says more."""

    targets: list[str]
    args: tuple[str, ...]
    code: list[ast.stmt]
    line: int
    changes: bool
    unknown: bool
    refusal: tuple[str, str, str] | tuple[str, str, str, int]  # the last: a line


@dataclass(frozen=True, eq=False)
class Call:
    """Call of another numba function in expanded core: `targets = function(*args)`.

    `args` are trees: an atom, or a Node of trees; `targets` are the leaves of the result from left to right.
    """

    targets: list[str]
    function: Ref
    args: list[Any]
    result: Any  # the tree of the result, with the targets as leaves
    line: int
    types: tuple[Any, ...] | None = None  # of the arguments, where there are complex numbers, which are tuples here


@dataclass(frozen=True)
class Node:
    """A tuple or an object's leaves in expanded core: its parts, and the class of a named tuple."""

    parts: tuple[Any, ...]
    cls: Ref | None = None
    kind: NumbaType = field(default=None, compare=False)  # the type of the object whose leaves these are: leaves.py


def leaves(tree: Any) -> list[Any]:
    """Return the atoms of a tree."""
    if isinstance(tree, Node):
        return [x for part in tree.parts for x in leaves(part)]
    return [tree]


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
        self, atoms: list[Atom], refuse: Callable[[str], Any], packed: Callable[[list[Atom]], Atom]
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


Stmt = Let | Store | Call | If | For | While | Effect | Opaque


def blocks(s: Any) -> list[list[Any]]:
    """Return the blocks directly inside a statement."""
    if isinstance(s, If):
        return [s.then, s.orelse]
    if isinstance(s, For):
        return [s.body]
    if isinstance(s, While):
        return [s.test_block, s.body]
    return []


def walk(block: list[Any]) -> Iterator[Any]:
    """Walk the statements of a block in program order, nested ones after their owner."""
    for s in block:
        yield s
        for inner in blocks(s):
            yield from walk(inner)


def index_atoms(index: Index) -> list[Atom]:
    """Return the atoms in an index."""
    atoms: list[Atom] = []
    for entry in index:
        if isinstance(entry, Slice):
            atoms.extend(entry.atoms())
        elif entry is not None and entry is not Ellipsis:
            atoms.append(entry)
    return atoms


def reads(s: Any) -> list[Atom]:
    """Return the atoms that a statement itself reads (not the ones its blocks read)."""
    if isinstance(s, Let):
        atoms = list(s.args)
        if isinstance(s, (GetItem, Load, View)):
            atoms += index_atoms(s.index)
        return atoms
    if isinstance(s, Store):
        return [s.array, *index_atoms(s.index), s.value]
    if isinstance(s, If):
        return [s.test]
    if isinstance(s, For):
        return [s.start, s.stop, s.step]
    if isinstance(s, (Effect, Opaque)):
        return list(s.args)
    if isinstance(s, Call):
        return [x for arg in s.args for x in leaves(arg)]
    return []


def ends(s: Any) -> list[Atom]:
    """Return the atoms that end a loop: its exit flags, and the condition of a While, which the loop computes."""
    if isinstance(s, While):
        return [s.test, *s.exits]
    return list(s.exits) if isinstance(s, For) else []


def writes(s: Any) -> list[str]:
    """Return the variables that a statement itself assigns."""
    if isinstance(s, (Let, For)):
        return [s.target]
    return list(s.targets) if isinstance(s, (Call, Opaque)) else []
