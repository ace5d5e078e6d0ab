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

from programs.generators.expressions import Choices, Expressions
from programs.generators.language import (
    COMMON,
    RANGES,
    RANGES_OF_LENGTH,
    SUMS,
    Complexes,
    Helper,
    Language,
    Length,
    Matrix,
    Program,
    Records,
    Variable,
    Vector,
    made_of_matrix,
    made_of_vector,
)
from programs.generators.language_numba import NUMBA, made_of_complexes, made_of_records
from programs.generators.parameters import parameters

__all__ = ["Program", "program", "programs"]

_LETTERS = {"float": "x", "int": "k", "bool": "c", "tuple": "t", "pair": "o", "list": "some", "pairs": "both"}
_LETTERS |= {"dict": "table", "set": "seen", "text": "word", "function": "inner", "complex": "z", "record": "body"}
#: Kinds of variables of which one stands for all where a declaration is chosen: there are many.
_GROUPS = {"dict": "kept", "set": "kept", "text": "kept", "pairs": "list", "Arrays": "list", "bool": "int"}
_GROUPS |= {"Complexes": "complex", "box": "object", "record": "object", "pair": "tuple"}


def _group(kind: Any) -> str:
    name = kind if isinstance(kind, str) else type(kind).__name__
    return _GROUPS.get(name, name)


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
        if nested and not self.loops and self.names("float"):
            kinds.append(self.guarded)
        if self.loops > 0 and nested:
            kinds.append(self.leave)
        if self.indent > 1 and nested and self.size > 6:
            kinds.append(self.early)
        if self._callable(statement=True):
            kinds.append(self.call_and_unpack)
        self.choices.pick(kinds)()

    def simple(self) -> None:
        self.write(self.choose("statement", 3))

    def declaration(self) -> None:
        options = self._declarations()
        # There are more views than kinds of variables: choose among the latter first.
        groups = sorted({_group(kind) for _, _, kind in options})
        chosen = self.choices.pick(groups + ["Vector"] * 2)
        template, name, kind = self.choices.pick([o for o in options if _group(o[2]) == chosen])
        self.uses[template] += 1
        shape = kind if isinstance(kind, Matrix) else None
        text = self.fill(template.replace("{V}", name).replace("{N}", "NEW"), 3, getattr(kind, "length", None), shape)
        letter = _LETTERS.get(kind, kind) if isinstance(kind, str) else type(kind).__name__[0].lower()
        name = self.declare(letter, kind)
        for line in text.replace("NEW", name).split("\n"):
            self.write(line)

    def _declarations(self) -> list[tuple[str, str, Any]]:
        """Templates of new variables, what they are made of, and their kinds."""
        new = [entry for entry in self.language.new if self.indent == 1 or entry[1] != "function"]
        options = [(t, "", kind) for t, kind in new if self.fills(t.replace("{N}", ""), getattr(kind, "length", None))]
        options += [("{N} = {V}.v", name, Vector(Length("3", 3))) for name in self.names("pair")]
        for variable in self.variables:
            kind, made = variable.type, list[tuple[str, Any]]()
            if isinstance(kind, Vector):
                made = made_of_vector(kind.length)
            elif isinstance(kind, Matrix):
                made = made_of_matrix(kind)
            elif isinstance(kind, Complexes):
                made = made_of_complexes(kind.length, not variable.fixed)
            elif isinstance(kind, Records):
                made = made_of_records(kind.length)
            options += [(template, variable.name, one) for template, one in made]
        return options

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

    def guarded(self) -> None:
        """Write a try block with a finally, which nothing reads if the function raises."""
        self.uses["finally"] += 1
        self.write("try:")
        self.indent += 1
        for _ in range(self.choices.integer(1, 2)):
            self.simple()
        self.indent -= 1
        self.write("finally:")
        target = self.choices.pick(self.names("float"))
        self.write(f"    {target} = 0.7 * {target}")

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
        options += ["for {F} in {B}[:]:", "for {I}, {F} in enumerate({B}[1:]):"] * bool(self.names("list"))
        options += ["for {F}, {G} in {X}[:]:"] * bool(self.names("pairs"))
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
                index_of = length.text if hole == "{I}" and "{n}" in head and length and not loose else ""
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
                atoms += [total.format(name) for kind, total in SUMS.items() for name in self.names(kind)]
                terms.append(self.choices.pick(atoms))
            results.append(" + ".join(terms))
        self.write("return " + ", ".join(results))


