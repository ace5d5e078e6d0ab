"""Derivatives as files: the emitted module, with imports of what it uses and does not define.

    global K of f's module          from package.model import K as _K
    numba function g of it          from package.model import g as _g
                                    _g = callee(_g, error_model='python', fastmath=False)
    item 0 of a tuple T             from package.model import T as _T
                                    _T = _T[0]

`callee` gives a callee the options that it inherits from f (numba_ext/emitted_functions.py). What has no importable
name is refused: closure values, functions inside of functions, objects.
"""

from __future__ import annotations

import platform
import re
import sys
from typing import Any, NoReturn

import numba
from numba.core.registry import CPUDispatcher

from dualrev._version import __version__
from dualrev.compiler.bridge.cache.key import fingerprint
from dualrev.compiler.bridge.cache.store import CachedModule, ConstantPath, resolve
from dualrev.compiler.bridge.dispatcher import Derivative
from dualrev.compiler.bridge.variadic import is_variadic
from dualrev.compiler.frontend.reading.njit_options import inherited_options
from dualrev.compiler.types.aliases import Dispatcher, NumbaTypes
from dualrev.diagnostics.quoting import comment, execute, unused
from dualrev.errors import UnsupportedError

__all__ = ["standalone"]

_RUNTIME = "from dualrev.compiler import runtime\n"
_LIBRARY = "dualrev.rules.library", "DEFINITIONS"


def standalone(
    derivative: Derivative, module: str, name: str, argtypes: NumbaTypes, command: str
) -> tuple[str, str, str]:
    """Text of a module with a derivative for these argument types, that needs dualrev's runtime only.

    `module` and `name` are where the differentiated function is imported from; `command` is quoted in the text. Also
    returned are the name of the derivative in the module, and its types.
    """
    f, transform, argnums = derivative.derivative_of
    if is_variadic(f):
        _refuse(f, "*args", "the file is for one number of arguments", "a function with a parameter for each of them")
    if not f._can_compile:
        why = "numba converts the arguments to the declared types, and a file has no such conversion"
        _refuse(f, "declared signatures", why, "@njit without signatures")
    emitted = derivative.emit(argtypes)
    obstacle = fingerprint(f, transform, argnums, argtypes)[1] or emitted.obstacle
    if obstacle:
        _refuse(f, obstacle, "it has no importable name", "numbers, arrays and @njit functions in its place")
    return _Writer(f, module, name, argtypes, emitted).text(command), emitted.entry, _typed(argtypes)


def _typed(argtypes: NumbaTypes) -> str:
    return ", ".join(map(str, argtypes))


def _refuse(f: Dispatcher, what: str, why: str, instead: str) -> NoReturn:
    code = f.py_func.__code__
    raise UnsupportedError.in_file(f"{code.co_filename}:{code.co_firstlineno}", what, why, instead)


class _Writer:
    """Writer of the imports of an emitted module, and of its first and last lines."""

    def __init__(self, f: Dispatcher, module: str, name: str, argtypes: NumbaTypes, emitted: CachedModule) -> None:
        self.f, self.root, self.argtypes, self.emitted = f, (module, name), argtypes, emitted
        self.words = set(re.findall(r"\w+", emitted.source))

    def text(self, command: str) -> str:
        """Text of the module."""
        constants = {name: self.imported(name, path) for name, path in sorted(self.emitted.constants.items())}
        callee, finish = unused("callee", self.words), unused("finish", self.words)
        options = ", ".join(f"{k}={v!r}" for k, v in sorted(inherited_options(self.f).items()))
        lines = []
        for name, imports in constants.items():
            lines += imports
            if isinstance(self.value(name), CPUDispatcher):
                lines.append(f"{name} = {callee}({name}, {options})")
        parts = (self.emitted.entry, tuple(constants), _typed(self.argtypes), __version__, command)
        helpers = ", ".join(x if x == own else f"{own} as {x}" for own, x in (("callee", callee), ("finish", finish)))
        versions = f"dualrev {__version__}, numba {numba.__version__}, Python {platform.python_version()}"
        head = comment(f"Written by `{command}`: {versions}.")
        before, after = self.emitted.source.split(_RUNTIME, 1)
        helpers = f"from dualrev.compiler.bridge.numba_ext.emitted_functions import {helpers}\n"
        bound = "\n".join(["", *lines, ""]) if lines else ""
        exported = f'\n__all__ = ["{self.emitted.entry}"]\n'
        last = f"\n{finish}(globals(), {', '.join(map(repr, parts))})\n"
        return f"{head}\n{before}{_RUNTIME}{helpers}{bound}{exported}{after}{last}"

    def value(self, name: str) -> object:
        """Value of a constant of the emitted module."""
        return resolve(self.f, self.argtypes, self.emitted.constants[name])

    def imported(self, name: str, path: ConstantPath) -> list[str]:
        """Lines that import a constant under its name, checked by running them."""
        (module, whole), steps, shown = self.root, "", name.lstrip("_")
        for k, (kind, step) in enumerate(path):
            if kind == "global":
                x: Any = resolve(self.f, self.argtypes, path[:k])
                function = getattr(x, "py_func", x)
                module, whole, steps, shown = function.__module__, str(step), "", str(step)
                if module not in sys.modules or function.__globals__ is not vars(sys.modules[module]):
                    self.refuse(shown, "its module cannot be imported by name")
            elif kind == "library":
                (module, whole), steps = _LIBRARY, f"[{step!r}]"
            elif kind in ("attr", "item"):
                steps += f".{step}" if kind == "attr" else f"[{step!r}]"
            elif kind == "closure":
                self.refuse(str(step), "it is a value of the enclosing function", "a global, or an argument")
            elif kind == "jitted":
                self.refuse(shown, "numba compiles it inside of its callers only", "@njit above it")
            else:
                self.refuse(shown, "the compiler has made it", "the command without --source, which fills the cache")
        first, _, rest = whole.partition(".")
        if rest:
            steps = f".{rest}{steps}"
        lines = [f"from {module} import {first}" + (f" as {name}" if first != name else "")]
        lines += [f"{name} = {name}{steps}"] if steps else []
        found: dict[str, object] = {}
        execute("\n".join(lines), found)
        if found[name] is not self.value(name):
            self.refuse(shown, f"{module}.{whole} is another object than the one that numba compiled")
        return lines

    def refuse(
        self, what: str, why: str, instead: str = "an @njit function or a value at the top of a module"
    ) -> NoReturn:
        """Raise UnsupportedError for a constant that cannot be imported."""
        _refuse(self.f, f"`{what}`", why, instead)
