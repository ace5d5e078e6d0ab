"""Count the loops that LLVM vectorises, in a numba function and in both passes of its gradient.

numba compiles both functions with debug information (`NUMBA_DEBUGINFO`, which it reads at import, so this needs a new
process). LLVM names the body of a vectorised loop `vector.body`, with the source line that it comes from. The count is
of innermost loops: in the source of f and of the functions that it calls, and in the emitted source, before and after
the line "# the reverse sweep". An unrolled loop counts as not vectorised. Array operations have no loops in the source
of f, so they are not counted there; the loops that emitted code has for them are.
"""

from __future__ import annotations

import ast
import json
import linecache
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba

__all__ = ["Counts", "counted", "vectors_of"]

#: (vectorised loops, all loops) of "primal", "forward", "reverse".
Counts = dict[str, tuple[int, int]]

_REVERSE = "# the reverse sweep"


def counted(name: str) -> str:
    """Return the counts of a program, as JSON."""
    import dualrev
    from bench.programs.array_programs import EVERY

    program = EVERY[name]
    args = program.make(program.small)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba says that debug information and optimisation do not go well together
        program.function(*args)
        gradient = dualrev.value_and_grad(program.function, program.argnums)
        gradient(*args)
    return json.dumps(vectors_of(program.function, gradient))


def vectors_of(f: Any, gradient: Any) -> Counts:
    """Return the counts of a numba function and its gradient, both compiled once, with debug information."""
    of_f, of_gradient = (_Compiled(dispatcher) for dispatcher in (f, gradient))
    own = [place for place in of_f.functions if "site-packages" not in place[0] and not _is_emitted(place[0])]
    primal = [loop for file, line in own for loop in _loops(_parsed(file), line, file)]
    emitted = next(file for file, _ in of_gradient.functions if _is_emitted(file))
    text = "".join(linecache.getlines(emitted))
    both = _loops(ast.parse(text), None, emitted)
    border = {line for line, said in enumerate(text.splitlines(), 1) if _REVERSE in said}
    forward = [loop for loop in both if loop.is_forward(border)]
    reverse = [loop for loop in both if not loop.is_forward(border)]
    counts = {"primal": of_f.count(primal), "forward": of_gradient.count(forward)}
    return counts | {"reverse": of_gradient.count(reverse)}


def _is_emitted(file: str) -> bool:
    return file.startswith("<dualrev ")


def _parsed(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


class _Loop:
    """An innermost loop of a source."""

    def __init__(self, file: str, function: ast.FunctionDef, node: ast.For | ast.While) -> None:
        self.file, self.function, self.node = file, function, node

    def has(self, file: str, line: int) -> bool:
        """Whether a line of a file is in the loop."""
        return file == self.file and self.node.lineno <= line <= (self.node.end_lineno or 0)

    def is_forward(self, borders: set[int]) -> bool:
        """Whether an emitted loop belongs to the forward pass; `borders` are the lines where reverse passes begin."""
        first, last = self.function.lineno, self.function.end_lineno or 0
        border = next((line for line in borders if first <= line <= last), None)
        return self.function.name.endswith("_forward") if border is None else self.node.lineno < border


def _loops(tree: ast.Module, line: int | None, file: str) -> list[_Loop]:
    """Return the innermost loops of all functions, or of the function at `line`."""
    found = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
        if line is None or first <= line <= function.body[0].lineno:  # numba gives the line below `def`
            loops = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]
            inner = [
                a for a in loops if not any(b is not a for b in ast.walk(a) if isinstance(b, (ast.For, ast.While)))
            ]
            found += [_Loop(file, function, node) for node in inner]
    return found


class _Compiled:
    """The debug information of a compiled function: `functions` are the file and line of each function in it."""

    def __init__(self, dispatcher: numba.core.dispatcher.Dispatcher) -> None:
        (text,) = dispatcher.inspect_llvm().values()
        self._nodes = dict(re.findall(r"^(!\d+) = (?:distinct )?(!DI\w+\(.*\))$", text, re.M))
        self.functions = {self._place(key) for key, node in self._nodes.items() if node.startswith("!DISubprogram")}
        bodies = re.findall(r"^vector\.body[\w.]*:.*?^$", text, re.M | re.S)
        self._vectors = [{*self._chain(body)} for body in bodies if " phi " in body]

    def count(self, loops: list[_Loop]) -> tuple[int, int]:
        """Return how many of the loops LLVM has vectorised, and how many there are."""
        made = [loop for loop in loops if any(loop.has(*place) for chain in self._vectors for place in chain)]
        return len(made), len(loops)

    def _field(self, key: str, name: str) -> str:
        found = re.search(rf"\b{name}: (?:\"(.*?)\"|([^,)]+))", self._nodes[key])
        return next(filter(None, found.groups()), "") if found else ""

    def _place(self, subprogram: str) -> tuple[str, int]:
        file = self._field(subprogram, "file")
        name, folder = self._field(file, "filename"), self._field(file, "directory")
        return name if _is_emitted(name) else str(Path(folder) / name), int(self._field(subprogram, "line"))

    def _chain(self, body: str) -> Iterator[tuple[str, int]]:
        """Yield the source lines of a block, and the lines of the calls that were inlined around it."""
        for key in dict.fromkeys(re.findall(r"!dbg (!\d+)", body)):
            while key:
                scope = self._field(key, "scope")
                yield self._place(scope)[0], int(self._field(key, "line"))
                key = self._field(key, "inlinedAt")
