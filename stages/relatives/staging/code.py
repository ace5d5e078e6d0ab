r"""Generated code before it becomes text: what Wang et al. 2019 call pseudo LMS-IR (Fig. 14).

    statements ::= v = op(a1, .., an)                an operation of the table of primitives
                 | v = array[i]                      of a constant array: a number or an integer
                 | v = op(a1, .., an)                of tensors (tensors.py), and d += pullback k of op at !d'
                 | d = ref 0                         a cell for a cotangent
                 | d += p * !d'   | d += a           in the reverse pass; p: a partial derivative of op at a1, .., an
                 | if (called d) statements          those that read d, if something was added to it
                 | b = ref (a1, .., an)              a box of them: a cell of a program that is differentiated
                 | (n1, .., nm) = !b   | b := (a1, .., an)
                 | f = (x, d, ..) => statements      a function, which may call itself
                 | f(a1, .., an)                     a call; the statements after it wait for it to return
                 | if (a < b) statements else statements

An atom a is a name or a number. A name's first letter is its kind's: see `Kind`.
"""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dualrev.diagnostics.user_lines import where
from dualrev.eager.numbers.overload import Run

__all__ = [
    "Add",
    "Atom",
    "Block",
    "Box",
    "Call",
    "Called",
    "Cell",
    "Fun",
    "If",
    "Item",
    "Let",
    "LetTensor",
    "Load",
    "Name",
    "Pull",
    "Scaled",
    "StagingError",
    "Store",
    "free",
    "inner",
]


class StagingError(TypeError):
    """The program needs a value that is known only when the generated code runs."""


