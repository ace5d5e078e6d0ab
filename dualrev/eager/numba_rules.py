"""Numba functions with a derivative of their own: what custom_vjp, custom_jvp and checkpoint make of one.

For Python and the tape that is an object, the owner. Numba takes the owner for its `Ruled`: a dispatcher of the same
Python function, which is another function than the one that was decorated, and goes wherever numba functions go. The
compiler asks it for its rules.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from numba.core.dispatcher import Dispatcher
from numba.core.registry import CPUDispatcher
from numba.extending import typeof_impl

from dualrev.errors import CustomRuleError
from dualrev.transformed import Wrapper

__all__ = ["Owner", "Ruled", "rules_in"]

_CPUDispatcher: Any = CPUDispatcher  # numba's type information leaves out what is overridden here


class Ruled(_CPUDispatcher):
    """A numba function with the rule of its owner; `kind` is what that is: "vjp", "jvp" or "checkpoint"."""

    def __init__(self, f: Any, owner: Owner) -> None:
        options = {k: v for k, v in f.targetoptions.items() if k != "inline"}
        self.owner, self.kind = owner, owner.kind
        super().__init__(f.py_func, dict(f.locals), options, f._compiler.pipeline_class)
        self.__wrapped__ = f.py_func
        if not f._can_compile:
            for signature in f.nopython_signatures:
                self.compile(signature)
            self.disable_compile()

    def __repr__(self) -> str:
        return f"<dualrev {self.kind} of {self.py_func!r} at {id(self):#x}>"

    @property
    def rules(self) -> tuple[Any, ...]:
        """The functions of the rule, which are compiled into a derivative now: from here on it is the only one."""
        self.owner.used = True
        return self.current

    @property
    def current(self) -> tuple[Any, ...]:
        """The functions of the rule, if there is one."""
        return self.owner.compiled

    def _reduce_states(self) -> dict[str, Any]:
        return {"owner": self.owner}

    @classmethod
    def _rebuild(cls, owner: Owner) -> Ruled:
        made = owner.numba_function
        assert made is not None
        return made


class Owner(Wrapper):
    """A function with a rule; if numba compiled it, `numba_function` is what numba takes it for."""

    kind = ""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.nondiff: tuple[int, ...] = ()  # the numbers of the arguments that have no derivative
        self.functions: tuple[Any, ...] = ()
        self.compiled: tuple[Any, ...] = ()
        self.used = False
        self.numba_function: Ruled | None = None
        if not isinstance(f, Dispatcher) or hasattr(f, "derivative_of"):
            super().__init__(f)
            return
        made: Any = f
        super().__init__(made.py_func)  # a dispatcher's own attributes are no business of this object
        self.__wrapped__: Any = f
        self.numba_function = Ruled(f, self)
        self._f = self.numba_function

    @property
    def py_func(self) -> Any:
        """The Python function that numba compiled, as a dispatcher calls it."""
        if self.numba_function is None:
            raise AttributeError("py_func")
        return self.numba_function.py_func

    def recompile(self) -> None:
        """Have numba compile the function anew, as `recompile` of a dispatcher does."""
        if self.numba_function is None:
            raise AttributeError("recompile")
        self.numba_function.recompile()

    def _define(self, *functions: Any) -> None:
        """Set the functions of the rule: for numba only once, since numba freezes them."""
        if self.used and functions != self.functions:
            raise CustomRuleError(
                self._f, "one rule for good: numba code has been compiled with another one. Make a new function for it"
            )
        if functions != self.functions:
            self.functions = functions
            self.compiled = functions if self.numba_function is None else self.compiled_rule(*functions)

    def compiled_rule(self, *functions: Any) -> tuple[Any, ...]:
        """Return the functions of the rule as numba code takes them."""
        return functions


def rules_in(f: Any) -> list[str]:
    """The names of the functions with a rule of their own that a numba function may call, by the names in its code."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    todo: list[Any] = [f]
    while todo:
        g = todo.pop()
        if isinstance(g, (Owner, Ruled)):
            found[str(getattr(g, "__qualname__", g))] = None
        elif isinstance(g, Dispatcher) and id(g) not in seen:
            seen.add(id(g))
            code, space = g.py_func.__code__, inspect.getclosurevars(g.py_func)
            used = {**space.globals, **space.nonlocals}
            modules = [x for x in used.values() if isinstance(x, ModuleType)]
            todo += [*used.values(), *(getattr(m, name, None) for m in modules for name in code.co_names)]
    return list(found)


def _typeof(x: Owner, context: Any) -> Any:
    return None if x.numba_function is None else typeof_impl(x.numba_function, context)


typeof_impl.register(Owner, _typeof)
