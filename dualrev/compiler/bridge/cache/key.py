"""Cache key: one hash of all that a derivative depends on; equal hashes mean equal source and machine code.

Hashed are the argument types and the transformation; the function's name, source text, bytecode, defaults and numba
options, with the types that it has been compiled for under another error model of its caller's; and, through its
globals, closure and attributes of modules (`mod.g`), everything that numba freezes into it:

    value     number, string, array, tuple ...      type and contents
              numba function, Python function       all of the above, of it
              what a module of Python, numpy, numba its name; their versions are hashed
              or dualrev defines by name
              anything else                         an obstacle: the derivative is not cached

Versions are those of Python, numba, numpy, llvmlite and dualrev, with dualrev's own files, so that work on them serves
nothing stale. The processor is left to numba's index, which distinguishes it.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config, types
from numba.core.dispatcher import Dispatcher

from dualrev._version import __version__
from dualrev.compiler.frontend.reading.callables import (
    is_callback,
    is_generalized,
    is_kernel,
    is_known_to_numba,
    is_ufunc,
    registered,
)
from dualrev.compiler.frontend.reading.jitclass_methods import functions_of, is_jitclass
from dualrev.compiler.frontend.reading.njit_options import compiled_otherwise
from dualrev.compiler.frontend.reading.source import is_derivative, text_of
from dualrev.compiler.types.aliases import ArgNums, UserValue
from dualrev.eager.numba_rules import Owner, Ruled
from dualrev.rules.drawing import drawing_name
from dualrev.rules.library.constant_functions import ConstantFunction

__all__ = ["fingerprint", "freezes", "local"]

_MISSING = object()
_ADDRESS = " at 0x"  # in a representation: it is another one next time
_PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)
_OPTIONS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")  # numba's, by environment variables
_VERSIONED = {"numpy", "numba", "dualrev"}


def fingerprint(f: Dispatcher, transform: str, argnums: ArgNums, argtypes: tuple[types.Type, ...]) -> tuple[str, str]:
    """Hash of a derivative's dependencies, and the obstacle to caching: an empty text if none.

    >>> from numba import float64, njit
    >>> f = njit(lambda x: x * x)
    >>> fingerprint(f, "grad", 0, (float64,)) == fingerprint(f, "grad", 0, (float64,))
    True
    """
    walk = _Hasher(f)
    walk.add(_environment(), *(getattr(config, name) for name in _OPTIONS), transform, argnums)
    walk.value(f)
    for t in argtypes:
        walk.type(t)
    walk.otherwise()
    for function in walk.functions:
        if not isinstance(function, Ruled):  # its Python function is among them, too
            walk.text(function)
    return walk.hash.hexdigest()[:32], walk.obstacle


def local(f: Dispatcher) -> tuple[dict[str, str], list[Dispatcher]]:
    """Hashes of the values that a numba function freezes, by its names for them; and the numba functions among these.

    Of these and of anything that has no contents to be compared, the identity counts: this holds in one process only.
    A function that has signatures is compiled before its name is there: by its own name, numba means the function then.
    A ufunc is one of the functions by the dispatcher of its kernel.
    """
    if is_derivative(f):
        return {}, [f.derivative_of[0]]
    function, callees, found = f.py_func if is_kernel(f) else f._compiler.py_func, [], {}
    parts = [("its code", function.__code__.co_code), ("its defaults", function.__defaults__), *_frozen(function)]
    if isinstance(f, Ruled):
        parts.append(("its rule", f.current))
    for name, x in parts:
        walk = _Local()
        if x is not _MISSING and not (x is f and name == function.__name__):
            walk.value(x)
        found[name] = walk.hash.hexdigest()
        callees += walk.callees
    return found, callees


class _Hasher:
    """Incremental hash of visited values; functions are visited once."""

    def __init__(self, root: Any = None) -> None:
        self.root = root
        self.hash = hashlib.sha256()
        self.obstacle = ""
        self.functions: dict[FunctionType, int] = {}
        self.dispatchers: dict[Dispatcher, int] = {}

    def add(self, *parts: object) -> None:
        """Hash texts or bytes, each with its length."""
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
            self.hash.update(b"%d:" % len(data) + data)

    def value(self, x: UserValue) -> None:
        """Hash a value: its type and contents."""
        x = x.dispatcher if isinstance(x, ConstantFunction) else x
        cls = type(x)
        self.add(cls.__module__, cls.__qualname__)
        if cls in _PLAIN:
            self.add(repr(x))
        elif isinstance(x, Dispatcher):
            self.dispatcher(x)
        elif isinstance(x, Owner) and x.numba_function is not None:
            self.dispatcher(x.numba_function)
        elif isinstance(x, np.ndarray) and not x.dtype.hasobject:
            flags = x.flags
            self.add(repr(x.dtype), x.shape, flags.c_contiguous, flags.f_contiguous, flags.aligned, flags.writeable)
            self.add(x.tobytes())
        elif isinstance(x, np.generic) and not x.dtype.hasobject:
            self.add(repr(x.dtype), x.tobytes())
        elif isinstance(x, enum.Enum):
            self.add(x.name)
            self.value(x.value)
        elif isinstance(x, (tuple, list)):
            self.add(len(x), getattr(x, "_fields", ""))
            for item in x:
                self.value(item)
        elif isinstance(x, (ModuleType, np.ufunc)):
            self.add(x.__name__)
        elif isinstance(x, np.dtype):
            self.add(repr(x))
        elif isinstance(x, types.Type):
            self.type(x)
        elif (name := drawing_name(x)) is not None:
            self.add(name)
        elif is_jitclass(x):  # its name does not say what its methods do
            self.unknown(x)
        elif isinstance(x, type) or _is_defined_by_name(x):
            self.add(x.__module__, x.__qualname__, getattr(x, "_fields", ""))
        elif isinstance(x, FunctionType):
            self._function(x)
            if is_known_to_numba(x) and not registered(x):
                self.unknown(x)  # what numba has for it, an overload, is not the function
        elif is_ufunc(x):
            self.add(x._frozen and x.types, sorted(x._dispatcher.targetoptions.items()))
            self._function(x._dispatcher.py_func)
        elif is_generalized(x):
            self.add(x.gufunc_builder.signature, x.gufunc_builder._sigs, sorted(x._dispatcher.targetoptions.items()))
            self._function(x._dispatcher.py_func)
        elif is_callback(x):
            self.add(x._sig)
            self._function(x._pyfunc)
        else:
            self.unknown(x)

    def unknown(self, x: UserValue) -> None:
        """Note as an obstacle a value that cannot be compared with another process's."""
        cls = type(x)
        self.obstacle = self.obstacle or f"a value of type {cls.__module__}.{cls.__qualname__}"

    def type(self, t: types.Type) -> None:
        """Hash a numba type."""
        t = types.unliteral(t)
        self.add(type(t).__name__)
        if isinstance(t, types.Dispatcher):
            self.value(t.dispatcher)
        elif isinstance(t, types.Omitted):
            self.value(t.value)
        elif isinstance(t, types.BaseTuple):
            items: Any = t
            self.add(len(items))
            self.value(getattr(t, "instance_class", None))
            for item in items:
                self.type(item)
        elif isinstance(t, types.ClassInstanceType) or _ADDRESS in str(t):
            self.obstacle = self.obstacle or f"an argument of type {t}"
        else:
            self.add(t)

    def dispatcher(self, f: Dispatcher) -> None:
        """Hash a numba function: its options, signatures, rule and Python function."""
        self.dispatchers.setdefault(f, len(self.dispatchers))
        if is_derivative(f):  # its own function is a placeholder
            for part in f.derivative_of:
                self.value(part)
            return
        if isinstance(f, Ruled):
            if f in self.functions:  # a rule may call what it is the rule of
                self.add(self.functions[f])
                return
            self.functions[f] = len(self.functions)
            self.add(f.kind)
            self.value(f.current)
        self._options(f.targetoptions)
        self.add(sorted(f.locals.items()), f._compiler.pipeline_class.__qualname__, f._can_compile)
        for signature in () if f._can_compile else f.nopython_signatures:
            self.add(len(signature.args))
            for t in (*signature.args, signature.return_type):
                self.type(t)
        self._function(f._compiler.py_func)

    def _options(self, options: dict[str, object]) -> None:
        self.add(len(options))
        for name, x in sorted(options.items()):
            self.add(name)
            if callable(x):  # `inline` may be a function
                self.value(x)
            else:
                self.add(sorted(x) if isinstance(x, (set, frozenset)) else x)

    def otherwise(self) -> None:
        """Hash the argument types for which functions were compiled under another error model than the root's.

        They come last, since a function among the types is named by its number in this walk. One that is not in it is
        none that the root can pass: a function inside of another one, say, of which numba makes a new one each time.
        """
        for f in self.dispatchers:
            if is_derivative(f):
                continue
            found = []
            for kinds in compiled_otherwise(f, self.root):
                walk = _Kinds(self.dispatchers)
                for t in kinds:
                    walk.type(t)
                self.obstacle = self.obstacle or walk.obstacle
                if walk.reachable:
                    found.append(walk.hash.hexdigest())
            self.add(len(found), *sorted(found))

    def _function(self, f: FunctionType) -> None:
        if f in self.functions:
            self.add(self.functions[f])
            return
        self.functions[f] = len(self.functions)
        self.add(f.__name__)
        self._code(f.__code__)
        self.value(f.__defaults__)
        self.value(tuple((f.__kwdefaults__ or {}).items()))
        for name, x in _frozen(f):
            self.add(name)
            if x is not _MISSING:
                self.value(x)

    def text(self, f: FunctionType) -> None:
        """Hash the source lines of a function: emitted code has them as comments."""
        first = f.__code__.co_firstlineno
        lines = text_of(f)[first - 1 : max(line or 0 for _, _, line in f.__code__.co_lines())]
        if not lines:
            self.obstacle = self.obstacle or f"{f.__name__}, whose source cannot be found"
        self.add(*lines)

    def _code(self, code: CodeType) -> None:
        self.add(code.co_code, code.co_names, code.co_varnames, code.co_freevars)
        for x in code.co_consts:
            if isinstance(x, CodeType):
                self._code(x)
            else:
                self.add(sorted(map(repr, x)) if isinstance(x, frozenset) else repr(x))


