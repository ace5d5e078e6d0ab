"""Source of a numba function: its syntax tree with true line numbers, and name resolution."""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import inspect
import io
import itertools
import linecache
import sys
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import NoReturn

import numba

from dualrev.compiler.frontend.reading.callables import is_callback, jitted, registered, special_name
from dualrev.compiler.frontend.reading.njit_options import check_options
from dualrev.compiler.types.aliases import AccessPath, Dispatcher, UserValue
from dualrev.diagnostics.quoting import identifier
from dualrev.diagnostics.signatures import signature, unwarned
from dualrev.eager.numba_rules import Owner
from dualrev.errors import UnsupportedError
from dualrev.rules.library import DEFINITIONS
from dualrev.transformed import Wrapper

__all__ = [
    *["Source", "Static", "compiled_function", "describe", "is_numba_function", "is_readable", "name_of", "read"],
    *["text_of", "unlifted"],
]

_ARGUMENT_FLAGS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR


@dataclass(frozen=True)
class Static:
    """A compile-time constant (a module, a function, a frozen number or array), and its access path."""

    value: UserValue
    path: AccessPath


def is_numba_function(f: UserValue) -> bool:
    """Whether `f` is a numba dispatcher: made by `numba.njit`."""
    return isinstance(f, numba.core.dispatcher.Dispatcher)


def is_derivative(f: UserValue) -> bool:
    """Whether a dispatcher is one of dualrev's: its class tells, as `functools.wraps` copies attributes to others."""
    return getattr(type(f), "is_derivative", False)


class StandIn(Wrapper):
    """The Python function of a numba function, and for numba that numba function itself."""

    def __init__(self, f: Dispatcher) -> None:
        super().__init__(f.py_func)  # the dispatcher's own attributes are no business of this object
        self.__wrapped__: Dispatcher = f


def unlifted(static: Static) -> Static:
    """Unwrap a callable to its numba function: of lift, a rule, the library, `register_jitable`, cfunc or SciPy."""
    if isinstance(static.value, Owner) and static.value.numba_function is not None:
        return Static(static.value.numba_function, (*static.path, ("attr", "numba_function")))
    from dualrev.rules.library.reimplemented import STAND_INS  # numba's own definitions come with it

    if id(static.value) in STAND_INS:
        name = STAND_INS[id(static.value)][1]
        return Static(DEFINITIONS[name], (("library", name),))
    if isinstance(static.value, StandIn):
        return Static(static.value.__wrapped__, (*static.path, ("attr", "__wrapped__")))
    if registered(static.value) or is_callback(static.value) or special_name(static.value) is not None:
        return Static(jitted(static.value), (*static.path, ("jitted", "")))
    return static


def parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Return the names of a function's parameters, in the order in which numba has them."""
    args = node.args
    return [a.arg for a in [*args.posonlyargs, *args.args, *filter(None, [args.vararg]), *args.kwonlyargs]]


@dataclass(frozen=True)
class Source:
    """The definition of a numba function: its dispatcher, syntax tree and lines, and diagnostics that cite them."""

    dispatcher: UserValue
    function: FunctionType
    tree: ast.FunctionDef
    file: str
    lines: list[str]

    @property
    def parameters(self) -> list[str]:
        """Names of the function's parameters, in the order in which numba has them."""
        return parameters(self.tree)

    def line(self, number: int) -> str:
        """Return the text of a line, without its indentation."""
        return self.lines[number - 1].strip() if 1 <= number <= len(self.lines) else ""

    def refuse(self, where: ast.AST | int, what: str, why: str, instead: str, at: int = 0) -> NoReturn:
        """Raise UnsupportedError for a construct at a node or a line; `at` is another line that is to blame.

        What the compiler has made itself is at line 0: the function's own line is named then.
        """
        where = at or where
        number = where if isinstance(where, int) else getattr(where, "lineno", 0)
        number = number or self.tree.lineno
        place = f"{self.file}:{number}: `{self.line(number)}`"
        refused = UnsupportedError.at(place, what, why, instead)
        refused.place = self.file, number
        raise refused

    def lookup(self, name: str, path: AccessPath) -> Static | None:
        """Resolve a closure cell, global or builtin by name; `path` is the access path to this function."""
        if name.startswith("builtins."):  # a name of desugar/ndindex.py
            return Static(getattr(builtins, name.removeprefix("builtins.")), ())
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


