"""The language of random programs: types, and templates for expressions and statements.

A letter in braces stands for something of a kind; a digit beside it makes two of them the same.

    f float                      v vector                            n vector variable
    a float, not composed        u vector in new memory              z vector variable of any length
    x the same, no constant      w matrix, mostly in new memory      m matrix variable
    k int                        e vector as long as a row           q int array
    b bool                       d vector as long as a column        l the length
    h call of a float            p matrix times vector               i, r, c index of a vector, row, column
    H any call
    s float32 vector (with an index i)   P named tuple (its vector has three elements or more)
    B list of floats, not empty          X list of pairs of floats, not empty        E list of two arrays
    O dict of ints   S set of ints       t string            Q function inside of the function
    g complex        C complex variable  y complex vector    Z, Y complex vector variable (Y may be written)
    A array of records (with an index i)                     D record                J instance of a jitclass
    Targets: F float, K int, T tuple, L vector that may change its length; N a new name, V what it is made of.

Lengths are expressions such as `len(a)`, with the least number that they can be: vectors meet elementwise only where
their lengths are the same expression, and every index is in range.

All templates mean the same in numba, in plain Python and on the tape; language_numba.py has those that only numba
supports.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any, NamedTuple


def table(text: str) -> list[str]:
    """Templates, as they stand between bars and on lines."""
    return [template for line in text.strip().splitlines() for template in line.split("|")]


FLOATS = table("""
({f} + {f})|({f} - {f})|({f} * {f})|(0.7 * {f})|(-{f})|math.sin({f})|math.cos({f})|math.tanh({f})
math.exp(math.sin({f}))|math.exp(-{a1} * {a1})|math.sqrt(1.0 + {a1} * {a1})|math.log(1.5 + {a1} ** 2)
({f} / (1.5 + {a1} * {a1}))|math.atan2({f}, 1.5 + {a1} * {a1})|abs({f})|min({f}, {f})|max({f}, {f})|max({f}, {a}, {a})
({a} ** 2)|({a} ** 3)|({f} if {b} else {f})|({k} * {a})|(0.2 * float({k}))|np.tanh({f})|np.sum({v})|{n}.sum()
apply(square, {f}, {a})|apply(wave, {f}, {f})|bent({f})|TABLE[{k} % 3]|np.sum({s})|{s}[0]|np.sum({P}.v)
np.mean({v})|{n}.max()|np.min({v})|np.dot({v}, {v})|({v} @ {u})|np.prod(np.tanh({v}))|np.sum({w})|{h}|{h}
np.sum({n1}[{n1} > {a}])|np.sum({z1}[{q} % len({z1})])|np.var({v})|np.median({v})
np.interp({f}, 0.3 * np.arange({l}), {u})
{B}[{k} % len({B1})]|{B}[-1]|sum({B})|{X}[{k} % len({X1})][0]|{X}[0][1]|{E}[{k} % 2][{i}]|np.sum({E}[{k} % 2])
{Q}({f})|({Q}({a}) * {Q}({a}))|(lambda w: w * {a} + w * w)({f})|np.array([{f}, {f}])[{k} % 2]|[{f}, {f}][{k} % 2]
spread({n})[0]|sum([y * {a} for y in {n}])|bump({f})[{k} % 2]
""")
VECTORS = table("""
({v} + {v})|({v} - {v})|({v} * {v})|(0.6 * {v})|({a} * {v})|({v} + {a})|(-{v})|np.sin({v})|np.tanh({v})
np.exp(-{n1} * {n1})|np.sqrt(1.0 + {n1} * {n1})|({v} / (1.5 + {n1} ** 2))|np.abs({v})|np.maximum({v}, {v})
np.minimum({v}, 0.31)|{n}.copy()|{p}|np.full({l}, {f})
np.where({v} > {a}, {v}, {v})|np.select([{v} > 0.31, {v} < -0.22], [{v}, {v}], 0.5)|np.clip({v}, -0.52, 0.47)
np.roll({v}, {k})|np.cumsum({v})|np.sort({v})|{v}[np.argsort({v})]|{z1}[{q} % len({z1})]|np.append({n}[1:], {f})
np.concatenate(({n1}[1:], {n1}[:1]))|np.outer({v}, {v})[{i}]|np.linspace({f}, {f}, {l})|(np.arange({l}) * {a})
np.array([{Q}(y) for y in {n}])|np.array([y * {a} for y in {n}])|spread({n})[1]|np.split(np.append({n1}, {n1}), 2)[1]
""")
MATRICES = table("({w} + {w})|({w} * {w})|(0.6 * {w})|({a} * {w})|np.tanh({w})|({w} * {e})|({w} - {e})|np.sin({w})")
INTS = table("""
({k} + 1)|({k} * 3 + {k})|({k} % 3)|({k} // 2)|len({z})|{q}[{i}]|int(3.0 * abs({a}))|len({B})|np.argmax({v})|{O}['p']
len({S})|len({t})|np.sum({v} > {a})|np.argmin({v})|{O}.get({t}, 3)
""")
BOOLS = table("""
({x} > {f})|({x} < 0.123)|({k} % 2 == 0)|({k} < {k})|(-0.41 < {x} < 0.63)|({b} and {b})|({b} or {b})|(not {b})
({k} in {S})|({t} == 'q')|({t} in {O})|np.any({v} > {a})
""")
STATEMENTS = table("""
{F1} = {f}|{F1} = {F1} * {a}|{F1} = {F1} * {F1}|{F1} = math.tanh({F1} + {f})|{F1} += {f}|{F1} -= {f}|{F1} *= {a}
{F1} /= 1.5 + {a1} * {a1}|{F1}, {F2} = {F2}, {F1}|{F1}, {F2} = 0.5 * {F2}, {F1} + {f}|{F1} = {f} if {b} else {F1}
{F1} = max({F1}, {f})|{K1} = ({K1} * 3 + {k}) % 7|{K1} += 1|{K1} = {k} % 4|{n1}[{i}] = {f}|{n1}[{i}] += {f}
{n1}[{i}] *= {a}|{n1}[{i}] = {n}[{i}] * {a}|{n1}[{i1}] = {n1}[{i1}] * {n}[{i}]
{n1}[{i1}], {n2}[{i2}] = {n2}[{i2}], {n1}[{i1}]|{n1}[{i1}] = math.sin({n1}[{i1}])|{n1}[{i}] -= 0.5 * {f}|{n1}[:] = {v}
{n1}[:] = {a}|{n1}[1:] = {n}[:-1]|{n1}[:-1] = {n}[1:]|{n1}[1:] = {f}|{n1}[1:] *= {a}|{n1}[::2] += {f}
{n1}[1:] += 0.3 * {n}[:-1]|{n1}[1:] = {n1}[:-1] * {n}[1:]|{n1}[::-1] = {v}|{n1}[:-1] -= {a}|{n1} += {u}|{n1} *= {a}
{n1} -= 0.3 * {n}|{n1} /= 1.5 + {n2} * {n2}|{n1} += {n}|{n1} *= {u}|{n1} = {u}|{n1} = {n}|{n1} = {n} if {b} else {n}
{n1}, {n2} = {n2}, {n1}|{n1} = {n1} * {a}|{n1} = {n}[::-1]|{n1} = {v}|{L1} = {L1}[1:] if len({L1}) > 1 else {L1}
{L1} = {z}|{L1} = {L1}[:2] * {a}|{L1} = {L1}[:1] if {b} else {z}|{m1}[{r}, {c}] = {f}|{m1}[{r}, {c}] += {f}
{m1}[{r1}, {c1}] = {m1}[{r1}, {c1}] * {m1}[{r}, {c}]|{m1}[{r}] = {e}|{m1}[{r}] *= {a}|{m1}[:, {c}] = {d}
{m1}[:, {c}] += {f}|{m1}[:] = {w}|{m1} += {w}|{m1} *= {a}|{m1} = {w}|{m1} = {m}
{m1}[{r1}], {m1}[{r2}] = {m1}[{r2}], {m1}[{r1}]|{m1}[{r}, 1:] = {f}|{m1}[1:] *= {a}|{m1}[1:] = {m1}[:-1]
{q1}[{i1}] = ({q1}[{i1}] + {k}) % 5|{q1}[{i}] += 1|{T1} = ({f}, {f})|{T1} = ({T1}[1], 0.5 * {T1}[0])|{F1}, {F2} = {T}
each(wave, {n})|each(square, {n})|{s1}[{j}] = {f}|{s1}[{j}] += {f}|{s1}[{j}] *= {a}|{s1} *= {s1}|{s1}[1:] = {s1}[:-1]
{P1} = Pair({f}, {P1}.v, {k})|{P1} = Pair({P1}.a * {a}, {P1}.v * {a}, {P1}.n + 1)|{P1}.v[{k} % 3] = {f}
{n1}[1:] += {n1}[:-1]|{n1}[:-1] -= {n1}[1:]|{n1} -= {n1}[::-1]|{n1} *= {n1}[::-1]|{n1}[1:] *= {n1}[:-1]
{n1}[::-1] += {n1}|{n1}[:] = {n1}[::-1]|{n1}[1:] = {n1}[:-1] * {a}|{n1}[1:] += {n}[:-1]|{n1}[::2] *= {n1}[::-2]
{m1}[1:] += {m1}[:-1]|{m1} += {m1}[::-1]|{m1} -= {m1}[:, ::-1]|{m1}[:, 1:] *= {m1}[:, :-1]|{m1}[::-1] = {m1} * {a}
{n1} += {n1}[{i}]|{n1} *= {n1}[-1]|{n1}[1:] -= {n1}[0]|{m1} *= {m1}[{r}]|{m1} += {m1}[{r}, {c}]|{n1}[{n1} > {a}] = {f}
{n1}[{n1} < {a}] *= {a}|{z1}[{q} % len({z1})] = {f}|{z1}[{q1} % len({z1})] = {z1}[{q1} % len({z1})] * {a}
{n1}[{n} > {a}] += {f}|{n1}[:] = np.where({n1} > {a}, {n1}, {v})|np.multiply({v}, {a}, {n})
{n1}[1:], {F} = {n}[:-1], {n1}[0]|np.fill_diagonal({m}, {f})|{n}.fill({f})|{n}.sort()|{m}[{r}][1:] *= {a}
{m}[{r}][::-1] = {e}|{m}.T[{c}] *= {a}|{m}[:, {c}][{r}] = {f}|{B}.append({f})|{B}[{k} % len({B1})] = {f}|{B}[0] *= {a}
{B}.insert({k} % len({B1}), {f})|{B}.extend([{f}, {a}])|{B}.reverse()|{B1} = {B1} + [{f}]|{B}.sort()
{F} = {B}.pop() if len({B1}) > 1 else {f}|{B}[-1] += {f}|if len({B}) > 2: {B1}.pop({k} % 2)|{B1} = {B1}[::-1]
{B}.append({B1}[-1] * {a})|{X}.append(({f}, {a}))|{X}[{k} % len({X1})] = ({f}, {f})|{F1}, {F2} = {X}[-1]
{n} += {E}[0][{i}]|{n1}[:] = {E}[{k} % 2]|{O}['p'] = {k}|{S}.add({k})|{O}[{t}] = {k}|{H}|{H}|assert len({z}) > 0
if {x} > 60.0: raise ValueError('large')|if {k} > 90: raise IndexError
""")
RANGES = table("""
range(3)|range(2, -1, -1)|range(1, 5, 2)|range({k} % 4)|range({k} % 3, 4)|range({k} % 6, -1, -2)
""")
RANGES_OF_LENGTH = table("range({})|range(1, {})|range({} - 1, -1, -1)|range(0, {}, 2)|range({} - 1)")
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
class Arrays:
    """A list of two vectors."""

    length: Length


@dataclasses.dataclass(frozen=True)
class Complexes:
    """A vector of complex numbers."""

    length: Length


@dataclasses.dataclass(frozen=True)
class Records:
    """An array of records."""

    length: Length


@dataclasses.dataclass(frozen=True)
class Variable:
    name: str
    type: Any  # a class, or "float", "int", "bool", "tuple" (of two floats) and so on: see ATOMS
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
    ("{N} = np.array([{f}, {f}, {f}])", Vector(Length("3", 3))),
    ("{N} = [{f}, {f}]", "list"),
    ("{N} = [y * {a} for y in {n}]", "list"),
    ("{N} = []\nfor y in {n}:\n    if y < {a} or len({N}) < 1:\n        {N}.append(y)", "list"),
    ("{N} = [({f}, {f})]", "pairs"),
    ("{N} = [({f}, y) for y in {n}]", "pairs"),
    ("{N} = {'p': {k}, 'q': 2}", "dict"),
    ("{N} = {{k}, 1, 4}", "set"),
    ("{N} = 'p' if {b} else 'q'", "text"),
    ("def {N}(t):\n    return {a} * t + t * t", "function"),
    ("def {N}(t, by=0.5):\n    if t > {a}:\n        return t * by\n    return math.sin(t) - by", "function"),
    ("{N} = lambda w: math.cos({a} * w)", "function"),
]


#: Numbers that variables of a kind have, and of those of a class.
ATOMS = {
    "float": ["{}"],
    "tuple": ["{}[0]", "{}[1]"],
    "mixed": ["{}[1][0]"],
    "pair": ["{}.a", "{}.v[1]"],
    "list": ["{}[0]", "{}[-1]"],
    "pairs": ["{}[0][1]"],
    "complex": ["{}.real", "{}.imag"],
    "record": ["{}.x", "{}.v[1]"],
    "box": ["{}.value", "{}.places[1]"],
}
SUMS: dict[Any, str] = {
    Vector: "np.sum({})",
    Matrix: "np.sum({})",
    Arrays: "np.sum({}[0])",
    Complexes: "np.sum(np.abs({}) ** 2)",
    Records: "np.sum({}.x)",
}


def made_of_vector(length: Length) -> list[tuple[str, Any]]:
    """Templates of values made of a vector {V}: views, aliases, arrays of its length."""
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
    return [*found, ("{N} = [{V}.copy(), {u}]", Arrays(length)), ("{N} = [{u}, {u}]", Arrays(length))]


def made_of_matrix(kind: Matrix) -> list[tuple[str, Any]]:
    """Templates of values made of a matrix {V}."""
    rows, columns = Vector(kind.rows), Vector(kind.columns)
    found: list[tuple[str, Any]] = [("{N} = {V}[0]", columns), ("{N} = {V}[:, -1]", rows)]
    found += [("{N} = {V}.T", Matrix(kind.columns, kind.rows)), ("{N} = {V} @ {V}[-1]", rows)]
    found += [("{N} = " + text, kind) for text in ("{V}", "{V}.copy()", "{w}", "np.zeros_like({V})")]
    found += [("{N} = np.zeros({V}.shape)", kind)]
    if kind.rows.least > 1:
        fewer = Matrix(Length(f"{kind.rows.text} - 1", kind.rows.least - 1), kind.columns)
        found += [("{N} = {V}[1:]", fewer), ("{N} = {V}[:-1]", fewer)]
    return found


@dataclasses.dataclass(frozen=True)
class Language:
    """Templates by what they make, the kinds of arguments, what stands above the program, and at the top of f."""

    header: str
    templates: dict[str, list[str]]
    new: list[tuple[str, Any]]
    arguments: list[str]
    first: str = ""

    def with_more(self, header: str, templates: dict[str, list[str]], new: list[Any], **others: Any) -> Language:
        """A language with more of some, and with other arguments."""
        joined = {
            kind: self.templates.get(kind, []) + templates.get(kind, []) for kind in {**self.templates, **templates}
        }
        return Language(self.header + header, joined, self.new + new, **others)


HEADER = """
import math
import numpy as np
from numba import njit
from programs.generators.language import Pair
SCALE = 0.83
TABLE = np.array([0.31, -0.62, 0.77])
@njit
def square(u):
    return 0.5 * u * u
@njit
def wave(u):
    return math.sin(u) if u < 0.4 else math.cos(u)
@njit
def apply(g, u, v):
    return g(u) * v + g(v)
@njit
def each(g, a):
    for i in range(len(a)):
        a[i] = g(a[i])
@njit
def spread(a):
    m = np.mean(a)
    for x in a:
        if x > 2.0 * m:
            return x, a - m
    return m, a * m
@njit
def bump(u, by=0.3):
    return u * by, u * u - by
def bend(c):
    @njit
    def bent(u):
        return c * u + TABLE[1] * u * u
    return bent
bent = bend(0.58)
"""
ARGUMENTS = ["vector"] * 3 + ["float", "matrix", "int", "bool", "tuple", "ints", "strided", "transposed", "mixed"]
ARGUMENTS += ["single", "pair"]

#: What numba, plain Python and the tape have.
COMMON = Language(
    HEADER,
    {
        "float": FLOATS,
        "vector": VECTORS,
        "matrix": MATRICES,
        "int": INTS,
        "bool": BOOLS,
        "statement": STATEMENTS,
    },
    NEW,
    ARGUMENTS,
)