class _Kinds(_Hasher):
    """Hash of argument types that a function has been compiled for; functions among them count by their numbers."""

    def __init__(self, numbers: dict[Dispatcher, int]) -> None:
        super().__init__()
        self.numbers = numbers
        self.reachable = True

    def dispatcher(self, f: Dispatcher) -> None:
        """Hash a numba function among the types, by its number in the walk."""
        self.reachable = self.reachable and f in self.numbers
        self.add(self.numbers.get(f))

    def type(self, t: types.Type) -> None:
        """Hash a type; a function of numba's own by its typing key, since its name may hold an address."""
        if isinstance(t, types.Function):
            self.add(type(t).__name__)
            self.value(t.typing_key)
        else:
            super().type(t)


class _Local(_Hasher):
    """Hash of a function's own references, valid in this process."""

    def __init__(self) -> None:
        super().__init__()
        self.callees: list[Dispatcher] = []

    def dispatcher(self, f: Dispatcher) -> None:
        """Hash a numba function by identity; its own references are hashed apart."""
        self.add(id(f))
        self.callees.append(f)

    def value(self, x: UserValue) -> None:
        """Hash a value; an array of more than a megabyte by identity, since numba refers to it."""
        if is_ufunc(x) or is_generalized(x):
            self.callees.append(x._dispatcher)
        if isinstance(x, np.ndarray) and x.nbytes > 10**6:
            self.add(id(x))
        else:
            super().value(x)

    def unknown(self, x: UserValue) -> None:
        """Hash a value of unknown contents by identity; a bound method by its function and its object."""
        self.callees += functions_of(x.class_type) if is_jitclass(x) else []
        self.add(*map(id, (x.__func__, x.__self__) if isinstance(x, MethodType) else (x,)))


