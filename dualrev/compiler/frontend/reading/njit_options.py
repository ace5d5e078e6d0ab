"""Decorator options of a numba function (`@njit`): kept for its derivative, ignored, or refused.

kept       fastmath, boundscheck, error_model, nogil, debug, no_rewrites, forceinline: the emitted functions have them;
           cache: see store.py; signatures: the types that are declared, as long as nothing is converted to them
no matter  nopython, looplift and wrappers for Python or C: they change nothing that a function in nopython mode
           computes. inline: emitted code calls what numba copies, with the error model and the like of its caller
written    locals: see locals_option.py
parallel   loops over prange, and array expressions: see compiler/parallel
refused    all others: forceobj, pipeline_class, and what numba may invent
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn, Protocol

import numba
from numba.core import compiler, types
from numba.core.callconv import PythonErrorModel
from numba.core.registry import CPUDispatcher

from dualrev.compiler.types.aliases import Dispatcher, NumbaTypes, UserValue

__all__ = [
    *["alike", "check_options", "compiled_otherwise", "copied", "declared", "differing", "inherited"],
    *["inherited_options", "is_checked", "is_checked_for", "is_copied", "is_parallel", "kept", "of_caller"],
    *["outlined", "with_caller_options"],
]

_KEPT = ("boundscheck", "debug", "fastmath", "forceinline", "no_rewrites", "nogil")
_SEMANTIC = ("boundscheck", "error_model", "fastmath")  # an inlined function has its caller's
_INHERITED = {"error_model": "python", "fastmath": False}  # numba's defaults, where the caller says nothing
_NO_MATTER = {"nopython", "looplift", "inline", "no_cpython_wrapper", "no_cfunc_wrapper", "_dbg_extend_lifetimes"}
_KNOWN = {*_KEPT, "error_model", "parallel", *_NO_MATTER, "_dbg_optnone"}
_WHY = {"forceobj": "it runs as Python does, with Python's numbers"}


def kept(f: Dispatcher) -> dict[str, UserValue]:
    """Return the options that a numba function's derivative inherits, without the error model."""
    return {k: f.targetoptions[k] for k in _KEPT if f.targetoptions.get(k)}


class Lines(Protocol):
    """Protocol of a definition that can be refused (source.py)."""

    @property
    def tree(self) -> UserValue:
        """The syntax tree of the definition."""

    def refuse(self, where: Any, what: str, why: str, instead: str) -> NoReturn:
        """Raise UnsupportedError at a node."""


def check_options(f: Dispatcher, source: Lines) -> None:
    """Raise UnsupportedError for a target or an option under which `f` computes something else than its source."""

    def refuse(option: str, why: str, instead: str) -> None:
        """Refuse one option."""
        source.refuse(source.tree, f"@njit({option}=...)", why, instead)

    if not isinstance(f, CPUDispatcher):
        why = "the derivative is for the processor"
        source.refuse(source.tree, "a numba function for another device", why, "@njit")
    if f._compiler.pipeline_class is not compiler.Compiler:
        refuse("pipeline_class", "another compiler than numba's may make anything of the source", "@njit without it")
    for option, value in f.targetoptions.items():
        if value and option not in _KNOWN:
            why = _WHY.get(option, "it is not known what it does to the value")
            refuse(option, why, f"@njit without {option} (of f.py_func, if f shall stay as it is)")


def is_checked(f: Dispatcher) -> bool:
    """Whether a division by zero raises in a numba function: numba's Python error model."""
    return bool(f.targetoptions.get("error_model", "python") == "python")


def is_checked_for(f: Dispatcher, argtypes: NumbaTypes, root: UserValue) -> bool:
    """Whether a division by zero raises in `f` when it is compiled for these types.

    A function without an error model of its own inherits its first caller's; one that is not compiled yet, `root`'s.
    """
    if "error_model" in f.targetoptions or not f._can_compile:
        return is_checked(f)
    made = f.overloads.get(tuple(map(types.unliteral, argtypes)))
    return is_checked(root) if made is None else _raises(made)


def compiled_otherwise(f: Dispatcher, root: UserValue) -> list[tuple[types.Type, ...]]:
    """Return the argument types for which `f` was compiled with another error model than `root` would give it."""
    if "error_model" in f.targetoptions or not f._can_compile:
        return []
    return [kinds for kinds, made in f.overloads.items() if _raises(made) != is_checked(root)]


def _raises(made: UserValue) -> bool:
    """Whether a division by zero raises in a compiled overload; True for a loaded one, whose model is not known."""
    model = getattr(made.target_context, "error_model", None)
    return model is None or isinstance(model, PythonErrorModel)


