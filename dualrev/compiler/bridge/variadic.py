"""Variadic numba functions (`*args`): their derivatives, specialised to the number of arguments of a call.

    def f(x, *r): ...           def f(x, r_0, r_1): return f_(x, r_0, r_1)          for a call with three arguments

That is what a user would write, so a derivative of f is one of this function; argnums counts all positional arguments.
Where the number of arguments is given, as in dr.jvp, dr.vjp and dr.check, this function takes the place of f. A
`Variadic` is the derivative that may be called with any number of them, from Python and from njit code.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from numba.core import sigutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from dualrev.compiler.bridge.bind_arguments import VARIABLE, bound
from dualrev.compiler.bridge.cache.frozen_globals import World, check, counted, watch
from dualrev.compiler.bridge.dispatcher import Derivative
from dualrev.compiler.bridge.fast_compilation import fast_compilation
from dualrev.compiler.bridge.output_arguments import numba_function
from dualrev.compiler.frontend.reading.njit_options import kept
from dualrev.compiler.frontend.reading.source import describe
from dualrev.compiler.types.aliases import ArgNums, Dispatcher, NumbaTypes, Signature, UserValue
from dualrev.diagnostics.quoting import execute, identifier, unused
from dualrev.eager.arguments import argument_numbers
from dualrev.errors import UnsupportedError

__all__ = ["TRANSFORMS", "Compared", "Variadic", "called", "is_variadic", "of_count"]

#: The derivatives whose arguments are those of f, and a tangent in `hvp`.
TRANSFORMS = frozenset(
    ("grad", "value_and_grad", "grad_aux", "value_and_grad_aux", "hessian", "jacfwd", "jacrev", "jacobian", "hvp")
)


def is_variadic(f: Dispatcher) -> bool:
    """Whether a numba function has *args."""
    return bool(f.py_func.__code__.co_flags & inspect.CO_VARARGS)


def of_count(f: Dispatcher, count: int) -> Dispatcher:
    """Specialise a variadic numba function to `count` arguments; f itself, if it has no *args."""
    if not is_variadic(f):
        return f
    if isinstance(f, Variadic):
        return f[count]
    watch(f)
    known = vars(f).setdefault("_dualrev_counted", {})
    key = id(f), count  # id: functools.wraps copies the dictionary to another function
    return known.get(key) or known.setdefault(key, _made(f, count))


def called(f: Dispatcher, args: tuple[UserValue, ...]) -> tuple[Dispatcher, tuple[UserValue, ...]]:
    """Specialise a numba function to the number of its arguments, and bind all of them, default values included."""
    code = f.py_func.__code__
    if code.co_argcount == len(args) and not code.co_flags & VARIABLE and not code.co_kwonlyargcount:
        return f, args
    f = of_count(f, len(args))
    return f, bound(f, args, {})


def _made(f: Dispatcher, count: int) -> Dispatcher:
    *first, rest = inspect.signature(f.py_func).parameters.values()
    if rest.kind is not rest.VAR_POSITIONAL:
        what, why = "a parameter after *args", "numba takes the one for the other"
        raise UnsupportedError.at(describe(f.py_func), what, why, f"{rest.name} before *args")
    names = [p.name for p in first][:count]
    for k in range(count - len(names)):
        names.append(unused(f"{rest.name}_{k}", names))
    name = identifier(f.py_func.__name__, "function")
    inner = unused(f"{name}_", names)
    text = f"def {name}({', '.join(names)}):\n    return {inner}({', '.join(names)})\n"
    options = {**kept(f), "error_model": f.targetoptions.get("error_model", "python")}
    of = SimpleNamespace(__module__=f.py_func.__module__, __defaults__=None, __doc__=f.py_func.__doc__)
    return numba_function(name, text, {inner: f}, of, options)


class Variadic(Derivative):
    """Dispatcher of a derivative of a variadic numba function."""

    is_variadic = True  # see frontend/lowering/expressions.py
    derivative: Callable[[Dispatcher, str, ArgNums], Derivative]

    def __getitem__(self, count: int) -> Derivative:
        """Derivative that is specialised to `count` arguments of this one."""
        f, transform, argnums = self.derivative_of
        count -= transform == "hvp"
        numbers = argument_numbers(argnums, count)
        return type(self).derivative(
            of_count(f, count), transform, tuple(numbers) if isinstance(argnums, tuple) else numbers[0]
        )

    def compile(self, sig: Signature | NumbaTypes) -> Any:
        """Compile for a signature, whose last type is the tuple of *args."""
        with global_compiler_lock, self._compiling_counter, fast_compilation():
            args = tuple(map(types.unliteral, sigutils.normalize_signature(sig)[0]))
            if args not in self.overloads:
                if not self._can_compile:
                    raise RuntimeError("compilation disabled")  # numba's words
                f = self.derivative_of[0]
                world = check(f, args)
                entry = self._entry(args)
                entry.compile(args)
                self._entries[args], self._worlds[args] = entry, world
                self.add_overload(entry.overloads[args])
            return self.overloads[args].entry_point

    def _entry(self, args: tuple[types.Type, ...]) -> Any:
        """Trampoline that passes the items of *args on to the derivative, for these types."""
        *first, rest = args
        every = (*first, *getattr(rest, "types", (rest,)))
        inner = self[len(every)]
        inner.compile(every)  # what it refuses is no TypingError of numba's
        names = [f"x_{k}" for k in range(len(first))]
        items = [f"rest[{k}]" for k in range(len(rest.types))]
        space: dict[str, UserValue] = {"derivative": inner}
        head = ", ".join([*names, "rest"])
        execute(f"def entry({head}):\n    return derivative({', '.join([*names, *items])})", space)
        space["entry"].__name__ = space["entry"].__qualname__ = self.py_func.__name__
        options = {k: v for k, v in self.targetoptions.items() if k in ("nopython", "nogil", "error_model", "fastmath")}
        return CPUDispatcher(space["entry"], {}, options)

    def forget(self, args: tuple[types.Type, ...], world: World) -> None:
        """Invalidate all overloads if one of them froze other values; the next call compiles again."""
        if any(known.hash != world.hash for known in self._worlds.values()):
            self._reset_overloads()
            for made in counted(self.derivative_of[0]):
                made._reset_overloads()


class Compared(Variadic):
    """Variadic derivative in check mode (check_mode.py): each call from Python is compared with the function."""

    def __call__(self, *args: UserValue, **kwargs: UserValue) -> Any:
        given = inspect.signature(self).bind(*args, **kwargs).args
        return self[len(given)](*given)
