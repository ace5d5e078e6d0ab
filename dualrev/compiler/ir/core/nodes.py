"""Typed core, the IR of all transformations: its statements and functions.

A numba function becomes core, and every derivative of it is core.

A function is a list of statements over variables. A variable is an object with a numba type, not a name: two variables
never clash, whatever they are called (ir/names.py chooses what is printed). It may be assigned many times.

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
                     | for x in range(a, a, a): s .. (ends after an iteration that has set one of `exits`)      For
                     | while (s ..; a): s ..        (the same)       While
                     | raise, print                 Effect
                     | barrier y, ..                Barrier         other threads of a CUDA block read and write y
                     | statements of Python         Opaque          as the user wrote them; no derivative goes through

What reverse mode adds (ad/reverse/reverse_driver.py): memory between the sweeps, last in, first out.

    statements   s ::= push a, ..  | pop x, ..      Push, Pop        numbers on the tape
                     | keep y      | y = kept       Keep, Kept       arrays on the tape, with a reference
                     | y = hold z                   Hold             z, which the tape holds as long as the call
                     | room for n words * iterations    Reserve          so that the pushes in a loop need not look
                     | columns y, .. | take y, ..   Columns          arrays in the tape, an element for each iteration
                     | y += f(a, ..)                Accumulate       of whole arrays

Real scalars and elements of real arrays are differentiated; ints, bools and what is in expressions are not. Nodes are
compared by what they are made of, statements and variables by identity; none of them is ever changed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TypeAlias

from dualrev.compiler.ir.core.atoms import Atom, Expr, Global, Index, Symbol, Tree, Var
from dualrev.compiler.types.aliases import UserValue
from dualrev.rules.primitives import Primitive

__all__ = [
    *["Accumulate", "Barrier", "Block", "Call", "Columns", "Copy", "Discrete", "Effect", "For", "Function"],
    *["Hold", "If", "Keep", "Kept", "Load", "Make", "Opaque", "Pop", "Push"],
    *["Real", "Reserve", "Statement", "Store", "View", "While", "Whole"],
]


# Statements


@dataclass(frozen=True, eq=False)
class Copy:
    """Copy `target = source`: a scalar, or another name for an array."""

    target: Var
    source: Atom
    line: int


@dataclass(frozen=True, eq=False)
class Discrete:
    """Evaluate an expression without a derivative: `target = value`.

    What is `repeated` has been computed before with the same operands: a division by zero would have raised then.
    """

    target: Var
    value: Expr
    line: int
    repeated: bool = False


@dataclass(frozen=True, eq=False)
class Real:
    """Apply a primitive: `target = rule(args)`; `spelling` is the user's operator or function.

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
    """Load a scalar: `target = array[index]`."""

    target: Var
    array: Var | Global
    index: tuple[Index, ...]
    line: int


@dataclass(frozen=True, eq=False)
class Store:
    """Store `array[index] op value`, where `op` is `=`, `+=` or `-=`; only stores and calls write memory.

    With the index `...` and an array as the value, it stores all elements: reverse mode restores them so.
    """

    array: Var
    index: tuple[Index, ...]
    value: Atom
    line: int
    op: str = "="


@dataclass(frozen=True, eq=False)
class View:
    """Take a view: `target` is an expression of `base` that shares its memory; `repeated` as in Discrete."""

    target: Var
    base: Var | Global
    value: Expr
    line: int
    repeated: bool = False


@dataclass(frozen=True, eq=False)
class Make:
    """Allocate an array: `target` is a new array, of no real operands but for `np.copy` in the sweeps."""

    target: Var
    value: Expr
    line: int


@dataclass(frozen=True, eq=False)
class Whole:
    """Apply a whole-array operation: `target` is `np.dot(a, b)`, `np.min(a)` or `np.max(a)`."""

    target: Var
    function: str
    args: tuple[Atom, ...]
    line: int


@dataclass(frozen=True, eq=False)
class Call:
    """Call `targets = function(*args)`; the targets are the leaves of the tree `result`.

    A function that uses the `tape` gets that of its caller. In sweeps, the call is made for one `of` the function that
    they belong to: so the two calls that stand for it know each other.
    """

    targets: tuple[Var, ...]
    function: Global | Symbol
    args: tuple[Tree, ...]
    result: Tree
    line: int
    tape: bool = False
    of: Call | None = None


@dataclass(frozen=True, eq=False)
class If:
    """Branch on a condition."""

    test: Atom
    then: tuple[Statement, ...]
    orelse: tuple[Statement, ...]
    line: int


@dataclass(frozen=True, eq=False)
class For:
    """Loop over `range(start, stop, step)`; it ends early after an iteration that has set one of `exits`.

    The iterations of a `parallel` loop may run at the same time, but for what they add up (parallel/dependence.py). It
    means the same as the sequential loop. A loop over `elements` of arrays was not written as a loop.
    """

    target: Var
    start: Atom
    stop: Atom
    step: Atom
    body: tuple[Statement, ...]
    exits: tuple[Var, ...]
    line: int
    parallel: bool = False
    elements: bool = False


