"""Functions made of functions, as objects: they pickle, work as methods, and keep the name of their function."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

__all__ = ["Pullback", "Pushforward", "Transformed", "Wrapper", "check_functions", "name_of"]


def check_functions(*fs: Any) -> None:
    """TypeError for what cannot be called: where it is given, and not where it would be called."""
    for f in fs:
        if not callable(f):
            raise TypeError(f"expected a function, got {f!r} (type {type(f).__name__})")


def name_of(f: Any) -> str:
    """Return a function's name for `repr`: `f`, or `<dualrev.grad of f>` for a function that dualrev made."""
    return repr(f) if isinstance(f, Wrapper) else getattr(f, "__name__", None) or repr(f)


class Wrapper:
    """A function made of another one: a method if it stands in a class, and with that one's name.

    A decorated function is pickled by its name, as functions are. `made_by` is the public name of what made it.

    Subclasses annotate no attributes in their bodies: from Python 3.14 on, `typing.get_type_hints` would take these
    annotations for the function's.
    """

    made_by = "wrapper"

    def __init__(self, f: Callable[..., Any]) -> None:
        if not callable(f):
            check_functions(f)
        functools.update_wrapper(self, f)
        self._f = f

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102 - that is f
        return self._f(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<dualrev.{self.made_by} of {name_of(self._f)}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = getattr(self, "__qualname__", "")
        found: Any = sys.modules.get(self.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else super().__reduce_ex__(protocol)


class Transformed(Wrapper):
    """Transformed function, which `grad` and the others return: it pickles if f does."""

    def __init__(self, compute: Callable[..., Any], f: Callable[..., Any], **options: Any) -> None:
        super().__init__(f)
        self._compute, self._options = compute, options

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: D102 - see `grad`
        return self._compute(self._f, args, kwargs, **self._options)

    @property
    def made_by(self) -> str:  # type: ignore[override]  # here it depends on the object
        """The name of the public function that has made it."""
        return self._compute.__name__.strip("_")

    def __reduce__(self) -> tuple[Any, ...]:
        options = {
            name: _Module(x.__name__) if isinstance(x, types.ModuleType) else x for name, x in self._options.items()
        }
        return _again, (self._compute, self._f, options)


class Pullback:
    """Pullback of a function at its primals, which `vjp` returns: a linear map of cotangents.

    Args:
        f: The function.
        pull: The map.
    """

    __slots__ = ("__weakref__", "_f", "_pull")

    def __init__(self, f: Callable[..., Any], pull: Callable[[Any], tuple[Any, ...]]) -> None:
        self._f, self._pull = f, pull

    def __call__(self, ct: Any) -> tuple[Any, ...]:
        """Return a cotangent for every primal, from a cotangent of the value."""
        return self._pull(ct)

    def __repr__(self) -> str:
        return f"<pullback of {name_of(self._f)}, by dualrev.vjp>"


class Pushforward:
    """Derivative of a function at its primals, which `linearize` returns: a linear map of tangents.

    Args:
        f: The function.
        push: The map.
    """

    __slots__ = ("__weakref__", "_f", "_push")

    def __init__(self, f: Callable[..., Any], push: Callable[..., Any]) -> None:
        self._f, self._push = f, push

    def __call__(self, *tangents: Any) -> Any:
        """Return the tangent of the value, from a tangent for every primal."""
        return self._push(*tangents)

    def __repr__(self) -> str:
        return f"<derivative of {name_of(self._f)}, by dualrev.linearize>"


class _Module(str):
    """The name of a module, which does not pickle itself."""

    __slots__ = ()


def _again(compute: Callable[..., Any], f: Callable[..., Any], options: dict[str, Any]) -> Transformed:
    options = {name: importlib.import_module(x) if isinstance(x, _Module) else x for name, x in options.items()}
    return Transformed(compute, f, **options)
