"""Instrumentation of emitted code: it counts what each line of the user's functions puts on the tape (`dr.tape_info`).

    words[top] = x                      words[top] = x
    top += 1                            top += 1
                                        runtime.count_words(ADDRESS, SITE, 1, 1)

A site is a line of a user's function, in one emitted function. runtime/tape/counts.py has the counters.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from dualrev.compiler.codegen.lines import Assign, Code, CodeStatement, Pop, Push, Suite
from dualrev.compiler.frontend.reading.source import Source
from dualrev.compiler.ir.names import is_generated, readable
from dualrev.compiler.runtime.tape.counts import CAPACITY, COLUMNS, SITES, TAKEN

__all__ = ["RecordingSite", "TapeCounter"]

_MOST_SITES = 2**16
_KEEP = "runtime.keep(tape, "
_LENGTH, _DEPTH = 40, 3  # of an expression that is shown


@dataclass(frozen=True)
class RecordingSite:
    """A place of the emitted code that records: the user's function and line, and the values in the user's names."""

    source: Source
    line: int
    values: tuple[str, ...]


@dataclass(eq=False)
class TapeCounter:
    """Counters of one module, and the sites that they belong to."""

    sites: list[RecordingSite] = field(default_factory=list)
    counters: np.ndarray = field(default_factory=lambda: np.zeros(SITES + 2 * _MOST_SITES, np.int64))
    events: np.ndarray = field(default_factory=lambda: np.empty((CAPACITY, COLUMNS), np.int64))

    def instrumented(self, code: list[CodeStatement], source: Source) -> list[CodeStatement]:
        """Add a count after each statement of a function that moves the top of the tape, or records an array."""
        return _Instrumenter(self, source, _Definitions(code)).block(code)

    def site(self, source: Source, line: int, values: Iterable[str]) -> int:
        """Return the number of a new site: lines that are differentiated twice have several."""
        self.sites.append(RecordingSite(source, line, tuple(dict.fromkeys(values))))
        assert len(self.sites) <= _MOST_SITES, "too many places that record"
        return len(self.sites) - 1


class _Instrumenter:
    def __init__(self, counter: TapeCounter, source: Source, definitions: _Definitions) -> None:
        self.counter, self.source, self.definitions = counter, source, definitions
        self.count = f"runtime.count_words({counter.counters.ctypes.data}"
        self.tables = f"{counter.counters.ctypes.data}, {counter.events.ctypes.data}"

    def block(self, code: list[CodeStatement]) -> list[CodeStatement]:
        """Instrument a block."""
        made: list[CodeStatement] = []
        columns: list[str] = []
        for s in code:
            if isinstance(s, Suite):
                s = Suite(s.header, self.block(s.body), s.line, self.block(s.orelse), s.loop)
            if isinstance(s, Code) and (name := _column(s.text)):
                columns.append(name)
            made += [s, *(Code(text, s.line) for text in self.counts(s, columns))]
        return made

    def counts(self, s: CodeStatement, columns: list[str]) -> Iterator[str]:
        """Text that counts a statement's words or arrays; the names of columns are taken from the list."""
        match s:
            case Push(words, line):
                yield f"{self.count}, {self.site(line, words)}, 1, {len(words)})"
            case Pop(targets):
                yield f"{self.count}, {TAKEN}, 0, {len(targets)})"
            case Code(text, line) if text.startswith("top += "):  # columns: `top += 2 * _n1`, for _n1 iterations
                total = text.removeprefix("top += ")
                stored = [x for name in columns for x in self.definitions.stored(name)]
                columns.clear()
                yield f"{self.count}, {self.site(line, stored)}, {total.split(' * ')[-1]}, {total})"
            case Code(text) if text.startswith("top -= "):
                yield f"{self.count}, {TAKEN}, 0, {text.removeprefix('top -= ')})"
            case Code(text, line) if text.startswith(_KEEP):
                array = text.removeprefix(_KEEP).removesuffix(")")
                yield f"runtime.count_array({self.tables}, {self.site(line, [ast.Name(array)])}, tape, {array})"
            case Assign(_, ast.Call(ast.Attribute(ast.Name("runtime"), "kept"))):
                yield f"runtime.count_taken({self.tables}, tape)"

    def site(self, line: int, values: Iterable[ast.expr]) -> int:
        """Return the number of a new site, where these expressions are recorded."""
        return self.counter.site(self.source, line, [x for value in values for x in self.definitions.written(value)])


class _Definitions:
    """Definitions of the variables of a forward sweep that are assigned once, and the values stored to columns."""

    def __init__(self, code: list[CodeStatement]) -> None:
        self._values: dict[str, list[ast.expr]] = {}
        self._stored: dict[str, list[ast.expr]] = {}
        ends = (k for k, s in enumerate(code) if isinstance(s, Code) and s.text == "# the reverse sweep")
        self._collect(code[: next(ends, len(code))])

    def _collect(self, code: list[CodeStatement]) -> None:
        for s in code:
            if isinstance(s, Suite):
                self._collect(s.body)
                self._collect(s.orelse)
            elif isinstance(s, Assign) and isinstance(s.target, ast.Name):
                self._values.setdefault(s.target.id, []).append(s.value)
            elif isinstance(s, Assign) and isinstance(s.target, ast.Subscript) and isinstance(s.target.value, ast.Name):
                self._stored.setdefault(s.target.value.id, []).append(s.value)

    def stored(self, column: str) -> list[ast.expr]:
        """Return the expressions whose values a column has."""
        return self._stored.get(column, [])

    def written(self, word: ast.expr) -> Iterator[str]:
        """Text of the values in a word of the tape, in the user's names: several, where bools share one."""
        for node in ast.walk(word):
            if isinstance(node, ast.Name) and node.id != "runtime":
                text = readable(ast.unparse(self._expanded(node)))
                text = text.replace("_forward(", "(").replace(", tape)", ")")  # the callee, as the user calls it
                if text == "trips_":
                    yield "number of iterations"
                elif "runtime." not in text and len(text) <= _LENGTH:
                    yield text

    def _expanded(self, node: ast.Name, depth: int = 0) -> ast.expr:
        values = self._values.get(node.id, [])
        if not is_generated(node.id) or len(values) != 1 or depth > _DEPTH:
            return node
        definitions = self

        class Expand(ast.NodeTransformer):
            """Expansion of generated names by their definitions."""

            def visit_Name(self, inner: ast.Name) -> ast.expr:
                """Expand one name."""
                return definitions._expanded(inner, depth + 1)

        made: ast.expr = Expand().visit(copy.deepcopy(values[0]))
        return made


def _column(text: str) -> str:
    """Name of the column that a statement makes, or an empty string."""
    name, _, value = text.partition(" = ")
    return name if value.startswith(("runtime.column(", "runtime.flags(")) else ""
