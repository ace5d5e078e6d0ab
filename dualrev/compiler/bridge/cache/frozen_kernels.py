"""Frozen globals of ufunc kernels: compare the code that numba compiled with the code that it would compile now.

Numba compiles the kernel of `vectorize` or `guvectorize` at its definition, or at the first call with some types, and
tells nobody. So the kernel is compiled once more for the same types, and the two modules of LLVM are compared. All that
was frozen is in the text of the module: numbers, elements of tuples and arrays, and code of the numba functions that
the kernel calls. This holds for kernels that numba loaded from its cache, too. The names of symbols differ in any case,
so each gets the number of its first occurrence; metadata says nothing of values, and its order changes in the cache.
"""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError

from dualrev.compiler.types.aliases import Dispatcher

__all__ = ["is_current"]

_SYMBOL = re.compile(r'@(?:"[^"]*"|[-\w.$]+)')
_DEFINED = re.compile(r'^(?:define [^@]*)?(@(?:"[^"]*"|[-\w.$]+))(?= = (?!external)|\()', re.MULTILINE)
#: numba 0.65 writes an object of its own, with its address, into the module.
_OBJECT = re.compile(r'\[\d+ x i8\] c"<[^"]* object at 0x[0-9a-f]+>\\00"')
_METADATA = re.compile(r"^!.*\n?|(?:,)? ![\w.]+ !\d+| #\d+|^attributes #.*\n?", re.MULTILINE)


def is_current(dispatcher: Dispatcher) -> bool:
    """Whether numba would compile a ufunc's kernel to the same code today, for each signature."""
    with global_compiler_lock:
        return all(
            _is_same(dispatcher, signature, compiled) for signature, compiled in list(dispatcher.overloads.items())
        )


def _is_same(dispatcher: Dispatcher, signature: Any, compiled: Any) -> bool:
    anew = type(dispatcher)(dispatcher.py_func, dispatcher.locals, dispatcher.targetoptions)
    try:
        return _text(compiled) == _text(anew.compile(signature))
    except NumbaError:  # what is there now is of another type
        return False


def _text(compiled: Any) -> str:
    """Text of a compiled kernel's LLVM module, with renumbered symbols."""
    module = llvm.parse_bitcode(compiled.library._get_module_for_linking().as_bitcode())
    text = str(module).partition("\n\n")[2]  # without the name of the module
    text = _OBJECT.sub("an object", _METADATA.sub("", text))
    defined = set(_DEFINED.findall(text))
    numbers: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        """Replace a symbol that the module defines by its number."""
        name = found[0]
        return numbers.setdefault(name, f"@{len(numbers)}") if name in defined else name

    return _SYMBOL.sub(numbered, text)
