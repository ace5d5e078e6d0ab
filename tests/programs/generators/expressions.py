"""Random well-typed expressions: the templates of language.py, filled with what is in scope."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from programs.generators.language import (
    ATOMS,
    CONSTANTS,
    Arrays,
    Complexes,
    Helper,
    IntVector,
    Language,
    Length,
    Matrix,
    Records,
    Single,
    Variable,
    Vector,
)

__all__ = ["Choices", "Expressions"]

_HOLE = re.compile(r"\{([a-zA-Z])(\d?)\}")

#: Letters for variables of a kind, and of a class that has a length.
_KINDS = {
    "B": "list", "X": "pairs", "O": "dict", "S": "set", "t": "text", "Q": "function", "T": "tuple", "F": "float",
    "C": "complex", "D": "record", "J": "box",
}  # fmt: skip
_LONG: dict[str, Any] = {
    "q": IntVector,
    "s": Single,
    "E": Arrays,
    "Z": Complexes,
    "Y": Complexes,
    "A": Records,
    "n": Vector,
}
_WITH_LENGTH = {*_LONG, *"vuyplij"}


class Choices:
    """Where choices come from; 0 is the simplest."""

    def __init__(self, integer: Callable[[int, int], int]) -> None:
        self.integer = integer

    def group(self, make: Callable[[], Any]) -> Any:
        """A part that may be left out as a whole."""
        return make()

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.integer(0, len(options) - 1)]

    def more(self, chance: int = 3) -> bool:
        """Whether to go on, `chance` to one."""
        return self.integer(0, chance) > 0

    def rarely(self, chance: int) -> bool:
        """Choose something special, once in `chance` + 1 draws."""
        return self.integer(0, chance) == chance


class Expressions:
    """The variables in scope of one function, its lines so far, and expressions made of the variables."""

    def __init__(
        self, language: Language, choices: Choices, helpers: list[Helper], uses: Counter[str], helper: Helper | None
    ) -> None:
        self.language, self.choices, self.helpers, self.uses, self.helper = language, choices, helpers, uses, helper
        self.results, self.most_loops = (1, 2) if helper is None else (helper.results, 1)
        self.variables: list[Variable] = []
        self.lines: list[str] = []
        self.indent, self.fresh, self.loops, self.size, self.calls = 1, 0, 0, 0, 0

    # Filling templates

    def write(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def name(self, letter: str) -> str:
        self.fresh += 1
        return f"{letter}{self.fresh}"

    def declare(self, letter: str, kind: Any, **flags: Any) -> str:
        """A new variable; one whose length is that of a loose vector has a length of its own."""
        name = self.name(letter)
        lengths = [v.type.length.text for v in self.variables if isinstance(v.type, Vector) and v.type.loose]
        if isinstance(kind, Vector) and (kind.loose or any(text in kind.length.text for text in lengths)):
            kind = Vector(Length(f"len({name})", 1 if kind.loose else kind.length.least), kind.loose)
        self.variables.append(Variable(name, kind, **flags))
        return name

    def names(self, kind: Any, length: Length | None = None) -> list[str]:
        """Variables of this type, or of this class of types and this length."""
        found = [v for v in self.variables if (v.type == kind if isinstance(kind, str) else isinstance(v.type, kind))]
        return [v.name for v in found if length is None or v.type.length.text == length.text]

    def type_of(self, name: str) -> Any:
        return next(v.type for v in self.variables if v.name == name)

    def fills(self, template: str, length: Length | None) -> bool:
        """Whether there is something for every hole."""
        letters = {letter for letter, _ in _HOLE.findall(template)}
        return self._fixed(letters) and (not letters & _WITH_LENGTH or bool(self._lengths(letters, length)))

    def _fixed(self, letters: set[str]) -> bool:
        """Whether there is something for the letters that have nothing to do with a length."""
        has: dict[str, Callable[[], Any]] = {
            "z": lambda: self.names(Vector),
            "m": lambda: self.names(Matrix),
            "w": lambda: self.names(Matrix),
            "P": lambda: self._assignable("pair"),
            "h": lambda: self._callable(statement=False),
            "H": lambda: self._callable(statement=True),
            "K": lambda: self._assignable("int"),
            "L": self._loose,
        }
        return all(
            has[letter]() if letter in has else self._assignable(_KINDS[letter])
            for letter in letters
            if letter in has or letter in _KINDS
        )

    def _lengths(self, letters: set[str], length: Length | None) -> list[Length]:
        """The lengths, or the one, for which there are variables of all the classes."""
        every = {v.type.length.text: v.type.length for v in self.variables if hasattr(v.type, "length")}
        some = [length] if length else list(every.values())
        return [
            one
            for one in some
            if all(self._long(letter, one) for letter in letters if letter in _LONG)
            and ("p" not in letters or self._with_rows(one))
        ]

    def _long(self, letter: str, length: Length) -> list[str]:
        """The variables of the letter's class and of this length; Y may be written."""
        fixed = {v.name for v in self.variables if v.fixed and letter == "Y"}
        return [name for name in self.names(_LONG[letter], length) if name not in fixed]

    def choose(self, kind: str, depth: int, length: Length | None = None, shape: Any = None) -> str:
        """Choose a template of this kind from the language, and fill it."""
        fitting = [t for t in self.language.templates[kind] if self.fills(t, length)]
        template = self.choices.pick(fitting + [t for t in fitting if t.startswith("{L")] * 4)  # few, and hard
        self.uses[template] += 1
        return self.fill(template, depth, length, shape)

    def fill(self, template: str, depth: int, length: Length | None = None, shape: Any = None) -> str:
        known: dict[str, str] = {}
        letters = {letter for letter, _ in _HOLE.findall(template)}
        if length is None and letters & _WITH_LENGTH:
            length = self.choices.pick(self._lengths(letters, None))
        if shape is None and letters & {"m", "w"}:
            shape = self.type_of(self.choices.pick(self.names(Matrix)))

        def hole(match: re.Match[str]) -> str:
            letter, number = match.groups()
            if number and match[0] in known:
                return known[match[0]]
            known[match[0]] = self._one(letter, depth, length, shape)
            return known[match[0]]

        return _HOLE.sub(hole, template)

    def _one(self, letter: str, depth: int, length: Any, shape: Any) -> str:
        pick = self.choices.pick
        if letter in _LONG:
            return pick(self._long(letter, length))
        if letter in _KINDS:
            return pick(self._assignable(_KINDS[letter]))
        return {
            "f": lambda: self.float(depth - 1),
            "a": lambda: self.atom(),
            "x": lambda: pick(self._atoms()),
            "k": lambda: self.int(depth - 1),
            "b": lambda: self.bool(depth - 1),
            "v": lambda: self.vector(length, depth - 1),
            "u": lambda: self.choose("vector", depth - 1, length),
            "g": lambda: self.complex(depth - 1),
            "y": lambda: self.complexes(length, depth - 1),
            "w": lambda: self.matrix(shape, depth - 1),
            "e": lambda: self.vector(shape.columns, depth - 1),
            "d": lambda: self.vector(shape.rows, depth - 1),
            "z": lambda: pick(self.names(Vector)),
            "m": lambda: pick([v.name for v in self.variables if v.type == shape]),
            "p": lambda: self._product(length, depth),
            "l": lambda: length.text,
            "i": lambda: self.index(length),
            "j": lambda: self.index(length),
            "P": lambda: pick(self._assignable("pair")),
            "r": lambda: self.index(shape.rows),
            "c": lambda: self.index(shape.columns),
            "h": lambda: self.call(depth, pick(self._callable(statement=False))),
            "H": lambda: self.call(depth, pick(self._callable(statement=True))),
            "K": lambda: pick(self._assignable("int")),
            "L": lambda: pick(self._loose()),
        }[letter]()

    # Expressions

    def _atoms(self) -> list[str]:
        found = [atom.format(name) for kind, atoms in ATOMS.items() for name in self.names(kind) for atom in atoms]
        for vector in self.names(Vector):
            found += [f"{vector}[{self._some_index(self.type_of(vector).length)}]"]
        for matrix in self.names(Matrix):
            kind = self.type_of(matrix)
            found += [f"{matrix}[{self._some_index(kind.rows)}, {self._some_index(kind.columns)}]"]
        return found or ["SCALE"]

    def _some_index(self, length: Length) -> str:
        """The innermost loop's variable where it fits."""
        fitting = [v.name for v in self.variables if v.index_of == length.text]
        return fitting[-1] if fitting else "0"

    def _assignable(self, kind: str) -> list[str]:
        return [v.name for v in self.variables if v.type == kind and not v.fixed]

    def _loose(self) -> list[str]:
        return [v.name for v in self.variables if isinstance(v.type, Vector) and v.type.loose]

    def _with_rows(self, rows: Length) -> list[str]:
        return [name for name in self.names(Matrix) if self.type_of(name).rows.text == rows.text]

    def _product(self, rows: Length, depth: int) -> str:
        matrix = self.choices.pick(self._with_rows(rows))
        return f"({matrix} @ {self.vector(self.type_of(matrix).columns, depth - 1)})"

    def float(self, depth: int = 2) -> str:
        if depth <= 0 or not self.choices.more(2):
            return self.atom()
        return self.choose("float", depth)

    def atom(self) -> str:
        return self.choices.pick(self._atoms() if self.choices.more(5) else CONSTANTS)

    def int(self, depth: int) -> str:
        if depth <= 0 or not self.choices.more(1):
            variables = self.names("int") if self.choices.more(2) else []
            return self.choices.pick(variables or ["0", "1", "2"])
        return self.choose("int", depth)

    def bool(self, depth: int) -> str:
        flags = self.names("bool")
        if flags and (depth <= 0 or not self.choices.more(2)):
            return self.choices.pick(flags)
        if depth > 0:
            return self.choose("bool", depth)
        return self.fill(self.choices.pick(["({x} < {a})", "({k} % 2 == 1)"]), depth)

    def index(self, length: Length) -> str:
        options = [v.name for v in self.variables if v.index_of == length.text]
        options += ["0", "-1"] + [f"{name} - 1" for name in options] + ["1"] * (length.least > 1)
        chosen = self.choices.integer(0, len(options))
        return options[chosen] if chosen < len(options) else f"({self.int(2)}) % ({length.text})"

    def vector(self, length: Length, depth: int) -> str:
        if depth > 0 and self.choices.more(1):
            return self.choose("vector", depth, length)
        options = self.names(Vector, length)
        options += [f"{name}[::-1]" for name in options]
        for name in self.names(Matrix):
            if self.type_of(name).columns.text == length.text:
                options.append(f"{name}[{self._some_index(self.type_of(name).rows)}]")
            if self.type_of(name).rows.text == length.text:
                options.append(f"{name}[:, {self._some_index(self.type_of(name).columns)}]")
        return self.choices.pick(options or [f"np.ones({length.text})"])

    def matrix(self, shape: Matrix, depth: int) -> str:
        if depth > 0 and self.choices.more(1):
            return self.choose("matrix", depth, shape=shape)
        return f"(0.7 * {self.choices.pick([v.name for v in self.variables if v.type == shape])})"

    def complex(self, depth: int) -> str:
        if depth > 0 and self.choices.more(3):
            return self.choose("complex", depth)
        return self.choices.pick([*self.names("complex"), f"complex({self.atom()}, {self.atom()})"])

    def complexes(self, length: Length, depth: int) -> str:
        if depth > 0 and self.choices.more(2):
            return self.choose("complexes", depth, length)
        return self.choices.pick(self.names(Complexes, length) or [f"({self.vector(length, 0)} + 0.5j)"])

    # Calls

    def _callable(self, statement: bool) -> list[Helper]:
        inside = self.helper is not None and (self.loops > 0 or self.calls > 3)  # calls must not multiply
        fits = [h for h in self.helpers if (statement or h.results == 1) and not inside]
        long = any(isinstance(v.type, Vector) and v.type.length.least > 1 for v in self.variables)
        return [h for h in fits if long or not any(isinstance(p.type, Vector) for p in h.parameters)]

    def call(self, depth: int, helper: Helper) -> str:
        """A call; all vectors among a helper's parameters have one length, at least 2. Some may be the same array."""
        self.calls += 1
        vectors = [v for v in self.variables if isinstance(v.type, Vector) and v.type.length.least > 1]
        length = self.choices.pick(vectors).type.length if vectors else None
        arguments: list[str] = []
        for parameter in helper.parameters:
            if parameter.type == "float":
                arguments.append(self.float(depth - 1))
            elif parameter.type == "int":
                inner = self.helper is not None and helper.family == self.helper.family
                arguments.append("down - 1" if inner else f"({self.int(1)}) % 4")
            elif parameter.type == "pair":
                arguments.append(self.choices.pick([*self.names("pair"), f"Pair({self.float(1)}, np.ones(3), 2)"]))
            elif parameter.type == "complex":
                arguments.append(self.complex(1))
            elif parameter.type == "tuple":
                arguments.append(self.choices.pick([*self.names("tuple"), f"({self.float(1)}, 0.3)"]))
            else:
                assert length is not None
                arguments.append(self.choices.pick(self.names(Vector, length)))
        if self.choices.rarely(4):
            arguments[-1] = f"{helper.parameters[-1].name}={arguments[-1]}"
        return f"{helper.name}({', '.join(arguments)})"
