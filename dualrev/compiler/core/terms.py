"""The typed core: what a numba function becomes, and what every derivative of it is made of.

A function is a list of statements over variables. A variable is an object with a numba type, not a name: two variables
never clash, whatever they are called (naming.py chooses what is printed). It may be assigned many times.

    atoms        a ::= x | constant | global
    expressions  e ::= a | op e .. | e < e <= .. | e and .. | e if e else e | f(e, .., k=e) | e.m(e, ..) | e.field
                     | e[i, ..] | (e, ..)                            nothing in an expression is differentiated
    indices      i ::= e | e:e:e | ... | None
    statements   s ::= x = a                        Copy             x = e                          Discrete
                     | x = p(a, ..)                 Real             a line of the table of primitives, or SCALED
                     | x = y[i, ..]                 Load             a scalar
                     | y[i, ..] = a, +=, -=         Store
                     | y = view of z                View             y = new array                  Make
                     | x = dot(y, z), min, max(y)   Whole            of whole arrays
                     | x, .. = f(a, (a, ..), ..)    Call             of another numba function, or one that a
                                                                     transformation has made (program.py)
                     | if a: s .. else: s ..        If
                     | for x in range(a, a, a): s .. (ends after a round that has set one of `exits`)      For
                     | while (s ..; a): s ..        (the same)       While
                     | raise, print, assert         Effect

What reverse mode adds (transforms/reverse.py): memory between the sweeps, last in, first out.

    statements   s ::= push a, ..  | pop x, ..      Push, Pop        numbers on the tape
                     | keep y      | y = kept       Keep, Kept       arrays on the tape, with a reference
                     | y = hold z                   Hold             z, which the tape holds as long as the call
                     | room for n words * rounds    Reserve          so that the pushes in a loop need not look
                     | y += f(a, ..)                Accumulate       of whole arrays

Real scalars and elements of real arrays are differentiated; ints, bools and what is in expressions are not. Nodes are
compared by what they are made of, statements and variables by identity; none of them is ever changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any, TypeAlias

from dualrev.rules.primitives import Primitive

__all__ = [
    *[
        "Accumulate",
        "Applied",
        "Atom",
        "Block",
        "Call",
        "Choice",
        "Comparison",
        "Constant",
        "Copy",
        "Discrete",
        "Effect",
        "Expr",
        "Field",
    ],
    *[
        "For",
        "Function",
        "Global",
        "If",
        "Index",
        "Item",
        "Load",
        "Logical",
        "Make",
        "Method",
        "Node",
        "Operator",
        "Pack",
    ],
    *["Hold", "Keep", "Kept", "Pop", "Push", "Real", "Reserve", "SCALED", "Span", "Statement", "Store", "Symbol"],
    *["Tree", "Var", "View", "While", "Whole"],
]


# Atoms


@dataclass(frozen=True, eq=False)
class Var:
    """A variable; `name` is what people may call it, with {} for the name of the variable that it belongs to.

    {k} is a number that makes it different from others. An intermediate value is called `_`.
    """

    name: str
    type: Any  # of numba
    of: Var | None = None

    def __repr__(self) -> str:
        of = repr(self.of).lstrip("_") if self.of is not None else ""
        return self.name.format(of, k="").rstrip("_") or "_"


@dataclass(frozen=True)
class Constant:
    """A number, a bool, a string or None."""

    value: Any
    type: Any = field(compare=False, default=None)

    def __hash__(self) -> int:
        return hash((type(self.value), repr(self.value)))

    def __eq__(self, other: object) -> bool:  # 1, 1.0 and True are different constants; NaN is equal to itself
        return isinstance(other, Constant) and (type(self.value), repr(self.value)) == (
            type(other.value),
            repr(other.value),
        )


@dataclass(frozen=True)
class Global:
    """A function, a class or a frozen array of the user's program; `path` leads to it from the function."""

    name: str
    value: Any = field(compare=False, repr=False)
    path: tuple[Any, ...]
    type: Any = field(compare=False, default=None)


@dataclass(frozen=True, eq=False)
class Symbol:
    """A function that a transformation has made: a Program knows its terms. `name` is what people may call it."""

    name: str

    def __repr__(self) -> str:
        return self.name


Atom: TypeAlias = Var | Constant | Global

#: a * b, where a known 0 of b takes no part: 0 then, whatever a is. For tangents, whose factors may be infinite or NaN.
SCALED = Primitive("scaled", "a * b if b != 0.0 else 0.0", ("b", "a"), ((-3.0, 3.0), (-3.0, 3.0)), cheap=True)


# Expressions


@dataclass(frozen=True)
class Operator:
    """A unary or binary operator of ints and bools; `symbol` is Python's."""

    symbol: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Comparison:
    """args[0] symbols[0] args[1] symbols[1] args[2] ..."""

    symbols: tuple[str, ...]
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Logical:
    """`and` or `or`, from left to right; what decides ends it."""

    symbol: str
    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Choice:
    """`then` if `test` else `orelse`."""

    test: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True)
class Applied:
    """A function of Python, math, numpy or the runtime, by its dotted name; or a named tuple's class."""

    function: str | Global
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True)
class Method:
    """base.name(*args, **keywords)."""

    base: Expr
    name: str
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True)
class Field:
    """base.name: shape, size, ndim, T."""

    base: Expr
    name: str


@dataclass(frozen=True)
class Item:
    """base[index]."""

    base: Expr
    index: tuple[Index, ...]


@dataclass(frozen=True)
class Pack:
    """A tuple, or a list if `listed`."""

    args: tuple[Expr, ...]
    listed: bool = False


