"""Frozen globals: check that numba compiled a function and its derivative with the same values.

Numba freezes globals, closure values and called functions when it compiles a function for some types of arguments: f at
one time, its derivative at another. What was changed in between would be in the one and not in the other. So for every
function that numba compiles (it tells of each compilation by an event) we record what it froze, directly and through
the functions that it calls, and compare

    when a derivative is compiled    what f or a callee froze is not what is there now: an error
    when f is compiled               its derivatives froze something else: they are compiled anew, at their next call

Of functions that were compiled before dualrev was imported, or that numba loaded from its own cache, nothing is known.
Numba tells nothing of the kernels of ufuncs: see frozen_kernels.py.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from typing import Any, NamedTuple

import numba
from numba.core import event, types

from dualrev.compiler.bridge.cache.frozen_kernels import is_current
from dualrev.compiler.bridge.cache.key import freezes, local
from dualrev.compiler.frontend.reading.callables import is_kernel
from dualrev.compiler.frontend.reading.jitclass_methods import functions_of
from dualrev.compiler.types.aliases import Dispatcher, NumbaTypes, UserValue
from dualrev.errors import UnsupportedError

__all__ = ["World", "check", "derivatives_of", "plain", "reachable", "watch"]


class World(NamedTuple):
    """Frozen values of a compiled function: its own names with hashes of their values, and a hash of all."""

    names: dict[str, str]
    hash: int


_compiled: weakref.WeakKeyDictionary[Dispatcher, dict[NumbaTypes, World]] = weakref.WeakKeyDictionary()
_OWN = {"numba", "dualrev"}


def check(f: Dispatcher, argtypes: tuple[types.Type, ...]) -> World:
    """Hash the values that would be frozen now; UnsupportedError if f or a callee was compiled with others."""
    view = _View()
    now = view.world(f, argtypes)
    for g in view.reachable(f, argtypes):
        for args, then in _compiled.get(g, {}).items():
            counts = args in g.overloads and (g is not f or plain(args) == plain(argtypes))
            if counts and then.hash != view.world(g, args).hash:
                _refuse(g, then, view)
        if is_kernel(g) and freezes(g.py_func) and not is_current(g):
            _refuse_kernel(g.py_func)
    return now


def _refuse(g: Dispatcher, then: World, view: _View) -> None:
    changed = [name for name, digest in view.local(g)[0].items() if then.names.get(name) != digest]
    function = g._compiler.py_func
    what = f"`{changed[0]}`" if changed else "what a function that it calls freezes"
    raise UnsupportedError.at(
        f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}",
        f"numba function {function.__qualname__}",
        f"{what} was changed after numba had compiled it, and numba does not notice that: it would have another value "
        "than its derivative",
        f"{function.__name__}.recompile() after the change, and the same for the functions that call it",
    )


def _refuse_kernel(function: Dispatcher) -> None:
    raise UnsupportedError.at(
        f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}",
        f"kernel {function.__qualname__} of a ufunc",
        "a value that it reads, or a function that it calls, was changed after numba had compiled it, and numba does "
        "not notice that: it would have another value than its derivative",
        f"the definition of {function.__name__} once more, after the change, or the value as an argument of it",
    )


def derivatives_of(f: Dispatcher) -> list[Dispatcher]:
    """Derivatives of a numba function that exist, and their derivatives."""
    own = [d for d in list(vars(f).get("_dualrev_derivatives", {}).values()) if d.derivative_of[0] is f]
    return [*own, *(second for d in own for second in derivatives_of(d))]


def counted(f: Dispatcher) -> list[Dispatcher]:
    """Specialisations of a variadic numba function to numbers of arguments (variadic.py)."""
    return [made for (of, _), made in vars(f).get("_dualrev_counted", {}).items() if of == id(f)]


def watch(f: Dispatcher) -> None:
    """Have `f.recompile()` reset its derivatives and wrappers, too (output_arguments.py, variadic.py)."""
    if "_reset_overloads" not in vars(f):
        vars(f)["_reset_overloads"] = functools.partial(_recompiled, weakref.ref(f))


def _recompiled(reference: Any) -> None:
    f = reference()
    type(f)._reset_overloads(f)
    writing = [made for (of, *_), made in vars(f).get("_dualrev_written", {}).items() if of == id(f)]
    for made in [*derivatives_of(f), *writing, *counted(f)]:
        made._reset_overloads()


def reachable(f: Dispatcher) -> list[Dispatcher]:
    """Transitive callees of a numba function, with the function itself."""
    return _View().reachable(f, ())


class _View:
    """Memoised hashes of the values that functions freeze."""

    def __init__(self) -> None:
        self._locals: dict[int, tuple[dict[str, str], list[Dispatcher]]] = {}

    def local(self, f: Dispatcher) -> tuple[dict[str, str], list[Dispatcher]]:
        """Hashes of the values of a function's names, and the numba functions among the values."""
        if id(f) not in self._locals:
            self._locals[id(f)] = local(f)
        return self._locals[id(f)]

    def reachable(self, f: Dispatcher, argtypes: tuple[types.Type, ...]) -> list[Dispatcher]:
        """Transitive callees of a function and of the functions passed to it, with these."""
        found = {id(g): g for g in [f, *_functions_in(argtypes)]}
        todo = list(found.values())
        for g in todo:
            new = {id(h): h for h in self.local(g)[1] if id(h) not in found}
            found |= new
            todo += new.values()
        return todo

    def world(self, f: Dispatcher, argtypes: tuple[types.Type, ...]) -> World:
        """Hash the values that are frozen if f is compiled now."""
        found = ((id(g), *self.local(g)[0].items()) for g in self.reachable(f, argtypes))
        return World(self.local(f)[0], hash(frozenset(found)))


class _Compilations(event.Listener):
    """Listener that records the values that numba freezes when it compiles a function."""

    def __init__(self) -> None:
        self._depth, self._view = 0, _View()

    def on_start(self, event: Any) -> None:
        """Record the values that numba freezes now, and invalidate derivatives that froze others."""
        f, args = event.data["dispatcher"], tuple(event.data["args"])
        self._depth += 1
        with contextlib.suppress(Exception):  # whatever a user's module does when it is asked for an attribute
            if str(f.py_func.__module__).partition(".")[0] not in _OWN:
                world = self._view.world(f, args)
                _compiled.setdefault(f, {})[args] = world
                for derivative in derivatives_of(f):
                    derivative.forget(args, world)

    def on_end(self, event: Any) -> None:
        """Drop the memoised hashes when the outermost compilation ends: values may change again."""
        self._depth = max(0, self._depth - 1)
        if not self._depth:
            self._view = _View()


def _functions_in(argtypes: tuple[types.Type, ...]) -> list[Dispatcher]:
    """Functions among the arguments, and methods of the jitclasses whose instances are arguments."""
    found = [t.dispatcher for t in argtypes if isinstance(t, types.Dispatcher)]
    return found + [f for t in argtypes if isinstance(t, types.ClassInstanceType) for f in functions_of(t.class_type)]


def plain(args: tuple[UserValue, ...]) -> tuple[types.Type, ...]:
    """Argument types without literal values: a derivative may have been given a default explicitly."""
    return tuple(numba.typeof(t.value) if isinstance(t, types.Omitted) else types.unliteral(t) for t in args)


event.register("numba:compile", _Compilations())