def is_parallel(f: Dispatcher, part: str = "prange") -> bool:
    """Whether a numba function runs its `prange` loops, or another `part` that numba knows, in parallel."""
    given = f.targetoptions.get("parallel")
    return bool(given.get(part, True) if isinstance(given, dict) else given)


def declared(f: Dispatcher, argtypes: NumbaTypes) -> UserValue:
    """Return the signature that a call of `f` with these types is converted to; None if `f` compiles for every type."""
    if f._can_compile:
        return None
    plain = tuple(numba.typeof(t.value) if isinstance(t, types.Omitted) else types.unliteral(t) for t in argtypes)
    return f.typingctx.resolve_overload(f.py_func, f.nopython_signatures, plain, {})


def alike(one: UserValue, other: UserValue) -> bool:
    """Whether two types differ in array layouts at most, so that a conversion changes no numbers."""
    if isinstance(one, types.Array) and isinstance(other, types.Array):
        return (one.dtype, one.ndim) == (other.dtype, other.ndim)
    if isinstance(one, types.BaseTuple) and isinstance(other, types.BaseTuple):
        parts: UserValue = one, other
        return len(parts[0]) == len(parts[1]) and all(map(alike, *parts))
    return bool(types.unliteral(one) == types.unliteral(other))


def differing(caller: UserValue, callee: UserValue) -> list[str]:
    """Return the semantic options (error_model, fastmath, boundscheck) in which a callee differs from its caller."""
    return [option for option in _SEMANTIC if _value(caller, option) != _value(callee, option)]


def is_copied(f: Dispatcher) -> bool:
    """Whether numba inlines a function into its callers (`inline=`), or may do so."""
    return bool(f.targetoptions.get("inline", "never") != "never")


def of_caller(caller: UserValue) -> tuple[tuple[str, UserValue], ...]:
    """Return the options that an inlined callee takes from its caller, as a step of a path (bridge/cache/store.py)."""
    given = ((option, caller.targetoptions.get(option)) for option in _SEMANTIC)
    return tuple((k, sorted(v) if isinstance(v, (set, frozenset)) else v) for k, v in given if v is not None)


def copied(f: Dispatcher, options: UserValue) -> UserValue:
    """Clone a function that numba inlines, with the options of its caller, to be called out of line."""
    own = {k: set(v) if isinstance(v, list) else v for k, v in options}
    return _outlined(f, {k: v for k, v in f.targetoptions.items() if k not in _SEMANTIC} | own)


def outlined(x: UserValue) -> UserValue:
    """Clone a function that numba would inline, to be called out of line; return anything else unchanged.

    Emitted code has an error model of its own, which is none of what the user's functions have.
    """
    return _outlined(x, x.targetoptions) if isinstance(x, CPUDispatcher) and is_copied(x) else x


def with_caller_options(x: UserValue, defaults: dict[str, UserValue]) -> UserValue:
    """Clone a numba function that a caller compiles: options that it does not set are the caller's, `defaults`."""
    return _outlined(x, defaults | x.targetoptions)


def inherited_options(f: Dispatcher) -> dict[str, UserValue]:
    """Return the options that a callee inherits from `f` where it does not set them."""
    return {option: f.targetoptions.get(option, default) for option, default in _INHERITED.items()}


def _outlined(x: UserValue, given: dict[str, UserValue]) -> UserValue:
    """Clone a numba function with other options, and without `inline`."""
    options = {k: v for k, v in given.items() if k != "inline"}
    made: UserValue = CPUDispatcher(x.py_func, dict(x.locals), options, x._compiler.pipeline_class)
    if not x._can_compile:
        for signature in x.nopython_signatures:
            made.compile(signature)
        made.disable_compile()
    return made


@contextlib.contextmanager
def inherited(f: Dispatcher, functions: list[UserValue]) -> Iterator[None]:
    """Let numba functions that are compiled now inherit unset options from `f`, as they do when `f` calls them.

    Numba takes these options from the caller. Here the caller is emitted code, which has an error model of its own; and
    what is compiled for it serves every other caller as well. To be used under numba's lock.
    """
    before = [(g, dict(g.targetoptions)) for g in functions]
    try:
        for g in functions:
            for option, value in inherited_options(f).items():
                g.targetoptions.setdefault(option, value)
        yield
    finally:
        for g, options in before:
            g.targetoptions.clear()
            g.targetoptions.update(options)


def _value(f: Dispatcher, option: str) -> UserValue:
    return f.targetoptions.get(option) or ("python" if option == "error_model" else False)