@dataclass(frozen=True)
class Span:
    """lower:upper:step; None where nothing is written."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None


Expr: TypeAlias = Atom | Operator | Comparison | Logical | Choice | Applied | Method | Field | Item | Pack
Index: TypeAlias = Expr | Span | EllipsisType | None


@dataclass(frozen=True)
class Node:
    """A tuple among arguments or results, of the class `cls` if it is a named one."""

    parts: tuple[Tree, ...]
    cls: Global | None = None


Tree: TypeAlias = Atom | Node


# Statements


@dataclass(frozen=True, eq=False)
class Copy:
    """target = source: a scalar, or another name for an array."""

    target: Var
    source: Atom
    line: int


@dataclass(frozen=True, eq=False)
class Discrete:
    """target = an expression that has no derivative.

    What is `repeated` has been computed before with the same operands: a division by zero would have raised then.
    """

    target: Var
    value: Expr
    line: int
    repeated: bool = False


@dataclass(frozen=True, eq=False)
class Real:
    """target = a line of the table; `spelling` is the operator or the function that the user wrote.

    A division by zero raises if it is `checked`.
    """

    target: Var
    rule: Primitive
    spelling: str
    args: tuple[Atom, ...]
    line: int
    checked: bool = False


@dataclass(frozen=True, eq=False)
class Load:
    """target = array[index], a scalar."""

    target: Var
    array: Var | Global
    index: tuple[Index, ...]
    line: int


@dataclass(frozen=True, eq=False)
class Store:
    """array[index] op value, where op is =, += or -=: the only statement that changes memory, with Call.

    With the index ... and an array for the value, that of all elements: reverse mode brings them back so.
    """

    array: Var
    index: tuple[Index, ...]
    value: Atom
    line: int
    op: str = "="


@dataclass(frozen=True, eq=False)
class View:
    """target = an expression of `base` that shares its memory; `repeated` as in Discrete."""

    target: Var
    base: Var | Global
    value: Expr
    line: int
    repeated: bool = False


@dataclass(frozen=True, eq=False)
class Make:
    """target = an expression that is a new array, and depends on no real number."""

    target: Var
    value: Expr
    line: int


@dataclass(frozen=True, eq=False)
class Whole:
    """target = np.dot(a, b), np.min(a) or np.max(a)."""

    target: Var
    function: str
    args: tuple[Atom, ...]
    line: int


@dataclass(frozen=True, eq=False)
class Call:
    """targets = function(*args); the targets are the leaves of `result`, which is a tree.

    A function that uses the `tape` gets that of its caller.
    """

    targets: tuple[Var, ...]
    function: Global | Symbol
    args: tuple[Tree, ...]
    result: Tree
    line: int
    tape: bool = False


@dataclass(frozen=True, eq=False)
class If:
    """A branch."""

    test: Atom
    then: tuple[Statement, ...]
    orelse: tuple[Statement, ...]
    line: int


@dataclass(frozen=True, eq=False)
class For:
    """A loop over range(start, stop, step); it ends after a round that has set one of `exits`."""

    target: Var
    start: Atom
    stop: Atom
    step: Atom
    body: tuple[Statement, ...]
    exits: tuple[Var, ...]
    line: int


@dataclass(frozen=True, eq=False)
class While:
    """A loop with a condition, which `before` computes and which has no effects."""

    before: tuple[Statement, ...]
    test: Atom
    body: tuple[Statement, ...]
    exits: tuple[Var, ...]
    line: int


@dataclass(frozen=True, eq=False)
class Effect:
    """raise or print: `text` with atoms in braces."""

    text: str
    args: tuple[Atom, ...]
    raises: bool
    line: int


# Memory between the sweeps


@dataclass(frozen=True, eq=False)
class Push:
    """The values go to the tape, from where a Pop takes them; `room` says that they may not fit."""

    values: tuple[Atom, ...]
    line: int
    room: bool = True


@dataclass(frozen=True, eq=False)
class Pop:
    """The variables get the values of a Push, in its order."""

    targets: tuple[Var, ...]
    line: int


@dataclass(frozen=True, eq=False)
class Keep:
    """An array goes to the tape."""

    array: Var
    line: int


@dataclass(frozen=True, eq=False)
class Kept:
    """target = the array of a Keep."""

    target: Var
    line: int


@dataclass(frozen=True, eq=False)
class Hold:
    """target = source, an array that the tape holds in this slot as long as the derivative runs."""

    target: Var
    source: Var
    slot: int
    line: int


@dataclass(frozen=True, eq=False)
class Reserve:
    """Room on the tape for the pushes of every round of a loop over range(start, stop, step)."""

    pushes: tuple[tuple[Atom, ...], ...]
    start: Atom
    stop: Atom
    step: Atom
    line: int


@dataclass(frozen=True, eq=False)
class Accumulate:
    """array += function(*args): the reverse of operations on whole arrays."""

    array: Var
    function: str
    args: tuple[Atom, ...]
    line: int


Statement: TypeAlias = (
    Copy
    | Discrete
    | Real
    | Load
    | Store
    | View
    | Make
    | Whole
    | Call
    | If
    | For
    | While
    | Effect
    | Push
    | Pop
    | Keep
    | Kept
    | Hold
    | Reserve
    | Accumulate
)
Block: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Function:
    """A function: trees of parameters, statements, and a tree of the result."""

    name: str
    parameters: tuple[Tree, ...]
    body: tuple[Statement, ...]
    result: Tree
    checked: bool  # whether a division of ints by zero raises, as in numba's usual error model
    origin: Any = None  # the user's function that it was made from, as the front end knows it
    tape: bool = False  # whether it uses the tape of its caller
    again: bool = False  # whether its reverse sweep runs it again, in place of recording
    opaque: bool = False  # whether its body says nothing but types: what it computes is known to numba only
    doc: str = ""  # what it computes, if a transformation has made it
