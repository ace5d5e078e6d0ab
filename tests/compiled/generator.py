"""Random well-typed programs for numba, as source text with arguments.

A program is a module of one or several njit functions, the last of which is called f and returns a float. What it may
be made of stands in language.py. Values stay small, most of them: programs in which they do not are discarded where
they are run.

The same builder is driven by hypothesis (`programs`), which shrinks what fails, and by random numbers (`program`).
"""

from __future__ import annotations

import ast
import dataclasses
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from compiled.expressions import Choices, Expressions
from compiled.language import (
    NEW,
    RANGES,
    RANGES_OF_LENGTH,
    STATEMENTS,
    Helper,
    IntVector,
    Length,
    Matrix,
    Program,
    Single,
    Variable,
    Vector,
    made_of_matrix,
    made_of_vector,
)

__all__ = ["Program", "program", "programs"]

_HEADER = """
import math
import numpy as np
from numba import njit
from compiled.language import Pair
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
def bend(c):
    @njit
    def bent(u):
        return c * u + TABLE[1] * u * u
    return bent
bent = bend(0.58)
"""
_ARGUMENTS = ["vector"] * 3 + ["float", "matrix", "int", "bool", "tuple", "ints", "strided", "transposed", "mixed"]
_ARGUMENTS += ["single", "pair"]


class _Drawn(Choices):
    def __init__(self, draw: Callable[[Any], Any]) -> None:
        super().__init__(lambda low, high: self.draw(st.integers(low, high)))
        self.draw = draw

    def group(self, make: Callable[[], Any]) -> Any:
        outer = self.draw
        try:
            return outer(_grouped(self, make))
        finally:
            self.draw = outer


@st.composite
def _grouped(draw: Any, choices: _Drawn, make: Callable[[], Any]) -> Any:
    choices.draw = draw
    return make()