def compiled_function(dispatcher: Dispatcher) -> FunctionType:
    """Return the Python function that numba compiles; UnsupportedError if `functools.wraps` makes it ambiguous.

    A dispatcher takes over what functools.wraps copied. From another dispatcher that is its compiled code, too; and
    numba calls the parameters what the wrapped function calls them.
    """
    function: FunctionType = dispatcher._compiler.py_func
    code = function.__code__
    if function is not dispatcher.py_func:
        raise _refusal(
            function,
            "it wraps another numba function (functools.wraps), and numba calls now the one and now the other",
            "functools.wraps(f.py_func), the Python function that is wrapped",
        )
    names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    parameters = signature(function).parameters.values()
    own = _defaults(function)
    if [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)] != names or any(
        p.default is not own.get(p.name, p.empty) for p in parameters
    ):
        raise _refusal(
            function,
            f"its parameters are {', '.join(names)}, and inspect.signature, which numba asks, has others: those of the "
            "function that it wraps (functools.wraps)",
            "the same parameters and defaults in both, or no functools.wraps",
        )
    return function


def _defaults(function: FunctionType) -> dict[str, UserValue]:
    """Return the defaults in a function itself: numba takes those that `functools.wraps` shows, Python does not."""
    code, given = function.__code__, function.__defaults__ or ()
    last = code.co_varnames[: code.co_argcount][code.co_argcount - len(given) :]
    return dict(zip(last, given, strict=True)) | (function.__kwdefaults__ or {})


