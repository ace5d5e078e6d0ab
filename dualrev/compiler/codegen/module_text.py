"""Units of emission: a function of core that becomes text, and the module of all emitted functions.

find-index-ranges, emit                              of each function
fold-temporaries, merge-functions, choose-inlining   of the module
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from dualrev.compiler.analysis.values.index_ranges import Natural
from dualrev.compiler.codegen.fold_temporaries import tidy
from dualrev.compiler.codegen.inline_hints import copied
from dualrev.compiler.codegen.lines import CodeStatement, Row, lines_of, rows_of
from dualrev.compiler.frontend.reading.source import Source
from dualrev.compiler.ir.core.atoms import Node
from dualrev.compiler.ir.core.nodes import Block, Function
from dualrev.compiler.ir.core.printer import show
from dualrev.compiler.ir.names import Names, renamed, retold, words_of
from dualrev.diagnostics.quoting import docstring

__all__ = [
    "FunctionText",
    "ModuleText",
    "Writing",
    "choose_inlining",
    "emit",
    "find_index_ranges",
    "fold_temporaries",
    "merge_functions",
]


@dataclass(eq=False)
class Writing:
    """Function of core to be emitted, with `body` in place of its own; `write` adds its text to the module."""

    f: Function
    body: Block
    natural: Natural
    write: Callable[[], None]
    text: ModuleText
    holds: set[str] = field(default_factory=lambda: {"core"})

    def shown(self) -> str:
        """Text of the unit: core, or the functions emitted so far."""
        if "text" in self.holds:
            return self.text.shown()
        return show(replace(self.f, parameters=(), body=self.body, result=Node(())))

    def verify(self) -> None:
        """Verify nothing, since core has been verified."""


def find_index_ranges(w: Writing) -> None:
    """Value range analysis: find the indices and counters that are not negative, and LLVM is told so."""
    w.natural.look(w.body)


def emit(w: Writing) -> None:
    """Emit a line of text for each statement."""
    w.write()


@dataclass(eq=False)
class FunctionText:
    """Emitted function of the module, under internal names: the printed ones are chosen at the end."""

    name: str
    parameters: list[str]
    options: str
    doc: str
    code: list[CodeStatement]
    source: Source
    copied: bool = False  # into those that call it
    decorator: str = "njit"

    @cached_property
    def rows(self) -> list[Row]:
        """Lines of the body."""
        return rows_of(self.code)

    def fold(self, is_temporary: Callable[[str], bool]) -> None:
        """Fold temporaries of the body."""
        tidy(self.code, is_temporary)
        self.__dict__.pop("rows", None)

    def words(self) -> list[str]:
        """Names in the function, in their order, each once."""
        found = dict.fromkeys(self.parameters)
        for row in self.rows:
            found |= dict.fromkeys(words_of(row.text))
        return list(found)

    def text(self, name: Callable[[str], str]) -> str:
        """Text of the function, with its names mapped by `name`."""
        rows = [Row(renamed(row.text, name), row.line, row.depth) for row in self.rows]
        head = renamed(f"def {self.name}({', '.join(self.parameters)}):", name)
        doc = docstring(retold(self.doc, name))
        options = f"{self.options}, forceinline=True" if self.copied else self.options
        return "\n".join([f"@{self.decorator}({options})", head, f"    {doc}", *lines_of(rows, self.source.line)])


@dataclass(eq=False)
class ModuleText:
    """Text of a module: its emitted functions, and the names that they refer to.

    refs         what it uses and does not define, by name
    copiable     the names of functions that LLVM may copy into those that call them
    instead      the functions that are left out, and those that say the same
    """

    names: Names
    refs: Mapping[str, object]
    functions: list[FunctionText] = field(default_factory=list)
    copiable: set[str] = field(default_factory=set)
    instead: dict[str, str] = field(default_factory=dict)
    holds: set[str] = field(default_factory=lambda: {"text"})

    def add(
        self, name: str, parameters: list[str], options: str, doc: str, code: list[CodeStatement], source: Source
    ) -> None:
        """Add a function."""
        self.functions.append(FunctionText(name, parameters, options, doc, code, source))

    def printed(self, doc: str = "") -> tuple[str, dict[str, str]]:
        """Text of the whole module, and the printed names of generated names that are not local to a function."""
        functions = [f for f in self.functions if f.name not in self.instead]
        printed, local = self._printed(functions)
        printed |= {name: printed[first] for name, first in self.instead.items()}
        several = ", prange" if any("parallel=" in f.options for f in functions) else ""
        parts = ["import math", "", "import numpy as np", f"from numba import njit{several}", ""]
        parts = [docstring(doc), "", *parts, "from dualrev.compiler import runtime", ""]
        for f in functions:
            names = local[f.name] | printed
            parts += ["", f.text(lambda x, names=names: names.get(x, x))]  # type: ignore[misc]
        return "\n".join(parts) + "\n", printed

    def _printed(self, functions: list[FunctionText]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        """Printed names of the generated names: shared by functions, and local to each."""
        words = {f.name: f.words() for f in functions}
        outer = [*words] + [x for found in words.values() for x in found if x in self.refs]
        printed = self.names.chosen(outer, {x for found in words.values() for x in found})
        local = {
            name: self.names.chosen([x for x in found if x not in printed], [*printed.values(), *found])
            for name, found in words.items()
        }
        return printed, local

    def shown(self) -> str:
        """Text of the whole module."""
        return self.printed()[0]

    def verify(self) -> None:
        """Raise AssertionError if the text does not parse as Python."""
        try:
            ast.parse(self.shown())
        except SyntaxError as error:
            raise AssertionError(f"the text is no Python: {error}") from error


def fold_temporaries(m: ModuleText) -> None:
    """Forward substitution: put a temporary's expression into the only line that reads it."""
    for f in m.functions:
        f.fold(m.names.is_temporary)


def merge_functions(m: ModuleText) -> None:
    """Merge textually identical functions, so that numba compiles each once.

    Two calls of one function can have other facts, and yet the same derivative.
    """
    first: dict[str, str] = {}
    printed, local = m._printed(m.functions)
    for f in m.functions:
        names = local[f.name] | printed | {name: printed[same] for name, same in m.instead.items()} | {f.name: "_"}
        text = f.text(lambda x, names=names: names.get(x, x))  # type: ignore[misc]
        if first.setdefault(text, f.name) != f.name:
            m.instead[f.name] = first[text]


def choose_inlining(m: ModuleText) -> None:
    """Have LLVM inline small functions, within a budget of code growth."""
    functions = [f for f in m.functions if f.name not in m.instead]
    lines = {f.name: [renamed(row.text, lambda x: m.instead.get(x, x)) for row in f.rows] for f in functions}
    for name in copied(lines, m.copiable):
        next(f for f in functions if f.name == name).copied = True
