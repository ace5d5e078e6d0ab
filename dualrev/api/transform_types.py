"""Types of `jacobian`, `hessian` and `vmap`: what a type checker can say of the functions that they return.

A decorator gives a function such a type, and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, SupportsFloat, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from dualrev.eager.arguments import Argnames, Argnums
from dualrev.outputs import Outputs

__all__ = ["HessianTransform", "JacobianTransform", "VmapTransform", "as_hessian", "as_jacobian", "as_vmap"]

A = TypeVar("A")
P = ParamSpec("P")
Aux = TypeVar("Aux")
Array = TypeVar("Array", bound=NDArray[Any])
Float = TypeVar("Float", bound=float)
Number = TypeVar("Number", bound=SupportsFloat)
First = Literal[0]
No = Literal[False]
Yes = Literal[True]


class JacobianTransform(Protocol):
    """An array for a function from arrays to arrays, the type of the argument for a function that returns a number."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # an array is a number, too: the first one that fits counts
        self,
        f: Callable[Concatenate[Array, P], NDArray[Any]],
        argnums: First = 0,
        has_aux: No = False,
        engine: Any = None,
        outputs: None = None,
        holomorphic: No = False,
        argnames: None = None,
    ) -> Callable[Concatenate[Array, P], NDArray[Any]]: ...

    @overload
    def __call__(
        self,
        f: Callable[Concatenate[A, P], NDArray[Any]],
        argnums: First = 0,
        has_aux: No = False,
        engine: Any = None,
        outputs: None = None,
        holomorphic: No = False,
        argnames: None = None,
    ) -> Callable[Concatenate[A, P], Any]: ...

    @overload
    def __call__(
        self,
        f: Callable[Concatenate[A, P], Number],
        argnums: First = 0,
        has_aux: No = False,
        engine: Any = None,
        outputs: None = None,
        holomorphic: No = False,
        argnames: None = None,
    ) -> Callable[Concatenate[A, P], A]: ...

    @overload
    def __call__(
        self,
        f: Callable[P, Any],
        argnums: Argnums = 0,
        has_aux: No = False,
        engine: Any = None,
        outputs: Outputs | None = None,
        holomorphic: bool = False,
        argnames: Argnames | None = None,
    ) -> Callable[P, Any]: ...

    @overload
    def __call__(
        self,
        f: Callable[P, tuple[Any, Aux]],
        argnums: Argnums = 0,
        *,
        has_aux: Yes,
        engine: Any = None,
        outputs: Outputs | None = None,
        holomorphic: bool = False,
        argnames: Argnames | None = None,
    ) -> Callable[P, tuple[Any, Aux]]: ...


class HessianTransform(Protocol):
    """An array for a function of an array, and a number for a function from numbers to numbers."""

    @overload
    def __call__(
        self,
        f: Callable[Concatenate[Array, P], Number | NDArray[Any]],
        argnums: First = 0,
        has_aux: No = False,
        engine: Any = None,
        holomorphic: No = False,
        argnames: None = None,
    ) -> Callable[Concatenate[Array, P], NDArray[Any]]: ...

    @overload
    def __call__(
        self,
        f: Callable[Concatenate[A, P], NDArray[Any]],
        argnums: First = 0,
        has_aux: No = False,
        engine: Any = None,
        holomorphic: No = False,
        argnames: None = None,
    ) -> Callable[Concatenate[A, P], Any]: ...

    @overload
    def __call__(
        self,
        f: Callable[Concatenate[Float, P], Number],
        argnums: First = 0,
        has_aux: No = False,
        engine: Any = None,
        holomorphic: No = False,
        argnames: None = None,
    ) -> Callable[Concatenate[Float, P], Float]: ...

    @overload
    def __call__(
        self,
        f: Callable[P, Any],
        argnums: Argnums = 0,
        has_aux: No = False,
        engine: Any = None,
        holomorphic: bool = False,
        argnames: Argnames | None = None,
    ) -> Callable[P, Any]: ...

    @overload
    def __call__(
        self,
        f: Callable[P, tuple[Any, Aux]],
        argnums: Argnums = 0,
        *,
        has_aux: Yes,
        engine: Any = None,
        holomorphic: bool = False,
        argnames: Argnames | None = None,
    ) -> Callable[P, tuple[Any, Aux]]: ...


class VmapTransform(Protocol):
    """An array for a function that returns a number or an array."""

    @overload
    def __call__(
        self,
        f: Callable[..., float | np.floating[Any] | NDArray[Any]],
        in_axes: Any = 0,
        out_axes: int = 0,
        *,
        parallel: bool = False,
    ) -> Callable[..., NDArray[Any]]: ...

    @overload
    def __call__(
        self, f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, *, parallel: bool = False
    ) -> Callable[..., Any]: ...


def as_jacobian(f: Callable[..., Any]) -> JacobianTransform:
    """Give a function the type of `jacobian`."""
    return f


def as_hessian(f: Callable[..., Any]) -> HessianTransform:
    """Give a function the type of `hessian`."""
    return f


def as_vmap(f: Callable[..., Any]) -> VmapTransform:
    """Give a function the type of `vmap`."""
    return f