@dataclass(frozen=True, eq=False)
class While:
    """Loop with a condition, which `before` computes without effects."""

    before: tuple[Statement, ...]
    test: Atom
    body: tuple[Statement, ...]
    exits: tuple[Var, ...]
    line: int


@dataclass(frozen=True, eq=False)
class Effect:
    """Effect of the forward sweep: `raise` or `print`, as `text` with atoms in braces."""

    text: str
    args: tuple[Atom, ...]
    raises: bool
    line: int


@dataclass(frozen=True, eq=False)
class Barrier:
    """Barrier of the threads of a CUDA block: from here on, each thread sees what the others stored into `arrays`."""

    arrays: tuple[Var, ...]
    line: int


@dataclass(frozen=True, eq=False)
class Opaque:
    """Opaque Python statements, unchanged but for their names; no derivative passes through them.

    They are executed in the forward sweep, and never again in the reverse sweep. `inputs` and `outputs` are the names
    in `code` with what they stand for. `changes` says that inputs may change, and `unknown` that another run may do
    something else. `refusal` is what is said if a derivative would have to go through, or `because`, what was raised
    when the function that is called was read.
    """

    outputs: tuple[tuple[str, Var], ...]
    inputs: tuple[tuple[str, Atom], ...]
    code: tuple[ast.stmt, ...]
    changes: bool
    unknown: bool
    refusal: tuple[str, str, str] | tuple[str, str, str, int]  # the last: a line
    line: int
    because: Exception | None = None

    @property
    def targets(self) -> tuple[Var, ...]:
        """Variables that it assigns."""
        return tuple(x for _, x in self.outputs)


# Memory between the sweeps


@dataclass(frozen=True, eq=False)
class Push:
    """Push values on the tape, for a Pop; `room` says that they may not fit."""

    values: tuple[Atom, ...]
    line: int
    room: bool = True


@dataclass(frozen=True, eq=False)
class Pop:
    """Pop the values of a Push, in its order."""

    targets: tuple[Var, ...]
    line: int


@dataclass(frozen=True, eq=False)
class Keep:
    """Push an array on the tape, with a reference to it."""

    array: Var
    line: int


@dataclass(frozen=True, eq=False)
class Kept:
    """Pop the array of a Keep: `target = kept`."""

    target: Var
    line: int


@dataclass(frozen=True, eq=False)
class Hold:
    """Hold an array in a slot of the tape for the whole run of the derivative: `target = source`."""

    target: Var
    source: Var
    slot: int
    line: int


@dataclass(frozen=True, eq=False)
class Reserve:
    """Reserve tape for the pushes of every iteration of a loop over `range(start, stop, step)`."""

    pushes: tuple[tuple[Atom, ...], ...]
    start: Atom
    stop: Atom
    step: Atom
    line: int


@dataclass(frozen=True, eq=False)
class Columns:
    """Allocate arrays on the tape, with an element for each iteration of a loop over `range(start, stop, step)`.

    The forward sweep makes them. In the reverse sweep they are `taken`: the tape ends where they begin.
    """

    targets: tuple[Var, ...]
    start: Atom
    stop: Atom
    step: Atom
    line: int
    taken: bool = False


@dataclass(frozen=True, eq=False)
class Accumulate:
    """Accumulate `array += function(*args)`: the adjoint of a whole-array operation."""

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
    | Barrier
    | Opaque
    | Push
    | Pop
    | Keep
    | Kept
    | Hold
    | Reserve
    | Columns
    | Accumulate
)
Block: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True, eq=False)
class Function:
    """A function: trees of parameters, a body of statements, and a tree of the result."""

    name: str
    parameters: tuple[Tree, ...]
    body: tuple[Statement, ...]
    result: Tree
    checked: bool  # whether a division of ints by zero raises, as in numba's usual error model
    origin: UserValue = None  # the user's function that it was made from, as the front end knows it
    tape: bool = False  # whether it uses the tape of its caller
    again: bool = False  # whether its reverse sweep runs it again, in place of recording
    opaque: bool = False  # whether its body says nothing but types: what it computes is known to numba only
    checking: bool = False  # whether it checks what the user's function does not, so that it is called in its place
    doc: str = ""  # what it computes, if a transformation has made it
    together: tuple[tuple[Var, ...], ...] = ()  # parameters that may share memory, where that is known of all calls
    marked: bool = False  # whether its tangents, and then its cotangents, mark known zeros: known_zeros.py
    apart: frozenset[Var] = frozenset()  # the variables whose cotangents do not, since nothing asks for them
    wild: tuple[Var, ...] = ()  # parameters that are infinite or NaN, by their defaults