class Function(Expressions):
    """One function, statement by statement."""

    def block(self, most: int) -> None:
        """Statements, at least one; what they declare is out of scope afterwards."""
        variables, lines = list(self.variables), len(self.lines)
        self.indent += 1
        self.statements(most)
        if len(self.lines) == lines:
            self.write("pass")
        self.indent -= 1
        self.variables = variables

    def statements(self, most: int) -> None:
        while most > 0 and self.size < 24 and self.choices.more(9):
            most, self.size = most - 1, self.size + 1
            self.choices.group(self.statement)

    def statement(self) -> None:
        kinds = [self.simple] * 9 + [self.declaration] * 6 + [self.branch] * 2
        nested = self.indent < 5
        if self.loops < self.most_loops and nested:
            kinds += [self.counted, self.iterated, self.counted, self.pending, self.iterated]
        if self.loops > 0 and nested:
            kinds.append(self.leave)
        if self.indent > 1 and nested and self.size > 6:
            kinds.append(self.early)
        if self._callable(statement=True):
            kinds.append(self.call_and_unpack)
        self.choices.pick(kinds)()

    def simple(self) -> None:
        self.write(self.choose(STATEMENTS, 3))

    def declaration(self) -> None:
        options = [(template, "", kind) for template, kind in NEW if self.fills(template.replace("{N}", ""), None)]
        for name in self.names(Vector):
            options += [(template, name, kind) for template, kind in made_of_vector(self.type_of(name).length)]
        options += [("{N} = {V}.v", name, Vector(Length("3", 3))) for name in self.names("pair")]
        for name in self.names(Matrix):
            options += [(template, name, kind) for template, kind in made_of_matrix(self.type_of(name))]
        # There are more views than kinds of variables: choose among the latter first.
        classes = sorted({type(kind).__name__ for _, _, kind in options})
        chosen = self.choices.pick(classes)
        template, name, kind = self.choices.pick([o for o in options if type(o[2]).__name__ == chosen])
        self.uses[template] += 1
        length = kind.length if isinstance(kind, Vector) else None
        text = self.fill(template.replace("{V}", name).replace("{N}", "NEW"), 3, length, kind)
        letters = {"float": "x", "int": "k", "bool": "c", "tuple": "t", "pair": "o"}
        name = self.declare(letters[kind] if isinstance(kind, str) else chosen[0].lower(), kind)
        for line in text.replace("NEW", name).split("\n"):
            self.write(line)

    def branch(self) -> None:
        self.uses["if"] += 1
        self.write(f"if {self.bool(2)}:")
        joined = self.name("y") if self.choices.rarely(1) else ""
        heads = ["elif " + self.bool(2) + ":"] * (self.choices.rarely(4))
        heads += ["else:"] * (bool(joined) or self.choices.rarely(1))
        for head in ["", *heads]:
            if head:
                self.uses[head.split()[0]] += 1
                self.write(head)
            self.block(3)
            if joined:
                self.lines.append("    " * (self.indent + 1) + f"{joined} = {self.float(2)}")
        if joined:
            self.variables.append(Variable(joined, "float"))

    def _loop(self, head: str, declared: list[Variable], after: str = "") -> None:
        self.write(head)
        variables = list(self.variables)
        self.variables += declared
        if after:
            self.lines.append("    " * (self.indent + 1) + after)
        self.loops += 1
        self.block(5)
        self.loops -= 1
        self.variables = variables

    def counted(self) -> None:
        """A loop over range."""
        lengths = {v.type.length.text for v in self.variables if isinstance(v.type, Vector) and not v.type.loose}
        for name in self.names(Matrix):
            lengths |= {self.type_of(name).rows.text, self.type_of(name).columns.text}
        options = [(head, "", head) for head in RANGES]
        options += [(shape.format(text), text, shape) for text in sorted(lengths) for shape in RANGES_OF_LENGTH]
        head, text, shape = self.choices.pick(options)
        self.uses[f"for {shape}"] += 1
        name = self.name("i")
        self._loop(f"for {name} in {self.fill(head, 2)}:", [Variable(name, "int", True, text)])

    def iterated(self) -> None:
        """A loop over elements, or over rows, which are views."""
        options = ["for {F} in {v}:"] if self.names(Vector) else ["for {F} in ({f}, {f}, {f}):"]
        if vectors := self.names(Vector):
            options += ["for {I}, {F} in enumerate({n}):", "for {F}, {G} in zip({v}, {n}):", "for {F} in {n}:"]
        options += ["for {R} in {m}:"] * bool(self.names(Matrix)) + ["for {F} in {T}:"] * bool(self.names("tuple"))
        head = self.choices.pick(options)
        self.uses[head] += 1
        declared, length, shape = [], None, None
        if vectors and "{R}" not in head:
            length = self.type_of(self.choices.pick(vectors)).length
        if "{R}" in head:
            shape = self.type_of(self.choices.pick(self.names(Matrix)))
            declared.append(Variable(self.name("row"), Vector(shape.columns)))
            head = head.replace("{R}", declared[-1].name)
        for hole, kind in (("{I}", "int"), ("{F}", "float"), ("{G}", "float")):
            if hole in head:
                loose = length is not None and length.text in {f"len({name})" for name in self._loose()}
                index_of = length.text if hole == "{I}" and length and not loose else ""
                declared.append(Variable(self.name("i" if kind == "int" else "x"), kind, kind == "int", index_of))
                head = head.replace(hole, declared[-1].name)
        self._loop(self.fill(head, 2, length, shape), declared)

    def pending(self) -> None:
        """A while loop, with a counter that ends it."""
        self.uses["while"] += 1
        count = self.choices.pick(["3", "({k}) % 5", "1"]).replace("{k}", self.int(1))
        counter = self.declare("left", "int", fixed=True)
        self.write(f"{counter} = {count}")
        condition = f" and {self.bool(2)}" if self.choices.rarely(1) else ""
        self._loop(f"while {counter} > 0{condition}:", [], f"{counter} -= 1")

    def leave(self) -> None:
        word = self.choices.pick(["break", "continue"])
        self.uses[word] += 1
        self.write(f"if {self.bool(2)}:")
        self.block(2)
        self.lines.append("    " * (self.indent + 1) + word)

    def early(self) -> None:
        self.uses["early return"] += 1
        self.write(f"if {self.bool(2)}:")
        self.indent += 1
        self.finish(1)
        self.indent -= 1

    def call_and_unpack(self) -> None:
        helper = self.choices.pick(self._callable(statement=True))
        self.uses["call, recursive" if helper.recursive else f"call, {helper.results} result"] += 1
        called = self.call(2, helper)
        names = [self.declare("x", "float") for _ in range(helper.results)]
        self.write(f"{', '.join(names)} = {called}")

    def finish(self, most: int) -> None:
        """Return: sums of what there is."""
        results = []
        for _ in range(self.results):
            terms = [self.float(2)]
            while most > 0 and self.choices.more(5):
                most -= 1
                atoms = [f"0.7 * {a}" for a in self._atoms()]
                atoms += [f"np.sum({name})" for name in [*self.names(Vector), *self.names(Matrix)]]
                terms.append(self.choices.pick(atoms))
            results.append(" + ".join(terms))
        self.write("return " + ", ".join(results))


# Programs


def _helper(choices: Choices, helpers: list[Helper], uses: Counter[str]) -> tuple[Helper, str]:
    """A function, or two that call each other."""
    results, recursive = choices.pick([1, 1, 2]), choices.rarely(2)
    parameters = [Variable("x", "float")]
    if choices.more(1):
        parameters.append(Variable("a", Vector(Length("len(a)", 2))))
    if len(parameters) > 1 and choices.rarely(1):
        parameters.append(Variable("b", Vector(Length("len(a)", 2))))
    if choices.rarely(3):
        parameters.append(Variable("t", "tuple"))
    if choices.rarely(4):
        parameters.append(Variable("o", "pair"))
    if recursive:
        parameters.append(Variable("down", "int", fixed=True))
    elif choices.rarely(1):
        parameters.append(Variable("k", "int"))
    name = f"h{len(helpers) + 1}"
    helper = Helper(name, parameters, results, recursive, name)
    if not (recursive and choices.rarely(2)):
        return helper, _definition(choices, helpers, uses, helper, helper)
    uses["mutual recursion"] += 1
    other = dataclasses.replace(helper, name=f"{name}b")
    texts = [_definition(choices, helpers, uses, *both) for both in ((helper, other), (other, helper))]
    return helper, "\n".join(texts)