# Programs


class _Module:
    """The functions of a program, one after the other."""

    def __init__(self, language: Language, choices: Choices) -> None:
        self.language, self.choices = language, choices
        self.uses: Counter[str] = Counter()
        self.helpers: list[Helper] = []
        self.parts = [language.header]

    def function(self, helper: Helper | None = None) -> Function:
        return Function(self.language, self.choices, list(self.helpers), self.uses, helper)

    def helper(self) -> None:
        """A function, or two that call each other."""
        choices = self.choices
        results, recursive = choices.pick([1, 1, 2]), choices.rarely(2)
        parameters = [Variable("x", "float")]
        if choices.more(1):
            parameters.append(Variable("a", Vector(Length("len(a)", 2))))
        if len(parameters) > 1 and choices.rarely(1):
            parameters.append(Variable("b", Vector(Length("len(a)", 2))))
        for name, kind, chance in (("t", "tuple", 3), ("o", "pair", 4)):
            if choices.rarely(chance):
                parameters.append(Variable(name, kind))
        if "complex" in self.language.arguments and choices.rarely(2):
            parameters.append(Variable("z", "complex"))
        if recursive:
            parameters.append(Variable("down", "int", fixed=True))
        elif choices.rarely(1):
            parameters.append(Variable("k", "int"))
        name = f"h{len(self.helpers) + 1}"
        helper = Helper(name, parameters, results, recursive, name)
        both = [(helper, helper)]
        if recursive and choices.rarely(2):
            self.uses["mutual recursion"] += 1
            other = dataclasses.replace(helper, name=f"{name}b")
            both = [(helper, other), (other, helper)]
        self.parts += [self.definition(*one) for one in both]
        self.helpers.append(helper)

    def definition(self, helper: Helper, called: Helper) -> str:
        """The text of a function; a recursive one calls `called`."""
        function = self.function(helper)
        function.variables += helper.parameters
        if helper.recursive:
            function.write("if down <= 0:")
            function.indent += 1
            function.finish(1)
            function.indent -= 1
            function.helpers.append(called)
            function.statements(3)
            function.choices.group(lambda: _recurse(function, called))
        function.statements(4)
        function.finish(2)
        head = f"def {helper.name}({', '.join(p.name for p in helper.parameters)}):"
        return "\n".join([_decorator(self.choices, helper.recursive), head, *function.lines])

    def program(self, size: int) -> Program:
        while len(self.helpers) < min(3, size // 3) and self.choices.rarely(1):
            self.choices.group(self.helper)
        made, arguments = parameters(self.choices, self.language.arguments)
        self.uses.update(f"argument: {p.type if isinstance(p.type, str) else type(p.type).__name__}" for p in made)
        f = self.function()
        f.variables += made
        if self.language.first:
            f.write(self.language.first)
        f.statements(size)
        f.finish(5)
        head = f"def f({', '.join(p.name for p in made)}):"
        self.parts.append("\n".join([_decorator(self.choices), head, *f.lines]))
        return Program(ast.unparse(ast.parse("\n".join(self.parts))) + "\n", arguments, self.uses)


def _recurse(function: Function, helper: Helper) -> None:
    called = function.call(2, helper)
    names = [function.declare("x", "float") for _ in range(helper.results)]
    function.write(f"{', '.join(names)} = {called}")


def _decorator(choices: Choices, recursive: bool = False) -> str:
    """Numba itself often cannot link recursive functions with boundscheck=True."""
    options = ["@njit", "@njit", "@njit()", "@njit(error_model='numpy')", "@njit(boundscheck=True)"]
    return choices.pick(options[:4] if recursive else options)


def program(seed: int | str, size: int = 12, numba: bool = False) -> Program:
    """The program of this seed, whose function f has about so many statements; with `numba`, of what only numba has."""
    state = random.Random(seed)
    language = state.choice(NUMBA) if numba else COMMON
    return _Module(language, Choices(state.randint)).program(size)


@st.composite
def programs(draw: Any) -> Program:
    """Programs as hypothesis draws them."""
    return _Module(COMMON, _Drawn(draw)).program(12)
