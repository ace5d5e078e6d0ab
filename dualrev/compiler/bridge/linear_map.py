"""Derivative of a numba function at its arguments, as a linear map: what `dr.vjp` and `dr.linearize` return."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from dualrev.compiler.bridge.bind_arguments import real_leaves, zeros
from dualrev.compiler.bridge.check_arguments import check_taken
from dualrev.compiler.bridge.dispatcher import Derivative
from dualrev.compiler.bridge.make_dispatcher import derivative
from dualrev.compiler.bridge.object_values import instances, same_fields, taken_apart, tangent_of, together
from dualrev.compiler.bridge.plain_arguments import (
    AS_RETURNED,
    copies,
    cotangent_of,
    fits,
    has_real,
    is_usual,
    key,
    shape_of,
    taken,
)
from dualrev.compiler.bridge.plain_arguments import tangents as plain_tangents
from dualrev.compiler.bridge.variadic import called
from dualrev.compiler.frontend.reading.source import describe
from dualrev.compiler.types.aliases import Dispatcher, UserValue
from dualrev.eager.copies import copied
from dualrev.errors import ArgumentError, CotangentError, OutputError, TangentError, UnsupportedError
from dualrev.tree import Structure, flatten_leaves

__all__ = ["Linear", "linearize", "linearize_at"]


def linearize(f: Dispatcher, args: tuple[UserValue, ...], numbers: Sequence[int]) -> tuple[UserValue, Linear]:
    """Linearise a numba function: its value, and its derivative by the arguments at these indices."""
    f, whole = called(f, args)
    usual = key(whole) is not None and any(map(has_real, [args[k] for k in numbers]))
    if not usual:
        real_leaves(f, taken_apart(whole))  # numbers under differentiation have an error of their own
        check_taken(f, whole)
    return linearize_at(f, whole, numbers, usual)


def linearize_at(
    f: Dispatcher, args: tuple[UserValue, ...], numbers: Sequence[int], usual: bool
) -> tuple[UserValue, Linear]:
    """Linearise a numba function at all of its arguments.

    `usual` says that plain_arguments.py has a key for them, and that a chosen one holds a real number.
    """
    if usual:
        kept, y = copies(args), f(*args)
        return y, Linear(f, kept, numbers, y, True)
    chosen = tuple(args[k] for k in numbers)
    if not real_leaves(f, taken_apart(chosen))[0]:
        raise ArgumentError(chosen)
    real_leaves(f, taken_apart(args))
    kept, before = copied(args), instances(args)
    y = f(*args)
    _check_instances(f, before, args)
    return y, Linear(f, kept, numbers, y, False)


def _check_instances(f: Dispatcher, before: list[UserValue], args: tuple[UserValue, ...]) -> None:
    """Raise UnsupportedError if instances have changed, as the pullback has no copies of them."""
    if not same_fields(before, instances(args)):
        what, why = "dr.vjp by an instance whose fields change", "the pullback runs the function on the same one again"
        raise UnsupportedError.at(describe(f), what, why, "dr.value_and_grad, dr.jvp or dr.jacobian")


class Linear:
    """Derivative of a numba function at its arguments: a linear map with pushforward and pullback (engine.py).

    args: all arguments, which are this object's own; `usual` is that of `linearize_at`.
    """

    def __init__(
        self, f: Dispatcher, args: tuple[UserValue, ...], numbers: Sequence[int], y: UserValue, usual: bool
    ) -> None:
        self._f, self._args, self._numbers = f, args, numbers
        self._before = [] if usual else instances(args)
        self._y: UserValue = None  # what only the fast path has
        if usual and is_usual(y):
            self._y = shape_of(y)
        elif not flatten_leaves(y)[0]:
            raise OutputError(y)
        else:
            self._output = flatten_leaves(y)[1]

    @functools.cached_property
    def _vjp(self) -> Derivative:
        return derivative(self._f, "vjp")

    @functools.cached_property
    def _output(self) -> Structure:
        """Structure of the value."""
        return flatten_leaves(self._y)[1]

    @functools.cached_property
    def _structure(self) -> Structure:
        """Structure of the chosen arguments."""
        return flatten_leaves(taken_apart(tuple([self._args[k] for k in self._numbers])))[1]

    def pull(self, ct: UserValue) -> tuple[UserValue, ...]:
        """Pull a cotangent of the value back to the chosen arguments."""
        if self._y is not None and fits(ct, self._y):
            args = self._args
            cts = self._vjp(*copies(args), taken(ct))[1]
            return tuple(
                [cts[k] if args[k].__class__ in AS_RETURNED else cotangent_of(args[k], cts[k]) for k in self._numbers]
            )
        given = self._output.cotangent_leaves(self._output.read_leaves(ct, CotangentError))
        _check_instances(self._f, self._before, self._args)
        cts = self._vjp(*copied(self._args), given)[1]
        chosen = tuple(self._args[k] for k in self._numbers)
        made = self._structure.cotangent_leaves(flatten_leaves(taken_apart(self._chosen(cts)))[0])
        made = together(chosen, made)
        assert isinstance(made, tuple)
        return made

    def _chosen(self, cts: tuple[UserValue, ...]) -> tuple[UserValue, ...]:
        """Cotangents of the chosen arguments; an int has none, also where f is declared to take a float."""
        return tuple([None if isinstance(self._args[k], (int, np.integer)) else cts[k] for k in self._numbers])

    def push(self, *tangents: UserValue) -> UserValue:
        """Push tangents of the chosen arguments forward to the value."""
        args = self._args
        if self._y is not None and self._numbers == range(len(tangents)):
            moved = plain_tangents(args, tangents)
            if moved is not None:
                return derivative(self._f, "jvp")(*copies(args), *moved)[1]
        tangents = tangent_of(tuple(self._args[k] for k in self._numbers), tangents)
        given = self._structure.cotangent_leaves(self._structure.read_leaves(tangents, TangentError))
        _check_instances(self._f, self._before, self._args)
        whole = list(zeros(taken_apart(self._args)))
        for k, tangent in zip(self._numbers, given, strict=True):
            whole[k] = tangent
        dy = derivative(self._f, "jvp")(*copied(self._args), *whole)[1]
        return self._output.cotangent_leaves(flatten_leaves(dy)[0])