def text_of(function: FunctionType) -> list[str]:
    """Return the lines of the file, notebook cell or prompt statement that a function's code names; else none."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines and hasattr(linecache, "_getlines_from_code"):  # what `python -c` ran, from some Python 3.13 on
        lines = linecache._getlines_from_code(code)
    return list(io.StringIO("".join(lines or ()), newline=None))  # Python's lines: str.splitlines knows other ends, too


def read(dispatcher: Dispatcher) -> Source:
    """Read the source of a numba function, and verify that it compiles to the function's code; else UnsupportedError.

    A file may have changed after its import, exec runs what stands in no file, import hooks compile something else:
    so a definition counts as the source only if Python makes the function's code of it.
    """
    function = compiled_function(dispatcher)
    code, lines = function.__code__, text_of(function)
    try:
        if not lines:
            raise OSError
        with unwarned():
            units = _Units.of("".join(lines))
    except (OSError, SyntaxError, ValueError):
        raise _refusal(
            function,
            "its source code cannot be found, and the derivative is made from the source",
            "the function in a file or a notebook cell, not at Python's prompt, in exec or a lambda expression",
        ) from None
    with unwarned():
        tree = units.definition(code)
    if tree is None and code.co_name == "<lambda>":
        why = "which of several lambda expressions of its line it is, cannot be told, or the line has changed"
        raise _refusal(function, why, "a function with `def`, and decorate it")
    if tree is None:
        raise _refusal(
            function,
            "the source that is there now is not the one that it was made from, so the derivative would be another "
            "function's",
            "the function in a file, and import the module anew after a change of it",
        )
    source = Source(dispatcher, function, tree, code.co_filename, lines)
    check_options(dispatcher, source)
    return source


def is_readable(dispatcher: Dispatcher) -> bool:
    """Whether the source of a numba function can be read."""
    try:
        read(dispatcher)
    except UnsupportedError:
        return False
    return True


def name_of(dispatcher: Dispatcher) -> str:
    """Return the name of a numba function in emitted code; `lambda_` for a lambda expression."""
    return identifier(dispatcher.py_func.__name__, "lambda_")


def _refusal(function: FunctionType, why: str, instead: str) -> UnsupportedError:
    code = function.__code__
    name = getattr(function, "__qualname__", repr(function))
    return UnsupportedError.at(f"{code.co_filename}:{code.co_firstlineno}", f"numba function {name}", why, instead)


class _Units:
    """A source text, compiled as a whole, as files are, and statement by statement, as notebooks are.

    Code depends on what is compiled together: names that are imported, functions around.
    """

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self.whole = compile(self.tree, "<source>", "exec", dont_inherit=True)

    @staticmethod
    @functools.lru_cache(maxsize=4)  # a file has many functions
    def of(text: str) -> _Units:
        """Return the units of a text; cached."""
        return _Units(text)

    def definition(self, code: CodeType) -> ast.FunctionDef | None:
        """Find the `def` statement that compiles to this code, or None; for a lambda expression, synthesise one."""
        if code.co_name == "<lambda>":
            return self._of_lambda(code)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef) and (node.name, _starts(node)) == (code.co_name, code.co_firstlineno):
                return _mangled(_executed(copy.deepcopy(node)), code) if self._makes(node, code) else None
        return None

    def _of_lambda(self, code: CodeType) -> ast.FunctionDef | None:
        """Synthesise the `def` of a lambda expression; columns distinguish several lambdas on a line."""
        marks = {(line, column) for line, _, column, _ in code.co_positions() if line and column}
        found = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno
            if all((node.lineno, node.col_offset) <= at <= (node.end_lineno, node.end_col_offset) for at in marks)
        ]
        if len(found) != 1:
            return None
        node = copy.deepcopy(found[0])
        made = ast.parse("def lambda_(): pass").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.args, made.body = node.args, [ast.copy_location(ast.Return(node.body), node)]
        ast.copy_location(made, node)
        return _mangled(made, code) if self._makes(made, code) else None

    def _makes(self, node: ast.FunctionDef, code: CodeType) -> bool:
        if "@pytest_ar" in code.co_names and any(isinstance(x, ast.Assert) for x in ast.walk(node)):
            return True  # pytest writes other code for assert statements
        part = [ast.Module([statement], []) for statement in self.tree.body if _starts(statement) <= node.lineno][-1:]
        compiled = (compile(unit, "<source>", "exec", dont_inherit=True) for unit in part)
        units = itertools.chain([self.whole], compiled)
        return any(_content(found) == _content(code) for unit in units for found in _at(unit, code))


def _executed(tree: ast.FunctionDef) -> ast.FunctionDef:
    """Drop statements that Python does not compile: `assert`, under the option -O."""

    class Optimized(ast.NodeTransformer):
        """Transformer that drops `assert` statements."""

        def visit_Assert(self, node: ast.Assert) -> ast.Pass:
            """Replace an `assert` by `pass`."""
            return ast.copy_location(ast.Pass(), node)

    made = tree if __debug__ else Optimized().visit(tree)
    assert isinstance(made, ast.FunctionDef)
    return made


def _mangled(tree: ast.FunctionDef, code: CodeType) -> ast.FunctionDef:
    """Apply Python's name mangling to private names, such as `__x`, of the class around a definition."""
    around = code.co_qualname.split(".")[:-1]
    while around[-1:] == ["<locals>"]:  # and the function that it is inside of
        around = around[:-2]
    cls = around[-1].lstrip("_") if around else ""
    for node in ast.walk(tree) if cls else ():
        for field in ("id", "attr", "arg"):
            name = getattr(node, field, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                setattr(node, field, f"_{cls}{name}")
    return tree


def _starts(statement: ast.stmt) -> int:
    return min([statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", []))])


def _at(unit: CodeType, code: CodeType) -> list[CodeType]:
    """Find the code objects in compiled code that have the name and the first line of another."""
    inside = [found for constant in unit.co_consts if isinstance(constant, CodeType) for found in _at(constant, code)]
    here = (unit.co_name, unit.co_firstlineno) == (code.co_name, code.co_firstlineno)
    return [unit, *inside] if here else inside


def _content(code: CodeType) -> tuple[UserValue, ...]:
    """Return the content of a code object without line numbers, for comparison."""
    arguments = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & _ARGUMENT_FLAGS
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, code.co_exceptiontable, _constants(code.co_consts), names, arguments


def _constants(constants: tuple[UserValue, ...]) -> list[UserValue]:
    def told(x: UserValue) -> UserValue:
        """Return a comparable form of one constant."""
        if isinstance(x, CodeType):
            return _content(x)
        return type(x), sorted(map(repr, x)) if isinstance(x, frozenset) else repr(x)

    return list(map(told, constants))


def describe(x: UserValue) -> str:
    """Return a short name of an object for a message."""
    if isinstance(x, ModuleType):
        return x.__name__
    module = getattr(x, "__module__", None)
    name = getattr(x, "__qualname__", None) or getattr(x, "__name__", None)
    if name and module and module != "builtins":
        return f"{module.removeprefix('_') if module in sys.stdlib_module_names else module}.{name}"
    return name or (repr(x) if isinstance(x, (bool, int, float, complex, str)) else f"a {type(x).__name__}")