@dataclass(frozen=True, slots=True)
class Name:
    """A variable: its text, and its kind: "float", "int", "tensor", "cell", "box", or "function"."""

    text: str
    kind: str

    def unknown(self, *_: object) -> Any:
        """Refuse a request for the value, or for a comparison of values."""
        raise StagingError(
            f"the value of a number{where()} is not known while code is generated: if something depends on it, make"
            " that an argument that is not a real number, or use shift_reset, which runs the program again for each"
            " derivative. Numbers of an outer derivative by another algorithm have to be arguments, too"
        )

    __bool__ = __float__ = __int__ = __index__ = __trunc__ = __floor__ = __ceil__ = __round__ = unknown
    __lt__ = __le__ = __gt__ = __ge__ = unknown

    def mixed(self, *_: object) -> Any:
        """Refuse an operation on a name and a number of another derivative."""
        raise StagingError(
            f"a number of a derivative by another algorithm in a program that is generated{where()}: make it an"
            " argument of the function, or use stages.relatives.continuations.lantern for both"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = mixed
    __pow__ = __rpow__ = __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __neg__ = __abs__ = mixed


numbers.Real.register(Name)  # so that what wants a number asks for its value, and is told
Atom = Name | float | int


@dataclass(slots=True)
class Let:
    """name = op(arguments), for an operation of the table of primitives.

    `limit`: it is part of a partial derivative, which has IEEE's limit where Python's arithmetic raises.
    """

    name: Name
    op: str
    arguments: tuple[Atom, ...]
    limit: bool = False


@dataclass(slots=True)
class Item:
    """name = array[index], for an array argument of the whole program."""

    name: Name
    array: str
    index: Atom


@dataclass(slots=True)
class Cell:
    """name = ref 0, of this shape

    `unsure`: it may be that nothing is added to it. Then it starts with -0.0, which it is no more after an addition.
    """

    name: Name
    shape: tuple[int, ...] = ()
    unsure: bool = False


@dataclass(slots=True)
class Scaled:
    """d += p * !source, where p is the partial derivative of op with respect to argument k, and y the value."""

    cell: Name
    op: str
    k: int
    arguments: tuple[Atom, ...]
    y: Name
    source: Name


@dataclass(slots=True)
class LetTensor:
    """name = op(arguments), for an operation of tensors."""

    name: Name
    op: str
    arguments: tuple[Atom, ...]


@dataclass(slots=True)
class Pull:
    """d += the pullback of an operation of tensors by argument k, at !source; y is the operation's value."""

    cell: Name
    op: str
    k: int
    arguments: tuple[Atom, ...]
    y: Name
    source: Name


@dataclass(slots=True)
class Add:
    """d += atom; d += !cell where the atom is a cell, and d += atom * !cell with both."""

    cell: Name
    atom: Atom
    times: Name | None = None


@dataclass(slots=True)
class Box:
    """name = ref (held), of names and numbers"""

    name: Name
    held: tuple[Atom, ...]


@dataclass(slots=True)
class Load:
    """(names) = !box"""

    names: tuple[Name, ...]
    box: Name


@dataclass(slots=True)
class Store:
    """box := (held)"""

    box: Name
    held: tuple[Atom, ...]


@dataclass(slots=True)
class Fun:
    """name = (parameters) => body"""

    name: Name
    parameters: tuple[Name, ...]
    body: Block


@dataclass(slots=True)
class Call:
    """function(arguments)"""

    function: Name
    arguments: tuple[Atom, ...]


@dataclass(slots=True)
class If:
    """if (left symbol right) yes else no"""

    left: Atom
    symbol: str
    right: Atom
    yes: Block
    no: Block


@dataclass(slots=True)
class Called:
    """if (called cell) body: what reads an unsure cell, where 0 times an infinite partial derivative would be NaN."""

    cell: Name
    body: Block


Statement = Let | LetTensor | Item | Cell | Scaled | Pull | Add | Box | Load | Store | Fun | Call | If | Called


@dataclass(slots=True)
class Block:
    """Statements, one after the other."""

    statements: list[Statement] = field(default_factory=list)


class Code(Run):
    """The program that is being generated: the current block, and fresh names.

    `captured` maps names to numbers of an outer program that is being generated, too. `reached` has the cells that a
    statement adds to, or hands on; `sure` those of them that a statement of the cell's own block adds to, which runs
    whenever the block does. `homes` has the block of each cell.
    """

    def __init__(self) -> None:
        super().__init__()
        self.block, self.plain = Block(), False
        self.numbers = {kind: itertools.count() for kind in ("v", "d", "b", "k", "f", "t", "o")}
        self.captured: dict[Name, Any] = {}
        self.reached: set[Atom] = set()
        self.sure: set[Atom] = set()
        self.homes: dict[Atom, tuple[Block, Cell]] = {}

    def name(self, letter: str, kind: str) -> Name:
        """v0, v1, ..; d0, d1, ..; and so on"""
        return Name(f"{letter}{next(self.numbers[letter])}", kind)

    def write(self, *statements: Any) -> None:
        """Add statements to the block."""
        self.block.statements += statements
        for s in statements:
            match s:
                case Scaled(cell) | Pull(cell) | Add(cell):
                    self.reached.add(cell)
                    if cell in self.homes and self.homes[cell][0] is self.block:
                        self.sure.add(cell)
                case Call(_, atoms) | Box(_, atoms) | Store(_, atoms):
                    self.reached.update(atoms)

    def cell(self, shape: tuple[int, ...] = ()) -> Name:
        """d = ref 0"""
        d = self.name("d", "cell")
        made = Cell(d, shape)
        self.write(made)
        self.homes[d] = self.block, made
        return d

    def called(self, d: Name, make: Callable[[], Any]) -> None:
        """Write what reads the cell d: for an unsure cell, so that it runs only if something was added."""
        if d in self.sure:
            make()
            return
        self.homes[d][1].unsure = True
        self.write(Called(d, self.within(make)))

    def capture(self, u: Any, kind: str) -> Name:
        """The name of a number of an outer program."""
        for name, held in self.captured.items():
            if held is u:
                return name
        name = self.name("o", kind)
        self.captured[name] = u
        return name

    def within(self, make: Callable[[], Any]) -> Block:
        """The block that `make` writes."""
        outer, self.block = self.block, Block()
        try:
            make()
            return self.block
        finally:
            self.block = outer

    def without_cells(self, make: Callable[[], Any]) -> Any:
        """Run `make` without reverse steps: for a condition, which is evaluated outside of any continuation."""
        outer, self.plain = self.plain, True
        try:
            return make()
        finally:
            self.plain = outer

    def fun(self, letter: str, parameters: tuple[Name, ...], make: Callable[[Name], Any]) -> Name:
        """f = (parameters) => {the block that `make` writes}"""
        f = self.name(letter, "function")
        self.write(Fun(f, parameters, self.within(lambda: make(f))))
        return f


def inner(statement: object) -> tuple[Block, ...]:
    """The blocks inside a statement."""
    match statement:
        case Fun(_, _, body):
            return (body,)
        case If(_, _, _, yes, no):
            return yes, no
        case Called(_, body):
            return (body,)
    return ()


def free(block: Block) -> list[Name]:
    """The variables of a block that it does not bind, in the order of their first use."""
    bound: set[Name] = set()
    found: dict[Name, None] = {}
    for statement in block.statements:
        if isinstance(statement, Fun):
            bound.add(statement.name)
        for name in _used(statement):
            if name not in bound:
                found.setdefault(name)
        if isinstance(statement, (Let, LetTensor, Item, Cell, Box)):
            bound.add(statement.name)
        if isinstance(statement, Load):
            bound.update(statement.names)
    return list(found)


def _used(statement: object) -> Iterator[Name]:
    match statement:
        case Let(_, _, arguments) | LetTensor(_, _, arguments):
            yield from _names(*arguments)
        case Item(_, _, index):
            yield from _names(index)
        case Scaled(cell, _, _, arguments, y, source) | Pull(cell, _, _, arguments, y, source):
            yield from _names(cell, *arguments, y, source)
        case Add(cell, atom, times):
            yield from _names(cell, atom, times)
        case Box(_, held):
            yield from _names(*held)
        case Load(_, box):
            yield box
        case Store(box, held):
            yield from _names(box, *held)
        case Fun(_, parameters, body):
            yield from (name for name in free(body) if name not in parameters)
        case Call(function, arguments):
            yield from _names(function, *arguments)
        case If(left, _, right, yes, no):
            yield from _names(left, right)
            yield from free(yes)
            yield from free(no)
        case Called(cell, body):
            yield cell
            yield from free(body)


def _names(*atoms: object) -> Iterator[Name]:
    yield from (atom for atom in atoms if isinstance(atom, Name))
