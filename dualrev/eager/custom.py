"""User-defined derivatives: constants, and functions with derivative rules of their own.

A function with a rule is called with its arguments as the outer runs see them, so that none of its operations is
recorded on the innermost tape. The tape records one block in their place, which takes cotangents of the results to
cotangents of the arguments. A rule for one mode serves the other by transposition: linear maps can be differentiated.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from dualrev.diagnostics.signatures import signature
from dualrev.eager.arguments import Argnums
from dualrev.eager.arrays.complex.pairs import is_complex, values
from dualrev.eager.arrays.memory.record import attach, ids_of
from dualrev.eager.arrays.memory.storage import RealArray, holds_duals, innermost, own, plain, real_array, strip, zero
from dualrev.eager.nondiff_arguments import check_nondiff, compiled_jvp, compiled_vjp, merged, others
from dualrev.eager.numba_rules import Owner
from dualrev.eager.numbers.dual import DualNumber
from dualrev.eager.numbers.dual import value as value_of_number
from dualrev.eager.numbers.primitive_functions import contribute
from dualrev.eager.py_func_globals import numeric
from dualrev.eager.tables.kinds import holds_numbers, is_table
from dualrev.eager.tape import engine
from dualrev.eager.tape.blocks import Rule
from dualrev.eager.tape.tape import Tape
from dualrev.errors import CustomRuleError, DualrevError
from dualrev.tree import Structure, flatten_leaves, flatten_scalars

__all__ = ["custom_jvp", "custom_vjp", "rules_that_run", "stop_gradient", "value"]

P = ParamSpec("P")
T = TypeVar("T")


@overload
def value(x: RealArray) -> np.ndarray: ...


@overload
def value(x: T) -> T: ...


def value(x: Any) -> Any:
    """Plain number inside of a traced number, or plain array or table inside of a traced one.

    Args:
        x: Number, array, or pandas' Series or DataFrame; anything else is returned unchanged. For nested data, see
            `stop_gradient`.

    Returns:
        A float, a complex number, an array or a table. Derivatives do not flow through it. An array is a copy.

    >>> import dualrev as dr
    >>> dr.value(2.5)
    2.5
    >>> dr.grad(lambda x: x * dr.value(x))(3.0)
    3.0
    """
    if isinstance(x, RealArray):
        return x.x.copy()
    if is_table(x) and holds_numbers(x):
        from dualrev.eager.tables.column import of_values  # imports pandas, as who has a table has done

        return of_values(x)
    if is_complex(x):
        return values(x)
    return plain(x) if isinstance(x, np.ndarray) and holds_duals(x) else value_of_number(x)


def stop_gradient(x: T) -> T:
    """Nested data as a constant: its derivatives of every order are 0.

    Args:
        x: Nested data. In numba functions: a number, an array or a tuple of these.

    Returns:
        The same data with plain numbers. Arrays of real numbers are copies.

    >>> import dualrev as dr
    >>> dr.grad(lambda x: x * dr.stop_gradient(x))(3.0)
    3.0
    """
    leaves, structure = flatten_leaves(x)
    return structure.rebuild_leaves([x.copy() if type(x) is np.ndarray else value(x) for x in leaves])


class custom_vjp(Owner, Generic[P, T]):  # noqa: N801 - JAX's name
    """Function with a custom reverse-mode rule, which `defvjp(fwd, bwd)` sets, as in JAX.

    Args:
        f: Function to decorate: a Python function or a numba function. It must not change its arguments in place.
        nondiff_argnums: Numbers of arguments that have no derivative, from 0, such as options and functions. fwd takes
            all arguments of f. bwd takes these ones first, bwd(*nondiff, residuals, ct), and returns cotangents of the
            other arguments only. Give it with functools.partial(dr.custom_vjp, nondiff_argnums=(0,)) as the decorator.

    Raises:
        CustomRuleError: The function is differentiated without a rule, fwd returns no pair, bwd returns no tuple of one
            cotangent per argument, f changes its arguments, or an argument of nondiff_argnums is under differentiation
            (a TypeError).
        ArgumentNumberError: nondiff_argnums does not name distinct arguments of f, or names all of them.

    Derivatives of higher order are derivatives of fwd and bwd. Forward mode transposes bwd, so bwd has to consist of
    operations that dualrev can differentiate.

    >>> import dualrev as dr
    >>> @dr.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (min(max(ct, -1.0), 1.0),))
    >>> dr.grad(lambda x: 100.0 * clipped(x))(3.0)
    1.0
    """

    kind = "vjp"
    made_by = "custom_vjp"

    def __init__(self, f: Callable[P, T], nondiff_argnums: Argnums = ()) -> None:
        super().__init__(f)
        self.nondiff = check_nondiff(self._f, nondiff_argnums)

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set the rule.

        Args:
            fwd: Function of the arguments of f that returns (y, residuals): the value of f, and what bwd needs.
            bwd: Function (residuals, ct) that returns a tuple with a cotangent for each argument; None for a discrete
                argument, and for zeros. ct has the structure of y. It takes the arguments of nondiff_argnums first.
        """
        self._define(fwd, bwd)

    def compiled_rule(self, fwd: Any, bwd: Any) -> tuple[Any, ...]:
        """Return fwd and bwd of all arguments, for numba."""
        return compiled_vjp(self._f, self.nondiff, fwd, bwd) if self.nondiff else (fwd, bwd)

    def __call__(self, *given: P.args, **kwargs: P.kwargs) -> T:  # noqa: D102 - that is f
        args = _positional(self._f, given, kwargs)
        call = _Call(self._f, args, self.nondiff)
        if call.run is None:
            return numeric(self._f)(*args)
        if not self.functions:
            raise CustomRuleError(self._f, "defvjp(fwd, bwd)")
        fwd, bwd = map(numeric, self.functions)
        made = call.value(fwd)
        if not isinstance(made, tuple) or len(made) != 2:
            raise CustomRuleError(self._f, f"a fwd that returns a pair (y, residuals){_got(made)}")
        y, residuals = made
        f, numbers, n = self._f, self.nondiff, len(args) - len(self.nondiff)
        fixed = [call.stripped[k] for k in numbers]
        each = "argument that nondiff_argnums does not name" if numbers else "argument"

        def pull(ct: Any) -> tuple[Any, ...]:
            """Call bwd, and check that it returns one cotangent for each argument."""
            cts = bwd(*fixed, residuals, ct)
            if not isinstance(cts, (tuple, list)) or len(cts) != n:
                raise CustomRuleError(f, f"a bwd that returns a tuple of {n}, one cotangent per {each}{_got(cts)}")
            return merged(numbers, cts)

        return call.record(y, _Rule(f, pull=pull), CustomRuleError(f, _ALL_ARGUMENTS))


