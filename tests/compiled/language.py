"""What a random program may be made of: templates for expressions and statements, and types.

A letter in braces stands for something of a kind; a digit beside it makes two of them the same.

    f float                      v vector                            n vector variable
    a float, not composed        u vector in new memory              z vector variable of any length
    x the same, no constant      w matrix, mostly in new memory      m matrix variable
    k int                        e vector as long as a row           q int array
    b bool                       d vector as long as a column        l the length
    h call of a float            p matrix times vector               i, r, c index of a vector, row, column
    H any call
    s float32 vector (with an index i)   P named tuple (its vector has three elements or more)
    Targets: F float, K int, T tuple, L vector that may change its length; N a new name, V what it is made of.

Lengths are expressions such as `len(a)`, with the least number that they can be: vectors meet elementwise only where
their lengths are the same expression, and every index is in range.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any, NamedTuple


def _table(text: str) -> list[str]:
    return [template for line in text.strip().splitlines() for template in line.split("|")]


FLOATS = _table("""
({f} + {f})|({f} - {f})|({f} * {f})|(0.7 * {f})|(-{f})|math.sin({f})|math.cos({f})|math.tanh({f})
math.exp(math.sin({f}))|math.exp(-{a1} * {a1})|math.sqrt(1.0 + {a1} * {a1})|math.log(1.5 + {a1} ** 2)
({f} / (1.5 + {a1} * {a1}))|math.atan2({f}, 1.5 + {a1} * {a1})|abs({f})|min({f}, {f})|max({f}, {f})|max({f}, {a}, {a})
({a} ** 2)|({a} ** 3)|({f} if {b} else {f})|({k} * {a})|(0.2 * float({k}))|np.tanh({f})|np.sum({v})|{n}.sum()
apply(square, {f}, {a})|apply(wave, {f}, {f})|bent({f})|TABLE[{k} % 3]|np.sum({s})|{s}[0]|np.sum({P}.v)
np.mean({v})|{n}.max()|np.min({v})|np.dot({v}, {v})|({v} @ {u})|np.prod(np.tanh({v}))|np.sum({w})|{h}|{h}
""")
VECTORS = _table("""
({v} + {v})|({v} - {v})|({v} * {v})|(0.6 * {v})|({a} * {v})|({v} + {a})|(-{v})|np.sin({v})|np.tanh({v})
np.exp(-{n1} * {n1})|np.sqrt(1.0 + {n1} * {n1})|({v} / (1.5 + {n1} ** 2))|np.abs({v})|np.maximum({v}, {v})
np.minimum({v}, 0.31)|{n}.copy()|{p}|np.full({l}, {f})
""")
MATRICES = _table("({w} + {w})|({w} * {w})|(0.6 * {w})|({a} * {w})|np.tanh({w})|({w} * {e})|({w} - {e})|np.sin({w})")
INTS = _table("({k} + 1)|({k} * 3 + {k})|({k} % 3)|({k} // 2)|len({z})|{q}[{i}]|int(3.0 * abs({a}))")
BOOLS = _table("""
({x} > {f})|({x} < 0.123)|({k} % 2 == 0)|({k} < {k})|(-0.41 < {x} < 0.63)|({b} and {b})|({b} or {b})|(not {b})
""")
STATEMENTS = _table("""
{F1} = {f}|{F1} = {F1} * {a}|{F1} = {F1} * {F1}|{F1} = math.tanh({F1} + {f})|{F1} += {f}|{F1} -= {f}|{F1} *= {a}
{F1} /= 1.5 + {a1} * {a1}|{F1}, {F2} = {F2}, {F1}|{F1}, {F2} = 0.5 * {F2}, {F1} + {f}|{F1} = {f} if {b} else {F1}
{F1} = max({F1}, {f})|{K1} = ({K1} * 3 + {k}) % 7|{K1} += 1|{K1} = {k} % 4
{n1}[{i}] = {f}|{n1}[{i}] += {f}|{n1}[{i}] *= {a}|{n1}[{i}] = {n}[{i}] * {a}|{n1}[{i1}] = {n1}[{i1}] * {n}[{i}]
{n1}[{i1}], {n2}[{i2}] = {n2}[{i2}], {n1}[{i1}]|{n1}[{i1}] = math.sin({n1}[{i1}])|{n1}[{i}] -= 0.5 * {f}
{n1}[:] = {v}|{n1}[:] = {a}|{n1}[1:] = {n}[:-1]|{n1}[:-1] = {n}[1:]|{n1}[1:] = {f}|{n1}[1:] *= {a}|{n1}[::2] += {f}
{n1}[1:] += 0.3 * {n}[:-1]|{n1}[1:] = {n1}[:-1] * {n}[1:]|{n1}[::-1] = {v}|{n1}[:-1] -= {a}
{n1} += {u}|{n1} *= {a}|{n1} -= 0.3 * {n}|{n1} /= 1.5 + {n2} * {n2}|{n1} += {n}|{n1} *= {u}
{n1} = {u}|{n1} = {n}|{n1} = {n} if {b} else {n}|{n1}, {n2} = {n2}, {n1}|{n1} = {n1} * {a}|{n1} = {n}[::-1]
{n1} = {v}|{L1} = {L1}[1:] if len({L1}) > 1 else {L1}|{L1} = {z}|{L1} = {L1}[:2] * {a}|{L1} = {L1}[:1] if {b} else {z}
{m1}[{r}, {c}] = {f}|{m1}[{r}, {c}] += {f}|{m1}[{r1}, {c1}] = {m1}[{r1}, {c1}] * {m1}[{r}, {c}]|{m1}[{r}] = {e}
{m1}[{r}] *= {a}|{m1}[:, {c}] = {d}|{m1}[:, {c}] += {f}|{m1}[:] = {w}|{m1} += {w}|{m1} *= {a}|{m1} = {w}|{m1} = {m}
{m1}[{r1}], {m1}[{r2}] = {m1}[{r2}], {m1}[{r1}]|{m1}[{r}, 1:] = {f}|{m1}[1:] *= {a}|{m1}[1:] = {m1}[:-1]
{q1}[{i1}] = ({q1}[{i1}] + {k}) % 5|{q1}[{i}] += 1|{T1} = ({f}, {f})|{T1} = ({T1}[1], 0.5 * {T1}[0])|{F1}, {F2} = {T}
each(wave, {n})|each(square, {n})|{s1}[{j}] = {f}|{s1}[{j}] += {f}|{s1}[{j}] *= {a}|{s1} *= {s1}|{s1}[1:] = {s1}[:-1]
{P1} = Pair({f}, {P1}.v, {k})|{P1} = Pair({P1}.a * {a}, {P1}.v * {a}, {P1}.n + 1)|{P1}.v[{k} % 3] = {f}
{H}|{H}|assert len({z}) > 0|if {x} > 60.0: raise ValueError('large')|if {k} > 90: raise IndexError
""")
RANGES = _table("""
range(3)|range(2, -1, -1)|range(1, 5, 2)|range({k} % 4)|range({k} % 3, 4)|range({k} % 6, -1, -2)
""")
RANGES_OF_LENGTH = _table("range({})|range(1, {})|range({} - 1, -1, -1)|range(0, {}, 2)|range({} - 1)")
CONSTANTS = ["0.71", "1.13", "0.37", "SCALE"]


@dataclasses.dataclass(frozen=True)
class Program:
    """Source text, the arguments of its function f as expressions, and the constructs that it was made of.

    The last two fields say how it is checked: see variants.py.
    """

    source: str
    arguments: tuple[str, ...]
    constructs: Counter[str] = dataclasses.field(default_factory=Counter, compare=False, repr=False)
    variant: str = "plain"
    forward: bool = False

    def __repr__(self) -> str:
        return f"\n{self.source}\n# f({', '.join(self.arguments)})\n"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))  # what hypothesis asks for


class Pair(NamedTuple):
    """A named tuple of the programs."""

    a: float
    v: Any
    n: int


# Types. A loose vector may be bound to one of another length later, so nothing else is taken to be as long.


@dataclasses.dataclass(frozen=True)
class Length:
    text: str
    least: int


@dataclasses.dataclass(frozen=True)
class Vector:
    length: Length
    loose: bool = False


@dataclasses.dataclass(frozen=True)
class Matrix:
    rows: Length
    columns: Length


@dataclasses.dataclass(frozen=True)
class IntVector:
    length: Length


@dataclasses.dataclass(frozen=True)
class Single:
    """A vector of float32."""

    length: Length


@dataclasses.dataclass(frozen=True)
class Variable:
    name: str
    type: Any  # a class, or "float", "int", "bool", "tuple" (of two floats), "mixed" (tuple; see _atoms), "pair"
    fixed: bool = False  # not assigned: a loop's variable or counter
    index_of: str = ""  # the length for which it is an index


@dataclasses.dataclass(frozen=True)
class Helper:
    name: str
    parameters: list[Variable]
    results: int
    recursive: bool
    family: str = ""  # of functions that call each other


NEW: list[tuple[str, Any]] = [
    ("{N} = {f}", "float"),
    ("{N} = {k} % 5", "int"),
    ("{N} = 0\nfor j in range(3):\n    {N} += {f} * j", "float"),
    ("{N} = 1\nfor element in {v}:\n    {N} *= element", "float"),
    ("{N} = Pair({f}, np.full(3, {f}), {k})", "pair"),
    ("{N} = {b}", "bool"),
    ("{N} = ({f}, {f})", "tuple"),
    ("{N} = {f} > 0.0 or {b}", "bool"),
    ("{N} = np.zeros(3)", Vector(Length("3", 3))),
    ("{N} = np.full(3, {f})", Vector(Length("3", 3))),
    ("{N} = np.empty(2)\n{N}[0] = {f}\n{N}[1] = {f}", Vector(Length("2", 2))),
]


def made_of_vector(length: Length) -> list[tuple[str, Any]]:
    """What can be made of a vector {V}: views, aliases, arrays of its length."""
    same, half = Vector(length), Vector(Length(f"(({length.text}) + 1) // 2", (length.least + 1) // 2))
    new = ["{V}", "{V} if {b} else {v}", "{V}[::-1]", "{V}[:]", "{V} * {a}", "{u}", "{V}.copy()"]
    new += ["np.zeros({l})", "np.zeros_like({V})", "np.ones_like({V})", "np.empty({l})\n{N}[:] = {f}"]
    new += ["np.empty_like({V})\nfor j in range({l}):\n    {N}[j] = {V}[j] * {f}"]
    found = [("{N} = " + text, same) for text in new]
    found += [("{N} = {V}[::2]", half), ("{N} = {V}[:] # loose", Vector(length, loose=True))]
    if length.least > 1:
        shorter = Vector(Length(f"{length.text} - 1", length.least - 1))
        found += [("{N} = {V}" + part, shorter) for part in ("[1:]", "[:-1]", "[1:] * {a}")]
        found += [("{N} = {V}[:2]", Vector(Length("2", 2)))]
    return found


def made_of_matrix(kind: Matrix) -> list[tuple[str, Any]]:
    """What can be made of a matrix {V}."""
    rows, columns = Vector(kind.rows), Vector(kind.columns)
    found: list[tuple[str, Any]] = [("{N} = {V}[0]", columns), ("{N} = {V}[:, -1]", rows)]
    found += [("{N} = {V}.T", Matrix(kind.columns, kind.rows)), ("{N} = {V} @ {V}[-1]", rows)]
    found += [("{N} = " + text, kind) for text in ("{V}", "{V}.copy()", "{w}", "np.zeros_like({V})")]
    found += [("{N} = np.zeros({V}.shape)", kind)]
    if kind.rows.least > 1:
        fewer = Matrix(Length(f"{kind.rows.text} - 1", kind.rows.least - 1), kind.columns)
        found += [("{N} = {V}[1:]", fewer), ("{N} = {V}[:-1]", fewer)]
    return found
