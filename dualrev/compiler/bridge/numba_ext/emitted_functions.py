"""Preparation of emitted functions for numba: in memory (dispatcher.py), and in files (standalone.py).

A file that `python -m dualrev.warm --source` has written ends with a call of `finish`. It imports this module, and the
runtime; none of the compiler's passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numba.core import sigutils, types
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher

from dualrev._version import __version__
from dualrev.compiler.bridge.numba_ext.exception_cleanup import release_at_exceptions
from dualrev.compiler.frontend.reading.njit_options import with_caller_options
from dualrev.compiler.ir.local_names import keep_apart
from dualrev.compiler.types.aliases import UserValue
from dualrev.rules.library.constant_functions import ConstantFunction

__all__ = ["callee", "finish", "own_functions", "prepare"]


def own_functions(namespace: Mapping[str, UserValue]) -> list[Any]:
    """Numba functions that a module defines."""
    found: list[Any] = [x for x in namespace.values() if isinstance(x, CPUDispatcher)]
    return [x for x in found if x.py_func.__globals__ is namespace]


def prepare(namespace: dict[str, Any], entry: Any, constants: Mapping[str, UserValue]) -> list[Any]:
    """Prepare the functions of an emitted module for numba, and return them.

    They release their references at exceptions, their local names do not collide, and Python calls only the entry. They
    pass numba functions as arguments without their addresses.
    """
    own = own_functions(namespace)
    namespace |= {name: ConstantFunction(x) for name, x in constants.items() if isinstance(x, CPUDispatcher)}
    release_at_exceptions(own, {name for name, x in constants.items() if callable(x) and not isinstance(x, type)})
    for made in own:
        keep_apart(made.py_func, parameters=made is not entry)
        if made is not entry:  # Python does not call it
            made.targetoptions.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    return own


def callee(x: UserValue, **defaults: UserValue) -> UserValue:
    """A user's numba function as the derivative calls it: with these options, where it has none of its own."""
    return with_caller_options(x, defaults)


def finish(
    namespace: dict[str, Any], entry: str, constants: tuple[str, ...], argtypes: str, version: str, again: str
) -> None:
    """Prepare the functions of a written module, and restrict its entry to the types that it was written for.

    Raises ImportError if another version of dualrev wrote the module: `again` is the command that writes it.
    """
    if version != __version__:
        file = namespace["__file__"]
        raise ImportError(
            f"{file} was written by dualrev {version}, and this is {__version__}. Write it again: {again}"
        )
    made: Any = namespace[entry]
    prepare(namespace, made, {name: namespace[name] for name in constants})
    compile_for = made.compile

    def compile(sig: UserValue) -> Any:
        """Compile for the types that the module was written for; TypingError for others."""
        given = ", ".join(str(types.unliteral(t)) for t in sigutils.normalize_signature(sig)[0])
        if given != argtypes:
            raise TypingError(
                f"{entry} was written for the types ({argtypes}), and got ({given}). Convert the arguments, or write"
                " another file for these types: python -m dualrev.warm --help says how"
            )
        return compile_for(sig)

    made.compile = compile