class custom_jvp(Owner, Generic[P, T]):  # noqa: N801 - JAX's name
    """Function with a custom forward-mode rule, which `defjvp(rule)` sets, as in JAX.

    Args:
        f: Function to decorate: a Python function or a numba function. It must not change its arguments in place.
        nondiff_argnums: Numbers of arguments that have no derivative, from 0. The rule takes these ones first,
            rule(*nondiff, primals, tangents), and primals and tangents are those of the other arguments.

    Raises:
        CustomRuleError: The function is differentiated without a rule, the rule returns no pair, f changes its
            arguments, or an argument of nondiff_argnums is under differentiation (a TypeError).
        ArgumentNumberError: nondiff_argnums does not name distinct arguments of f, or names all of them.

    Reverse mode transposes the rule, so dy has to be linear in the tangents, and made of operations that dualrev can
    differentiate.

    >>> import dualrev as dr
    >>> @dr.custom_jvp
    ... def square(x):
    ...     return x * x
    >>> @square.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return square(x), 2.0 * x * t
    >>> dr.grad(square)(3.0), dr.grad(dr.grad(square))(3.0)
    (6.0, 2.0)

    >>> import functools
    >>> @functools.partial(dr.custom_jvp, nondiff_argnums=(0,))
    ... def apply(f, x):
    ...     return f(x)
    >>> @apply.defjvp
    ... def doubled(f, primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return apply(f, x), 2.0 * dr.grad(f)(x) * t
    >>> dr.grad(lambda x: apply(np.sin, x))(0.0)
    2.0
    """

    kind = "jvp"
    made_by = "custom_jvp"

    def __init__(self, f: Callable[P, T], nondiff_argnums: Argnums = ()) -> None:
        super().__init__(f)
        self.nondiff = check_nondiff(self._f, nondiff_argnums)

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule; can be used as a decorator.

        Args:
            rule: Function (primals, tangents) of two tuples that returns (y, dy). The tangent of a discrete argument is
                None. It takes the arguments of nondiff_argnums first.

        Returns:
            The rule, unchanged.
        """
        self._define(rule)
        return rule

    def compiled_rule(self, rule: Any) -> tuple[Any, ...]:
        """Return the rule of all arguments, for numba."""
        return (compiled_jvp(self._f, self.nondiff, rule) if self.nondiff else rule,)

    def __call__(self, *given: P.args, **kwargs: P.kwargs) -> T:  # noqa: D102 - that is f
        args = _positional(self._f, given, kwargs)
        call = _Call(self._f, args, self.nondiff)
        if call.run is None:
            return numeric(self._f)(*args)
        if not self.functions:
            raise CustomRuleError(self._f, "defjvp(rule)")
        f, rule, numbers = self._f, numeric(self.functions[0]), self.nondiff
        fixed, primals = [call.stripped[k] for k in numbers], others(numbers, call.stripped)

        def push(*tangents: Any) -> Any:
            """Call the rule, and return the tangent of the value."""
            made = rule(*fixed, primals, others(numbers, tangents))
            if not isinstance(made, tuple) or len(made) != 2:
                raise CustomRuleError(f, f"a rule that returns a pair (y, dy){_got(made)}")
            return made[1]

        return call.record(call.value(self), _Rule(f, push=push), CustomRuleError(f, _ALL_ARGUMENTS))


_ALL_ARGUMENTS = (
    "every number under differentiation that it uses to be among its arguments: its rule speaks of those only"
)


_RUNNING: ContextVar[list[str] | None] = ContextVar("the functions with rules that have been called", default=None)


@contextmanager
def rules_that_run() -> Iterator[list[str]]:
    """The names of the functions with a rule of their own that are called under differentiation meanwhile."""
    names: list[str] = []
    token = _RUNNING.set(names)
    try:
        yield names
    finally:
        _RUNNING.reset(token)


class _Call:
    """Call of a function with a derivative rule: its arguments as the outer runs see them."""

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...], nondiff: Sequence[int] = ()) -> None:
        self._f = f
        self._leaves, structure = flatten_leaves(args)
        self._structure = structure.owned()  # the caller may change an array of ints later
        self.run = innermost(self._leaves)
        if self.run is not None:
            if (names := _RUNNING.get()) is not None:
                names.append(getattr(f, "__qualname__", repr(f)))
            run = self.run
            self._xs = [own(strip(leaf, run)) for leaf in self._leaves]
            self.stripped: Any = self._structure.rebuild_leaves(self._xs)
            self._parts = []
            for k, (leaves, structure) in enumerate(map(flatten_leaves, args)):
                self._parts.append((len(leaves), structure))
                if k in nondiff and innermost(leaves) is run:
                    raise CustomRuleError(f, _constant(f, k))

    def value(self, function: Callable[..., Any]) -> Any:
        """Call the function on copies of the arguments; CustomRuleError if it changes them, which the caller would not
        see.
        """
        given = self._structure.owned().rebuild_leaves([own(x) for x in self._xs])
        made = function(*given)
        leaves, structure = flatten_leaves(given)
        same = len(leaves) == len(self._xs) and all(map(_unchanged, leaves, self._xs))
        if not same or not structure.same(self._structure):
            raise CustomRuleError(self._f, "not to change its arguments in place: work on a copy, and return it")
        return made

    def record(self, y: Any, rule: _Rule, closure: DualrevError) -> Any:
        """The value y as a result of this call; `closure` is raised if it depends on more than the arguments."""
        run = self.run
        assert run is not None
        ys, output = flatten_leaves(y)
        ys = list(map(own, ys))  # residuals may be the same arrays, and the caller may assign to elements later
        found = innermost(ys)
        if found is not None and found.level >= run.level:
            raise closure
        rule.of(self._xs, self._structure, self._parts, ys, output)
        if not isinstance(run, Tape):
            return self._by_entries(ys, output, rule)
        ids = [ids_of(leaf, run) for leaf in self._leaves]
        nested = any(map(holds_duals, [*self._xs, *ys]))
        made = [attach(run, leaf) for leaf in ys]
        run.blocks.append(Rule(run.fresh(), [out for _, out in made], ids, rule.pulled, rule.pushed, nested))
        return output.rebuild_leaves([leaf for leaf, _ in made])

    def _by_entries(self, ys: Sequence[Any], output: Structure, rule: _Rule) -> Any:
        """For a run that writes no tape: each number of y as an operation on all numbers of the arguments."""
        run = self.run
        assert run is not None
        scalars = flatten_scalars(self._leaves)[0]
        kind = next(type(u) for u in scalars if isinstance(u, DualNumber) and u.run is run)
        made = []
        numbers, structure = flatten_scalars(list(ys))
        for k, x in enumerate(numbers):
            units = structure.rebuild([float(j == k) for j in range(len(numbers))])
            cts = [zero(x) if c is None else c for c, x in zip(rule.pulled(units), self._xs, strict=True)]
            made.append(contribute(run, kind, x, scalars, flatten_scalars(cts)[0]))
        return output.rebuild(made)


class _Rule:
    """Derivative as a linear map between the leaves of a call's arguments and the leaves of its value.

    `pull` takes a cotangent of the value to a tuple of cotangents, `push` tangents of the arguments to one of the
    value. The tape keeps this object, so nothing in it may refer to the tape: it knows the data as outer runs see it.
    """

    def __init__(
        self, f: Callable[..., Any], pull: Callable[..., Any] | None = None, push: Callable[..., Any] | None = None
    ) -> None:
        self._f, self._pull, self._push = f, pull, push

    def of(
        self,
        xs: Sequence[Any],
        structure: Structure,
        parts: Sequence[tuple[int, Structure]],
        ys: Sequence[Any],
        output: Structure,
    ) -> None:
        """Set the leaves and structures of the call's arguments, together and one by one, and of its value."""
        self._xs, self._structure, self._parts = [zero(x) for x in xs], structure, parts
        self._ys, self._output = [zero(y) for y in ys], output

    def pulled(self, gs: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the arguments' leaves, None for zeros."""
        gs = list(map(_shaped, gs, self._ys))
        if self._pull is not None:
            return self._read(self._pull(self._output.cotangent_leaves(self._output.conjugated(gs))))
        return self._read(engine.vjp(self._pushed_leaves, *self._structure.map_leaves(self._xs))[1](gs))

    def pushed(self, ts: Sequence[Any]) -> list[Any]:
        """Return the tangents of the value's leaves."""
        ts = [x if t is None else _shaped(t, x) for t, x in zip(ts, self._xs, strict=True)]
        if self._push is not None:
            return self._pushed_leaves(*self._structure.map_leaves(ts))
        ct = self._output.cotangent_leaves(self._ys)
        return self._output.read_leaves(engine.vjp(self._pulled_leaves, ct)[1](ts)[0])

    def _pushed_leaves(self, *tangents: Any) -> list[Any]:
        assert self._push is not None
        return self._output.read_leaves(self._push(*tangents), self._differs("value"))

    def _pulled_leaves(self, ct: Any) -> list[Any]:
        assert self._pull is not None
        cts = self._read(self._pull(ct))
        return [x if c is None else c for c, x in zip(cts, self._xs, strict=True)]

    def _read(self, cts: Any) -> list[Any]:
        """The cotangents leaf by leaf; None for an argument stands for zeros."""
        made: list[Any] = []
        for (size, structure), ct in zip(self._parts, cts, strict=True):
            if ct is None:
                made += [None] * size
            else:
                made += structure.conjugated(structure.read_leaves(ct, self._differs("argument")))
        return made

    def _differs(self, side: str) -> Any:
        def error(found: Any, expected: str) -> CustomRuleError:
            """Return a CustomRuleError for a leaf of a derivative that does not fit."""
            what = f"{expected} in a derivative where the {side} has it, and got {reprlib.repr(found)}"
            return CustomRuleError(self._f, f"{what} (type {type(found).__name__})")

        return error


def _constant(f: Callable[..., Any], k: int) -> str:
    """Describe the requirement on an argument that nondiff_argnums names."""
    name = list(signature(f).parameters)[k]
    cure = f"dualrev.stop_gradient({name}) for a constant, or leave {k} out of nondiff_argnums"
    return f"its argument {name!r}, which nondiff_argnums names, not to be under differentiation: write {cure}"


def _got(made: Any) -> str:
    """Describe what a rule returned instead."""
    size = f", of length {len(made)}" if isinstance(made, (tuple, list)) else ""
    return f", and it returned {reprlib.repr(made)} (type {type(made).__name__}{size})"


def _unchanged(x: Any, before: Any) -> bool:
    if not isinstance(before, (RealArray, np.ndarray)):
        return x is before or (x.__class__ is float and _equal(x, before))  # a part of a complex number is made anew
    return _equal(plain(x), plain(before))


def _equal(a: Any, b: Any) -> bool:
    return np.shape(a) == np.shape(b) and np.array_equal(a, b, equal_nan=True)


def _shaped(g: Any, like: Any) -> Any:
    """A cotangent or a tangent as its leaf: a number where that has no axes, an array that the user may change."""
    if isinstance(like, np.ndarray):
        return real_array(g) + 0.0 if holds_duals(g) else np.array(plain(g)) + 0.0
    return g if isinstance(g, DualNumber) else g[()] if isinstance(g, RealArray) else float(g)


def _positional(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments in their order, defaults too, as a rule takes them."""
    try:
        parameters = signature(f)
    except ValueError:  # a function in C may have none
        if kwargs:
            raise CustomRuleError(f, "its arguments by position: it does not say the names of its parameters") from None
        return args
    bound = parameters.bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise CustomRuleError(f, "parameters that can be passed by position: a rule takes them so")
    return bound.args