def _frozen(f: FunctionType) -> Iterator[tuple[str, UserValue]]:
    """Globals, closure values and attributes of modules and classes that f reads, by their names in f.

    Functions inside of f count as f. Read from the bytecode: names alone would mix up `data` and `x.data`.
    """
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    codes, found = [f.__code__], {}
    for code in codes:
        codes.extend(x for x in code.co_consts if isinstance(x, CodeType))
        steps = [x for x in dis.get_instructions(code) if x.opname != "EXTENDED_ARG"]
        for at, step in enumerate(steps):
            name = step.argval
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                x = f.__globals__.get(name, vars(builtins).get(name, _MISSING))
            elif step.opname.endswith("DEREF") and step.opname.startswith("LOAD") and name in cells:
                x = _contents(cells[name])
            else:
                continue
            for following in steps[at + 1 :]:
                if following.opname not in ("LOAD_ATTR", "LOAD_METHOD") or not isinstance(x, (ModuleType, type)):
                    break
                name, x = f"{name}.{following.argval}", getattr(x, following.argval, _MISSING)
            found[name] = x
    return iter(found.items())


def freezes(f: FunctionType) -> bool:
    """Whether f reads a value that may be another one when f is compiled again."""
    values = (x for _, x in _frozen(f) if x is not _MISSING)
    return any(not (isinstance(x, (ModuleType, np.ufunc)) or _is_defined_by_name(x)) for x in values)


def _contents(cell: CellType) -> UserValue:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return _MISSING


def _is_defined_by_name(x: UserValue) -> bool:
    """Whether a module of known version defines x under its name; or x is a function written in C."""
    if isinstance(x, BuiltinFunctionType):
        return True
    module, name = getattr(x, "__module__", None), getattr(x, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return False
    root = module.partition(".")[0]
    if root not in _VERSIONED and root not in sys.stdlib_module_names:
        return False
    return getattr(sys.modules.get(module), name, None) is x


@functools.cache
def _environment() -> str:
    """Versions, and a hash of dualrev's own files."""
    package = Path(__file__).resolve().parents[2]
    files = hashlib.sha256()
    for file in sorted(package.rglob("*.py")):
        files.update(str(file.relative_to(package)).encode() + b"\0" + file.read_bytes())
    versions = (sys.version, numba.__version__, np.__version__, llvmlite.__version__, __version__)
    return " ".join((*versions, files.hexdigest()))
