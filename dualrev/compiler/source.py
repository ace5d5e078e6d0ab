"""A numba function's source: its syntax tree with true line numbers, and what its names stand for."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any, NoReturn

import numba

from dualrev.errors import UnsupportedError

__all__ = ["Source", "Static", "describe", "is_numba_function", "read", "unlifted"]


@dataclass(frozen=True)
class Static:
    """Something that is known while compiling: a module, a function, a frozen number or array; and the way to it."""

    value: Any
    path: tuple[Any, ...]


def is_numba_function(f: Any) -> bool:
    """Whether f was made by numba.njit."""
    return isinstance(f, numba.core.dispatcher.Dispatcher)


def unlifted(static: Static) -> Static:
    """The numba function inside of what dualrev.lift made of it."""
    inner = getattr(static.value, "__wrapped__", None)
    if is_numba_function(inner) and not is_numba_function(static.value):
        return Static(inner, (*static.path, ("attr", "__wrapped__")))
    return static


@dataclass(frozen=True)
class Source:
    """The definition of a function, and how to speak of its lines."""

    function: Callable[..., Any]
    tree: ast.FunctionDef
    file: str

    def line(self, number: int) -> str:
        """The text of a line, without its indentation."""
        return linecache.getline(self.file, number).strip()

    def refuse(self, where: ast.AST | int, what: str, why: str, instead: str) -> NoReturn:
        """UnsupportedError for a construct at a node or a line."""
        number = where if isinstance(where, int) else getattr(where, "lineno", self.tree.lineno)
        place = f"{self.file}:{number}: `{self.line(number)}`"
        raise UnsupportedError.at(place, what, why, instead)

    def lookup(self, name: str, path: tuple[Any, ...]) -> Static | None:
        """What a name that is no local variable stands for; `path` leads to this function."""
        code = self.function.__code__
        if name in code.co_freevars:
            cell = (self.function.__closure__ or ())[code.co_freevars.index(name)]
            try:
                return unlifted(Static(cell.cell_contents, (*path, ("closure", name))))
            except ValueError:
                return None
        if name in self.function.__globals__:
            return unlifted(Static(self.function.__globals__[name], (*path, ("global", name))))
        if hasattr(builtins, name):
            return Static(getattr(builtins, name), ())
        return None


def read(dispatcher: Any) -> Source:
    """The source of a numba function; UnsupportedError if there is none."""
    function = dispatcher.py_func
    name = getattr(function, "__qualname__", repr(function))
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        raise UnsupportedError.at(
            f"{code.co_filename}:{code.co_firstlineno}",
            f"numba function {name}",
            "its source code cannot be found, and the derivative is made from the source",
            "the function in a file or a notebook cell, not in exec or a lambda expression",
        ) from None
    ast.increment_lineno(tree, first - 1)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function.__name__]
    if not found:
        raise UnsupportedError.at(
            f"{code.co_filename}:{code.co_firstlineno}",
            f"numba function {name}",
            "its source is not a `def` statement",
            "a function with `def`, and decorate it",
        )
    if not _is_source_of(found[0], function):
        raise UnsupportedError.at(
            f"{code.co_filename}:{code.co_firstlineno}",
            f"numba function {name}",
            "the source that is there now is not the one that it was made from, so the derivative would be another "
            "function's",
            "the function in a file, and import the module anew after a change of it",
        )
    return Source(function, found[0], code.co_filename)


def _is_source_of(tree: ast.FunctionDef, function: Callable[..., Any]) -> bool:
    """Whether a function's file compiles to its code: the file may have changed after its import.

    Code depends on what is compiled together (names that are imported, functions around): that is the file as a whole,
    or one statement of it, as in notebooks. pytest writes other code for assert statements, so that functions with
    these are believed.
    """
    if any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
        return True
    code = function.__code__
    try:
        whole, statements = _compiled("".join(inspect.findsource(function)[0]))
        part = [ast.Module([statement], []) for statement in statements if _starts(statement) <= tree.lineno][-1:]
        compiled = [whole, *(compile(unit, code.co_filename, "exec", dont_inherit=True) for unit in part)]
    except (OSError, SyntaxError, ValueError):
        return False
    return any(_content(found) == _content(code) for unit in compiled for found in _at(unit, code))


@functools.lru_cache(maxsize=4)  # a file has many functions
def _compiled(text: str) -> tuple[CodeType, list[ast.stmt]]:
    tree = ast.parse(text)
    return compile(tree, "<source>", "exec", dont_inherit=True), tree.body


def _starts(statement: ast.stmt) -> int:
    return min([statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", []))])


def _at(unit: CodeType, code: CodeType) -> list[CodeType]:
    """The functions in compiled code that have the name and the line of another."""
    inside = [found for constant in unit.co_consts if isinstance(constant, CodeType) for found in _at(constant, code)]
    here = (unit.co_name, unit.co_firstlineno) == (code.co_name, code.co_firstlineno)
    return [unit, *inside] if here else inside


def _content(code: CodeType) -> tuple[Any, ...]:
    """What code does, without its lines."""
    constants = [
        _content(x) if isinstance(x, CodeType) else x if isinstance(x, frozenset) else (type(x), repr(x))
        for x in code.co_consts
    ]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def describe(x: Any) -> str:
    """A short name for a message."""
    if isinstance(x, ModuleType):
        return x.__name__
    module = getattr(x, "__module__", None)
    name = getattr(x, "__qualname__", None) or getattr(x, "__name__", None)
    if name and module and module != "builtins":
        return f"{module}.{name}"
    return name or repr(x)