def _definition(choices: Choices, helpers: list[Helper], uses: Counter[str], helper: Helper, called: Helper) -> str:
    """The text of a function; a recursive one calls `called`."""
    parameters = helper.parameters
    function = Function(choices, helpers, uses, helper)
    function.variables += parameters
    if helper.recursive:
        function.write("if down <= 0:")
        function.indent += 1
        function.finish(1)
        function.indent -= 1
        function.helpers = [*helpers, called]
        function.statements(3)
        function.choices.group(lambda: _recurse(function, called))
    function.statements(4)
    function.finish(2)
    head = f"def {helper.name}({', '.join(p.name for p in parameters)}):"
    return "\n".join([_decorator(choices, helper.recursive), head, *function.lines])


def _recurse(function: Function, helper: Helper) -> None:
    called = function.call(2, helper)
    names = [function.declare("x", "float") for _ in range(helper.results)]
    function.write(f"{', '.join(names)} = {called}")


def _decorator(choices: Choices, recursive: bool = False) -> str:
    """Numba itself often cannot link recursive functions with boundscheck=True."""
    options = ["@njit", "@njit", "@njit()", "@njit(error_model='numpy')", "@njit(boundscheck=True)"]
    return choices.pick(options[:4] if recursive else options)


class _Values:
    """Numbers without pattern, so that no two are equal and none is at a kink."""

    def __init__(self, seed: int) -> None:
        self.state = random.Random(seed)

    def float(self) -> str:
        return repr(round(self.state.uniform(-1.2, 1.2), 4))

    def row(self, size: int) -> str:
        return f"[{', '.join(self.float() for _ in range(size))}]"

    def rows(self, rows: int, columns: int) -> str:
        return f"[{', '.join(self.row(columns) for _ in range(rows))}]"


def _parameters(choices: Choices) -> tuple[list[Variable], tuple[str, ...]]:
    """The parameters of f and their arguments. Lengths that are equal have one name."""
    values = _Values(choices.integer(0, 9999))
    size, other = choices.integer(2, 5), choices.integer(2, 4)
    parameters, arguments, lengths = [Variable("x", "float")], [values.float()], {}
    while len(parameters) < 6 and choices.more(5):
        kind, name = choices.pick(_ARGUMENTS), "yabcdef"[len(parameters)]
        rows, columns = (size, other) if choices.more(1) else (other, size)
        if kind in ("vector", "strided", "ints", "single"):
            length = lengths.setdefault(rows, Length(f"len({name})", rows))
            text = {
                "vector": f"np.array({values.row(rows)})",
                "strided": f"np.array({values.row(2 * rows)})[::2]",
                "ints": f"np.array({[(7 * j + 3) % 5 for j in range(rows)]})",
                "single": f"np.array({values.row(rows)}, dtype=np.float32)",
            }[kind]
            classes: dict[str, Any] = {"ints": IntVector, "single": Single}
            made: Any = classes.get(kind, Vector)(length)
        elif kind in ("matrix", "transposed"):
            first = lengths.setdefault(rows, Length(f"{name}.shape[0]", rows))
            second = lengths.setdefault(columns, Length(f"{name}.shape[1]", columns))
            made = Matrix(first, second)
            text = f"np.array({values.rows(rows, columns)})"
            text = text if kind == "matrix" else f"np.array({values.rows(columns, rows)}).T"
        else:
            made = kind
            text = {
                "float": values.float(),
                "int": str(choices.integer(0, 4)),
                "bool": str(choices.more(1)),
                "tuple": f"({values.float()}, {values.float()})",
                "mixed": f"(3, ({values.float()}, True))",
                "pair": f"Pair({values.float()}, np.array({values.row(3)}), 2)",
            }[kind]
        parameters.append(Variable(name, made))
        arguments.append(text)
    return parameters, tuple(arguments)


def _program(choices: Choices, size: int = 12) -> Program:
    uses: Counter[str] = Counter()
    helpers: list[Helper] = []
    parts = [_HEADER]
    while len(helpers) < 3 and choices.rarely(1):
        helper, text = choices.group(lambda: _helper(choices, list(helpers), uses))
        helpers.append(helper)
        parts.append(text)
    parameters, arguments = _parameters(choices)
    uses.update(f"argument: {p.type if isinstance(p.type, str) else type(p.type).__name__}" for p in parameters)
    f = Function(choices, helpers, uses, None)
    f.variables += parameters
    f.statements(size)
    f.finish(5)
    parts.append("\n".join([_decorator(choices), f"def f({', '.join(p.name for p in parameters)}):", *f.lines]))
    return Program(ast.unparse(ast.parse("\n".join(parts))) + "\n", arguments, uses)


def program(seed: int | str, size: int = 12) -> Program:
    """The program of this seed, whose function f has about so many statements."""
    state = random.Random(seed)
    return _program(Choices(state.randint), size)


@st.composite
def programs(draw: Any) -> Program:
    """Programs as hypothesis draws them."""
    return _program(_Drawn(draw))
